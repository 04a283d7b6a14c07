"""Measurements of several runs in one table, beside columns that a person added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .features import labels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from .outcome import Outcome

INTENSITY = "intensity"  # how columns of gray values begin


def own_columns(features: pd.DataFrame, made: Mapping[str, Any]) -> list[str]:
    """List the columns of a labels layer that no run of ours made.

    Examples
    --------
    >>> import pandas as pd
    >>> features = pd.DataFrame({"index": [0, 1], "area": [0, 4], "kind": ["", "dead"]})
    >>> own_columns(features, {"columns": ["index", "area"]})
    ['kind']
    """
    known = {"index", *made.get("columns", ()), *made.get("measured", {}).get("columns", ())}
    return [str(name) for name in features.columns if str(name) not in known]


def merge_measurements(
    features: pd.DataFrame, made: Mapping[str, Any], outcome: Outcome
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Put what was measured into the features of a labels layer.

    Parameters
    ----------
    features : pandas.DataFrame
        Of the layer, as they are.
    made : mapping
        Our metadata of the layer.
    outcome : Outcome
        Of `measure_source`.

    Returns
    -------
    features : pandas.DataFrame
        A row for each label that was measured. A column of the same name is replaced, unless it
        has the gray values of another image: then the name of the new one ends with that of its
        image. All other columns are kept, by label.
    measured : dict
        Our metadata of the measurement.
    """
    image = outcome.metadata["intensity"]
    earlier = made.get("measured", {})
    images = {**_first_images(made), **earlier.get("images", {})}
    new = outcome.features
    names = {
        str(name): _name(str(name), image, images if name in features else {})
        for name in new.columns
    }
    new = new.rename(columns=names)
    kept = [name for name in features.columns if name not in (*new, "index", "label")]
    old = features[kept].set_axis(labels_of(features), axis=0)
    old = old[~old.index.duplicated()].reindex(labels_of(new)).set_axis(new.index, axis=0)
    merged = old.join(new)
    counting = {*made.get("whole", ()), *earlier.get("whole", ())} - set(new.columns)
    measured = {
        **outcome.metadata,
        "columns": [
            *{**dict.fromkeys(earlier.get("columns", ())), **dict.fromkeys(names.values())}
        ],
        "images": {**images, **{name: image for name in names.values() if _is_gray(name)}},
        "whole": [
            *sorted(counting),
            *(names.get(name, name) for name in outcome.metadata["whole"]),
        ],
    }
    return merged, measured


def _first_images(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the image that each column of gray values of the first run is of."""
    return {name: made["image"] for name in made.get("columns", ()) if _is_gray(name)}


def _is_gray(name: str) -> bool:
    return name.startswith(INTENSITY) or "weighted" in name


def _name(name: str, image: str, images: Mapping[str, str]) -> str:
    """Name a column of gray values after its image if the plain name is that of another."""
    if not _is_gray(name) or images.get(name, image) == image:
        return name
    return f"{name} [{image}]"
