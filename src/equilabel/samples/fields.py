"""Random fields, curves and mosaics."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_flag, check_number, check_shape, check_whole
from equilabel.storage.memory import check_room

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Scale = float | Sequence[float] | NDArray[np.float64]
    from collections.abc import Sequence

    from numpy.typing import NDArray


# ---- Smooth random fields, and the images that are one field cut or shaded

BYTES = 32  # of a pixel, while it is made
WIDEST = 1e6  # pixels, of a blur


def blur(field: NDArray[np.float32], *parts: tuple[float, Scale]) -> NDArray[np.float32]:
    """Add up Gaussian blurs of a field, whose borders go on outside as they end inside.

    Parameters
    ----------
    field : array of float32
    *parts : (weight, scale)
        How much of a blur, and its standard deviation in pixels, per axis or for all.

    Returns
    -------
    array of float32

    Examples
    --------
    >>> blur(np.ones((3, 4), dtype=np.float32), (0.5, 0.0), (1.0, (2.0, 1.0))).round(3)
    array([[1.5, 1.5, 1.5, 1.5],
           [1.5, 1.5, 1.5, 1.5],
           [1.5, 1.5, 1.5, 1.5]], dtype=float32)
    """
    if field.size == 0:
        return field
    widest = np.max([np.broadcast_to(scale, field.ndim) for _, scale in parts], axis=0)
    margins = np.ceil(3 * widest).astype(int)
    sizes = [_smooth_size(s + 2 * m) for s, m in zip(field.shape, margins, strict=True)]
    after = np.subtract(sizes, field.shape) - margins
    padded = np.pad(field, list(zip(margins, after, strict=True)), mode="edge")
    inner = tuple(slice(m, m + size) for m, size in zip(margins, field.shape, strict=True))
    return _filter(padded, parts)[inner]


def check_sample(
    shape: Sequence[int], seed: int, fewest: int = 1, most: int = 32
) -> tuple[tuple[int, ...], int]:
    """Return the sides of a sample image, and its seed; raise TypeError or ValueError."""
    sides = check_shape("shape", shape, fewest, most)
    check_room("shape", shape, BYTES * prod(sides))
    return sides, check_whole("seed", seed, 0)


def smooth_field(
    shape: Sequence[int], scale: Scale, seed: int | np.random.Generator = 0
) -> NDArray[np.float32]:
    """Make a Gaussian random field of mean 0 and standard deviation 1.

    Parameters
    ----------
    shape : sequence of int
    scale : float or sequence of float
        Standard deviation of the Gaussian that smooths the noise, in pixels.
    seed : int or numpy.random.Generator

    Returns
    -------
    array of float32

    Examples
    --------
    >>> round(float(smooth_field((64, 64), 4).std()), 3)
    1.0
    """
    noise = np.random.default_rng(seed).standard_normal(tuple(shape), dtype=np.float32)
    if noise.size == 0:
        return noise
    field = _filter(noise, [(1.0, scale)])
    if field.size > 1:
        field -= field.mean()
        field /= max(field.std(), np.finfo(np.float32).tiny)
    return field


def blobs(
    shape: Sequence[int] = (512, 512), seed: int = 0, *, scale: float = 8.0, fraction: float = 0.5
) -> NDArray[np.bool_]:
    """Make smooth blobs that cover part of the image.

    Parameters
    ----------
    shape : sequence of int
        Any number of axes.
    seed : int
    scale : float
        Size of the blobs in pixels: a run is about 4.4 times as long.
    fraction : float
        Part of the image that is foreground, 0 to 1.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> float(blobs((256, 256)).mean())
    0.5
    """
    sides, seed = check_sample(shape, seed)
    fraction = check_number("fraction", fraction, 0, 1)
    field = smooth_field(sides, check_number("scale", scale, 0, WIDEST), seed)
    if field.size == 0:
        return np.zeros(field.shape, dtype=np.bool_)
    rank = min(round(field.size * (1 - fraction)), field.size)
    if rank == 0:
        return np.ones(field.shape, dtype=np.bool_)
    cut = np.partition(field, rank - 1, axis=None)[rank - 1]
    return np.asarray(field > cut)


def porous_medium(shape: Sequence[int] = (64, 128, 128), seed: int = 0) -> NDArray[np.uint8]:
    """Make the micro-CT image of a porous rock: bright grains, dark pores.

    Two minerals fill about 70 % of the volume. The tube brings noise, the detector rings around
    the first axis, the hardening of the beam a rim brighter than the middle.

    Parameters
    ----------
    shape : sequence of int
        Two or three axes; the sample turns around the first of three.
    seed : int

    Returns
    -------
    array of uint8
        Gray values: pores near 70, quartz near 140, heavy grains near 200.

    Examples
    --------
    >>> image = porous_medium((32, 64, 64))
    >>> bool(0.2 < (image < 105).mean() < 0.4)
    True
    """
    shape, seed = check_sample(shape, seed, 2, 3)
    rng = np.random.default_rng(seed)
    walls = smooth_field(shape, 4.5, rng)
    walls += 0.45 * smooth_field(shape, 1.8, rng)
    solid = np.clip(0.5 + (walls + 0.55) / 0.5, 0, 1)  # a voxel at a wall is partly solid
    minerals = smooth_field(shape, 9.0, rng)
    heavy = np.clip(0.5 + (minerals - 1.35) / 0.3, 0, 1)
    image = np.float32(70) + solid * (np.float32(70) + np.float32(60) * heavy)
    del walls, solid, minerals, heavy

    height, width = shape[-2:]
    y = (np.arange(height, dtype=np.float32)[:, None] + 0.5) / max(height, 1) * 2 - 1
    x = (np.arange(width, dtype=np.float32) + 0.5) / max(width, 1) * 2 - 1
    radius = np.sqrt(x * x + y * y)
    pixels = rng.normal(0, 2.2, max(height, width) + 1).astype(np.float32)
    rings = pixels[(radius * max(height, width) / 2).astype(np.intp)]
    image *= 0.95 + 0.07 * radius**2
    image += rings
    image += np.float32(9) * rng.standard_normal(image.shape, dtype=np.float32)
    return np.asarray(np.clip(np.rint(image), 0, 255), dtype=np.uint8)


def _filter(
    field: NDArray[np.float32], parts: Iterable[tuple[float, Scale]]
) -> NDArray[np.float32]:
    """Blur a field as if opposite borders touched."""
    frequencies = [np.fft.fftfreq(size) for size in field.shape[:-1]]
    frequencies.append(np.fft.rfftfreq(field.shape[-1]))
    response = np.zeros((), dtype=np.float32)
    for weight, scale in parts:
        factor = np.array(weight, dtype=np.float32)
        for sigma, frequency in zip(np.broadcast_to(scale, field.ndim), frequencies, strict=True):
            curve = np.exp(-2 * (np.pi * sigma * frequency) ** 2)
            factor = np.multiply.outer(factor, curve.astype(np.float32))
        response = response + factor
    spectrum = np.fft.rfftn(field)
    spectrum *= response
    blurred = np.fft.irfftn(spectrum, field.shape, range(field.ndim))
    return blurred.astype(np.float32, copy=False)


def _smooth_size(size: int) -> int:
    """Round up to a product of 2, 3 and 5, whose Fourier transform is fast."""
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1


# ---- Curves one pixel wide: one component that winds through the whole image


def spiral(size: int = 255) -> NDArray[np.bool_]:
    """Draw a square spiral, one pixel wide with gaps of one pixel.

    It is a single path of 4-neighbors from the top left corner to the middle: the longest way
    that a label can have to travel.

    Parameters
    ----------
    size : int
        Rows and columns.

    Returns
    -------
    (size, size) array of bool

    Examples
    --------
    >>> spiral(7).astype(int)
    array([[1, 1, 1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0, 0, 1],
           [1, 1, 1, 1, 1, 0, 1],
           [1, 0, 0, 0, 1, 0, 1],
           [1, 0, 1, 1, 1, 0, 1],
           [1, 0, 0, 0, 0, 0, 1],
           [1, 1, 1, 1, 1, 1, 1]])
    """
    size = check_whole("size", size, 0)
    check_room("size", size, size**2)
    image = np.zeros((size, size), dtype=np.bool_)
    image[:1, :1] = True
    row = column = 0
    turn, length = 0, size - 1
    while length >= 2:
        down, right = ((0, 1), (1, 0), (0, -1), (-1, 0))[turn % 4]
        ends = (row + down * length, column + right * length)
        rows, columns = sorted((row, ends[0])), sorted((column, ends[1]))
        image[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = True
        row, column = ends
        turn += 1
        if turn >= 3 and turn % 2:  # every second line stops two pixels earlier
            length -= 2
    return image


def hilbert(order: int = 7, *, padded: bool = False) -> NDArray[np.bool_]:
    """Draw the Hilbert curve, one pixel wide with gaps of one pixel.

    It is a single path of 4-neighbors that visits every second pixel of every second row.

    Parameters
    ----------
    order : int
        The curve visits ``2**order`` by ``2**order`` points.
    padded : bool
        Whether to add an empty row and column, which makes the size a power of two.

    Returns
    -------
    (S, S) array of bool
        ``S = 2**(order + 1) - 1``, or one more where padded.

    Examples
    --------
    >>> hilbert(2).astype(int)
    array([[1, 1, 1, 0, 1, 1, 1],
           [0, 0, 1, 0, 1, 0, 0],
           [1, 1, 1, 0, 1, 1, 1],
           [1, 0, 0, 0, 0, 0, 1],
           [1, 0, 1, 1, 1, 0, 1],
           [1, 0, 1, 0, 1, 0, 1],
           [1, 1, 1, 0, 1, 1, 1]])
    """
    order, padded = check_whole("order", order, 0, 30), check_flag("padded", padded)
    check_room("order", order, 8 * 4**order)
    image = np.ones((1, 1), dtype=np.bool_)  # from the top left to the top right corner
    for _ in range(order):
        size = len(image)
        larger = np.zeros((2 * size + 1, 2 * size + 1), dtype=np.bool_)
        larger[:size, :size] = image.T
        larger[size + 1 :, :size] = image
        larger[size + 1 :, size + 1 :] = image
        larger[:size, size + 1 :] = image[::-1, ::-1].T
        larger[size, [0, -1]] = True
        larger[size + 1, size] = True
        image = larger
    return np.pad(image, (0, 1)) if padded else image


# ---- Images tiled by independent cells: percolation noise and Voronoi cells


def percolation(
    shape: Sequence[int] = (512, 512), p: float = 0.592746, granularity: int = 1, seed: int = 0
) -> NDArray[np.bool_]:
    """Make noise whose blocks are foreground independently of each other.

    Parameters
    ----------
    shape : sequence of int
        Any number of axes.
    p : float
        Probability that a block is foreground. The default is the threshold of 4-neighbors on
        the square lattice, where components of every size exist.
    granularity : int
        Side of a block in pixels.
    seed : int

    Returns
    -------
    array of bool

    Examples
    --------
    >>> percolation((4, 8), 0.5, granularity=2, seed=1).astype(int)
    array([[1, 1, 0, 0, 0, 0, 0, 0],
           [1, 1, 0, 0, 0, 0, 0, 0],
           [1, 1, 1, 1, 0, 0, 0, 0],
           [1, 1, 1, 1, 0, 0, 0, 0]])
    """
    sides, seed = check_sample(shape, seed)
    granularity = check_whole("granularity", granularity, 1)
    p = check_number("p", p, 0, 1)
    rng = np.random.default_rng(seed)
    blocks = tuple(-(-size // granularity) for size in sides)
    image = rng.random(blocks, dtype=np.float32) < p
    for axis, side in enumerate(sides if granularity > 1 else ()):
        image = np.repeat(image, min(granularity, side), axis=axis)
    return np.ascontiguousarray(image[tuple(slice(size) for size in sides)])


def voronoi(
    shape: Sequence[int] = (512, 512), cells: int = 300, seed: int = 0
) -> NDArray[np.int32]:
    """Divide an image among random points: each pixel holds the number of the nearest.

    Parameters
    ----------
    shape : sequence of int
        Any number of axes.
    cells : int
        Number of points.
    seed : int

    Returns
    -------
    array of int32
        1 to `cells`; there is no background. A cell between pixels may be missing.

    Examples
    --------
    >>> int(voronoi((4, 12), cells=4, seed=3).max())
    4
    """
    shape, seed = check_sample(shape, seed)
    cells = check_whole("cells", cells, 1, 2**31 - 1)
    check_room("cells", cells, 64 * cells)
    sides = np.array(shape, dtype=float)
    image = np.zeros(shape, dtype=np.int32)
    if image.size == 0:
        return image
    points = np.random.default_rng(seed).random((cells, len(sides))) * sides - 0.5
    # A box keeps the points that can be nearest to one of its pixels: those whose least distance
    # does not exceed the least greatest distance. One point left: the box is painted.
    boxes = [(np.zeros(image.ndim, np.intp), np.array(image.shape), np.arange(cells))]
    while boxes:
        start, stop, near = boxes.pop()
        below, above = start - points[near], points[near] - (stop - 1)
        least = (np.maximum(np.maximum(below, above), 0) ** 2).sum(axis=1)
        greatest = (np.minimum(below, above) ** 2).sum(axis=1)
        near = near[least <= greatest.min()]
        size = stop - start
        if len(near) == 1 or size.prod() <= 2048:
            box = tuple(map(slice, start, stop))
            image[box] = near[_nearest(points[near], start, stop)] + 1
        else:
            longest = size.argmax()
            lower, upper = stop.copy(), start.copy()
            lower[longest] = upper[longest] = (start + stop)[longest] // 2
            boxes += [(start, lower, near), (upper, stop, near)]
    return image


def _nearest(
    points: NDArray[np.float64], start: NDArray[np.intp], stop: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Find the number of the point nearest to each pixel of a box."""
    shape = tuple(stop - start)
    best = np.zeros(shape, dtype=np.int32)
    closest = np.full(shape, np.inf)
    for number, point in enumerate(points[: len(points) if len(points) > 1 else 0]):
        squares = np.zeros(())
        for low, high, place in zip(start, stop, point, strict=True):
            squares = np.add.outer(squares, (np.arange(low, high) - place) ** 2)
        np.copyto(best, number, where=squares < closest)
        np.minimum(closest, squares, out=closest)
    return best
