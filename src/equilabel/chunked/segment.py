"""`segment_chunked`: objects of an image that need not fit into memory, with their table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_flags
from equilabel.measuring import check_spacing
from equilabel.segmentation.checks import (
    check_block,
    check_number,
    check_sizes,
    check_threshold,
    in_pixels,
    refuse_colors,
    reject_unused,
)
from equilabel.segmentation.result import Segmentation
from equilabel.segmentation.smoothing import widths_in_pixels
from equilabel.segmentation.steps import default_properties, radii_in_pixels

from .blocks import Blocks
from .checks import (
    check_chunks,
    check_depth,
    check_mergeable,
    check_out,
    check_pixels,
    check_shards,
    pretend,
    stored_chunks,
)
from .counting import Counted
from .engine import Engine
from .gray_source import GraySource
from .histograms import Level
from .ome_labels import ome_labels
from .picking import pick_axes
from .results import label_whole
from .segmenting import Cleaning, Segmenting, Thresholding
from .selecting import Selection
from .sources import open_source
from .targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from equilabel.devices import Device
    from equilabel.quantities import Lengths, Size
    from equilabel.segmentation.binarization import Threshold
    from equilabel.segmentation.steps import Radii


def segment_chunked(
    image: Any,
    *,
    threshold: Threshold = "otsu",
    background: Lengths | None = None,
    sigma: Lengths = 0.0,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: float = 0.0,
    closing: Lengths = 0.0,
    opening: Lengths = 0.0,
    fill_holes: bool = False,
    connectivity: int | None = None,
    min_size: Size = 0,
    max_size: Size | None = None,
    exclude_border: bool = False,
    properties: Iterable[str] | None = None,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    axes: str | None = None,
    stacked: bool | None = None,
    channel_axis: int | None = None,
    channel: int | None = None,
    chunks: int | Sequence[int] | None = None,
    out: str | Path | None = None,
    shards: bool | None = None,
    method: str = "auto",
    device: Device = "auto",
    scheduler: Any = "threads",
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
        more than 65,536 gray values are possible, as for floats. Or "local", or two numbers for
        hysteresis; these first compute a mask, which is stored with the unfinished run.
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
    channel_axis, channel : int, optional
        As for `segment`; the axis of an OME-Zarr, or of `axes`, is known.
    chunks, scheduler, workers, resume, progress
        As for `label_chunked`; `chunks` are sides of blocks along the axes of the labels.
    shards : bool, optional
        As for `label_chunked`. OME-Zarr 0.4 does not support shards.
    out : path, optional
        As for `label_chunked`. Labels of an OME-Zarr become an OME-Zarr with lower resolutions. In
        the folder ``labels`` of their image, they have its resolutions and are added to its list of
        labels. The table is stored in it as ``table.csv``.

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
    check_flags(dark=dark, fill_holes=fill_holes, exclude_border=exclude_border, resume=resume)
    picked = pick_axes(image, base, stacked, channel_axis, channel, spacing, unit, axes)
    if axes is None and not isinstance(image, (str, Path)):
        refuse_colors(pretend(base), channel_axis, stacked=picked.stacked)
    rank, first = picked.rank, picked.stacked
    steps = check_spacing(picked.spacing, rank)
    scale: Any = {"spacing": None if picked.spacing is None else steps, "unit": picked.unit}
    lengths: Any = {"stacked": first, **scale}
    widths = widths_in_pixels(sigma, rank + first, **lengths)
    radii = radii_in_pixels(rank + first, background, closing, opening, **lengths)
    local = _block(level, block_size, offset, rank + first, **lengths)
    cleaning = Cleaning(*local, radii.closing, radii.opening, bool(fill_holes))
    source = GraySource(
        base, picked.picks, picked.channel_axis, tuple(widths), radii.background, bool(dark), first
    )
    check_pixels(source.shape, base)
    sizes = check_sizes(min_size, max_size, rank, **scale)
    selection = Selection(source.shape, first, *sizes, bool(exclude_border))
    names = check_mergeable(
        default_properties(rank, steps, first) if properties is None else properties
    )
    counted = Counted(names, steps, first)
    sides, halo = check_chunks(chunks, source), counted.halo(rank + first)
    check_depth(sides, source.shape, halo, first)
    rule = Thresholding(Level(0.0, False), bool(dark), connectivity, first, method, device)
    problem = rule.problem(pretend(source))
    path = check_out(out, base, resume=resume)
    work = Segmenting(
        threshold=level,
        rule=rule,
        cleaning=cleaning,
        source=source,
        blocks=Blocks(source.shape, sides),
        connectivity=problem.connectivity,
        selection=selection,
        counted=counted,
        depth=max(halo, 1),
    )
    described = ome_labels(picked, source.shape, path)
    target = Target(
        path,
        stored_chunks(source, sides),
        resume,
        work.arguments(problem),
        described,
        check_shards(shards, source, sides, described),
    )
    made = label_whole(work.steps, source, target, Engine(scheduler, workers), progress)
    return Segmentation(
        labels=made.labels,
        table=made.found.table,
        threshold=_pair(made.found.told["threshold"]),
        num=made.num,
        connectivity=problem.connectivity,
        spacing=steps,
        method=problem.method.name,
        device=problem.device,
        in_pixels=_in_pixels(radii, rank + first, sigma, block_size, sizes, lengths),
    )


def _in_pixels(
    radii: Radii, axes: int, sigma: Any, block_size: Any, sizes: Any, lengths: Any
) -> dict[str, Any]:
    """Return the lengths and sizes that were used, as `segment` does."""
    found = in_pixels(axes, sigma, block_size, None, *sizes, **lengths)
    return found | radii.in_pixels(lengths["stacked"])


def _block(
    threshold: Any, size: Any, offset: float, axes: int, **lengths: Any
) -> tuple[tuple[float, ...], float]:
    """Return the sides of the block of a local threshold, and its offset; no sides for others."""
    if threshold == "local":
        return tuple(check_block(size, axes, **lengths)), check_number("offset", offset)
    reject_unused(threshold, block_size=(size, None), offset=(offset, 0.0))
    return (), 0.0


def _pair(threshold: Any) -> Any:
    """Return a threshold in the form of `segment`, also if it was read from JSON."""
    return tuple(threshold) if isinstance(threshold, list) else threshold
