"""The typer application: help and version of the program `equilabel`."""

from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from equilabel import __version__

        typer.echo(f"equilabel {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find, label and measure the objects in scientific images.

    Objects are connected regions that are brighter (or darker) than a threshold: nuclei, grains,
    pores. The results are a label image, in which each pixel has the number of its object; a
    table with a row for each object; and a picture of the image with its objects outlined.

    ```
    equilabel segment cells.tif
    equilabel batch images --out results
    equilabel devices
    ```
    """
