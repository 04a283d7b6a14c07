"""Options of `segment`: all that commands, forms, records and forecasts know of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

OBJECTS, TABLE, FILES, RUN = "Finding objects", "Measuring them", "Reading the files", "The run"
CHUNKS = "Images larger than memory"
PANELS = (OBJECTS, TABLE, FILES, RUN, CHUNKS)
DEPTH = (  # of `split` as a length
    "Two objects are separated if the part between them, the neck, is thinner than the smaller "
    "object: its radius must be smaller by more than this. Lower it to separate more objects."
)
BESIDE = (  # of files of markers and masks
    "A file of the shape of the image; or a pattern with the name of each image, such as "
    "'seeds/{name}_points.tif'."
)
EVERY = ("batch", "segment", "measure")
ALL = (*EVERY, "relate")


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name and its default."""

    kind: str  # of its values: a key of `equilabel.cli.parsing.KINDS`
    text: str  # one or two sentences, for forms and commands
    panel: str = OBJECTS  # of the help
    before: str = ""  # what the help of a command says before the text
    after: str = ""  # and after it
    placeholder: str = ""  # for its value in the help, if not that of its kind
    example: str = ""  # a value for messages
    words: tuple[str, ...] = ()  # all values, if they are few words
    flags: tuple[str, ...] = ()  # names on the command line, if not made from its name
    commands: tuple[str, ...] = ("batch", "segment")  # that have it
    bytes_each: int = 0  # of memory that it takes for a pixel, at most

    @property
    def help(self) -> str:
        """The text for the help of a command."""
        return " ".join(filter(None, (self.before, self.text, self.after)))


def option(default: Any, kind: str, text: str, **more: Any) -> Any:
    """Declare a field that is an option."""
    return field(default=default, metadata={"option": Option(kind, text, **more)})


def options_of(cls: Any) -> dict[str, tuple[Any, Option]]:
    """Map the names of the options of a dataclass to their defaults and descriptions.

    >>> default, found = options_of(SegmentOptions)["fill_holes"]
    >>> default, found.kind, found.text
    (False, 'flag', 'Fill holes inside objects.')
    """
    return {
        each.name: (each.default, each.metadata["option"])
        for each in fields(cls)
        if "option" in each.metadata
    }


@dataclass(frozen=True)
class SegmentOptions:
    """The options of `segment`, in the order of the help."""

    threshold: Any = option(
        "otsu",
        "threshold",
        "A method: otsu, li, triangle, yen, isodata, mean, minimum, local or per_object, which "
        "finds a threshold for each object. Or a number. Or two numbers, low,high, for hysteresis: "
        "pixels above low that are connected to a pixel above high.",
    )
    background: Any = option(
        None,
        "lengths",
        "Subtract an uneven background first, found with a box or a ball of this radius. Choose a "
        "radius larger than your objects: anything wider counts as background.",
        after="As for --sigma: 50px or 20um.",
        bytes_each=4,
    )
    background_method: str = option(
        "top_hat",
        "name",
        "A box: anything wider than the box is background. A rolling ball: the background is what "
        "a ball can reach from below, as in ImageJ; a larger ball takes longer.",
        before="How --background is found: top_hat or rolling_ball.",
    )
    sigma: Any = option(
        0.0,
        "lengths",
        "Standard deviation of a Gaussian that smooths the image before the threshold. "
        "Intensities are measured in the original image.",
        after="In pixels (2 or 2px) or with a unit (0.3um), which is converted with the pixel size "
        "of each image. One, or one for each axis.",
        bytes_each=4,
    )
    dark: bool = option(False, "flag", "Find objects that are darker than the background.")
    block_size: Any = option(
        None,
        "lengths",
        "Each pixel is compared with the mean, weighted by a Gaussian, of a block of this side, "
        "less the offset. Choose it larger than the objects.",
        before="Of --threshold local.",
        after="An odd number of pixels, or a length with its unit (20um).",
    )
    offset: Any = option(
        0.0,
        "number",
        "Subtracted from the mean of the block. With a negative offset, objects need more "
        "contrast.",
        before="Of --threshold local.",
        after="auto: three times the noise of the image.",
        example="0",
        words=("auto",),
    )
    closing: Any = option(
        0.0,
        "lengths",
        "Fill gaps, cracks and bays into which no ball of this radius fits.",
        after="As for --sigma.",
        bytes_each=7,
    )
    opening: Any = option(
        0.0,
        "lengths",
        "Remove specks, spurs and bridges into which no ball of this radius fits.",
        after="After --closing; as for --sigma.",
        bytes_each=7,
    )
    fill_holes: bool = option(False, "flag", "Fill holes inside objects.", bytes_each=2)
    connectivity: int | None = option(
        None,
        "whole",
        "Which pixels are neighbors, and so belong to the same object: those that share a side, or "
        "also those that share a corner only (in 3D a face, an edge, a corner).",
        after="1: a side (in 3D a face). 2: or a corner (in 3D an edge). 3: or a corner in 3D. By "
        "default all of these.",
        placeholder="HOPS",
        example="1",
    )
    split: Any = option(
        False,
        "split",
        "Separate touching objects at their necks, before small objects are dropped and measured.",
        after=f"{DEPTH} A length in pixels (1.5) or with a unit (0.4um); if left out, 0.8 pixels, "
        "in 3D 0.65. For round objects, such as nuclei, 0.5 separates more.",
        bytes_each=60,
    )
    split_by: str = option(
        "shape",
        "name",
        "Where objects are separated: by shape, at their necks, or by intensity, along dark lines.",
        before="With --split: shape or intensity.",
        after="By intensity, the value of --split is a share of 0 to 1 of the gray values of the "
        "object: how much darker the line is than the dimmer part; by default 0.2.",
        words=("shape", "intensity"),
        bytes_each=20,
    )
    min_size: Any = option(
        0,
        "size",
        "Smaller objects are dropped.",
        after="A number of pixels (30), or an area (5um2), in 3D a volume (1um3).",
        bytes_each=6,
    )
    max_size: Any = option(None, "size", "Drop larger objects.", bytes_each=6)
    exclude_border: bool = option(
        False,
        "flag",
        "Drop objects that touch the border of the image, where they are cut off.",
        bytes_each=6,
        commands=EVERY,
    )
    grow: Any = option(
        0.0,
        "lengths",
        "Grow objects by this length before they are measured: cells around nuclei, which have "
        "their numbers. Where two meet, the border is halfway.",
        after="As for --sigma, one for all axes.",
        bytes_each=12,
    )
    keep: str | None = option(
        None,
        "condition",
        "Keep the objects whose measurements meet a condition on columns of the table, such as "
        "'circularity > 0.8 and area < 500', and drop the others.",
        after="An empty text keeps all.",
        bytes_each=6,
        commands=EVERY,
    )
    method: str = option(
        "auto",
        "method",
        "Labeling algorithm: all give the same labels. 'auto' is runs, the fastest.",
    )
    device: str = option(
        "auto",
        "name",
        "Device that computes. 'auto' is the one that holds the image: for files, the CPU.",
        after="Or cpu, cuda, or cuda:1 and so on if there are several GPUs: `equilabel devices` "
        "lists them.",
    )
    properties: tuple[str, ...] | None = option(
        None,
        "names",
        "Columns of the tables, separated by commas: label,area,bbox. All names of "
        "`equilabel.regionprops_table` can be used. By default size, position, outline and "
        "intensities.",
        panel=TABLE,
        commands=EVERY,
    )
    track: bool = option(
        False,
        "flag",
        "Add columns to the table: which object of a frame is which of the next, and where objects "
        "divide or merge. Those that overlap are taken for the same.",
        after="The columns are track, parent and event.",
        panel=TABLE,
        commands=EVERY,
    )


@dataclass(frozen=True, kw_only=True)
class ImageOptions:
    """Arguments of `segment` that say what an image is; commands read them from its file."""

    spacing: tuple[float, ...] | None = option(
        None,
        "spacing",
        "Pixel size as z,y,x, or one number for all axes. By default as stored in the file.",
        panel=FILES,
        commands=ALL,
    )
    unit: str | None = option(
        None,
        "unit",
        "Unit of lengths in the tables. The pixel size of a file is converted to it; if it has no "
        "unit, or with --spacing, this is its unit. By default as stored in the file.",
        panel=FILES,
        commands=ALL,
    )
    stacked: bool | None = option(
        None,
        "flag",
        "Treat the first axis as a series of independent images, such as time points. By default "
        "this is done for time, not for depth.",
        panel=FILES,
        flags=("--stacked/--no-stacked",),
        commands=ALL,
    )
    channel: int | str | None = option(
        None,
        "channel",
        "Channel to find objects in. All channels are measured.",
        panel=FILES,
        after="Its index (from 0) or its name. Of an image in colors also gray, or a stain: "
        "hematoxylin, eosin or dab.",
    )
    markers: str | None = option(
        None,
        "name",
        "File with markers, one or more for each object. Objects with several markers are split, "
        "others stay whole. Each number is a marker; in a mask, each region.",
        after=BESIDE,
        placeholder="FILE",
        bytes_each=60,
    )
    mask: str | None = option(
        None,
        "name",
        "Where objects may be; all else is background, and objects grow no further.",
        after=BESIDE,
        placeholder="FILE",
        bytes_each=10,
    )


def describe(name: str) -> str:
    """Return what an argument of `segment` does, in one or two sentences; "depth" is for `split`.

    >>> describe("fill_holes")
    'Fill holes inside objects.'
    """
    if name == "depth":
        return DEPTH
    text: str = {**options_of(SegmentOptions), **options_of(ImageOptions)}[name][1].text
    return text
