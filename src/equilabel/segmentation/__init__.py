"""`segment`: from an image to labels and a table (smooth, binarize, label, clean up, measure)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_callable, check_flag, check_flags, check_names
from equilabel.colors import refuse_colors, take_channel
from equilabel.devices import place, resolve, take, using
from equilabel.labeling import problem_of, solve
from equilabel.measuring import check_spacing, make_request, with_columns
from equilabel.measuring.checks import check_connectivity
from equilabel.papers import find_method
from equilabel.storage.metadata import knows_images

from .checks import check_sizes
from .filters import as_pixels, in_finest_pixels, smooth
from .remembered import ignore, remember, segment_again
from .result import Segmentation
from .stages import (
    Splitting,
    Stages,
    check_beside,
    check_track,
    default_properties,
    depth_of,
    find_foreground,
    in_pixels,
    properties_for,
    radii_in_pixels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal

    from numpy.typing import ArrayLike

    from equilabel.devices import Device
    from equilabel.quantities import Length, Lengths, Size

    from .binarization import Offset, Threshold
    from .filters import BackgroundMethod


@knows_images
def segment(
    image: ArrayLike,
    threshold: Threshold = "otsu",
    *,
    background: Lengths | None = None,
    background_method: BackgroundMethod = "top_hat",
    sigma: Lengths = 0.0,
    dark: bool = False,
    block_size: Lengths | None = None,
    offset: Offset = 0.0,
    closing: Lengths = 0.0,
    opening: Lengths = 0.0,
    fill_holes: bool = False,
    connectivity: int | None = None,
    split: bool | Length = False,
    split_by: Literal["shape", "intensity"] = "shape",
    markers: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    min_size: Size = 0,
    max_size: Size | None = None,
    exclude_border: bool = False,
    grow: Length = 0.0,
    keep: str | None = None,
    properties: Iterable[str] | None = None,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
    track: bool = False,
    channel_axis: int | None = None,
    channel: int | str | None = None,
    method: str = "auto",
    device: Device = "auto",
    progress: Callable[[str], None] | None = None,
) -> Segmentation:
    """Find the objects of an image, label them and measure them.

    Parameters
    ----------
    image : (M, N[, ...]) array of bool, int or float
        1 to 6 axes, as NumPy array or on a GPU; or what `read` returns, which knows spacing, unit,
        channels and frames.
    threshold : str, float or (float, float)
        A method ("otsu", "li", "triangle", "yen", "isodata", "mean", "minimum", "local" or
        "per_object"), a number, or (low, high) for hysteresis. See `binarize`.
    background : float, str, or a sequence of them, optional
        Subtract an uneven background before all other stages, as `subtract_background` does. This
        is the radius of a box: choose it larger than your objects, because anything wider counts as
        background. A number of pixels or a length with a unit, as for `sigma`. `threshold` is
        compared with the image after the subtraction; intensities are those of the original image.
    background_method : {"top_hat", "rolling_ball"}
        With the rolling ball, `background` is the radius of the ball. The ball also removes smooth
        slopes, but takes much longer, and is computed on the CPU even for images on a GPU.
    sigma : float, str, or a sequence of them
        Standard deviation of the Gaussian that smooths the image before the threshold, for all axes
        or for each: a number of pixels, or a length with a unit, "0.3um".
    dark : bool
        Whether objects are darker than the background.
    block_size, offset : optional
        Width of the neighborhood of a local threshold, and what is subtracted from it, as for
        `binarize`.
    closing, opening : float, str, or a sequence of them
        Radius of the ball of a morphological closing, which fills gaps of the foreground that are
        too narrow for the ball, and of an opening, which removes specks and bridges that are.
        Given as `sigma`.
    fill_holes : bool
        Whether to fill the holes of objects: background not connected to the border of the image.
    connectivity, method, device
        As for `label`. On a GPU, only the table is copied to the host.
    split : bool, float or str
        Whether to split objects that touch, as `split_touching` does; or its tolerance, in pixels
        or as a length with a unit. True means its default; False and 0 mean no splitting.
    split_by : {"shape", "intensity"}
        Where objects are split: at their necks; or along dark lines of the smoothed image (bright
        ones if `dark`), where a number for `split` is a share of gray values, as for
        `split_touching`.
    markers : array of bool or int, optional
        Where objects are: objects with several markers are split among them, and nothing else is.
        Each region of a mask, or of numbers that are all the same, is a marker.
    mask : array of bool, optional
        Where objects may be: other pixels are background. The threshold is that of the whole image.
    min_size, max_size : int or str
        Smallest and largest size of an object, in pixels, or an area (in 3D a volume) with a unit:
        "5um2", "1um3"; other objects are dropped.
    exclude_border : bool
        Whether to drop objects that touch the border of the image. Axes of length 1 have no border.
    grow : float or str
        How far objects grow into their surroundings before they are measured, as with the function
        `grow`: cells around nuclei, which have their numbers. In pixels of the smallest spacing or
        with a unit, "5um"; with a `mask`, no further than that.
    keep : str, optional
        Condition on columns of the table, "circularity > 0.8 and area < 500"; other objects are
        dropped. See `filter_objects`. What it names is measured, and added to the table.
    properties : iterable of str, optional
        Columns of the table, see `regionprops_table`. Default: label, frame (of a stack), area,
        bbox, centroid, equivalent_diameter_area, the perimeter in 2D (perimeter_crofton if
        `spacing` differs between axes), surface_area_crofton in 3D, and intensity_mean, _min, _max
        and _std.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default 1. The
        table is in this unit, and lengths and sizes with a unit are converted with it.
    unit : str, optional
        Unit of `spacing`, such as "um". Needed if a length or a size is given with a unit.
    stacked : bool
        Whether the first axis counts independent images, such as time points. All images share one
        threshold; they are smoothed, filled and labeled separately. No label is used in two images.
    track : bool
        Whether to track objects of a stack from frame to frame: adds the columns track, parent and
        event of `track_overlaps` to the table.
    channel_axis : int, optional
        Axis of the channels. Intensities are measured in each channel: "intensity_mean-0", ...
    channel : int or str, optional
        Channel to binarize; required if there are several. Of an image in colors also "gray" (its
        luminance), "red", "green", "blue", or a stain: "hematoxylin", "eosin" or "dab".
    progress : callable, optional
        Called with the name of each stage before it starts: "background", "binarize", "close and
        open", "fill", "label", "split", "drop", "grow" and "measure"; those that are not needed are
        left out. An exception that it raises ends the run.

    Returns
    -------
    Segmentation
        Labels, table, threshold, and the parameters that were used.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, the image is not of a real type, or the image has the shape
        of an RGB image and `channel_axis` is not given.
    DeviceUnavailableError
        If `device` was given by name and cannot be used.

    See Also
    --------
    binarize, label, split_touching, filter_objects, segment_chunked

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((5, 9))
    >>> image[1:4, 1:4] = 100
    >>> image[1:4, 6:8] = 60
    >>> found = segment(image, threshold=50, properties=("label", "area", "intensity_mean"))
    >>> found.num
    2
    >>> print(found.table.to_string(index=False))
     label  area  intensity_mean
         1   9.0           100.0
         2   6.0            60.0
    """
    options, source = {**locals()}, take(image)
    again = segment_again(source, options)
    if again is not None:
        return again
    stacked = check_flag("stacked", stacked)
    check_flags(dark=dark, fill_holes=fill_holes, exclude_border=exclude_border, track=track)
    refuse_colors(source, channel_axis, stacked=stacked)
    pixels, channels = take_channel(source, channel_axis, channel)
    rank = as_pixels(pixels, stacked=stacked).ndim - stacked
    distances, hops = check_spacing(spacing, rank), check_connectivity(connectivity, rank)
    check_track(track, stacked)
    scale: dict[str, Any] = {"spacing": None if spacing is None else distances, "unit": unit}
    seeds, inside = check_beside(markers, mask, pixels)
    depth = depth_of(split, rank, split_by, seeded=seeds is not None, **scale)
    splitting = Splitting(depth, split_by, seeds, dark)
    far = in_finest_pixels("grow", grow, **scale)
    sizes = check_sizes(min_size, max_size, rank, **scale)
    radii = radii_in_pixels(pixels.ndim, background, closing, opening, stacked=stacked, **scale)
    wanted = default_properties(rank, distances, stacked) if properties is None else properties
    names = properties_for(keep, check_names("properties", wanted))
    report = check_callable("progress", progress) or ignore
    binarizing: Any = {"sigma": sigma, "dark": dark, "block_size": block_size, "offset": offset}
    binarizing |= {"method": background_method, "fill_holes": fill_holes, "mask": inside, **scale}
    where, home = resolve(device, source), resolve("auto", source)
    with using(home if where == "cpu" else where):
        pixels, channels = place(pixels, where), place(channels, where)
        given = (pixels, threshold, radii, report)
        foreground, level = find_foreground(*given, stacked=stacked, **binarizing)
        report("label")
        problem = problem_of(*foreground, hops, stacked, method, where)
        wanted = [*names, "num_pixels", *(("touches_border",) if exclude_border else ())]
        request = make_request(wanted, channels, problem.image.shape, spacing, stacked=stacked)
        request = request if keep else with_columns(request, problem.image.shape, where)
        made = solve(problem, splitting.first(request, where), painted=splitting.needed)
        gray = partial(smooth, pixels, sigma, stacked=stacked, **scale)
        stages = Stages(problem, request, report)
        made = stages.split(made, splitting, hops, gray)
        made = stages.drop(made, sizes, exclude_border=exclude_border)
        made = stages.grow(made, far, inside)
        table, count = stages.measure(made, names, keep, track=track)
        labels = place(made.labels, home)
    depth = splitting.depth if splitting.at_necks else None
    lengths = (pixels.ndim, radii, sigma, block_size, depth, sizes)
    objects = Segmentation(
        labels=labels,
        table=table,
        threshold=level,
        num=count,
        connectivity=hops,
        spacing=distances,
        method=find_method(method).name,
        device=where,
        in_pixels=in_pixels(*lengths, stacked=stacked, grow=far, **scale),
    )
    remember(source, options, objects, request, names)
    return objects
