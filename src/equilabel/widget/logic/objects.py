"""Objects of a labels layer: their measurements, those that are kept, and all of it as text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import equilabel
from equilabel.array_types import Array, HostArray
from equilabel.devices import threads
from equilabel.quantities import derived_unit
from equilabel.segmentation.result import meets
from equilabel.storage.table import as_table, columns_of, find_objects, labels_of
from equilabel.widget import Table

INTENSITY = "intensity"  # prefix of columns of gray values

PLACES = {"centroid": ("", ""), "centroid_weighted": (" weighted",) * 2, "bbox": (" from", " to")}


def own_columns(features: Table, made: Mapping[str, Any]) -> list[str]:
    """List the columns of a labels layer that were not measured by equilabel."""
    known = {"index", *column_types(made)}
    return [str(name) for name in features.columns if str(name) not in known]


def column_types(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of the columns that equilabel measured."""
    return {**made.get("columns", {}), **made.get("measured", {}).get("columns", {})}


RUN = ("properties", "color", "intensity", "layer", "parents")  # what a run measured, and in what


def measured_before(made: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """List what runs measured: statistics, color, then name and identity of image and parents."""
    runs = [made] if "parameters" in made else []
    return [
        (run["properties"], run["color"], (run["intensity"], run["layer"]), run["parents"])
        for run in [*runs, *made.get("measured", {}).get("runs", ())]
    ]


def _add_run(earlier: Mapping[str, Any], made: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runs that repeat all measurements: one for each image, and one with parents."""
    run, others = {name: made[name] for name in RUN}, []
    for each in earlier.get("runs", ()) if earlier.get("axes") == made["axes"] else ():
        if (each["layer"], each["color"]) == (run["layer"], run["color"]):
            run["properties"] = tuple(dict.fromkeys([*each["properties"], *run["properties"]]))
            run["parents"] = run["parents"] if any(run["parents"]) else each["parents"]
        else:
            others.append({**each, "parents": ("", "")} if any(run["parents"]) else each)
    return [*others, run]


def merge_measurements(
    features: Table, made: Mapping[str, Any], outcome: Any
) -> tuple[Table, dict[str, Any]]:
    """Add measurements to features and metadata; gray values of another image get new columns."""
    new, earlier, image = outcome.features, made.get("measured", {}), outcome.metadata.get("layer")
    images = {name: made["layer"] for name in made.get("columns", ()) if _is_gray(name)}
    images |= earlier.get("images", {})  # the identity of the image of each column

    def name_of(column: str) -> str:
        own = [name for name in features if name.partition(" [")[0] == column]
        own = [name for name in own if images.get(name, image) == image]
        taken = column in features and not own
        return f"{column} [{outcome.metadata['intensity']}]" if taken else [*own, column][0]

    names = {name: name_of(name) if _is_gray(name) else name for name in map(str, new.columns)}
    new = new.rename(columns=names)
    own = "properties" in outcome.metadata  # and not parents
    gone = {"children"} if own and made.get("unmeasured") else set[str]()
    old = features[[name for name in columns_of(features) if name not in {*new, *gone}]]
    old = old.set_axis(labels_of(features), axis=0)
    old = old[~old.index.duplicated()].reindex(labels_of(new)).set_axis(new.index, axis=0)
    ours = [name for name in column_types(made) if name in old and old[name].dtype.kind == "f"]
    alive = find_objects(new)
    if own and alive.sum() == outcome.metadata["objects"]:  # else some have no values, such as NaN
        old = old.assign(**{name: old[name].where(alive) for name in ours})
    facts = {**outcome.metadata, "runs": _add_run(earlier, outcome.metadata)} if own else earlier
    measured = {
        **outcome.metadata,
        **facts,
        "columns": earlier.get("columns", {})
        | {names.get(name, name): kind for name, kind in outcome.metadata["columns"].items()},
        "images": {**images, **{name: image for name in names.values() if _is_gray(name)}},
    }
    table, order = old.join(new), dict.fromkeys([*features.columns, *new.columns])
    return table[[name for name in order if name in table]], measured


def _is_gray(name: str) -> bool:
    return name.startswith(INTENSITY) or "weighted" in name


def find_kept(features: Table, *filters: Any, known: Iterable[str] = ()) -> HostArray:
    """Return which rows are objects that meet all filters of `equilabel.filter_objects`."""
    kept = find_objects(features, known)
    for each in filters:
        whole = features.assign(label=labels_of(features)) if "label" in each else features
        kept &= meets(whole, each)
    return kept


def keep_objects(labels: Array, features: Table, kept: HostArray) -> tuple[HostArray, Table]:
    """Keep some objects, numbered from 1: return pixels, and features with `label_before`."""
    from skimage.util import map_array

    before, pixels = labels_of(features), np.asarray(labels)
    chosen = np.sort(before[kept]).astype(pixels.dtype)
    numbers = np.arange(1, len(chosen) + 1, dtype=pixels.dtype)
    fewer = np.empty(pixels.shape, pixels.dtype)
    cuts = threads.ranges(len(pixels), pixels.size, fine=True)
    threads.each(lambda a, b: map_array(pixels[a:b], chosen, numbers, out=fewer[a:b]), cuts)
    rows = features.iloc[np.concatenate([[0], np.flatnonzero(kept)])].reset_index(drop=True)
    if kept.size and before[0] != 0:
        rows.iloc[0] = np.nan
    rows = rows.drop(columns="index", errors="ignore")  # row i is label i now
    if "label_before" not in rows:
        rows["label_before"] = np.concatenate([[np.nan], before[kept]])
    return fewer, rows


DEPTHS = (None, 0.5, 0.25, 0.1)  # of necks in pixels, at which an object is split if it can be


def change_objects(
    labels: HostArray, chosen: Sequence[int], how: str, spacing: Any, times: Sequence[int] = ()
) -> tuple[tuple[HostArray, ...], Any]:
    """Return indices of pixels and their new labels, to "merge", "split" or "delete" objects.

    >>> change_objects(np.array([1, 0, 2]), [1, 2], "merge", 1.0)
    ((array([0, 2]),), 1)
    """
    places = np.nonzero(np.isin(labels, chosen))
    if how == "merge" and any(np.ptp(places[axis]) for axis in times if places[axis].size):
        message = "objects must be of one frame to be merged; got several. Select those of one."
        raise ValueError(message)
    if how != "split":
        return places, 0 if how == "delete" else min(chosen)
    if not places[0].size:
        message = f"an object must have pixels to be split; got none of label {chosen[0]}."
        raise ValueError(message)
    mask = labels[tuple(slice(each.min(), each.max() + 1) for each in places)] == chosen[0]
    plane = mask.squeeze(tuple(times))
    for depth in DEPTHS:
        parts = equilabel.split_touching(plane, tolerance=depth, spacing=spacing)
        if parts.max() > 1:
            first, top = int(labels.max()) + 1, np.iinfo(labels.dtype).max
            values = [0, chosen[0], *range(first, first + int(parts.max()) - 1)]
            if values[-1] > top:
                message = (
                    f"labels must leave numbers up to {top} for the parts; got {first - 1} as the "
                    "greatest. Right-click on the layer and convert it to int32."
                )
                raise ValueError(message)
            return places, np.array(values, labels.dtype)[parts.reshape(mask.shape)[mask]]
    message = (
        f"an object must have a neck to be split; got none in object {chosen[0]}. "
        "Paint a line of background across it."
    )
    raise ValueError(message)


def limits(values: HostArray) -> tuple[float, float]:
    """Return the range of most values, 1st to 99th percentile, or of all if these are few."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    few = known.size < 100 or not np.ptp(np.percentile(known, (1, 99)))
    low, high = np.percentile(known, (0, 100) if few else (1, 99))
    return float(low), float(high)


def show_objects(features: Table, made: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Return the table to show for a labels layer, and descriptions of its columns."""
    table = as_table(features, known=column_types(made)).rename(columns=str)
    names = sorted(table.columns, key=lambda name: name.startswith("bbox"))
    headers = [heading(name, made) for name in names]
    hints = [
        f"{name}: {_describe(name)}" if title(name, made) != name else _describe(name)
        for name in names
    ]
    return table[names].set_axis(headers, axis=1), hints


def describe_properties(lines: Sequence[str], made: Mapping[str, Any]) -> list[str]:
    """Return what napari says of an object, "name: value", with units and gray values first."""
    pairs = [line.partition(": ") for line in lines]
    pairs.sort(key=lambda pair: not _is_gray(pair[0]))
    return [
        f"{title(name, made)}{between}{value} {unit_of(name, made)}".rstrip()
        for name, between, value in pairs
        if value.strip()
    ]


def sort_rows(values: HostArray, *, descending: bool) -> HostArray:
    """Return the order of the rows of a table by a column; missing values come last."""
    if values.dtype.kind not in "biuf":
        values = np.unique(values.astype(str), return_inverse=True)[1]
    keys = values.astype(np.float64)
    return np.argsort(-keys if descending else keys, kind="stable")


def heading(column: str, made: Mapping[str, Any]) -> str:
    """Return the name of a column for the screen, with its unit."""
    unit = unit_of(column, made)
    return f"{title(column, made)} [{unit}]" if unit else title(column, made)


def title(column: str, made: Mapping[str, Any]) -> str:
    """Return the name of a column for the screen: y in place of centroid-0."""
    name, _, index = column.partition("-")
    made = made.get("measured", made)
    axes = made.get("names") or "zyx"[-len(made.get("spacing", ())) :]
    if name not in PLACES or not index.isdecimal() or int(index) >= 2 * len(axes):
        return column
    end, axis = divmod(int(index), len(axes))
    return f"{axes[axis]}{PLACES[name][end]}"


def unit_of(column: str, made: Mapping[str, Any]) -> str:
    """Return the unit of a column, from our metadata of the layer; "" for none."""
    made = made.get("measured", made)
    spacing = made.get("spacing", ())
    name, *indices = column.split("-")
    unit = made.get("unit") or ("px" if spacing and set(spacing) == {1.0} else "")
    kind = equilabel.PROPERTIES[name].unit if name in equilabel.PROPERTIES else ""
    return derived_unit(kind, len(spacing), unit, indices)


OTHERS = {
    "label_before": "Label of the object before others were dropped.",
    "track": "Number of its track: the objects of other frames that are the same have it, too.",
    "parent": "Track that split into this one, or object that this one lies in; 0 for none.",
    "event": "Split: the last before its track split. Merge: several objects became this one.",
}


def _describe(column: str) -> str:
    """Return the description of a column; "" for columns that equilabel did not measure."""
    if column in OTHERS:
        return OTHERS[column]
    row = equilabel.PROPERTIES.get(column.split("-")[0].split(" ")[0])
    return "" if row is None else row.summary


def format_value(value: Any) -> str:
    """Return the text of a cell of a table; "" for a missing value."""
    if not isinstance(value, float):
        return str(value)
    return "" if np.isnan(value) else format_number(value)


def format_number(value: float) -> str:
    """Return a number with few digits."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:.4g}"


def count_objects(count: int) -> str:
    """Return a number of objects as text."""
    return f"{count} object{'' if count == 1 else 's'}"


def summarize(features: Table, made: Mapping[str, Any]) -> str:
    """Return a line about a labels layer: how many objects it has, and how a run found them."""
    words = count_objects(int(find_objects(features, column_types(made)).sum()))
    words += ", painted since" if made.get("unmeasured") and len(features) else ""
    if made.get("kind") != "segment":
        return words if len(features) else "Not measured yet."
    threshold, method = made["threshold"], made["parameters"].get("threshold", "otsu")
    if threshold is None:
        level = "local threshold"
    elif isinstance(threshold, tuple):
        level = "thresholds " + " and ".join(map(format_number, threshold))
    elif not np.isfinite(threshold):
        level = "no threshold"
    else:
        found = f" ({method.capitalize()})" if isinstance(method, str) else ""
        found = ", then one for each object" if method == "per_object" else found
        level = f"threshold {format_number(threshold)}{found}"
    where = "" if made["device"] == "cpu" else " on the GPU"
    return f"{words}, {level}, {made['seconds']:.2f} s{where}."
