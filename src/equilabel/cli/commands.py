"""The commands `equilabel batch`, `label`, `measure` and `devices`."""

from pathlib import Path
from typing import Any

import typer

from . import chunk_parameters as in_chunks
from . import parameters as given
from . import parsing
from . import run_parameters as of_run
from .application import app
from .chunk_choices import Choices
from .sharing import FOR_MEASURING, OF_A_RUN, takes_options_of
from .splitting import Split
from .typed import is_typed, read_options, refuse_missing

__all__ = ["app", "batch", "devices", "label", "measure"]


@app.command()
def batch(
    context: typer.Context,
    out: given.Out,
    inputs: given.Inputs = None,
    from_: given.From = None,
    threshold: given.Threshold = "otsu",
    background: given.Background = None,
    background_method: given.BackgroundMethod = "top_hat",
    sigma: given.Sigma = "0",
    dark: given.Dark = False,
    block_size: given.BlockSize = None,
    offset: given.Offset = 0.0,
    closing: given.Closing = "0",
    opening: given.Opening = "0",
    fill_holes: given.FillHoles = False,
    connectivity: given.Connectivity = None,
    split: Split = None,
    min_size: given.MinSize = "0",
    max_size: given.MaxSize = None,
    exclude_border: given.ExcludeBorder = False,
    method: given.Method = "auto",
    device: given.Device = "auto",
    properties: given.Properties = None,
    format_: given.Format = "csv",
    labels_format: given.LabelsFormat = "tiff",
    unit_row: given.UnitRow = False,
    spacing: given.Spacing = None,
    unit: given.Unit = None,
    stacked: given.Stacked = None,
    track: given.Track = False,
    channel: given.Channel = None,
    slices: given.Slices = False,
    series: given.Series = 0,
    recursive: of_run.Recursive = False,
    jobs: of_run.Jobs = 1,
    scheduler: of_run.Scheduler = None,
    time_limit: of_run.TimeLimit = None,
    memory_limit: of_run.MemoryLimit = None,
    too_large: of_run.TooLarge = "refuse",
    resume: of_run.Resume = False,
    overwrite: of_run.Overwrite = False,
    dry_run: of_run.DryRun = False,
    overlay: of_run.Overlay = True,
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
    equilabel batch images --out results
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
    given = dict(locals())
    from .batch import run

    if from_ is None and not inputs:
        refuse_missing("INPUT...", context)
    earlier = None
    if from_ is not None:
        from .repeat import repeated

        typed = [name.rstrip("_") for name in given if is_typed(context, name)]
        earlier = repeated(from_, given, typed)
    return run(
        inputs or [],
        out,
        read_options(given) if earlier is None else earlier.options,
        earlier=earlier,
        recursive=recursive,
        jobs=jobs,
        time_limit=time_limit,
        resume=resume,
        overwrite=overwrite,
        dry_run=dry_run,
        scheduler=scheduler,
    )


@app.command()
@takes_options_of(batch, without=("inputs", *OF_A_RUN))
def label(
    context: typer.Context,
    image: given.Image,
    out: given.OutHere = Path(),
    chunked: in_chunks.Chunked = False,
    chunks: in_chunks.Chunks = None,
    shards: in_chunks.Shards = None,
    scheduler: in_chunks.Scheduler = "threads",
    workers: in_chunks.Workers = None,
    resume: in_chunks.Continue = False,
    **options: Any,
) -> int:
    """Find, label and measure the objects in one image.

    Takes the options of `equilabel batch`, and writes for NAME.tif to the folder --out, by default
    the current one:

    - `NAME_labels.tif`: each pixel has the number of its object, and the background has 0
    - `NAME_table.csv`: a row for each object, with its number and measurements
    - `NAME_overlay.png`: the image with its objects outlined
    - `NAME_record.json`: the options, versions, units and checksums

    IMAGE can be a Zarr or an OME-Zarr. It is read block by block, and so is a TIFF that is larger
    than --memory-limit: neither image nor labels need to fit into memory. Labels are then a Zarr,
    `NAME_labels.zarr`, without an overlay. If --out ends in `.zarr`, or is in the folder `labels`
    of the OME-Zarr, it is itself the Zarr of labels, with the table and the record in it. After
    Ctrl-C, or whatever ended the run, --resume goes on with what is done.

    For example:

    ```
    equilabel label cells.tif
    equilabel label cells.tif --threshold triangle --fill-holes --out results --overwrite
    equilabel label cells.tif --from results/run.json --min-size 30
    equilabel label scan.ome.zarr --channel 0 --min-size 5um3 --out scan.ome.zarr/labels/nuclei
    equilabel label scan.zarr --out results --scheduler tcp://host:8786 --resume
    ```

    Exit codes: 0, the image was labeled; 1, it failed; 2, the command was refused; 130,
    interrupted by Ctrl-C.
    """
    from .single import run

    typed = [name for name in {**locals(), **options} if is_typed(context, name)]
    how = parsing.chunks(chunks), scheduler, workers, resume, options["overwrite"]
    choices = Choices(*how, typed=typed, shards=shards)
    earlier = None
    if options["from_"] is not None:
        from .repeat import repeated

        own = [name.rstrip("_") for name in typed]
        earlier = repeated(options["from_"], {**options, "inputs": [image]}, own)
    chosen = read_options(options) if earlier is None else earlier.options
    return run(image, out, chosen, choices, chunked=chunked, notes=earlier.notes if earlier else ())


@app.command()
@takes_options_of(batch, only=FOR_MEASURING)
def measure(
    context: typer.Context,
    out: given.Out,
    labels: given.Labels = None,
    image: given.Under = None,
    **options: Any,
) -> int:
    """Measure objects whose labels were made elsewhere: by Cellpose, StarDist or by hand.

    LABELS are images in which each pixel has the number of its object, and the background has 0.
    Objects keep their numbers, also where numbers are missing between them. With --image, the
    tables have intensities, and overlays are drawn.

    If --image is a folder, each file of labels is measured in the image of its name. Of the name
    of the labels one of these endings is left out: `_labels`, `_label`, `_masks`, `_mask`,
    `_cp_masks`, `_seg`, `_segmentation`; of the name of the image `_image` or `_img`. So
    `cells_cp_masks.tif` belongs to `cells.tif`.

    The results are those of `equilabel batch`, but for the label images.

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

    if options["from_"] is None and not labels:
        refuse_missing("LABELS...", context)
    names = ("recursive", "jobs", "time_limit", "resume", "overwrite", "dry_run")
    others = {name: options[name] for name in names}
    chosen = {**options, "overlay": options["overlay"] and image is not None, "command": "measure"}
    if options["from_"] is None:
        return run(labels or [], out, read_options(chosen), image=image, **others)
    from .repeat import measured_again

    typed = [name.rstrip("_") for name in options if is_typed(context, name)]
    earlier = measured_again(options["from_"], {**chosen, "inputs": labels}, image, typed)
    return run(labels or [], out, earlier.options, image=image, earlier=earlier, **others)


@app.command()
def devices() -> None:
    """List the devices that can compute, and say why others cannot be used."""
    from textwrap import fill

    import equilabel

    from .errors import name_options

    for report in equilabel.devices():
        verdict = "can be used" if report.available else "cannot be used"
        typer.echo(f"{report.name:8}{verdict:16}{report.description}")
        for text in filter(None, (report.reason, report.note)):
            indent = " " * 24
            typer.echo(
                fill(name_options(text), 88, initial_indent=indent, subsequent_indent=indent)
            )
