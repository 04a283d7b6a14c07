"""All properties in one table, what has to be counted for some of them, and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import shown

from . import moments, sizes
from .counts import AXES, Formula, Layout, Step
from .measurement import (
    AREA,
    BOTH,
    DEEP,
    FLAT,
    GRAY,
    LENGTH,
    ON_HOST,
    OURS,
    PERCENTS,
    PIXEL,
    POSITION,
    POWERS,
    RADIAN,
    SHAPE,
    SIZE,
    VALUE,
    VALUE_POWERS,
    Measurement,
    Property,
    parts,
)
from .measurement import MOMENTS as OF_MOMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from equilabel.array_types import HostArray

    from .counts import Counts

# ---- The table: what each property is, what it needs, its formula and its step on a GPU

_position = partial(Property, group=POSITION)
_place = partial(_position, unit=LENGTH, needs=("box", "sums"))
_shape = partial(Property, group=SHAPE)
_outline = partial(_shape, ranks=FLAT, unit=LENGTH)
_surface = partial(_shape, ranks=DEEP, source=OURS, unit=AREA)
_hull = partial(Property, group=SHAPE, ranks=BOTH, needs=("hull",), step=None)
_inertia = partial(Property, group=SHAPE, needs=("box", "sums", "seconds"))
_moments = partial(
    Property, group=OF_MOMENTS, ranks=BOTH, needs=("box", "sums", "central"), step=None
)
_weighted = partial(
    _moments, group=GRAY, intensity=True, needs=("box", "weighted", "weighted_central")
)
_gray = partial(Property, group=GRAY, intensity=True, unit=VALUE, needs=("values",))
_near = partial(  # by `neighbors`
    _position, ranks=(1, *BOTH), source=OURS, unit=LENGTH, step=None
)
_object = partial(Property, ranks=BOTH, step=None)  # by scikit-image

# fmt: off
ROWS = (
    _position("label", "Number of the object.",
              formula=lambda m: m.counts.labels, step=Step(Formula.LABEL)),
    _position("frame", "Image of the stack in which the object is.", source=OURS, needs=("box",),
              formula=lambda m: m.counts.begins[:, 0],
              step=lambda layout, _: Step(Formula.FIRST, AXES - layout.axes)),
    _position("num_pixels", "Number of pixels.", unit=PIXEL,
              formula=lambda m: m.pixels, step=Step(Formula.COUNT)),
    _position("area", "Area (volume): number of pixels times the area (volume) of one.",
              unit=SIZE, formula=sizes.area, step=sizes.area_step),
    _position("volume", "Volume of a 3D object: the same as its area.", ranks=DEEP, source=OURS,
              unit=SIZE, formula=sizes.area, step=sizes.area_step),
    _position("bbox", "Bounding box: first pixel along each axis, then last + 1 along each.",
              unit=PIXEL, needs=("box",), formula=lambda m: m.box, step=sizes.box_steps),
    _position("area_bbox", "Area (volume) of the bounding box.", unit=SIZE, needs=("box",),
              formula=lambda m: sizes.box_pixels(m) * m.pixel_size, step=Step(Formula.BOX_SIZE)),
    _position("area_filled", "Area (volume) with holes filled.", ranks=BOTH, unit=SIZE,
              needs=("filled",), formula=lambda m: m.filled * m.pixel_size, step=None),
    _position("extent", "Ratio of the object's pixels to those of its bounding box.",
              needs=("box",), formula=lambda m: np.asarray(m.pixels / sizes.box_pixels(m)),
              step=Step(Formula.EXTENT)),
    _place("centroid", "Mean coordinate along each axis.",
           formula=lambda m: np.asarray(m.inside(m.first + m.local) * m.spacing),
           step=lambda layout, _: parts(Step(Formula.CENTROID, axis) for axis in layout.spatial)),
    _place("centroid_local", "Mean coordinate, relative to the corner of the bounding box.",
           formula=lambda m: np.asarray(m.local * m.spacing),
           step=lambda layout, _: parts(Step(Formula.LOCAL, axis) for axis in layout.spatial)),
    _position("equivalent_diameter_area", "Diameter of the disk (ball) of the same area.",
              unit=LENGTH, formula=sizes.equivalent_diameter_area, step=Step(Formula.DIAMETER)),
    _position("touches_border", "Whether a pixel lies at the border of the image, along axes of 2 "
              "or more pixels.", source=OURS,
              needs=("box",), formula=sizes.touches_border, step=Step(Formula.TOUCHES)),

    _near("touching", "Number of objects that touch it.", unit=""),
    _near("nearest", "The nearest object, by its label; 0 if there is no other.", unit=""),
    _near("nearest_distance", "Distance between its pixels and those of the nearest object."),
    _near("nearest_centroid_distance", "Distance between its centroid and the nearest other one."),

    _outline("perimeter",
             "Length of the line through the centers of border pixels (Benkrid, Crookes 2000).",
             needs=("outline",), formula=sizes.perimeter,
             step=sizes.weighted_step(Formula.WEIGHED, "outline", sizes.outline_weights)),
    _outline("perimeter_crofton",
             "Length of the outline from intercepts in four directions (Crofton's formula).",
             needs=("all",), formula=sizes.crofton,
             step=sizes.weighted_step(Formula.INTERCEPTS, "pairs", sizes.crofton_weights)),
    _outline("perimeter_edges",
             "Length of the pixel edges that border on something else (Kalentev et al. 2011).",
             source=OURS, needs=("faces",), formula=sizes.exposed,
             step=sizes.weighted_step(Formula.INTERCEPTS, "pairs", sizes.face_weights)),
    _shape("circularity",
           "4 pi area / perimeter_crofton ** 2: 1 for a disk, less for other shapes (Cox 1927).",
           ranks=FLAT, source=OURS, needs=("all",), formula=sizes.circularity,
           step=sizes.weighted_step(Formula.CIRCULARITY, "pairs", sizes.crofton_weights)),
    _surface("surface_area_faces",
             "Area of the voxel faces that border on something else (Kalentev et al. 2011).",
             needs=("faces",), formula=sizes.exposed,
             step=sizes.weighted_step(Formula.INTERCEPTS, "pairs", sizes.face_weights)),
    _surface("surface_area_crofton",
             "Area of the surface from intercepts in 13 directions (Lehmann, Legland 2012).",
             needs=("all",), formula=sizes.crofton,
             step=sizes.weighted_step(Formula.INTERCEPTS, "pairs", sizes.crofton_weights)),
    _shape("sphericity",
           "Surface of a ball of the same volume by surface_area_crofton (Wadell 1935).",
           ranks=DEEP, source=OURS, needs=("all",), formula=sizes.sphericity,
           step=sizes.weighted_step(Formula.SPHERICITY, "pairs", sizes.crofton_weights)),
    _shape("euler_number",
           "Euler number: objects minus holes (3D: plus cavities minus tunnels); corners connect.",
           ranks=BOTH, needs=("euler_full",), formula=lambda m: m.group("euler_full")[:, 0],
           step=lambda layout, _: Step(Formula.COUNT, layout["euler_full"].start)),
    _shape("euler_number_faces",
           "Euler number if only pixels that share a face are connected.",
           ranks=BOTH, source=OURS, needs=("euler_face",),
           formula=lambda m: m.group("euler_face")[:, 0],
           step=lambda layout, _: Step(Formula.COUNT, layout["euler_face"].start)),

    _hull("area_convex", "Area (volume) of the convex hull.", group=POSITION, unit=SIZE,
          formula=lambda m: m.hulls.pixels * m.pixel_size),
    _hull("feret_diameter_max", "Greatest distance of two points of the convex hull.",
          unit=LENGTH, needs=("corners",), formula=sizes.feret_diameter_max),
    _hull("feret_diameter_min", "Smallest distance of two parallel lines around image_convex.",
          ranks=FLAT, source=OURS, unit=LENGTH, needs=("corners",),
          formula=lambda m: sizes.feret_min(m, 0)),
    _hull("feret_angle_min",
          "Angle between the first axis and the direction of feret_diameter_min, -pi/2 to pi/2.",
          ranks=FLAT, source=OURS, unit=RADIAN, needs=("corners",),
          formula=lambda m: sizes.feret_min(m, 1)),
    _hull("solidity", "Ratio of the object's pixels to those of its convex hull.",
          formula=lambda m: np.asarray(m.pixels / m.hulls.pixels)),

    _inertia("inertia_tensor", "Inertia tensor of the object, for rotation about its centroid.",
             group=OF_MOMENTS, unit=AREA, formula=moments.inertia_tensor,
             step=moments.tensor_steps),
    _inertia("inertia_tensor_eigvals", "Eigenvalues of the inertia tensor, in descending order.",
             group=OF_MOMENTS, unit=AREA, formula=moments.inertia_tensor_eigvals,
             step=moments.eigenvalue_steps),
    _inertia("axis_major_length",
             "Longest axis of the ellipse (ellipsoid) with the same second moments.",
             ranks=BOTH, unit=LENGTH, formula=lambda m: np.asarray(moments.axes(m)[:, 0]),
             step=Step(Formula.AXIS, 0)),
    _inertia("axis_minor_length",
             "Shortest axis of the ellipse (ellipsoid) with the same second moments.",
             ranks=BOTH, unit=LENGTH, formula=lambda m: np.asarray(moments.axes(m)[:, -1]),
             step=lambda layout, _: Step(Formula.AXIS, layout.rank - 1)),
    _inertia("eccentricity",
             "Eccentricity of the ellipse with the same second moments: 0 is a circle, 1 a line.",
             ranks=FLAT, formula=moments.eccentricity, step=Step(Formula.ECCENTRICITY)),
    _inertia("aspect_ratio",
             "Longest by shortest axis of the ellipse (ellipsoid) with the same second moments.",
             ranks=BOTH, source=OURS, formula=moments.aspect_ratio, step=None),
    _inertia("roundness",
             "4 area / (pi axis_major_length ** 2): 1 for a disk, less for longer shapes (ImageJ).",
             ranks=FLAT, source=OURS, formula=moments.roundness, step=None),
    _inertia("zingg_elongation",
             "Middle by longest axis of the ellipsoid of the same second moments (Zingg 1935).",
             ranks=DEEP, source=OURS, formula=lambda m: moments.axes_ratio(m, 1),
             step=Step(Formula.AXES_RATIO, 1, 0)),
    _inertia("zingg_flatness",
             "Shortest by middle axis of the ellipsoid of the same second moments (Zingg 1935).",
             ranks=DEEP, source=OURS, formula=lambda m: moments.axes_ratio(m, 2),
             step=Step(Formula.AXES_RATIO, 2, 1)),
    _inertia("orientation", "Angle between the first axis and the major axis, -pi/2 to pi/2.",
             ranks=FLAT, unit=RADIAN, formula=moments.orientation, step=Step(Formula.ORIENTATION)),

    _moments("moments", "Sums of powers of coordinates in the bounding box.",
             unit=POWERS, needs=("box", "raw"), formula=lambda m: m.moments("raw")),
    _moments("moments_central", "Sums of powers of distances from the centroid.",
             unit=POWERS, formula=lambda m: m.moments("central")),
    _moments("moments_normalized",
             "Central moments, normalized: the size of the object does not matter.",
             formula=lambda m: moments.normalized_of(m, m.moments("central"))),
    _moments("moments_hu", "Hu's seven invariants to shifts, scale and rotation.",
             ranks=FLAT, formula=lambda m: moments.hu(m.moments("central"), m.spacing)),
    _weighted("centroid_weighted", "Mean coordinate weighted by values.",
              unit=LENGTH, needs=("box", "weighted"), formula=moments.weighted_centroid),
    _weighted("centroid_weighted_local",
              "Mean coordinate weighted by values, relative to the corner of the bounding box.",
              unit=LENGTH, needs=("box", "weighted"),
              formula=lambda m: m.channels(moments.weighted_local(m))),
    _weighted("moments_weighted",
              "Sums of values times powers of coordinates in the bounding box.",
              unit=VALUE_POWERS, needs=("box", "weighted"),
              formula=lambda m: m.channels(m.moments("weighted"))),
    _weighted("moments_weighted_central",
              "Sums of values times powers of distances from the weighted centroid.",
              unit=VALUE_POWERS, formula=lambda m: m.channels(m.moments("weighted_central"))),
    _weighted("moments_weighted_normalized",
              "Weighted central moments, normalized: the size of the object does not matter.",
              formula=lambda m: moments.each_channel(m, partial(moments.normalized_of, m))),
    _weighted("moments_weighted_hu", "Hu's seven invariants of the values.", ranks=FLAT,
              formula=lambda m: moments.each_channel(m, lambda part: moments.hu(part, m.spacing))),

    _gray("intensity_mean", "Mean value.",
          formula=lambda m: m.channels(m.means), step=Step(Formula.VALUE_MEAN)),
    _gray("intensity_min", "Minimum of the values.",
          formula=lambda m: m.channels(m.values.lows.astype(np.float64)),
          step=Step(Formula.VALUE_LOW)),
    _gray("intensity_max", "Maximum of the values.",
          formula=lambda m: m.channels(m.values.highs.astype(np.float64)),
          step=Step(Formula.VALUE_HIGH)),
    _gray("intensity_median", "Median value.", ranks=BOTH, needs=("median",),
          formula=partial(sizes.percentile, percent=50), step=None),
    *(
        _gray(f"intensity_p{percent:02}", f"Value that {percent} % of the values do not exceed, "
              "interpolated as by `numpy.percentile`.",
              ranks=BOTH, source=OURS, needs=("percentiles",), step=None,
              formula=partial(sizes.percentile, percent=percent))
        for percent in PERCENTS
    ),
    _gray("intensity_std", "Standard deviation of the values.", needs=("values", "deviations"),
          formula=lambda m: m.channels(np.sqrt(m.variances)), step=Step(Formula.VALUE_STD)),
    _gray("intensity_sum", "Sum of the values.", source=OURS,
          formula=lambda m: m.channels(m.values.sums), step=Step(Formula.VALUE_SUM)),

    _object("coords", "Coordinates of the pixels.", POSITION, unit=PIXEL),
    _object("coords_scaled", "Coordinates of the pixels times the spacing.", POSITION,
            unit=LENGTH),
    _object("image", "Mask of the object in its bounding box.", SHAPE),
    _object("image_convex", "Mask of the convex hull in the bounding box.", SHAPE),
    _object("image_filled", "Mask with holes filled in the bounding box.", SHAPE),
    _object("image_intensity", "Values of the object in its bounding box.", GRAY, intensity=True,
            unit=VALUE),
    _object("slice", "Slices of the bounding box.", POSITION, unit=PIXEL),
)
# fmt: on

PROPERTIES: dict[str, Property] = {row.name: row for row in ROWS}


# ---- Errors: each is a ValueError and of the type that scikit-image raises


class PropertyUnknownError(ValueError, AttributeError):
    """No property has this name."""


class PropertyUndefinedError(ValueError, NotImplementedError):
    """A property is not defined for this number of axes, or only for stacks."""


class IntensityMissingError(ValueError, AttributeError):
    """A property of values was requested without an intensity image."""


# ---- Properties by name, and where they are defined

REMEDIES = {
    "perimeter": {3: "surface_area_crofton"},
    "perimeter_edges": {3: "surface_area_faces"},
    "perimeter_crofton": {3: "surface_area_crofton"},
    "circularity": {3: "sphericity"},
    "surface_area_faces": {2: "perimeter_edges"},
    "surface_area_crofton": {2: "perimeter_crofton"},
    "sphericity": {2: "circularity"},
    "volume": {2: "area"},
    "eccentricity": {3: "zingg_elongation"},
    "orientation": {3: "inertia_tensor"},
    "moments_hu": {3: "moments_normalized"},
    "moments_weighted_hu": {3: "moments_weighted_normalized"},
    "zingg_elongation": {2: "eccentricity"},
    "zingg_flatness": {2: "eccentricity"},
}


def check_defined(key: str, rank: int, stacked: bool) -> None:
    """Raise PropertyUndefinedError if a property is not defined for such an image."""
    row = PROPERTIES[key]
    if row.ranks and rank not in row.ranks:
        defined = " or ".join(map(str, row.ranks))
        message = f"property {key!r} is defined for {defined} spatial axes; got {rank}."
        other = REMEDIES.get(key, {}).get(rank)
        remedy = f" In {rank}D, ask for {other!r}." if other else " Leave it out."
        raise PropertyUndefinedError(message + remedy)
    if key == "frame" and not stacked:
        message = "property 'frame' is defined for a stack; got stacked=False. Pass stacked=True."
        raise PropertyUndefinedError(message)


def check_counted(wanted: tuple[str, ...], counted: tuple[tuple[str, str], ...]) -> None:
    """Raise PropertyUndefinedError for properties that are not measured across boundaries."""
    known = {name for name, key in counted if PROPERTIES[key].periodic}
    other = [name for name in wanted if name not in known]
    if other:
        message = (
            "properties must need no hulls, holes, medians or scikit-image if axes are periodic; "
            f"got {other[0]!r}. Leave it out, or measure with periodic=False."
        )
        raise PropertyUndefinedError(message)


def check_intensity(keys: tuple[str, ...], values: HostArray | None) -> None:
    """Raise IntensityMissingError if properties of values are requested without values."""
    if keys and values is None:
        message = f"property {keys[0]!r} needs an intensity_image; got None."
        raise IntensityMissingError(message)


def resolve_names(
    names: tuple[str, ...], functions: frozenset[str] = frozenset()
) -> tuple[tuple[str, str], ...]:
    """Return each name once with its key of `PROPERTIES`, or raise PropertyUnknownError.

    Older names of scikit-image are known. Names of `functions` alone are left out.
    """
    found: dict[str, str] = {}
    for name in names:
        if isinstance(name, str) and name in PROPERTIES:
            found[name] = name
        elif name not in functions:
            found[name] = _older_name(name)
    return tuple(found.items())


def _older_name(name: str) -> str:
    """Return the key of a property from a name that it once had in scikit-image."""
    from skimage.measure._regionprops import PROPS

    key = PROPS.get(name)
    if key in PROPERTIES:
        return str(key)
    near = get_close_matches(name, [*PROPERTIES, *PROPS], n=3)
    remedy = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    message = (
        "properties must be names of `equilabel.PROPERTIES`, of scikit-image or ours; "
        f"got {shown(name)}."
    )
    raise PropertyUnknownError(message + remedy)


# ---- What is counted for some columns

VALUES = frozenset({"values", "deviations"})
MOMENTS = frozenset({"raw", "central", "weighted", "weighted_central"})


@dataclass(frozen=True)
class Plan:
    """What is counted for the requested columns, and what follows from labels."""

    columns: tuple[tuple[str, str], ...]  # names with keys of `PROPERTIES` that are counted
    fallback: tuple[tuple[str, str], ...]  # those that scikit-image or `neighbors` computes
    functions: tuple[Callable[..., Any], ...]  # extra properties, called by scikit-image
    layout: Layout
    # Sums over pixels beside the table: "values", "deviations", "raw", "central", "weighted",
    # "weighted_central"; from runs on the host: "hull", "corners" (of hulls), "filled", "median",
    # "percentiles".
    needs: frozenset[str]
    intensity: tuple[str, ...]  # keys of properties that need an intensity image
    order: tuple[str, ...]  # names of all columns as requested

    @cached_property
    def needs_labels(self) -> bool:
        """Whether an image of labels is needed in any case."""
        return bool(self.fallback or self.functions)

    @cached_property
    def needs_pixels(self) -> bool:
        """Whether pixels are summed over, beside the table of counts."""
        return bool(self.needs)

    @cached_property
    def needs_moments(self) -> bool:
        """Whether powers of coordinates are summed."""
        return bool(self.needs & MOMENTS)

    @cached_property
    def needs_host(self) -> bool:
        """Whether something is computed from the runs of each label, on the host."""
        return bool(self.needs & ON_HOST)

    @cached_property
    def only_sizes(self) -> bool:
        """Whether all follows from the number of elements and exposed faces."""
        needs = {need for _, key in self.columns for need in PROPERTIES[key].needs}
        return not self.needs_labels and needs <= {"faces"}


@lru_cache(256)
def make_plan(
    wanted: tuple[str, ...],
    functions: tuple[Callable[..., Any], ...],
    axes: int,
    stacked: bool,
    even: bool,
    first: bool = False,
) -> Plan:
    """Return what to count for some properties; raise an error if one is not known or defined.

    `even` tells whether the spacing is the same along all spatial axes, `first` whether the
    smallest flat index of each label is kept as well.

    >>> plan = make_plan(("perimeter", "area"), (), 2, False, True)
    >>> plan.layout.outline, plan.layout.pairs, plan.layout.seconds, plan.needs_pixels
    ('equal', 'none', False, False)
    """
    theirs = {name for name, row in PROPERTIES.items() if row.source == "skimage"}
    own = {function.__name__ for function in functions} - theirs  # they hide columns of ours
    keys = resolve_names(tuple(name for name in wanted if name not in own), frozenset(own))
    for _, key in keys:
        check_defined(key, axes - stacked, stacked)
    columns = tuple(pair for pair in keys if PROPERTIES[pair[1]].counted)
    needs = {need for _, key in columns for need in PROPERTIES[key].needs}
    layout = Layout(
        axes=axes,
        stacked=stacked,
        first=first,
        seconds="seconds" in needs,
        pairs="all" if "all" in needs else "faces" if "faces" in needs else "none",
        euler_face="euler_face" in needs,
        euler_full="euler_full" in needs,
        outline=("equal" if even else "uneven") if "outline" in needs else "none",
    )
    known = {name for name, _ in keys}
    others = tuple(function for function in functions if function.__name__ not in known)
    return Plan(
        columns=columns,
        fallback=tuple(pair for pair in keys if pair not in columns),
        functions=others,
        layout=layout,
        needs=frozenset(needs & (VALUES | MOMENTS | ON_HOST)),
        intensity=tuple(key for _, key in keys if PROPERTIES[key].intensity),
        order=tuple(dict.fromkeys((*wanted, *(function.__name__ for function in others)))),
    )


# ---- Columns from counts

Columns = dict[str, dict[str, "HostArray"]]


def compute_columns(
    counts: Counts,
    names: Iterable[tuple[str, str]],
    spacing: tuple[float, ...],
    separator: str,
) -> Columns:
    """Compute properties from counts: for each name, paired with its key, its columns.

    0 / 0 gives NaN, and a value that a large spacing makes overflow is infinite.
    """
    found = Measurement(counts, spacing)
    with np.errstate(all="ignore"):
        return {
            name: named_columns(name, _own(PROPERTIES[key].compute(found), counts), separator)
            for name, key in names
        }


def named_columns(name: str, values: HostArray, separator: str) -> dict[str, HostArray]:
    """Return a property as one column, or one for each part, named as in scikit-image.

    >>> list(named_columns("inertia_tensor", np.zeros((5, 2, 2)), "-"))
    ['inertia_tensor-0-0', 'inertia_tensor-0-1', 'inertia_tensor-1-0', 'inertia_tensor-1-1']
    """
    if values.ndim == 1:
        return {name: values}
    names = part_names(name, values.shape[1:], separator)
    return dict(zip(names, values.reshape(len(values), len(names)).T, strict=True))


@lru_cache(1024)
def part_names(name: str, shape: tuple[int, ...], separator: str) -> tuple[str, ...]:
    """Return the names of the columns of a property with several parts."""
    return tuple(separator.join(map(str, (name, *part))) for part in np.ndindex(shape))


def _own(values: HostArray, counts: Counts) -> HostArray:
    """Copy values that are a view of the counts, so that the counts can be freed."""
    shared = not values.flags.owndata and np.may_share_memory(values, counts.table)
    return values.copy() if shared else values
