"""Parameters of the commands, made from the fields of options, with their help texts."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from equilabel import METHODS
from equilabel.options import PANELS, Option, SegmentOptions, options_of

from .options import ChunkOptions, Options, RunOptions
from .parsing import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = (SegmentOptions, Options, RunOptions, ChunkOptions)
IMAGE_METHODS = [name for name, row in METHODS.items() if "grid" in row.domains]

Inputs = Annotated[
    list[str] | None,
    Argument(
        metavar="INPUT...",
        help="Images (TIFF, PNG, JPEG, BMP), folders that contain images, or patterns such as "
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
        "image, and without INPUT its images, too. Options that are typed override it.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="Folder to write results to. It is created if needed."),
]
Image = Annotated[
    str, Argument(metavar="IMAGE", help="The image: TIFF, PNG, JPEG or BMP.", show_default=False)
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
    str | None,
    typer.Option(
        "--image",
        metavar="IMAGE",
        help="Image to measure intensities in, or the folder with the images of all LABELS. By "
        "default sizes and shapes alone are measured.",
    ),
]
OutHere = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="Folder to write results to, by default the current one.",
        show_default=False,
    ),
]


def takes_options(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a command to the parameters of a function.

    The function takes `**options`; the decorator sets its signature, which typer reads.
    """

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


def _annotation(name: str, default: Any, option: Option) -> Any:
    """Return the annotation of a parameter: a flag, or text that `parsing.read` reads."""
    flag = option.kind == "flag"
    flags = option.flags or (f"--{name.replace('_', '-')}",)
    text, metavar = option.help, option.placeholder or KINDS[option.kind].placeholder
    if option.kind == "method":
        text += f" The others are {', '.join(IMAGE_METHODS)}."
    return Annotated[
        (bool if default is not None else bool | None) if flag else str | None,
        typer.Option(
            *flags,
            rich_help_panel=option.panel,
            metavar=metavar or "|".join(option.words),
            help=text,
        ),
    ]


def is_typed(context: typer.Context, name: str) -> bool:
    """Return whether the user typed an option, so that its value is not the default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_missing(name: str, context: typer.Context) -> None:
    """Raise click's error for a missing argument, which is needed only without --from."""
    message = f"Missing argument {name!r}"
    raise typer.BadParameter.__mro__[1](message, context)
