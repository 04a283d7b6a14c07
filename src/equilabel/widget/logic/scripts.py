"""Scripts that repeat a run: a line of Python, and a command for a terminal."""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from equilabel.storage.images import SUFFIXES, TIFF, read_header
from equilabel.storage.tiff import describe_tiff

from .choices import Choices
from .sources import Source

WITHOUT_FILE = "image.tif"
SHOW = (  # what a run found: image, roles of its axes
    "; from equilabel.widget.viewer.layers import show_found; show_found(viewer, found, {}, {})"
)


def python_line(source: Source, choices: Choices, *, chunked: bool = False) -> str:
    """Return a line for napari's console that assigns what a run finds to ``found``."""
    image = f"{_opened(source.name)}.data" + "[0]" * source.multiscale
    function = "segment_chunked" if chunked else "segment"
    imports = f"from equilabel import {function}"
    if chunked:
        imports += "; import dask.array"
        image = f"dask.array.asarray({image})"
    if source.rgb:
        imports += "; from equilabel.colors import gray"
        image = f"gray({image}, {choices.color!r})"
    if source.is_mask:
        image = f"({image} != 0).astype('u1')"
    image += _arranged(source, source.order)
    words = "".join(
        f", {name}={_labels(source, value) if isinstance(value, Source) else repr(value)}"
        for name, value in choices.arguments(source).items()
    )
    return f"{imports}; found = {function}({image}{words})"


def _arranged(source: Source, order: Sequence[int]) -> str:
    """Return the text after an array whose axes of `source` are to be in some order."""
    text, times = "", len(source.times)
    if order != sorted(order):
        places = sorted(order)
        text = f".transpose({', '.join(str(places.index(axis)) for axis in order)})"
    if times > 1:
        text += f".reshape(-1, {', '.join(str(source.shape[axis]) for axis in order[times:])})"
    return text


def _labels(source: Source, labels: Source) -> str:
    """Return the expression for markers or a mask of an image, without channels."""
    text = f"viewer.layers[{labels.name!r}].data" + "[0]" * labels.multiscale
    if len(labels.shape) == len(source.shape) and source.channel is not None:
        text += f".take(0, {source.channel})"
    return text + _arranged(source, [*source.times, *source.space])


def _opened(name: str) -> str:
    return f"viewer.layers[{name!r}]"


def batch_command(source: Source, choices: Choices, *, chunked: bool = False) -> str:
    """Return a command that repeats a run; ``image.tif`` stands for a file that is unknown."""
    spacing, unit = source.pixel_size
    arguments = choices.arguments(source)
    if unit or set(spacing) != {1.0}:  # they override the pixel size and the unit of the file
        arguments["spacing"] = spacing[0] if len(set(spacing)) == 1 else spacing
    elif _is_calibrated(source.path):
        arguments["spacing"] = 1
    options = []
    for name, value in arguments.items():
        if name in ("channel_axis", "unit", "stacked"):
            continue
        if isinstance(value, Source):
            value = value.path if _is_image(value.path) else f"{name}.tif"
        text = ",".join(map(str, value)) if isinstance(value, tuple) else value
        option = f"--{name.replace('_', '-')}"
        options.append(option if value is True else f"{option}={text}")
    options.append("--stacked" if "time" in source.roles else "--no-stacked")
    options += [f"--unit={unit}"] if unit else []
    options += ["--too-large=chunked"] if chunked else []
    file = source.path if _is_image(source.path) else WITHOUT_FILE
    return shlex.join(["equilabel", "batch", file, "--out", "results", *options])


def _is_image(path: str) -> bool:
    return path.lower().endswith(SUFFIXES)


def _is_calibrated(path: str) -> bool:
    with suppress(Exception):  # the command itself reports what is wrong with the file
        return path.lower().endswith(TIFF) and bool(describe_tiff(path).spacing)
    return False


def why_no_command(source: Source) -> str:
    """Say why `equilabel batch` cannot repeat a run; "" if it can."""
    if source.is_mask:
        return "a labels layer as a mask, of which it would take the numbers for gray values"
    if source.rgb:
        return "a color image, of which it would measure each color"
    if "channel" in source.roles and _is_image(source.path):
        with suppress(Exception):  # the command itself reports what is wrong with the file
            if "C" not in read_header(source.path).axes:
                return "channels that the file takes for planes or frames"
    return "several axes of time" if source.roles.count("time") > 1 else ""


def with_filters(line: str, filters: Sequence[Any]) -> str:
    """Add to a line of Python that objects are kept by ranges of measurements, or a condition."""
    begin = "; from equilabel import filter_objects"
    line += begin if begin not in line else ""
    return line + "".join(f"; found = filter_objects(found, {each!r})" for each in filters)


def script_of(
    name: str, made: Mapping[str, Any], language: str, layers: Mapping[str, str]
) -> tuple[str, str]:
    """Return the script of the run that made labels, "" if there is none, and a remark."""
    if "python" not in made:
        return "", (
            f"Only labels found by 'Label components' can be repeated, not {name!r}: "
            "run it on the image first."
        )
    if not (script := made[language]):
        why = made["no_batch"]
        return "", f"A command cannot repeat a run with {why}: use 'Copy as Python'."
    since = " What was painted since is not in it." if made.get("painted") else ""
    if language == "python":
        used = {made["image"]: made["layer"], **made.get("beside", {})}
        now = {_opened(name): _opened(layers.get(used[name], name)) for name in used}
        script += SHOW.format(_opened(made["image"]), made["axes"])
        script = re.sub("|".join(map(re.escape, now)), lambda found: now[found[0]], script)
        closed = "".join(
            f" {name!r} of the run is not open now." for name in used if used[name] not in layers
        )
        image = layers.get(made["layer"], made["image"])
        return script, (
            f"Copied a line of Python for {image!r}: paste it into the console of napari."
            f"{closed}{since}"
        )
    file = (
        "" if _is_image(made["path"]) else f" for {WITHOUT_FILE!r}, the file of {made['image']!r}"
    )
    unsaved = "".join(
        f" Save {made['parameters'][name]!r} as '{name}.tif' first."
        for name in ("markers", "mask")
        if f"--{name}={name}.tif" in script
    )
    plain = " --spacing=1 " in script  # without a point
    unsaved += " It does not use the pixel size of the file, which the layer lacks." * plain
    return script, f"Copied a command{file}: paste it into a terminal.{unsaved}{since}"
