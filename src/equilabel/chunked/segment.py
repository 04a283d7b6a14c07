"""`segment_chunked`: objects of an image that need not fit into memory, with their table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from equilabel.arguments import check_flags
from equilabel.colors import refuse_colors
from equilabel.labeling.problem import make_problem
from equilabel.measuring import check_spacing
from equilabel.segmentation.binarization import check_local, compare_with_means, widths_of_block
from equilabel.segmentation.checks import check_sizes, check_threshold
from equilabel.segmentation.filters import check_axes, widths_in_pixels
from equilabel.segmentation.overlaps import track_overlaps
from equilabel.segmentation.result import Segmentation
from equilabel.segmentation.splitting import make_rule
from equilabel.segmentation.stages import (
    check_track,
    default_properties,
    depth_of,
    in_pixels,
    radii_in_pixels,
)

from .blocks import Blocks
from .checkpoints import noted
from .checks import (
    check_chunks,
    check_depth,
    check_mergeable,
    check_numbering,
    check_out,
    check_pixels,
    check_shards,
    pick_axes,
    pretend,
)
from .engine import Engine
from .masks import (
    FilteredMask,
    Level,
    Masks,
    close_or_open,
    compare,
    find_shifts,
    find_threshold_of_blocks,
    problem_of_gray,
    problem_of_mask,
)
from .ome_labels import ome_labels
from .outputs import is_in_memory
from .results import Job, label_whole
from .sources import GraySource, open_source
from .splitting import split_components, threshold_objects_of_blocks
from .tables import Counted, Selection
from .tasks import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import pandas as pd

    from equilabel.devices import Device
    from equilabel.labeling.problem import Problem
    from equilabel.quantities import Length, Lengths, Size
    from equilabel.segmentation.binarization import Offset, Threshold

    from .checkpoints import Saved
    from .engine import Run
    from .masks import Mask
    from .sources import Loader


class Cleaning(NamedTuple):
    """Parameters of the stages that compute a mask before objects are labeled."""

    block: tuple[float, ...]  # of a local threshold, in pixels; empty for another threshold
    offset: float | None  # of a local threshold; None: it follows from the noise
    closing: tuple[float, ...]  # radii along each axis, in pixels; empty for none
    opening: tuple[float, ...]
    fill_holes: bool


@dataclass(frozen=True, eq=False)
class Segmenting:
    """The stages of `segment_chunked`."""

    threshold: float | str | tuple[float, float]
    how: dict[str, Any]  # connectivity, stacked, method and device, as for `problem_of`
    cleaning: Cleaning
    source: GraySource
    problem: Problem  # that of an image like this one
    selection: Selection
    depth: float | None  # at which objects are split, in pixels
    counted: Counted
    by_blocks: bool
    track: bool

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments on which labels and table depend, as JSON."""
        return {
            "threshold": self.threshold,
            "background": list(self.source.background),
            "smoothing": list(self.source.widths),
            "dark": self.source.dark,
            **self.cleaning._asdict(),
            "connectivity": self.problem.connectivity,
            "split": self.depth,
            "selection": self.selection.described(),
            "properties": list(self.counted.names),
            "spacing": list(self.counted.spacing),
            "picks": list(self.source.picks),
            "stacked": self.source.stacked,
            "blocks": list(self.counted.blocks.sides),
            "method": self.problem.method.name,
            "numbering": "blocks" if self.by_blocks else "raster",
            **({"track": True} if self.track else {}),
        }

    def prepare(self, saved: Saved, run: Run) -> tuple[Setup, Loader]:
        """Find the threshold, and return the setup and the loader of pixels."""
        cleaning = self.cleaning
        spread = bool(cleaning.block or cleaning.closing or cleaning.opening)
        gray = self.source.settled(run, saved, self.counted.blocks.sides, spread=spread)
        source: Loader = gray.loader
        masks = Masks(self.counted.blocks, saved, run)
        level, mask = self._foreground(gray, masks)
        if mask is None:
            problem = partial(problem_of_gray, level=level, dark=gray.dark, **self.how)
        else:
            problem = partial(problem_of_mask, **self.how)
            source = gray.masked(mask.loader)
        if self.depth is not None:
            rule = make_rule(
                self.depth,
                self.counted.spacing,
                self.problem.connectivity,
                self.counted.blocks.stacked,
            )
            parts = split_components(rule, masks, problem, source, self.how["device"])
            problem = partial(make_problem, background=0, **self.how)
            source = gray.masked(parts.loader)
        setup = Setup(
            blocks=self.counted.blocks,
            saved=saved,
            problem=problem,
            device=self.how["device"],
            connectivity=self.problem.connectivity,
            depth=max(self.counted.halo, 1),
            by_blocks=self.by_blocks,
            select=self.selection.select if self.selection.needed else None,
            counted=self.counted,
            attributes={"threshold": float(level.value) if isinstance(level, Level) else level},
        )
        return setup, source

    def finish(self, setup: Setup, folder: Any, run: Run, labels: Any) -> pd.DataFrame | None:
        """Make the table; None if it was written to the folder."""
        tracks = None
        if self.track:
            with run.noting("track"):
                tracks = track_overlaps(labels).sort_values("label")
        return self.counted.make_tables(setup.saved, folder, run, tracks)

    def _foreground(self, gray: GraySource, masks: Masks) -> tuple[Any, Mask | None]:
        """Return the threshold, and a mask of the foreground if comparing with it is not enough."""
        mask: Mask | None = None
        level: Any = self.threshold
        dark, cleaning = gray.dark, self.cleaning
        if level == "local":
            mask, level = self._local(gray, masks), None
        elif level == "per_object" and gray.dtype.kind != "b":
            apart, device = self.counted.spacing, self.how["device"]
            level, mask = threshold_objects_of_blocks(masks, gray, apart, device)
        elif isinstance(level, tuple):
            mask = masks.hysteresis(gray, *level, dark=dark)
        else:
            if isinstance(level, str):
                find = partial(
                    find_threshold_of_blocks, level, self.counted.blocks, gray, masks.run
                )
                level = noted(masks.saved, "threshold.json", find)
            level = Level(*level) if isinstance(level, (list, Level)) else Level(level, False)
            if gray.background or cleaning.closing or cleaning.opening or cleaning.fill_holes:
                mask = FilteredMask(gray, partial(compare, level=level, dark=dark))
        if mask is not None:
            for radii, opens in ((cleaning.closing, False), (cleaning.opening, True)):
                if radii:
                    reach = tuple(2 * math.ceil(radius) for radius in radii)  # dilated, eroded
                    change = partial(close_or_open, radii=radii, opens=opens)
                    mask = FilteredMask(mask, change, reach)
            slow = gray.background or cleaning.block or cleaning.closing or cleaning.opening
            if isinstance(mask, FilteredMask) and slow:  # and read twice
                mask = masks.made("mask", mask.loader, np.bool_)
            mask = masks.filled(mask) if cleaning.fill_holes else mask
        return level, mask

    def _local(self, gray: GraySource, masks: Masks) -> FilteredMask:
        """Return the foreground by a local threshold."""
        how = self.cleaning
        find = partial(find_shifts, self.counted.blocks, gray, masks.run, how.offset)
        local = partial(
            compare_with_means,
            widths=tuple(widths_of_block(how.block)),
            shifts=dict(noted(masks.saved, "offsets.json", find)),
            dark=gray.dark,
            stacked=gray.stacked,
        )
        reach = tuple(int(4 * width + 0.5) for width in local.keywords["widths"])
        return FilteredMask(gray, local, reach)


def segment_chunked(
    image: Any,
    threshold: Threshold = "otsu",
    *,
    background: Lengths | None = None,
    sigma: Lengths = 0.0,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: Offset = 0.0,
    closing: Lengths = 0.0,
    opening: Lengths = 0.0,
    fill_holes: bool = False,
    connectivity: int | None = None,
    split: bool | Length = False,
    min_size: Size = 0,
    max_size: Size | None = None,
    exclude_border: bool = False,
    properties: Iterable[str] | None = None,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    axes: str | None = None,
    stacked: bool | None = None,
    track: bool = False,
    channel_axis: int | None = None,
    channel: int | None = None,
    chunks: int | Sequence[int] | None = None,
    out: str | Path | None = None,
    shards: bool | None = None,
    numbering: Literal["raster", "blocks"] = "raster",
    method: str = "auto",
    device: Device = "auto",
    scheduler: Any = None,
    workers: int | None = None,
    resume: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Segmentation:
    """Find, label and measure the objects of an image that need not fit into memory.

    Labels and table are the same as those that `segment` makes of the whole image.

    Parameters
    ----------
    image : array of Dask, Zarr or NumPy, or path
        As for `label_chunked`. The axes of an OME-Zarr are read from it: time counts independent
        images, one channel is taken, and other axes of length 1, except Y and X, are removed.
    threshold : float, str or (float, float)
        A number, or a method that needs only a histogram: "otsu", "triangle", "yen", "isodata",
        "mean", "minimum", and "li" for integers. A method reads all blocks once more, or twice if
        more than 65,536 gray values are possible, as for floats. Or "local", "per_object", or two
        numbers for hysteresis; these first compute a mask, which is stored with the unfinished run.
        For "per_object" objects are split first, within the limits of `split`.
    background : float, str, or a sequence of them, optional
        Subtract an uneven background by the top-hat, as `segment` does.
    sigma : float, str, or a sequence of them
        Standard deviation of the Gaussian that smooths the image before the threshold, in pixels,
        or a length such as "0.3um".
    block_size, offset, closing, opening, fill_holes
        As for `segment`. Blocks are read with the surrounding pixels that a box, a Gaussian or a
        ball needs. To fill holes, a mask is stored with the unfinished run.
    dark, connectivity, exclude_border, method, device
        As for `segment`.
    split : bool, float or str
        As for `segment`. Objects are split with all pixels of their component, whichever blocks it
        spans. A component whose box has more pixels than a block, and more than 4 million, stays
        whole, and a warning says where. Components are stored with the unfinished run.
    min_size, max_size : float or str
        Smallest and largest size of an object, in pixels, or an area or a volume such as "5um3";
        other objects are dropped.
    properties : iterable of str, optional
        Columns of the table whose counts add up over blocks, see `regionprops_table`: sizes,
        boxes, perimeters, surfaces, Euler numbers, second moments, intensities. Default as for
        `segment`.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis. Default: that of an OME-Zarr,
        otherwise 1.
    unit : str, optional
        Unit of `spacing`, such as "um". Default: that of an OME-Zarr.
    axes : str, optional
        Meaning of the axes, such as "TZYX" or "ZCYX": T counts independent images, C channels. With
        it, labels at `out` become an OME-Zarr. Default: the axes of an OME-Zarr; unknown for other
        images.
    stacked : bool, optional
        Whether the first axis counts independent images. Default: as the axes say, otherwise False.
    track : bool
        As for `segment`. Once labels are written, two frames at a time are in memory.
    channel_axis, channel : int, optional
        As for `segment`; the axis of an OME-Zarr, or of `axes`, is known.
    chunks, scheduler, workers, resume, progress
        As for `label_chunked`; `chunks` are sides of blocks along the axes of the labels.
    numbering : {"raster", "blocks"}
        As for `label_chunked`.
    shards : bool, optional
        As for `label_chunked`. OME-Zarr 0.4 does not support shards.
    out : path, optional
        As for `label_chunked`. Labels of an OME-Zarr become an OME-Zarr with lower resolutions. In
        the folder ``labels`` of their image, they have its resolutions and are added to its list of
        labels. The table is stored in it as ``table.csv``, or in the folder ``table.parquet``, in
        files of up to 2^20 labels, if it has more.

    Returns
    -------
    Segmentation
        Its labels are what `label_chunked` returns.

    Raises
    ------
    ValueError, TypeError
        As for `segment`, and if a method or a column needs all pixels at once.
    FileExistsError, RuntimeError
        As for `label_chunked`.

    See Also
    --------
    segment, label_chunked, track_overlaps

    Notes
    -----
    Sums of floats, and columns computed from them, equal those of `segment` except for rounding.
    Smoothed values are bit-identical, unless the image contains NaN or infinite values.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((5, 9))
    >>> image[1:4, 1:4] = 100
    >>> image[1:4, 6:8] = 60
    >>> wanted = ("label", "area", "intensity_mean")
    >>> found = segment_chunked(image, threshold=50, properties=wanted, chunks=(5, 3))
    >>> print(found.table.to_string(index=False))
     label  area  intensity_mean
         1   9.0           100.0
         2   6.0            60.0
    """
    level, base = check_threshold(threshold), open_source(image)
    flags = {"exclude_border": exclude_border, "resume": resume, "track": track}
    check_flags(dark=dark, fill_holes=fill_holes, **flags)
    picked = pick_axes(image, base, stacked, channel_axis, channel, spacing, unit, axes)
    if axes is None and not picked.axes:
        refuse_colors(pretend(base), channel_axis, stacked=picked.stacked)
    rank, first = picked.rank, picked.stacked
    check_track(track, first)
    check_axes(rank, stacked=first)
    distances = check_spacing(picked.spacing, rank)
    scale: Any = {"spacing": None if picked.spacing is None else distances, "unit": picked.unit}
    lengths: Any = {"stacked": first, **scale}
    widths = widths_in_pixels(sigma, rank + first, **lengths)
    radii = radii_in_pixels(rank + first, background, closing, opening, **lengths)
    depth = depth_of(split, rank, **scale)
    local = check_local(level, block_size, offset, rank + first, **lengths)
    cleaning = Cleaning(*local, radii.closing, radii.opening, bool(fill_holes))
    source = GraySource(
        base, picked.picks, picked.channel_axis, tuple(widths), radii.background, bool(dark), first
    )
    check_pixels(source.shape, base)
    sizes = check_sizes(min_size, max_size, rank, **scale)
    selection = Selection(source.shape, first, *sizes, bool(exclude_border))
    wanted = default_properties(rank, distances, first) if properties is None else properties
    sides = check_chunks(chunks, source)
    counted = Counted(check_mergeable(wanted), distances, Blocks(source.shape, sides, first))
    check_depth(sides, source.shape, counted.halo, first)
    how = {"connectivity": connectivity, "stacked": first, "method": method, "device": device}
    problem = problem_of_gray(pretend(source), level=Level(0.0, False), dark=bool(dark), **how)
    path = check_out(out, base, resume=resume)
    engine = Engine(scheduler, workers, reachable=not any(map(is_in_memory, (image, out))))
    work = Segmenting(
        threshold=level,
        how=how,
        cleaning=cleaning,
        source=source,
        problem=problem,
        selection=selection,
        depth=depth if rank > 1 else None,
        counted=counted,
        by_blocks=check_numbering(numbering),
        track=track,
    )
    described = ome_labels(picked, source.shape, path)
    stored = check_shards(shards, source, sides, getattr(described, "version", ""))
    more: Any = {"ome": described, "finish": work.finish}
    job = Job(source, work.prepare, path, *stored, resume, work.arguments, **more)
    made = label_whole(job, engine, progress)
    used = made.attributes["threshold"]  # a list if it was read from JSON
    return Segmentation(
        labels=made.labels,
        table=made.table,
        threshold=tuple(used) if isinstance(used, list) else used,
        num=made.num,
        connectivity=problem.connectivity,
        spacing=distances,
        method=problem.method.name,
        device=problem.device,
        in_pixels=in_pixels(rank + first, radii, sigma, block_size, depth, sizes, **lengths),
    )
