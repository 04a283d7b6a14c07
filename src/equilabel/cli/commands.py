"""The commands `equilabel batch`, `segment`, `measure`, `relate` and `devices`, and the program."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

import typer

from . import parsing as given
from . import streams
from .inputs import quoted
from .options import ChunkOptions, RefusedError, RunOptions, refuse
from .parsing import complete, read, read_options, takes_options

# Packages that may matter to a fault, beside those that records name.
BESIDE = (
    *("typer", "xxhash", "msgspec", "dask", "distributed", "cupy-cuda12x", "cupy-cuda13x"),
    *("napari", "magicgui", "qtpy", "superqt", "pyqt5", "pyqt6", "pyside6"),
)
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]  # click's, not exported
MISSING = "Missing argument {!r}"
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
    r"""Find, label and measure the objects in scientific images.

    Objects are connected regions that are brighter (or darker) than a threshold: nuclei, grains,
    pores. The results are a label image, in which each pixel has the number of its object; a
    table with a row for each object; and a picture of the image with its objects outlined.

    ```
    equilabel segment cells.tif --threshold per_object --sigma 1 \
        --fill-holes --split 0.5 --min-size 30
    equilabel batch images --out results
    equilabel relate spots_labels.tif --to cells_labels.tif
    equilabel devices
    ```
    """


__all__ = ["app", "batch", "devices", "measure", "relate", "segment"]


@app.command()
@takes_options("batch")
def batch(
    context: typer.Context,
    out: given.Out,
    inputs: given.Inputs = None,
    from_: given.From = None,
    **options: Any,
) -> int:
    """Find, label and measure the objects in many images.

    For each image NAME.tif, these files are written to the folder --out:

    - `NAME_labels.tif`, or the folder `NAME_labels.zarr`: each pixel has the number of its object
    - `NAME_table.csv`: a row for each object, with its number and measurements
    - `NAME_overlay.png`: the image with its objects outlined

    For the run, `report.html` shows what came of it on one page; `objects.csv` has the rows of all
    tables, with the name of the file; `summary.csv` has a row for each image, and for each frame
    of a movie; and `run.json` has the options, versions and checksums that are needed to repeat
    it. The folder `.equilabel` is used by --resume.

    If an image cannot be read, the summary says why, and the run continues. If the folder holds
    earlier results of these images, pass --resume or --overwrite. Label images of earlier runs,
    `*_labels.*`, are not taken for images.

    For example:

    ```
    equilabel batch images --out results --threshold per_object --sigma 1 --fill-holes --split 0.5
    equilabel batch images --out results --sigma 0.3um --min-size 20 --fill-holes --split
    equilabel batch "plate?/*.tif" --out results --threshold 120 --no-overlay
    equilabel batch plates --recursive --jobs 4 --channel DAPI --out results
    equilabel batch plates --recursive --background 20um --closing 2px --out results
    equilabel batch movie.tif --stacked --track --out results
    equilabel batch stack.tif --spacing 0.5,0.1,0.1 --unit µm --out results
    equilabel batch scans --slices --recursive --spacing 2,0.5,0.5 --unit µm --out results
    equilabel batch scans --out results --too-large chunked --labels-format ome-zarr
    equilabel batch plates --recursive --out results --resume --scheduler tcp://host:8786
    equilabel batch --from results/run.json --out again --min-size 30
    ```

    Exit codes: 0, all images were labeled; 1, an image failed (see the summary); 2, the command
    was refused, and nothing was written; 130, interrupted by Ctrl-C; 143, terminated; 129, the
    terminal was closed. After an interruption the results of finished images are kept, and
    --resume continues the run.
    """
    from .batch import run

    if from_ is None and not inputs:
        raise UsageError(MISSING.format("INPUT..."), context)
    chosen, earlier = _chosen(context, from_, {**options, "inputs": inputs})
    how = RunOptions(**read(RunOptions, options))
    return run(inputs or [], out, chosen, how, earlier=earlier)


@app.command("label", hidden=True)  # its former name
@app.command()
@takes_options("segment")
def segment(
    context: typer.Context,
    image: given.Image = None,
    out: given.OutHere = ".",
    from_: given.From = None,
    **options: Any,
) -> int:
    r"""Find, label and measure the objects in one image.

    Takes the options of `equilabel batch`, and writes for NAME.tif to the folder --out, by default
    the current one:

    - `NAME_labels.tif`: each pixel has the number of its object, and the background has 0
    - `NAME_table.csv`: a row for each object, with its number and measurements
    - `NAME_overlay.png`: the image with its objects outlined
    - `NAME_record.json`: the options, versions, units and checksums

    IMAGE can be a Zarr or an OME-Zarr. It is read block by block, and so is a TIFF that is larger
    than --memory-limit: neither image nor labels need to fit into memory. Labels are then a Zarr,
    `NAME_labels.zarr`, without an overlay. Options that need the whole image, such as --split, read
    it at once where it fits into memory. If --out ends in `.zarr`, or is in the folder `labels`
    of the OME-Zarr, it is itself the Zarr of labels, with the table and the record in it. After
    Ctrl-C, or whatever ended the run, --resume goes on with what is done. A Zarr as IMAGE, and
    --out, can be URLs, such as `s3://bucket/scan.ome.zarr`, with equilabel[cloud].

    For a first try of nuclei, or of other round objects, and then for example:

    ```
    equilabel segment cells.tif --threshold per_object --sigma 1 \
        --fill-holes --split 0.5 --min-size 30
    equilabel segment cells.tif --threshold triangle --fill-holes --out results --overwrite
    equilabel segment cells.tif --from results/run.json --min-size 30
    equilabel segment scan.ome.zarr --channel 0 --min-size 5um3 --out scan.ome.zarr/labels/nuclei
    equilabel segment scan.zarr --out results --scheduler tcp://host:8786 --resume
    equilabel segment s3://bucket/scan.ome.zarr --out s3://bucket/scan.ome.zarr/labels/nuclei
    ```

    Exit codes: 0, the image was labeled; 1, it failed; 2, the command was refused; 130,
    interrupted by Ctrl-C.
    """
    from .one import run

    if from_ is None and image is None:
        raise UsageError(MISSING.format("IMAGE"), context)
    how = read(ChunkOptions, options)
    chosen, earlier = _chosen(context, from_, {**options, "inputs": image and [image]})
    if image is None:
        first, *others = earlier.inputs
        if others:
            refuse(f"--from must name one image; got {len(others) + 1}. Pass IMAGE.")
        image = str(first.path)
    values = {"typed": _typed(context, options), "overwrite": options["overwrite"]}
    return run(image, out, chosen, how, **values, notes=earlier.notes if earlier else ())


@app.command()
@takes_options("measure")
def measure(
    context: typer.Context,
    out: given.Out,
    labels: given.Labels = None,
    images: given.Under = None,
    from_: given.From = None,
    **options: Any,
) -> int:
    """Measure objects whose labels were made elsewhere: by Cellpose, StarDist or by hand.

    LABELS are images in which each pixel has the number of its object, and the background has 0.
    Objects keep their numbers, also where numbers are missing between them, unless --keep or
    --exclude-border drops some: those that stay are numbered from 1, and written. With --image, the
    tables have intensities, and overlays are drawn.

    If --image is a folder, each file of labels is measured in the image of its name. Of the name
    of the labels one of these endings is left out: `_labels`, `_label`, `_masks`, `_mask`,
    `_cp_masks`, `_seg`, `_segmentation`; of the name of the image `_image` or `_img`. So
    `cells_cp_masks.tif` belongs to `cells.tif`.

    The results are those of `equilabel batch`, but for the label images if all objects stay.

    For example:

    ```
    equilabel measure cells_masks.tif --image cells.tif --out measured
    equilabel measure masks --image images --out measured --jobs 4
    equilabel measure labels.tif --out measured --properties label,area,solidity
    equilabel measure movie_masks.tif --stacked --track --out measured
    equilabel measure --from measured/run.json --out again
    ```

    Exit codes are those of `equilabel batch`.
    """
    from .batch import run

    if from_ is None and not labels:
        raise UsageError(MISSING.format("LABELS..."), context)
    image = images[0] if images else None
    if images and len(images) > 1:
        refuse(f"--image must be given once; got {quoted(images[1])}, too. Pass their folder.")
    if from_ is not None and image is not None and not labels:
        refuse(
            f"--image needs LABELS beside --from; got {quoted(image)} alone. Pass LABELS, or leave "
            "--image out to measure in the images of that run."
        )
    values = {**options, "overlay": options["overlay"] and image is not None, "inputs": labels}
    chosen, earlier = _chosen(context, from_, {**values, "command": "measure"})
    if labels and image is None:
        chosen = replace(chosen, overlay=False)
    how = RunOptions(**read(RunOptions, options))
    return run(labels or [], out, chosen, how, image=image, earlier=earlier)


@app.command("relate")
@takes_options("relate")
def relate(
    labels: given.Related,
    to: given.To = None,
    out: given.OutHere = ".",
    **options: Any,
) -> int:
    """Find out which objects touch, which are near, and which lie in others.

    LABELS is an image in which each pixel has the number of its object, as `equilabel segment`
    writes it. For NAME.tif, these tables are written to the folder --out:

    - `NAME_neighbors.csv`: for each object how many others touch it, and which is nearest
    - `NAME_contacts.csv`: each pair of objects that touch, and the length (in 3D the area) of
      their common border

    With --to, an image of other objects, such as the cells around spots:

    - `NAME_children.csv`: for each object the one of --to that it overlaps most, by how much, and
      how far it is from the center and from the border of it
    - `NAME_parents.csv`: for each object of --to how many objects lie in it, and the means of
      their measurements

    For example:

    ```
    equilabel relate cells_labels.tif
    equilabel relate spots_labels.tif --to cells_labels.tif --out related
    ```

    Exit codes: 0, the tables were written; 1, a file failed; 2, the command was refused.
    """
    from .one import run_relate

    overwrite = read(RunOptions, options)["overwrite"]
    return run_relate(labels, to, out, read_options(options), overwrite=overwrite)


def _chosen(context: typer.Context, from_: Path | None, values: dict[str, Any]) -> tuple[Any, Any]:
    """Return the options of a run, and the earlier run that --from names, if it does."""
    if from_ is None:
        return read_options(values), None
    from .records import repeated

    earlier = repeated(from_, values, _typed(context, values))
    return earlier.options, earlier


def _typed(context: typer.Context, options: dict[str, Any]) -> list[str]:
    """List the options that the user typed, so that their values are no defaults."""
    sources = {name: context.get_parameter_source(name) for name in options}
    return [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]


@app.command()
def devices(
    report: Annotated[
        bool,
        typer.Option("--report", help="Print versions, devices and folders to report a fault."),
    ] = False,
) -> None:
    """List the devices that can compute, and say why others cannot be used."""
    from textwrap import fill, indent

    import equilabel

    if report:
        typer.echo("\n".join(f"{name}: {text}" for name, text in _installation().items()))
        return
    for each in equilabel.devices():
        verdict = "can be used" if each.available else "cannot be used"
        typer.echo(f"{each.name:8}{verdict:16}{each.description}")
        for text in filter(None, (each.reason, each.note)):
            typer.echo(indent(fill(streams.name_options(text), 64), " " * 24))


def _installation() -> dict[str, str]:
    """Return versions, devices and folders of compiled code, without the name of the user."""
    import os
    import platform

    import equilabel
    from equilabel.devices.compiling import folders

    from .records import PACKAGES, READERS, versions_of

    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises an error if there is none
    found = {"equilabel": equilabel.__version__, "python": platform.python_version()}
    found["system"] = platform.platform()
    found |= versions_of((*PACKAGES, *READERS, *BESIDE))
    for each in equilabel.devices():
        said = each.description, each.reason, each.note
        verdict = "can be used" if each.available else "cannot be used"
        found[each.name] = ". ".join(filter(None, (verdict, *said)))
    kept = [f"{each} ({'exists' if each.is_dir() else 'missing'})" for each in folders()]
    found["compiled code"] = ", ".join(kept).replace(home + os.sep, f"~{os.sep}")
    return found


# ---- The program: runs a command, prints errors in one line, returns the exit code

INTERRUPTED = 130  # 128 + the number of SIGINT


def run_words(arguments: Sequence[str] | None) -> int:
    """Run the command that the words name, by default those of this process. See `cli.main`."""
    streams.open_standard()
    words = complete(sys.argv[1:] if arguments is None else arguments)
    try:
        with streams.handling(streams.interrupt):
            code = app(words or ["--help"], prog_name="equilabel", standalone_mode=False)
            sys.stdout.flush()
    except RefusedError as error:
        message = str(error)
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "equilabel"
        message = f"{error.format_message().rstrip('.')}. See `{command} --help`."
    except streams.Interrupted as error:
        streams.complain("interrupted; nothing was written.")
        return 128 + error.number
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit:  # raised by typer if the reader of a pipe has gone
        return 1
    except OSError as error:  # most likely from writing to standard output
        streams.silence("stdout")
        said = f"standard output must take text; got {error.strerror!r}."
        if not isinstance(error, BrokenPipeError):
            streams.complain(said if error.filename is None else streams.explain(error))
        return 1
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        streams.complain(
            f"{streams.explain(error)} ({Path(place.filename).name}, line {place.lineno})"
        )
        return 1
    else:
        return code or 0
    streams.complain(streams.one_line(message))
    return 2
