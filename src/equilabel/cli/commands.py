"""The commands and their options, in the words of the Python functions."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from . import options as read
from .options import Options

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

OBJECTS, TABLE, FILES, RUN = "Finding objects", "Measuring them", "Reading the files", "The run"


def _option(panel: str, metavar: str | None, what: str, *names: str) -> Any:
    return Option(*names, rich_help_panel=panel, metavar=metavar, help=what)


def _version(wanted: bool) -> None:
    if wanted:
        from equilabel import __version__

        typer.echo(f"equilabel {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the objects in scientific images, number them and measure each of them.

    Objects are connected regions brighter (or darker) than a threshold: nuclei, grains, pores.
    Results are labels (an image in which every pixel holds the number of its object), a table
    with a row for each object, and a picture to check them by.

    ```
    equilabel batch images --out results
    equilabel batch --help
    equilabel devices
    ```
    """


@app.command()
def batch(
    inputs: Annotated[
        list[str],
        Argument(
            metavar="INPUT...",
            help='TIFF files, folders of them, and patterns such as `"plate?/*.tif"`.',
            show_default=False,
        ),
    ],
    out: Annotated[Path, Option(metavar="FOLDER", help="Where results go; made if needed.")],
    threshold: Annotated[
        str,
        _option(
            OBJECTS,
            "HOW",
            "otsu, li, triangle, yen, isodata, mean, minimum or local; a number; or low,high: "
            "what is above low and connected to something above high.",
        ),
    ] = "otsu",
    sigma: Annotated[
        str,
        _option(
            OBJECTS,
            "NUMBERS",
            "Smooth first, by a Gaussian of this width in the unit of the spacing; one number, or "
            "one for each axis.",
        ),
    ] = "0",
    dark: Annotated[
        bool, _option(OBJECTS, "", "Objects are darker than the rest.", "--dark")
    ] = False,
    block_size: Annotated[
        int | None,
        _option(OBJECTS, "PIXELS", "Width of what --threshold local compares with; odd."),
    ] = None,
    offset: Annotated[float, _option(OBJECTS, "NUMBER", "What --threshold local subtracts.")] = 0.0,
    fill_holes: Annotated[
        bool, _option(OBJECTS, "", "Fill the holes of objects.", "--fill-holes")
    ] = False,
    connectivity: Annotated[
        int | None,
        _option(
            OBJECTS,
            "HOPS",
            "1: pixels of an object share sides; 2: or corners (edges in 3D); 3: or corners in 3D. "
            "As many as there are axes by default.",
        ),
    ] = None,
    min_size: Annotated[int, _option(OBJECTS, "PIXELS", "Drop smaller objects.")] = 0,
    max_size: Annotated[int | None, _option(OBJECTS, "PIXELS", "Drop larger objects.")] = None,
    exclude_border: Annotated[
        bool, _option(OBJECTS, "", "Drop objects that touch the border.", "--exclude-border")
    ] = False,
    method: Annotated[
        str,
        _option(
            OBJECTS, "NAME", "How to label: auto, runs, kalentev or komura. All give the same."
        ),
    ] = "auto",
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        _option(OBJECTS, None, "Where to compute: see `equilabel devices`."),
    ] = "auto",
    properties: Annotated[
        str | None,
        _option(
            TABLE,
            "NAMES",
            "Columns, as of `equilabel.regionprops_table`, with commas between: label,area,bbox. "
            "By default those that suit the image.",
        ),
    ] = None,
    format_: Annotated[
        Literal["csv", "parquet"], _option(TABLE, None, "What tables are written as.", "--format")
    ] = "csv",
    spacing: Annotated[
        str | None,
        _option(
            FILES, "NUMBERS", "Size of a pixel as z,y,x, or one for all; the file's by default."
        ),
    ] = None,
    unit: Annotated[
        str | None, _option(FILES, "NAME", "Unit of the spacing; the file's by default.")
    ] = None,
    stacked: Annotated[
        bool | None,
        _option(
            FILES,
            "",
            "Whether the first axis counts images that have nothing to do with each other. By "
            "default time does, depth does not.",
        ),
    ] = None,
    channel: Annotated[
        str | None,
        _option(
            FILES,
            "CHANNEL",
            "Channel that shows the objects, by index (from 0) or name. Intensities are measured "
            "in all.",
        ),
    ] = None,
    series: Annotated[int, _option(FILES, "INDEX", "Which image of files that hold several.")] = 0,
    recursive: Annotated[
        bool,
        _option(
            RUN, "", "Look below folders too; results keep the subfolders.", "--recursive", "-r"
        ),
    ] = False,
    jobs: Annotated[
        int,
        _option(
            RUN,
            "COUNT",
            "Images at once. One whose process dies, or for which memory or time is short, is "
            "tried once more at the end, alone.",
            "--jobs",
            "-j",
        ),
    ] = 1,
    time_limit: Annotated[
        float | None,
        _option(
            RUN,
            "SECONDS",
            "Give up an image that takes longer; with several --jobs, one that does so alone, too.",
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        _option(
            RUN,
            "SIZE",
            "Refuse an image that decodes to more, such as 500MB or 4GB, before it is decoded. By "
            "default half of the memory that is free, shared by --jobs.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        _option(
            RUN,
            "",
            "Finish an earlier run: skip images whose file and results have not changed by a byte. "
            "Refused where parameters or versions are not those of that run.",
            "--resume",
        ),
    ] = False,
    overwrite: Annotated[
        bool, _option(RUN, "", "Replace earlier results of the same images.", "--overwrite")
    ] = False,
    overlay: Annotated[
        bool,
        _option(RUN, "", "Whether to draw pictures to check by.", "--overlay/--no-overlay"),
    ] = True,
) -> int:
    """Label and measure many TIFF images.

    Of each image NAME.tif come into the folder:

    - `NAME_labels.tif`: in every pixel the number of its object, 0 outside; sizes kept
    - `NAME_table.csv`: a row for each object, by that number
    - `NAME_overlay.png`: the image with the objects outlined

    and of the run `summary.csv` (a row for each image of this run) and `run.json` (parameters,
    versions, hashes: all it takes to repeat it). A folder `.equilabel` holds what --resume needs.

    An image that cannot be read costs its row in the summary, never the run. Earlier results are
    never touched unless asked for, and `*_labels.tif` of earlier runs are not taken for images.

    For example:

    ```
    equilabel batch images --out results
    equilabel batch images --out results --sigma 0.5 --min-size 20 --fill-holes
    equilabel batch "plate?/*.tif" --out results --threshold 120 --no-overlay
    equilabel batch plates --recursive --jobs 4 --channel DAPI --out results
    equilabel batch stack.tif --spacing 0.5,0.1,0.1 --unit µm --out results
    equilabel batch images --out results --resume
    ```

    Exit codes: 0 all labeled; 1 some image failed, see the summary; 2 refused, nothing written;
    130 interrupted (Ctrl-C), 143 asked to terminate, 129 terminal closed: what was finished stays,
    and `--resume` does the rest.
    """
    from .batch import run

    segment = {
        "threshold": read.threshold(threshold),
        "sigma": read.sigma(sigma),
        "dark": dark,
        "block_size": block_size,
        "offset": read.offset(offset),
        "fill_holes": fill_holes,
        "connectivity": connectivity,
        "min_size": min_size,
        "max_size": max_size,
        "exclude_border": exclude_border,
        "properties": read.properties(properties),
        "method": method,
        "device": device,
    }
    options = Options(
        segment,
        spacing=read.spacing(spacing),
        unit=read.unit(unit),
        stacked=stacked,
        channel=read.channel(channel),
        series=series,
        format=format_,
        overlay=overlay,
        memory_limit=read.memory_limit(memory_limit, jobs),
    )
    return run(
        inputs,
        out,
        options,
        recursive=recursive,
        jobs=jobs,
        time_limit=time_limit,
        resume=resume,
        overwrite=overwrite,
    )


@app.command()
def devices() -> None:
    """Say what can compute here, and of what cannot, why."""
    from textwrap import fill

    import equilabel

    for report in equilabel.devices():
        verdict = "can be used" if report.available else "cannot be used"
        typer.echo(f"{report.name:6}{verdict:16}{report.description}")
        for text in filter(None, (report.reason, report.note)):
            typer.echo(fill(text, 88, initial_indent=" " * 22, subsequent_indent=" " * 22))
