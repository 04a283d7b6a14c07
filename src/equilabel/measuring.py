"""Tables of what each label measures."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import passes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

ACCELERATED = (
    "label",
    "num_pixels",
    "area",
    "bbox",
    "area_bbox",
    "centroid",
    "centroid_local",
    "extent",
    "equivalent_diameter_area",
    "perimeter",
    "intensity_min",
    "intensity_max",
    "intensity_mean",
    "intensity_std",
    "perimeter_edges",
    "surface_area_faces",
    "frame",
)


def regionprops_table(
    label_image: ArrayLike,
    intensity_image: ArrayLike | None = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    cache: bool = True,
    separator: str = "-",
    extra_properties: Iterable[Callable[..., Any]] | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> dict[str, NDArray[Any]]:
    """Measure every label of an image.

    A drop-in for `skimage.measure.regionprops_table`: same arguments, columns and definitions.

    Parameters
    ----------
    label_image : (M, N[, ...]) array of int, 1 to 6 axes
        Labels; 0 is background. Labels that do not occur get no row.
    intensity_image : (M, N[, ...][, C]) array of int or float, optional
        Image to measure under the labels; one axis more holds channels.
    properties : iterable of str
        Columns to compute. In closed form, over runs of pixels: label, num_pixels, area, bbox,
        area_bbox, centroid, centroid_local, extent, equivalent_diameter_area, perimeter (2D),
        intensity_min, intensity_max, intensity_mean and intensity_std. Ours alone:
        perimeter_edges (2D; length of the exposed pixel edges), surface_area_faces (3D; area of
        the exposed voxel faces) and, with `stacked`, frame. Any other that scikit-image knows is
        computed by it, label by label.
    cache : bool
        Passed on to scikit-image.
    separator : str
        Stands between the name of a property and the numbers of its parts: "centroid-0".
    extra_properties : iterable of callable, optional
        Passed on to scikit-image.
    spacing : float or sequence of float, optional
        Distance of pixels along each spatial axis, in any unit. Default 1. Lengths and areas are
        in this unit and its powers; bbox is in pixels.
    stacked : bool
        Whether the first axis counts independent images, as `label` numbers them with
        ``stacked=True``. Every label has to lie in one of them. It is measured in the other axes,
        and the column "frame" tells in which image it is.

    Returns
    -------
    dict of str to (N,) array
        A row for each label, in ascending order. Counts, labels and bbox are int64, the others
        float64.

    Raises
    ------
    TypeError
        If `label_image` is not of an integer type.
    ValueError
        If a label is negative, shapes or `spacing` do not fit, or a property is unknown or not
        defined for the number of axes.

    References
    ----------
    .. [1] K. Benkrid, D. Crookes, A. Benkrid, Design and FPGA implementation of a perimeter
       estimator, Proc. Irish Machine Vision and Image Processing Conf. (2000) 51-57: perimeter.
    .. [2] O. Kalentev et al., J. Parallel Distrib. Comput. 71 (2011) 615-620: exposed edges and
       faces are what its Listing 4 can accumulate while labeling.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 2]])
    >>> table = regionprops_table(labels, properties=("label", "area", "perimeter"), spacing=0.5)
    >>> {name: column.tolist() for name, column in table.items()}
    {'label': [1, 2], 'area': [1.0, 0.25], 'perimeter': [2.0, 0.0]}
    """
    labels = _check_labels(label_image)
    rank = labels.ndim - bool(stacked)
    if rank < 1:
        message = f"label_image must have 2 or more axes with stacked=True; got {labels.ndim}."
        raise ValueError(message)
    steps = check_spacing(spacing, rank)
    values = _check_values(intensity_image, labels.shape)
    wanted = [properties] if isinstance(properties, str) else list(properties)
    ours = [name for name in wanted if name in ACCELERATED]
    others = [name for name in wanted if name not in ACCELERATED]
    for name in ours:
        _check_defined(name, rank, stacked, values)
    _check_known(others)
    measured = _Measured(labels, values, steps, stacked, set(ours))
    columns = {name: measured.columns(name, separator) for name in ours}
    if others or extra_properties is not None:
        columns |= _pass_on(
            labels, values, others, cache, separator, extra_properties, steps, stacked
        )
    extra = [function.__name__ for function in extra_properties or ()]
    table: dict[str, NDArray[Any]] = {}
    for name in [*wanted, *extra]:
        table |= columns[name]
    return table


def check_spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...]:
    """Return the distance of pixels along each of `rank` axes, or raise ValueError."""
    if spacing is None:
        return (1.0,) * rank
    steps = (spacing,) * rank if np.ndim(spacing) == 0 else tuple(spacing)  # type: ignore[arg-type]
    if len(steps) != rank:
        message = f"spacing must be a number or {rank} numbers; got {spacing!r}."
        raise ValueError(message)
    if not all(np.isfinite(step) and step > 0 for step in steps):
        message = f"spacing must be positive and finite; got {spacing!r}."
        raise ValueError(message)
    return tuple(float(step) for step in steps)


class _Measured:
    """What was accumulated for each label that occurs, and the columns that follow from it."""

    def __init__(
        self,
        labels: NDArray[Any],
        values: NDArray[Any] | None,
        spacing: tuple[float, ...],
        stacked: bool,
        names: set[str],
    ) -> None:
        self.kernels = passes("measuring", "cpu")
        self.spacing = np.array(spacing)
        self.stacked = stacked
        self.outline = "perimeter" in names
        largest = self.kernels.largest(labels) if labels.size else 0
        self.flat, ids = _compact(labels, largest)
        table = self.kernels.tabulate(self.flat.reshape(labels.shape), len(ids), self.outline)
        self.kept = np.flatnonzero(table[:, 0])
        self.labels = ids[self.kept]
        table = table[self.kept]
        self.pixels = table[:, 0]
        self.axes = table[:, 1 : 1 + 4 * labels.ndim].reshape(-1, labels.ndim, 4)
        self.marks = table[:, 1 + 4 * labels.ndim :]
        if stacked:
            self.frames = self.axes[:, 0, 1]
            _check_frames(self.labels, self.axes[:, 0])
            self.axes = self.axes[:, 1:]
        self.values = values
        self._intensities: dict[str, NDArray[Any]] = {}
        self.slots = len(ids)

    def columns(self, name: str, separator: str) -> dict[str, NDArray[Any]]:
        """Return a property as one column, or as one for each part."""
        parts: NDArray[Any] = getattr(self, f"_{name}")()
        if parts.ndim == 1:
            return {name: parts}
        return {f"{name}{separator}{part}": parts[:, part] for part in range(parts.shape[1])}

    def _label(self) -> NDArray[Any]:
        return self.labels

    def _frame(self) -> NDArray[Any]:
        return self.frames

    def _num_pixels(self) -> NDArray[Any]:
        return self.pixels

    def _area(self) -> NDArray[Any]:
        return self.pixels * self.spacing.prod()

    def _bbox(self) -> NDArray[Any]:
        return np.concatenate([self.axes[:, :, 1], self.axes[:, :, 2]], axis=1)

    def _sides(self) -> NDArray[Any]:
        sides: NDArray[Any] = self.axes[:, :, 2] - self.axes[:, :, 1]
        return sides

    def _area_bbox(self) -> NDArray[Any]:
        return self._sides().prod(axis=1) * self.spacing.prod()

    def _extent(self) -> NDArray[Any]:
        return self.pixels / self._sides().prod(axis=1)

    def _centroid(self) -> NDArray[Any]:
        return self.axes[:, :, 0] / self.pixels[:, None] * self.spacing

    def _centroid_local(self) -> NDArray[Any]:
        sums = self.axes[:, :, 0] - self.axes[:, :, 1] * self.pixels[:, None]
        return sums / self.pixels[:, None] * self.spacing

    def _equivalent_diameter_area(self) -> NDArray[Any]:
        rank = len(self.spacing)
        return np.asarray((2 * rank * self._area() / np.pi) ** (1 / rank))

    def _perimeter(self) -> NDArray[Any]:
        weights = np.array([1, np.sqrt(2), (1 + np.sqrt(2)) / 2])
        return np.asarray(self.marks @ weights * self.spacing[0])

    def _exposed(self) -> NDArray[Any]:
        """Count the exposed faces across each axis, times the area of one."""
        pairs = self.axes[:, :, 3].copy()
        pairs[:, -1] = self.pixels - pairs[:, -1]
        faces = 2 * (self.pixels[:, None] - pairs)
        return np.asarray((faces * (self.spacing.prod() / self.spacing)).sum(axis=1))

    _perimeter_edges = _exposed
    _surface_area_faces = _exposed

    def _intensity_min(self) -> NDArray[Any]:
        return self._intensity("min")

    def _intensity_max(self) -> NDArray[Any]:
        return self._intensity("max")

    def _intensity_mean(self) -> NDArray[Any]:
        return self._intensity("mean")

    def _intensity_std(self) -> NDArray[Any]:
        if "std" not in self._intensities:
            means = np.zeros((self.slots, *self._intensity("mean").shape[1:]))
            means[self.kept] = self._intensity("mean")
            squares = self.kernels.squares(self.flat, self._columns(), means)[self.kept]
            counts = self.pixels.reshape(-1, *[1] * (squares.ndim - 1))
            self._intensities["std"] = np.sqrt(squares / counts)
        return self._intensities["std"]

    def _intensity(self, name: str) -> NDArray[Any]:
        if not self._intensities:
            sums, lows, highs = self.kernels.intensities(self.flat, self._columns(), self.slots)
            counts = self.pixels.reshape(-1, *[1] * (sums.ndim - 1))
            self._intensities = {
                "mean": sums[self.kept] / counts,
                "min": lows[self.kept].astype(np.float64),
                "max": highs[self.kept].astype(np.float64),
            }
        return self._intensities[name]

    def _columns(self) -> NDArray[Any]:
        """Return the values pixel by pixel, with or without an axis of channels."""
        assert self.values is not None
        return self.values.reshape(self.flat.size, *self.values.shape[self._rank() :])

    def _rank(self) -> int:
        return len(self.spacing) + self.stacked


def _check_labels(label_image: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(label_image)
    if labels.dtype.kind not in "ui":
        message = (
            f"label_image must be of an integer type; got {labels.dtype}. "
            "Label it first, as in `regionprops_table(label(mask))`."
        )
        raise TypeError(message)
    if not 1 <= labels.ndim <= 6:
        message = f"label_image must have 1 to 6 axes; got {labels.ndim}."
        raise ValueError(message)
    return labels.astype(labels.dtype.newbyteorder("="), copy=False)


def _check_values(image: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if image is None:
        return None
    values = np.asarray(image)
    if values.dtype.kind not in "buif":
        message = f"intensity_image must be of a real type; got {values.dtype}."
        raise TypeError(message)
    if values.shape[: len(shape)] != shape or values.ndim > len(shape) + 1:
        message = (
            f"intensity_image must have the shape of label_image, {shape}, and at most one axis "
            f"more for channels; got {values.shape}."
        )
        raise ValueError(message)
    return values


def _check_defined(name: str, rank: int, stacked: bool, values: NDArray[Any] | None) -> None:
    axes = {"perimeter": 2, "perimeter_edges": 2, "surface_area_faces": 3}.get(name, rank)
    if rank != axes:
        remedy = {
            "perimeter": "In 3D, ask for 'surface_area_faces'.",
            "perimeter_edges": "In 3D, ask for 'surface_area_faces'.",
            "surface_area_faces": "In 2D, ask for 'perimeter_edges'.",
        }[name]
        message = f"property {name!r} is defined for {axes} spatial axes; got {rank}. {remedy}"
        raise ValueError(message)
    if name == "frame" and not stacked:
        message = "property 'frame' is defined for a stack; got stacked=False. Pass stacked=True."
        raise ValueError(message)
    if name.startswith("intensity_") and values is None:
        message = f"property {name!r} needs an intensity_image; got None."
        raise ValueError(message)


def _check_known(names: Sequence[str]) -> None:
    if not names:
        return
    from skimage.measure._regionprops import PROPS, RegionProperties

    public = {name for name in dir(RegionProperties) if not name.startswith("_")}
    known = set(ACCELERATED) | set(PROPS) | public
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), sorted(known), n=3)
            remedy = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            message = f"properties must be names that scikit-image or equilabel know; got {name!r}."
            raise ValueError(message + remedy)


def _check_frames(labels: NDArray[Any], frames: NDArray[Any]) -> None:
    torn = np.flatnonzero(frames[:, 2] - frames[:, 1] > 1)
    if torn.size:
        first = labels[torn[0]]
        message = (
            "label_image must hold every label in one image of the stack; got label "
            f"{first} in several. Label it with `label(..., stacked=True)`."
        )
        raise ValueError(message)


def _compact(labels: NDArray[Any], largest: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return labels that can index a table, flat, and the label that each index stands for."""
    if largest < 0:
        message = f"label_image must hold no negative labels; got {largest}. 0 is background."
        raise ValueError(message)
    flat = np.ascontiguousarray(labels).reshape(-1)
    if largest <= max(4 * flat.size, 1024):
        return flat, np.arange(largest + 1, dtype=np.int64)
    ids, inverse = np.unique(flat, return_inverse=True)
    if ids[0] != 0:
        ids = np.insert(ids, 0, 0)
        inverse = inverse + 1
    return inverse.reshape(-1), ids.astype(np.int64)


def _pass_on(
    labels: NDArray[Any],
    values: NDArray[Any] | None,
    names: Sequence[str],
    cache: bool,
    separator: str,
    extra: Iterable[Callable[..., Any]] | None,
    spacing: tuple[float, ...],
    stacked: bool,
) -> dict[str, dict[str, NDArray[Any]]]:
    """Let scikit-image compute what is not accelerated; each image of a stack by itself."""
    from skimage.measure import regionprops_table as theirs

    images = [(labels, values)]
    if stacked:
        images = [
            (image, None if values is None else values[frame]) for frame, image in enumerate(labels)
        ]
    functions = list(extra or ())
    tables = [
        theirs(
            image,
            value,
            properties=("label", *names),
            cache=cache,
            separator=separator,
            extra_properties=functions or None,
            spacing=spacing,
        )
        for image, value in images
    ]
    joined = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    order = np.argsort(joined["label"], kind="stable")
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    for name in [*names, *(function.__name__ for function in functions)]:
        columns[name] = {
            key: column[order]
            for key, column in joined.items()
            if key == name or key.startswith(name + separator)
        }
    return columns
