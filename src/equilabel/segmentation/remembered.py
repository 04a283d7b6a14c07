"""Images on a GPU like earlier ones: options of `segment` were checked then, launches prepared."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from equilabel.devices import is_on_cuda, using
from equilabel.labeling.output import LARGE
from equilabel.measuring.request import share_of, spec_of
from equilabel.quantities import wide_blur

from .checks import check_threshold
from .filters import smooth_type, used_widths, weights_of
from .result import Segmentation

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array
    from equilabel.measuring import Request

    Prepared = Callable[[Array, Callable[[str], None]], Segmentation | None]

# Checks and stages take three times as long on the host as 1024 x 1024 pixels take on the GPU. What
# they find depends only on the options and on the shape and type of the image, so it is kept.

ALIGNED = 16  # bytes that are read at once
PLAIN = frozenset((int, float, bool, str, tuple, type(None)))  # equal values mean the same
MOST = 64  # kinds of images that are remembered
USUAL: dict[str, Any] = {  # options that take stages with waits between them, if they differ
    **dict.fromkeys(("background", "markers", "mask", "keep", "channel_axis", "channel")),
    **dict.fromkeys(("closing", "opening", "grow"), 0),
    **dict.fromkeys(("split", "track"), False),
}


class _Memory(threading.local):
    """What each thread remembers: launches keep their arguments in buffers."""

    def __init__(self) -> None:
        self.prepared: dict[Any, Prepared | None] = {}


_memory = _Memory()


def ignore(_: str) -> None:
    """Report no progress."""


def segment_again(image: Array, options: dict[str, Any]) -> Segmentation | None:
    """Segment an image by what was prepared for such images; None if nothing was, or it cannot.

    `options` are all arguments of `segment`.
    """
    known, progress = _memory.prepared, options["progress"]
    report = ignore if progress is None else progress
    if not known or not is_on_cuda(image) or not callable(report):
        return None
    key = _key(image, options)
    prepared = known.get(key)
    if prepared is None:
        return None
    del known[key]  # `report` may call `segment`
    found = prepared(image, report)
    known[key] = prepared
    return found


def remember(
    image: Array, options: dict[str, Any], found: Segmentation, request: Request, names: list[str]
) -> None:
    """Prepare to segment images like one that was segmented, if it is on a GPU.

    `names` are those of the properties in the table.
    """
    known = _memory.prepared
    key = _key(image, options) if found.device != "cpu" and is_on_cuda(image) else None
    if key is None or key in known:
        return
    if len(known) >= MOST:
        known.clear()
    known[key] = _prepare(image, options, found, request, names)


def _key(image: Array, options: dict[str, Any]) -> Any:
    """Return what images that are segmented alike have in common; None if they take more."""
    data = image.data
    place = data.device_id, data.ptr % ALIGNED, image.flags.c_contiguous
    values = [
        tuple(value) if type(value) is list else value
        for name, value in options.items()
        if name not in ("image", "progress")
    ]
    kinds = tuple(map(type, values))  # True and 1 are equal
    key = image.shape, image.dtype, place, tuple(values), kinds
    try:
        hash(key)
    except TypeError:
        return None
    return key if PLAIN.issuperset(kinds) else None


def _prepare(
    image: Array, options: dict[str, Any], found: Segmentation, request: Request, names: list[str]
) -> Prepared | None:
    """Prepare the launches; return None if images have to take stage after stage."""
    shape, used, layout = image.shape, found.in_pixels, request.plan.layout
    stacked, level = layout.stacked, check_threshold(options["threshold"])
    widths = used_widths([0.0] * stacked + list(used["sigma"]), shape, "nearest")
    full = found.connectivity == len(shape) - stacked
    share = share_of(request, shape, found.device)
    if (
        (share is None or share.rest is not None)
        or any(options[name] != value for name, value in USUAL.items())
        or (found.method != "runs" or not image.flags.c_contiguous or image.size >= LARGE)
        or (1 in shape or not any(widths) or wide_blur(widths, shape))  # which warns each time
        or isinstance(level, tuple)
        or (isinstance(level, str) and level != "otsu")
        or (layout.first or (layout.compared == "all" and not full))  # runs do not tell
    ):
        return None
    from .cuda.pipeline import Pipeline, Recipe
    from .cuda.smoothing import READ

    if image.dtype.str[1:] not in READ:
        return None
    recipe = Recipe(
        dtype=smooth_type(image.dtype),
        weights=list(map(weights_of, widths)),
        level=None if isinstance(level, str) else float(level),
        dark=bool(options["dark"]),
        fill_holes=bool(options["fill_holes"]),
        connectivity=found.connectivity,
        stacked=stacked,
        sizes=(used["min_size"], used["max_size"]),
        exclude_border=bool(options["exclude_border"]),
    )
    most = (image.size + (shape[0] if stacked else 1)) // 2
    spec = spec_of(request, share, (shape, "runs", full, found.device), most, found.device)
    with using(found.device):
        pipeline = Pipeline(image, recipe, spec)
    parts = dict(share.names)
    flat = [column for columns in parts.values() for column in columns]
    shown = [column for name in dict.fromkeys(names) for column in parts[name]]
    facts = {name: getattr(found, name) for name in ("connectivity", "spacing", "method", "device")}
    return partial(_segment, pipeline, {name: flat.index(name) for name in shown}, facts, {**used})


def _segment(
    pipeline: Any,
    places: dict[str, int],
    facts: dict[str, Any],
    used: dict[str, Any],
    image: Array,
    report: Callable[[str], None],
) -> Segmentation | None:
    """Segment an image of the right kind; return None if it has to take stage after stage.

    `places` tell which columns of the pipeline are those of the table, `facts` and `used` are the
    attributes that all results share.
    """
    with using(facts["device"]):
        found = pipeline(image, report)
    if found is None:
        return None
    labels, columns, threshold = found
    table: Any = {name: columns[place] for name, place in places.items()}
    return Segmentation(labels, table, threshold, len(columns[0]), **facts, in_pixels={**used})
