"""Options of `equilabel batch`, with their help texts."""

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from equilabel import METHODS
from equilabel.descriptions import DESCRIPTIONS

from .values import number, one_of, whole

OBJECTS, TABLE, FILES, RUN = "Finding objects", "Measuring them", "Reading the files", "The run"


def option(panel: str, metavar: str, text: str, *names: str, parser: Any = None) -> Any:
    """Declare an option: its panel and text in the help, and the placeholder for its value.

    Values other than text get a `parser` of this package, so that all messages have one style.
    """
    return Option(*names, rich_help_panel=panel, metavar=metavar, help=text, parser=parser)


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
    Option(
        "--from",
        metavar="RUN.JSON",
        help="Take the options from the run.json of an earlier run, or from the record of one "
        "image, and without INPUT its images, too. Options that are typed override it.",
        show_default=False,
    ),
]
Out = Annotated[
    Path, Option(metavar="FOLDER", help="Folder to write results to. It is created if needed.")
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
    Option(
        "--image",
        metavar="IMAGE",
        help="Image to measure intensities in, or the folder with the images of all LABELS. By "
        "default sizes and shapes alone are measured.",
    ),
]
OutHere = Annotated[
    Path,
    Option(
        metavar="FOLDER",
        help="Folder to write results to, by default the current one.",
        show_default=False,
    ),
]

Threshold = Annotated[
    str,
    option(
        OBJECTS,
        "THRESHOLD",
        "A method: otsu, li, triangle, yen, isodata, mean, minimum or local. Or a number. Or two "
        "numbers, low,high, for hysteresis: pixels above low that are connected to a pixel above "
        "high.",
    ),
]
Background = Annotated[
    str | None,
    option(OBJECTS, "LENGTH", f"{DESCRIPTIONS['background']} As for --sigma: 50px or 20um."),
]
BackgroundMethod = Annotated[
    str,
    option(
        OBJECTS,
        "NAME",
        "How --background is found: top_hat or rolling_ball. " + DESCRIPTIONS["background_method"],
    ),
]
Sigma = Annotated[
    str,
    option(
        OBJECTS,
        "LENGTH",
        f"{DESCRIPTIONS['sigma']} In pixels (2 or 2px) or with a unit (0.3um), which is converted "
        "with the pixel size of each image. One, or one for each axis.",
    ),
]
Dark = Annotated[bool, option(OBJECTS, "", DESCRIPTIONS["dark"], "--dark")]
BlockSize = Annotated[
    str | None,
    option(
        OBJECTS,
        "LENGTH",
        f"Of --threshold local. {DESCRIPTIONS['block_size']} An odd number of pixels, or a length "
        "with its unit (20um).",
    ),
]
Offset = Annotated[
    float,
    option(
        OBJECTS,
        "NUMBER",
        f"Of --threshold local. {DESCRIPTIONS['offset']}",
        parser=number("offset", "-20"),
    ),
]
Closing = Annotated[str, option(OBJECTS, "LENGTH", f"{DESCRIPTIONS['closing']} As for --sigma.")]
Opening = Annotated[
    str, option(OBJECTS, "LENGTH", f"{DESCRIPTIONS['opening']} After --closing; as for --sigma.")
]
FillHoles = Annotated[bool, option(OBJECTS, "", DESCRIPTIONS["fill_holes"], "--fill-holes")]
Connectivity = Annotated[
    int | None,
    option(
        OBJECTS,
        "HOPS",
        f"{DESCRIPTIONS['connectivity']} 1: a side (in 3D a face). 2: or a corner (in 3D an edge). "
        "3: or a corner in 3D. By default all of these.",
        parser=whole("connectivity", "1"),
    ),
]
MinSize = Annotated[
    str,
    option(
        OBJECTS,
        "SIZE",
        f"{DESCRIPTIONS['min_size']} A number of pixels (30), or an area (5um2), in 3D a volume "
        "(1um3).",
    ),
]
MaxSize = Annotated[str | None, option(OBJECTS, "SIZE", "Drop larger objects.")]
ExcludeBorder = Annotated[
    bool, option(OBJECTS, "", DESCRIPTIONS["exclude_border"], "--exclude-border")
]
IMAGE_METHODS = [name for name, row in METHODS.items() if "grid" in row.domains]
Method = Annotated[
    str,
    option(
        OBJECTS,
        "NAME",
        f"{DESCRIPTIONS['method']} The others are {', '.join(IMAGE_METHODS)}.",
    ),
]
Device = Annotated[
    str,
    option(
        OBJECTS,
        "NAME",
        f"{DESCRIPTIONS['device']} Or cpu, cuda, or cuda:1 and so on if there are several GPUs: "
        "`equilabel devices` lists what can be used.",
    ),
]

Properties = Annotated[
    str | None,
    option(
        TABLE,
        "NAMES",
        "Columns of the tables, separated by commas: label,area,bbox. All names of "
        "`equilabel.regionprops_table` can be used. By default size, position, outline and "
        "intensities.",
    ),
]
Format = Annotated[
    Literal["csv", "parquet"],
    option(
        TABLE,
        "csv|parquet",
        "File format of the tables.",
        "--format",
        parser=one_of("format", "csv", "parquet"),
    ),
]
LabelsFormat = Annotated[
    Literal["tiff", "ome-zarr"],
    option(
        TABLE,
        "tiff|ome-zarr",
        "File format of the labels. An OME-Zarr is a folder, `NAME_labels.zarr`, with the labels "
        "in several resolutions; napari and other viewers load the part of it that they show.",
        "--labels-format",
        parser=one_of("labels-format", "tiff", "ome-zarr"),
    ),
]
UnitRow = Annotated[
    bool,
    option(
        TABLE,
        "",
        "Write the units of columns into a second line of the CSV tables. They are in `run.json` "
        "in any case.",
        "--unit-row",
    ),
]

Spacing = Annotated[
    str | None,
    option(
        FILES,
        "NUMBERS",
        "Pixel size as z,y,x, or one number for all axes. By default as stored in the file.",
    ),
]
Unit = Annotated[
    str | None, option(FILES, "NAME", "Unit of the pixel size. By default as stored in the file.")
]
Stacked = Annotated[
    bool | None,
    option(
        FILES,
        "",
        "Treat the first axis as a series of independent images, such as time points. By default "
        "this is done for time, not for depth.",
    ),
]
Track = Annotated[
    bool,
    option(
        TABLE,
        "",
        f"{DESCRIPTIONS['track']} The columns are track, parent and event.",
        "--track",
    ),
]
Channel = Annotated[
    str | None,
    option(
        FILES,
        "CHANNEL",
        f"{DESCRIPTIONS['channel']} Its index (from 0) or its name.",
    ),
]
Slices = Annotated[
    bool,
    option(
        FILES,
        "",
        "Read each folder as one volume, whose slices are its files in the order of their numbers. "
        "INPUT are folders, and with --recursive those below them.",
        "--slices",
    ),
]
Series = Annotated[
    int,
    option(
        FILES,
        "INDEX",
        "Which image to read from files that contain several, from 0.",
        parser=whole("series", "0"),
    ),
]
