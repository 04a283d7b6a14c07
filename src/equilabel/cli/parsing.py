"""Read options, and make parameters of the commands from their fields."""

from __future__ import annotations

import inspect
import math
import re
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument

from equilabel import METHODS
from equilabel.options import PANELS, Option, SegmentOptions, options_of
from equilabel.quantities import Quantity, parse
from equilabel.storage.memory import UNITS, free
from equilabel.storage.metadata import LENGTHS, spelled

from .options import ChunkOptions, Options, RunOptions, as_typed, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# ---- Words as values of options

DEFAULT = "default"  # a value of --split that was left out
LENGTH = re.compile(r"[-+]?[.,]?\d[\d.,]*(e[-+]?\d+)?\s*[^\W\d_]{0,12}[\d²³]?$")  # of --split


def threshold(text: str) -> str | float | tuple[float, float]:
    """Parse a threshold: a method, a number, or two numbers.

    >>> threshold("Otsu"), threshold("12.5"), threshold("10,20")
    ('otsu', 12.5, (10.0, 20.0))
    """
    values = _numbers(text)
    if len(values) in (1, 2):
        return values[0] if len(values) == 1 else (values[0], values[1])
    if text.strip().replace("_", "").isalpha() and text.strip().lower() not in ("nan", "inf"):
        return text.strip().lower()
    refuse(f"--threshold must be a method, a number or 'low,high'; got {text!r}. Try 'otsu'.")


def length(name: str, text: str) -> float | str | tuple[float | str, ...]:
    """Parse a length, or one for each axis, in pixels or with a unit.

    >>> length("sigma", "1.5"), length("sigma", "0.3 um"), length("sigma", "1um,300nm")
    (1.5, '0.3µm', ('1µm', '300nm'))
    """
    parts = text.split(",")
    found = [_quantity(name, part, text) for part in parts]
    written = [part.strip()[-1:].isdigit() for part in parts]
    if any(written) and not all(written):  # "0,3um" may be a decimal comma
        refuse(
            f"--{name} must have a unit for each axis, or for none; got {text!r}. "
            f"Write a point in place of the comma, or '{parts[0].strip()}px,...'."
        )
    values = tuple(map(_short, found))
    return values[0] if len(values) == 1 else values


def split(text: str | None) -> bool | float | str | tuple[float | str, ...]:
    """Parse the depth of necks at which objects are split: a length, None, or the default."""
    return text is not None if text is None or text == DEFAULT else length("split", text)


def size(name: str, text: str) -> int | str:
    """Parse the size of an object: whole pixels, or an area or a volume with its unit.

    >>> size("min-size", "30px"), size("min-size", "5 um^2")
    (30, '5µm²')
    """
    found = _short(_quantity(name, text, text))
    if isinstance(found, str):
        return found
    if found != int(found):
        refuse(f"--{name} must be whole pixels; got {text!r}. Try '{found:.0f}'.")
    return int(found)


def _quantity(name: str, text: str, whole: str) -> Quantity:
    try:
        return parse(f"--{name}", text)
    except ValueError as error:
        refuse(str(error).replace(f"got {text!r}", f"got {whole!r}"))


def _short(quantity: Quantity) -> float | str:
    """Return pixels as a number, so that --resume treats "2" and "2px" as equal."""
    return str(quantity).replace(" ", "") if quantity.power else float(quantity.value)


def spacing(text: str) -> tuple[float, ...]:
    """Parse the pixel size: one number, or one for each spatial axis."""
    values = _numbers(text)
    if not 1 <= len(values) <= 3 or min(values) <= 0:
        refuse(
            f"--spacing must be 1 to 3 numbers above 0; got {text!r}. "
            "Try '0.1', or '0.5,0.1,0.1' for z, y and x."
        )
    return values


def chunks(text: str) -> int | tuple[int, ...]:
    """Parse the sides of a block: one whole number, or one for each axis."""
    values = _numbers(text, int)
    if not values or any(value < 1 and value != -1 for value in values):
        refuse(
            f"--chunks must be whole numbers of 1 or more, or -1, separated by commas; got "
            f"{text!r}. Try '256', or '64,256,256' for z, y and x."
        )
    return values[0] if len(values) == 1 else values


def properties(text: str) -> tuple[str, ...]:
    """Parse names of columns."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        refuse(f"--properties must be names separated by commas; got {text!r}. Try 'label,area'.")
    return names


def unit(text: str) -> str:
    """Parse a unit of length."""
    if spelled(text) in LENGTHS:
        return spelled(text)
    refuse(f"--unit must be one of {list(LENGTHS)}; got {text!r}.")


def memory_limit(text: str | None, jobs: int) -> int:
    """Parse the memory limit of an image in bytes; by default 9/10 of the free memory by `jobs`.

    >>> memory_limit("500M", 1), memory_limit("1.5 GB", 4), memory_limit("2GiB", 1)
    (500000000, 1500000000, 2147483648)
    """
    if text is None:
        return free() * 9 // 10 // max(1, jobs)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    power = ["", *(unit[0].lower() for unit in UNITS[1:])].index(found[2]) if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if size < 1000:
        refuse(f"--memory-limit must be 1 kB or more; got {text!r}. Try '4GB' or '500MB'.")
    return size


def _numbers(text: str, kind: Callable[[str], Any] = float) -> tuple[Any, ...]:
    """Return finite numbers that are separated by commas; () if it is anything else."""
    try:
        values = tuple(map(kind, text.split(",")))
    except ValueError:
        return ()
    return values if all(map(math.isfinite, values)) else ()


def word(name: str, text: str, words: Sequence[str]) -> str:
    """Return one of some words, however its letters are written."""
    if text.lower() in words:
        return text.lower()
    near = get_close_matches(text.lower(), words, n=1, cutoff=0.5)
    remedy = f"Did you mean {near[0]!r}?" if near else f"Pass {words[0]!r} if unsure."
    refuse(f"--{name} must be one of {list(words)}; got {text!r}. {remedy}")


def flag(name: str, value: Any) -> bool:
    """Return the value of a flag, which stands in a record."""
    if isinstance(value, bool):
        return value
    refuse(f"--{name} must be true or false; got {value!r}.")


def number(name: str, text: str, option: Option, kind: Callable[[str], Any] = float) -> Any:
    """Return a word of the option, a finite number, or a whole one if `kind` is int."""
    values = _numbers(text, kind)
    if text in option.words or len(values) == 1:
        return text if text in option.words else values[0]
    what = "a whole" if kind is int else "a finite"
    refuse(f"--{name} must be {what} number; got {text!r}. Try {option.example!r}.")


class Kind(NamedTuple):
    """A kind of values: its placeholder in the help, and how it is read."""

    placeholder: str = ""
    read: Callable[[str, Any, Option], Any] = lambda _, value, __: value  # name, text, option


KINDS = {
    "flag": Kind(read=lambda name, value, _: flag(name, value)),
    "name": Kind("NAME"),
    "condition": Kind("CONDITION", lambda _, text, __: text.strip() or None),
    "method": Kind("NAME"),
    "word": Kind(read=lambda name, text, option: word(name, text, option.words)),
    "number": Kind("NUMBER", number),
    "whole": Kind("COUNT", partial(number, kind=int)),
    "threshold": Kind("THRESHOLD", lambda _, text, __: threshold(text)),
    "lengths": Kind("LENGTH", lambda name, text, _: length(name, text)),
    "split": Kind("[LENGTH]", lambda _, text, __: split(text)),
    "size": Kind("SIZE", lambda name, text, _: size(name, text)),
    "names": Kind("NAMES", lambda _, text, __: properties(text)),
    "spacing": Kind("NUMBERS", lambda _, text, __: spacing(text)),
    "unit": Kind("NAME", lambda _, text, __: unit(text)),
    "channel": Kind("CHANNEL", lambda _, text, __: int(text) if text.isdecimal() else text),
    "chunks": Kind("PIXELS", lambda _, text, __: chunks(text)),
    "memory": Kind("SIZE"),
}


def read(cls: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options of a dataclass that were `given` as they are typed."""
    return {
        name: given[name]
        if given[name] is None and default is None
        else KINDS[found.kind].read(name.replace("_", "-"), given[name], found)
        for name, (default, found) in options_of(cls).items()
        if name in given
    }


def read_options(given: Mapping[str, Any]) -> Options:
    """Convert the values of the parameters of a command, by name, to the options of a run.

    >>> read_options({"sigma": "0.5", "channel": "1"}).parameters()["sigma"]
    0.5
    """
    own = read(Options, given)
    if "command" in given:
        own["command"] = given["command"]
    if "memory_limit" in own:
        jobs, limit = read(RunOptions, given).get("jobs", 1), own["memory_limit"]
        there = limit is None and "jobs" in given and given.get("scheduler")  # workers decide
        own["memory_limit"] = None if there else memory_limit(limit, jobs)
    return Options(read(SegmentOptions, given), **own)


def as_text(name: str, value: Any) -> Any:
    """Return the value of an option in a record as it would be typed, for `read_options`."""
    default, found = KNOWN[name]
    if found.kind == "flag" or (value is None and default is None):
        return value
    if found.kind == "split" and isinstance(value, bool):
        return DEFAULT if value else None
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def complete(words: Sequence[str]) -> list[str]:
    """Add the default to each --split without a value.

    >>> complete(["batch", "--split", "images"]), complete(["batch", "--split", "1.5px", "images"])
    (['batch', '--split=default', 'images'], ['batch', '--split', '1.5px', 'images'])
    """
    following = [*words, ""][1:]
    return [
        f"{word}={DEFAULT}" if word == "--split" and not LENGTH.match(after) else word
        for word, after in zip(words, following, strict=True)
    ]


# ---- Parameters of the commands, with their help

OPTIONS = (SegmentOptions, Options, RunOptions, ChunkOptions)
KNOWN = {**options_of(SegmentOptions), **options_of(Options)}  # those in records
IMAGE_METHODS = [name for name, row in METHODS.built_in.items() if "grid" in row.domains]

Inputs = Annotated[
    list[str] | None,
    Argument(
        metavar="INPUT...",
        help="Images (TIFF, PNG, JPEG, BMP, OME-Zarr), folders of images, or patterns such as "
        '`"plate?/*.tif"`.',
        show_default=False,
    ),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RUN.JSON",
        help="Take the options from the run.json of an earlier run, or from the record of one "
        "image, and its images if none are given. Options that are typed override it.",
        show_default=False,
    ),
]
Out = Annotated[
    str,
    typer.Option(metavar="FOLDER", help="Folder to write results to. It is created if needed."),
]
Image = Annotated[
    str | None,
    Argument(metavar="IMAGE", help="A TIFF, PNG, JPEG, BMP or Zarr. By default that of --from."),
]
Labels = Annotated[
    list[str] | None,
    Argument(
        metavar="LABELS...",
        help="Images of labels (TIFF, PNG, BMP, OME-Zarr), folders that contain them, or patterns.",
        show_default=False,
    ),
]
Under = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        metavar="IMAGE",
        help="Image to measure intensities in, or the folder with the images of all LABELS. By "
        "default sizes and shapes alone are measured.",
    ),
]
Related = Annotated[
    str, Argument(metavar="LABELS", help="The image of labels: TIFF or PNG.", show_default=False)
]
To = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="LABELS", help="Labels of the objects in which those of LABELS lie."
    ),
]
OutHere = Annotated[
    str,
    typer.Option(
        metavar="FOLDER",
        help="Folder to write results to, by default the current one.",
        show_default=False,
    ),
]


def takes_options(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that replaces `**options` in a signature, which typer reads."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(function).parameters.values())[:-1]
        each = [*own, *_parameters(command)]
        function.__signature__ = inspect.Signature(each)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in each}
        return function

    return decorate


def _parameters(command: str) -> list[inspect.Parameter]:
    """List the options of a command as parameters, panel by panel."""
    found = [
        (name, default, option)
        for cls in OPTIONS
        for name, (default, option) in options_of(cls).items()
        if command in option.commands
    ]
    found.sort(key=lambda each: PANELS.index(each[2].panel))
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default if option.kind == "flag" else _typed(default),
            annotation=_annotation(name, default, option),
        )
        for name, default, option in found
    ]


def _typed(default: Any) -> str | None:
    """Return a default as it would be typed, None if there is no such text.

    >>> _typed(0.0), _typed("otsu"), _typed(None), _typed(False)
    ('0', 'otsu', None, None)
    """
    if default is None or default is False:
        return None
    return default if isinstance(default, str) else f"{default:g}"


def flags_of(name: str, option: Option) -> tuple[str, ...]:
    """Return an option as it is typed; a flag that records have can also be switched off."""
    off = f"/{as_typed('no_' + name)}" if option.kind == "flag" and name in KNOWN else ""
    return option.flags or (as_typed(name) + off,)


def _annotation(name: str, default: Any, option: Option) -> Any:
    """Return the annotation of a parameter: a flag, or text that `parsing.read` reads."""
    flag = option.kind == "flag"
    text, metavar = option.help, option.placeholder or KINDS[option.kind].placeholder
    if option.kind == "method":
        text += f" Or one of {', '.join(IMAGE_METHODS)}."
    return Annotated[
        (bool if default is not None else bool | None) if flag else str | None,
        typer.Option(
            *flags_of(name, option),
            rich_help_panel=option.panel,
            metavar=metavar or "|".join(option.words),
            help=text,
            show_default=default is not False,
        ),
    ]
