"""`--from`: read the options and images of an earlier run from its record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.options import SegmentOptions, options_of
from equilabel.storage.ome_zarr import is_zarr

from .inputs import FILE, FOLDER, Input, kind_of
from .names import expanded, printable, quoted
from .options import Options, RefusedError
from .parsing import fits, read_options, unit
from .records import FORMAT, Provenance, differences, provenance, read_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

OPTIONS = (*options_of(SegmentOptions), *options_of(Options))
LENGTHS = ("sigma",)  # in records of format 1, in the unit of the pixel size


class Earlier(NamedTuple):
    """An earlier run: its options, its images, and lines about versions that differ."""

    options: Options
    inputs: Sequence[Input]
    notes: Sequence[str]


def repeated(path: Path, given: Mapping[str, Any], typed: Collection[str]) -> Earlier:
    """Return the options and images of an earlier run.

    `path` is a run.json, or the record of one image from `equilabel segment`. `given` has the
    values of the parameters of this command ("inputs" if they were typed); those in `typed`
    override the record. Raises RefusedError if the file is not such a record, or has options that
    this version does not know.
    """
    content = _read(path)
    now, then = read_options(given), content["parameters"]
    values = {**now.parameters(), **{name: _tupled(then[name]) for name in then}}
    values |= {name: value for name, value in now.parameters().items() if name in typed}
    _check(path, content, values, typed, now.command)
    _check_values(path, values)
    chosen = {name: values[name] for name in options_of(SegmentOptions) if name in values}
    own = {name: values[name] for name in vars(now) if name in values}
    options = replace(now, segment=chosen, **own)
    made_with = provenance(options)
    versions = {name: word for name, word in content["versions"].items() if name != "python"}
    differing = differences(made_with, Provenance(made_with.parameters, versions))
    notes = [printable(f"{path}: {'; '.join(differing)}")] if differing else []
    inputs = [] if given.get("inputs") else _inputs(path, content)
    return Earlier(options, inputs, notes)


def measured_again(
    path: Path, given: Mapping[str, Any], image: str | None, typed: Collection[str]
) -> Earlier:
    """Return the options and labels of an earlier run of `equilabel measure`, like `repeated`.

    `image` is the image, or the folder of images, of labels that were typed.
    """
    if image is not None and not given.get("inputs"):
        message = (
            f"--image needs LABELS beside --from; got {quoted(image)} alone. Pass LABELS, or leave "
            "--image out to measure in the images of that run."
        )
        raise RefusedError(message)
    earlier = repeated(path, given, typed)
    if given.get("inputs"):
        shown = earlier.options.overlay and image is not None
        return earlier._replace(options=replace(earlier.options, overlay=shown))
    return earlier


def _read(path: Path) -> Any:
    try:
        content = read_json(expanded(path, "--from"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = (
            f"--from must be the run.json of an earlier run; got {quoted(path)}, which cannot be "
            f"read: {why}. Check the path."
        )
        raise RefusedError(message) from error
    parts = ("parameters", "versions")
    if not isinstance(content, dict) or not all(isinstance(content.get(k), dict) for k in parts):
        message = (
            f"--from must be the run.json of an earlier run; got {quoted(path)}, which has no "
            "'parameters' and 'versions'. Pass the one in the folder of its results."
        )
        raise RefusedError(message)
    return content


def _check(
    path: Path, content: Any, values: Mapping[str, Any], typed: Collection[str], command: str
) -> None:
    """Raise RefusedError if the options of a record have another meaning in this version."""
    theirs = values.get("command", "batch")
    if theirs != command:
        wanted = "`equilabel measure`" if command == "measure" else "`equilabel batch` or `label`"
        message = (
            f"--from must be of a run of {wanted}; got {quoted(path)}, of `equilabel {theirs}`. "
            f"Use `equilabel {theirs} --from`, or type the options of that run."
        )
        raise RefusedError(message)
    known = {*OPTIONS, "command"}
    unknown = [name for name, value in values.items() if name not in known and value]
    if unknown:
        version = content["versions"].get("equilabel")
        message = (
            f"--from must have options that this version knows; got {unknown[0]!r} in "
            f"{quoted(path)}, of equilabel {version}. Install that version, or remove the option "
            "from a copy of the file."
        )
        raise RefusedError(message)
    if content.get("format") not in (1, FORMAT):
        message = (
            f"--from must be of format 1 to {FORMAT}; got {content.get('format')!r} in "
            f"{quoted(path)}. Install the version that wrote it."
        )
        raise RefusedError(message)
    for name in LENGTHS:
        if content["format"] == 1 and name not in typed and values.get(name) not in (0, 0.0, None):
            message = (
                f"--from needs --{name} beside a record of format 1, where it was in the unit of "
                f"the pixel size; got {values[name]!r}. Pass it with its unit, such as "
                f"--{name} 0.5um."
            )
            raise RefusedError(message)


def _check_values(path: Path, values: Mapping[str, Any]) -> None:
    """Raise RefusedError if an option of a record has an invalid value."""
    for name in OPTIONS:
        value = values.get(name)
        if name in values and not fits(name, value):
            option = f"--{name.replace('_', '-')}"
            message = (
                f"--from must have values that options can have; got {value!r} for {option} in "
                f"{quoted(path)}. Correct it in a copy of the file, or type {option}."
            )
            raise RefusedError(message)
    if values.get("unit") is not None:
        unit(values["unit"])


def _inputs(path: Path, content: Any) -> list[Input]:
    """Return the images of a record; paths are relative to the folder where the run was started."""
    here, found = Path.cwd(), []
    folder = Path(str(content.get("folder", here)))
    files = content.get("files", [content.get("record")])
    for entry in files if isinstance(files, list) else ():
        if not isinstance(entry, dict) or not entry.get("name"):
            continue
        image = expanded(str(entry.get("file")))
        image = image if folder == here else folder / image
        kind = kind_of(image)
        wanted = FOLDER if content["parameters"].get("slices") else FILE
        kind = wanted if kind == FOLDER and is_zarr(image) else kind
        complaint = f"INPUT must be {wanted}; got {quoted(image)}, {kind}. Pass its new path."
        item = Input(image, str(entry["name"]), "" if kind == wanted else complaint)
        if entry.get("image"):  # in which labels were measured
            item = replace(item, image=folder / expanded(str(entry["image"])))
        found.append(item)
    if not found:
        message = f"--from must name images; got none in {quoted(path)}. Pass them as INPUT."
        raise RefusedError(message)
    return found


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value
