"""Statistics of parts of an image that add up to those of the whole: a monoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import passes

from .accumulation import Accumulation, plan
from .checks import (
    check_defined,
    check_labels,
    check_not_negative,
    check_spacing,
    check_values,
    resolve_names,
)
from .columns import COLUMNS
from .intensities import sum_values
from .laying import lay_out
from .properties import PROPERTIES
from .wide import Wide, add, find_wide, join, may_be_wide, split, sum_wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.kernels.layout import Layout


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts of the labels in a part of an image.

    `measure_part` makes them and ``one.merge(other)`` adds them up: whole numbers exactly, in any
    order and grouping; sums and squares of floats up to rounding.

    Attributes
    ----------
    labels : (N,) array of int64
        Labels that occur, ascending.
    counts : (N, layout.width) array of int64
        As `equilabel.kernels.layout` says, in coordinates of the whole image.
    layout : Layout
    shape : tuple of int
        Shape of the whole image.
    values : tuple of three (N, C) arrays, or None
        Sum, least and greatest value of each label and channel.
    squares : (N, C) array of float64, or None
        Sum of the squared distances of values from their mean.
    single : bool
        Whether the intensity image has no axis of channels.
    """

    labels: NDArray[np.int64]
    counts: NDArray[np.int64]
    layout: Layout
    shape: tuple[int, ...]
    values: tuple[NDArray[Any], ...] | None = None
    squares: NDArray[np.float64] | None = None
    single: bool = True
    high: NDArray[np.int64] | None = None

    def merge(self, other: Statistics) -> Statistics:
        """Add up the statistics of two parts without a common pixel.

        Raises
        ------
        ValueError
            If the parts are not of one image, or count different things.
        """
        if (self.layout, self.shape) != (other.layout, other.shape) or (self.values is None) != (
            other.values is None
        ):
            message = (
                "other must be statistics of the same properties and whole shape, "
                f"{self.shape}; got {other.shape}. Pass the same properties and shape."
            )
            raise ValueError(message)
        labels = np.union1d(self.labels, other.labels)
        counts = np.zeros((len(labels), self.layout.width), np.int64)
        greatest = slice(self.layout["lows"].start, self.layout["highs"].stop)
        lines = [np.searchsorted(labels, part.labels) for part in (self, other)]
        for line, part in zip(lines, (self, other), strict=True):
            most = np.maximum(counts[line, greatest], part.counts[:, greatest])
            counts[line] += part.counts
            counts[line, greatest] = most
        values = squares = high = None
        if self.high is not None and other.high is not None:
            columns = _wide_columns(self.layout)
            zeros = np.zeros((len(labels), len(columns)), np.int64)
            total = (zeros, zeros)
            for line, part in zip(lines, (self, other), strict=True):
                spread = np.zeros((2, *zeros.shape), np.int64)
                spread[0, line] = part.counts[:, columns]
                spread[1, line] = part.high  # type: ignore[assignment]
                total = add(total, (spread[0], spread[1]))
            high = total[1]
        if self.values is not None and other.values is not None:
            values = _merge_values(len(labels), lines, self.values, other.values)
            squares = _merge_squares(len(labels), lines, self, other)
        return Statistics(
            labels, counts, self.layout, self.shape, values, squares, self.single, high
        )

    def table(
        self,
        properties: Iterable[str] = ("label", "bbox"),
        *,
        separator: str = "-",
        spacing: float | Sequence[float] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Compute columns, as `regionprops_table` does for a whole image.

        Parameters
        ----------
        properties : iterable of str
            Some of those that the parts were measured for.
        separator, spacing
            As for `regionprops_table`; spacings have to be equal or not as for `measure_part`.
        """
        steps = check_spacing(spacing, self.layout.rank)
        sums = Accumulation(
            self.labels, self.counts, self.layout, self.shape, steps, wide=self._wide()
        )
        if self.values is not None:
            sums.values = self.values
        if self.squares is not None:
            sums.variances = self.squares / sums.pixels[:, None]
        sums.single = self.single
        table: dict[str, NDArray[Any]] = {}
        with np.errstate(all="ignore"):
            for name, kind in resolve_names(list(properties)).items():
                table |= lay_out(name, COLUMNS[kind](sums), separator)
        return table

    def _wide(self) -> Wide | None:
        """Put both words of the sums together that need them."""
        rows = find_wide(self.counts, self.layout, self.shape)
        if self.high is None or not len(rows):
            return None
        exact = join(self.counts[rows][:, _wide_columns(self.layout)], self.high[rows])
        axes = self.layout.axes
        return Wide(rows, exact[:, int(self.layout.stacked) : axes], exact[:, axes:])


def measure_part(
    label_image: ArrayLike,
    intensity_image: ArrayLike | None = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    box: Sequence[tuple[int, int]] | None = None,
    origin: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> Statistics:
    """Measure a part of an image, so that parts can be merged.

    Parameters
    ----------
    label_image, intensity_image : arrays
        A piece of the image: the part, and around it a halo of pixels that belong to others. One
        pixel on every side that is cut is enough; the perimeter needs two.
    properties : iterable of str
        What will be asked for: any that kernels count, without moments of third order and
        weighted ones.
    box : sequence of (int, int), optional
        First and last + 1 pixel of the part along each axis of the piece. Default: all of it.
    origin : sequence of int, optional
        Where the first pixel of the piece lies in the whole image. Default: 0.
    shape : sequence of int, optional
        Shape of the whole image. Default: that of the piece.
    spacing, stacked
        As for `regionprops_table`.

    Returns
    -------
    Statistics

    Raises
    ------
    TypeError, ValueError
        As `regionprops_table` does; ValueError also if the part leaves the piece or the piece the
        whole image.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 1, 1], [2, 2, 0, 1]])
    >>> left = measure_part(labels[:, :3], properties=["euler_number"], box=[(0, 2), (0, 2)],
    ...                     shape=(2, 4))
    >>> right = measure_part(labels[:, 1:], properties=["euler_number"], box=[(0, 2), (1, 3)],
    ...                      origin=(0, 1), shape=(2, 4))
    >>> left.merge(right).table(["label", "num_pixels", "euler_number"])
    {'label': array([1, 2]), 'num_pixels': array([5, 2]), 'euler_number': array([1, 1])}
    """
    labels = check_labels(label_image)
    rank = labels.ndim - bool(stacked)
    values = check_values(intensity_image, labels.shape)
    steps = check_spacing(spacing, rank)
    kinds = resolve_names([properties] if isinstance(properties, str) else list(properties))
    for kind in kinds.values():
        check_defined(kind, rank, stacked, values)
        if not PROPERTIES[kind].counted or kind.startswith(("moments", "centroid_w")):
            message = (
                f"properties must be counts that parts add up to; got {kind!r}. "
                "Ask `regionprops_table` for it."
            )
            raise ValueError(message)
    layout, _ = plan(kinds.values(), labels.ndim, stacked, steps)
    whole = labels.shape if shape is None else tuple(shape)
    place = (0,) * labels.ndim if origin is None else tuple(origin)
    _check_part(labels.shape, box, place, whole)
    kernels = passes("measuring", "cpu")
    rows = kernels.LabelRows(np.ascontiguousarray(labels))
    found = kernels.Survey(rows, layout, keep=values is not None, box=box)
    check_not_negative(found.labels, labels)
    wide = None
    large = find_wide(found.table, layout, labels.shape)
    if len(large):
        wide = sum_wide(kernels, labels, found.labels[large], large, layout)
    counts, high = _shift(found.table, layout, labels.shape, place, whole, wide)
    sums = squares = None
    if values is not None:
        flat = values.reshape(labels.size, *(values.shape[labels.ndim :] or (1,)))
        sums = sum_values(found, flat, counts[:, 0])[:3]
        squares = found.squares(flat, sums[0] / counts[:, :1])
    return Statistics(
        found.labels,
        counts,
        layout,
        whole,
        sums,
        squares,
        values is None or values.ndim == labels.ndim,
        high,
    )


def _check_part(
    sides: tuple[int, ...], box: Any, origin: tuple[Any, ...], shape: tuple[Any, ...]
) -> None:
    """Raise TypeError or ValueError unless a box lies in a piece and the piece in the image."""
    axes = len(sides)
    spans = [(0, side) for side in sides] if box is None else [tuple(span) for span in box]
    for name, numbers, count in (
        ("box", [end for span in spans for end in span], 2 * axes),
        ("origin", origin, axes),
        ("shape", shape, axes),
    ):
        if len(numbers) != count or not all(isinstance(n, (int, np.integer)) for n in numbers):
            each = "two whole numbers" if name == "box" else "a whole number"
            message = f"{name} must hold {each} for each of {axes} axes; got {numbers!r}."
            raise TypeError(message)
    if any(
        len(span) != 2 or not 0 <= span[0] <= span[1] <= n
        for span, n in zip(spans, sides, strict=True)
    ):
        message = f"box must lie in the piece, of shape {sides}; got {spans!r}."
        raise ValueError(message)
    if any(
        begin < 0 or begin + side > whole
        for begin, side, whole in zip(origin, sides, shape, strict=True)
    ):
        message = (
            f"origin and shape must hold the piece, of shape {sides}; got origin {origin!r} and "
            f"shape {shape!r}."
        )
        raise ValueError(message)


def _shift(
    table: NDArray[np.int64],
    layout: Layout,
    sides: tuple[int, ...],
    origin: tuple[int, ...],
    shape: tuple[int, ...],
    wide: Wide | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Turn counts in coordinates of a piece into those of the whole image.

    Returns
    -------
    table : (N, layout.width) array of int64
        Sums and products modulo 2**64.
    high : (N, columns of sums and products) array of int64, or None
        Their upper words; None if no label of such an image needs them.
    """
    shifted = table.copy()
    lows, highs = layout["lows"], layout["highs"]
    start: NDArray[Any] = np.array(origin, np.int64)
    shifted[:, lows] += np.array(shape, np.int64) - start - np.array(sides, np.int64)
    shifted[:, highs] += start
    deep = may_be_wide(shape, layout)
    pixels: NDArray[Any] = table[:, :1]
    sums: NDArray[Any] = table[:, layout["sums"]]
    products: NDArray[Any] = table[:, layout["seconds"]]
    if deep:
        start, pixels, sums, products = (
            part.astype(object) for part in (start, pixels, sums, products)
        )
    space = slice(int(layout.stacked), None)
    if wide is not None:
        sums[wide.rows, space], products[wide.rows] = wide.sums, wide.products
    one, other = layout.products
    begin, near = start[space], sums[:, space]
    products = products + (
        begin[one] * near[:, other] + begin[other] * near[:, one]
        + begin[one] * begin[other] * pixels
    )  # fmt: skip
    sums = sums + start * pixels
    if not deep:
        shifted[:, layout["sums"]], shifted[:, layout["seconds"]] = sums, products
        return shifted, None
    low, high = split(np.concatenate([sums, products], axis=1))
    shifted[:, _wide_columns(layout)] = low
    return shifted, high


def _wide_columns(layout: Layout) -> NDArray[np.int64]:
    """List the columns of sums and products, which may need two words."""
    columns = np.arange(layout.width)
    return np.concatenate([columns[layout["sums"]], columns[layout["seconds"]]])


def _merge_values(count: int, lines: list[Any], one: Any, other: Any) -> Any:
    """Add sums, and keep the least and greatest."""
    sums = [np.zeros((count, part[0].shape[1]), part[0].dtype) for part in (one, other)]
    for line, whole, part in zip(lines, sums, (one, other), strict=True):
        whole[line] = part[0]
    merged = [_add_sums(*sums)]
    fresh = ~np.isin(lines[1], lines[0])
    both = lines[1][~fresh]
    for kind, keep in ((1, np.minimum), (2, np.maximum)):
        whole = np.zeros((count, one[kind].shape[1]), np.result_type(one[kind], other[kind]))
        whole[lines[0]] = one[kind]
        whole[lines[1][fresh]] = other[kind][fresh]
        whole[both] = keep(whole[both], other[kind][~fresh])
        merged.append(whole)
    return tuple(merged)


def _add_sums(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Add sums, which become float64 where int64 might not hold them."""
    if one.dtype.kind == "i" and one.size:
        most = np.abs(one.astype(np.float64)).max() + np.abs(other.astype(np.float64)).max()
        if most >= 2.0**63:
            return np.asarray(one.astype(np.float64) + other)
    return np.asarray(one + other)


def _merge_squares(
    count: int, lines: list[Any], one: Statistics, other: Statistics
) -> NDArray[np.float64]:
    """Add squared distances from means to those from the common mean (Chan et al. 1979)."""
    pixels, means, squares = [], [], []
    for line, part in zip(lines, (one, other), strict=True):
        count_part = np.zeros((count, 1))
        count_part[line] = part.counts[:, :1]
        mean = np.zeros((count, part.squares.shape[1]))  # type: ignore[union-attr]
        mean[line] = part.values[0] / part.counts[:, :1]  # type: ignore[index]
        square = np.zeros_like(mean)
        square[line] = part.squares
        pixels.append(count_part)
        means.append(mean)
        squares.append(square)
    between = pixels[0] * pixels[1] / (pixels[0] + pixels[1])
    return np.asarray(squares[0] + squares[1] + (means[1] - means[0]) ** 2 * between)
