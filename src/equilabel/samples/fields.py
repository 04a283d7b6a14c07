"""Random fields, curves and mosaics."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_flag, check_number, check_shape, check_whole
from equilabel.storage.memory import check_room

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Scale = float | Sequence[float] | NDArray[np.float64]


# ---- Smooth random fields, and images made from them

BYTES = 32  # for each pixel, while an image is made
WIDEST = 1e6  # pixels, of a blur


def check_sample(
    shape: Sequence[int], seed: int, fewest: int = 1, most: int = 32
) -> tuple[tuple[int, ...], int]:
    """Return the sides of a sample image, and its seed; raise TypeError or ValueError."""
    sides = check_shape("shape", shape, fewest, most)
    check_room("shape", shape, BYTES * prod(sides))
    return sides, check_whole("seed", seed, 0)


def blur(field: NDArray[np.float32], *parts: tuple[float, Scale]) -> NDArray[np.float32]:
    """Return a weighted sum of Gaussian blurs of a field, whose border pixels go on outside.

    A part is a weight and a standard deviation in pixels, for each axis or for all.
    """
    from scipy.fft import next_fast_len

    if field.size == 0:
        return field
    widest = np.max([np.broadcast_to(scale, field.ndim) for _, scale in parts], axis=0)
    before = np.ceil(3 * widest).astype(int).tolist()
    sizes = [next_fast_len(s + 2 * b, real=True) for s, b in zip(field.shape, before, strict=True)]
    after = np.subtract(sizes, field.shape) - before
    padded = np.pad(field, list(zip(before, after, strict=True)), mode="edge")
    inner = tuple(slice(b, b + s) for b, s in zip(before, field.shape, strict=True))
    return _filter(padded, parts)[inner]


def _filter(
    field: NDArray[np.float32], parts: Iterable[tuple[float, Scale]]
) -> NDArray[np.float32]:
    """Blur a field as if opposite borders touched."""
    frequencies = [*map(np.fft.fftfreq, field.shape[:-1]), np.fft.rfftfreq(field.shape[-1])]
    response = np.zeros((), dtype=np.float32)
    for weight, scale in parts:
        sigmas = np.broadcast_to(scale, field.ndim)
        curves = [
            np.exp(-2 * (np.pi * sigma * frequency) ** 2).astype(np.float32)
            for sigma, frequency in zip(sigmas, frequencies, strict=True)
        ]
        response = response + reduce(np.multiply.outer, curves, np.float32(weight))
    spectrum = np.fft.rfftn(field)
    spectrum *= response
    blurred = np.fft.irfftn(spectrum, field.shape, range(field.ndim))
    return blurred.astype(np.float32, copy=False)


def smooth_field(
    shape: Sequence[int], scale: Scale, seed: int | np.random.Generator = 0
) -> NDArray[np.float32]:
    """Return a Gaussian random field of mean 0 and standard deviation 1; `scale` is in pixels."""
    noise = np.random.default_rng(seed).standard_normal(tuple(shape), dtype=np.float32)
    if noise.size == 0:
        return noise
    field = _filter(noise, [(1.0, scale)])
    if field.size > 1:
        field -= field.mean()
        field /= max(field.std(), np.finfo(np.float32).tiny)
    return field


def positions(shape: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the positions of pixels along the last two axes, (H, 1) and (W,), from 0 to 1."""
    y, x = (
        (np.arange(n, dtype=np.float32) + np.float32(0.5)) / np.float32(max(n, 1))
        for n in shape[-2:]
    )
    return y[:, None], x


def blobs(
    shape: Sequence[int] = (512, 512), seed: int = 0, *, scale: float = 8.0, fraction: float = 0.5
) -> NDArray[np.bool_]:
    """Make smooth blobs that cover a fraction of the image.

    Parameters
    ----------
    shape, seed : sequence of int of any length, int
    scale : float
        Size of the blobs in pixels: a run is about 4.4 times as long.
    fraction : float
        Share of the foreground, 0 to 1.

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
    rank = min(round(field.size * (1 - fraction)), field.size)
    if rank == 0:
        return np.ones(field.shape, dtype=np.bool_)
    return np.asarray(field > np.partition(field, rank - 1, axis=None)[rank - 1])


def porous_medium(shape: Sequence[int] = (64, 128, 128), seed: int = 0) -> NDArray[np.uint8]:
    """Make the micro-CT image of a porous rock, with the noise and the rings of a detector.

    Parameters
    ----------
    shape, seed : sequence of int, int
        Two or three axes; the rotation axis is the first of three.

    Returns
    -------
    array of uint8
        Gray values: pores near 70, about 30 % of it, quartz near 140, heavy grains near 200.

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
    heavy = np.clip(0.5 + (smooth_field(shape, 9.0, rng) - 1.35) / 0.3, 0, 1)
    image = np.float32(70) + solid * (np.float32(70) + np.float32(60) * heavy)
    del walls, solid, heavy
    y, x = (2 * along - 1 for along in positions(shape))
    radius, side = np.sqrt(x * x + y * y), max(shape[-2:])
    rings = rng.normal(0, 2.2, side + 1).astype(np.float32)
    image *= 0.95 + 0.07 * radius**2
    image += rings[(radius * side / 2).astype(np.intp)]
    image += np.float32(9) * rng.standard_normal(image.shape, dtype=np.float32)
    return np.asarray(np.clip(np.rint(image), 0, 255), dtype=np.uint8)


# ---- Curves one pixel wide: one component that winds through the whole image


def spiral(size: int = 255) -> NDArray[np.bool_]:
    """Draw a square spiral, one pixel wide with gaps of one pixel: a path of 4-neighbors.

    It leads from the top left corner to the middle: the longest way for a label.

    Parameters
    ----------
    size : int
        Rows and columns.

    Returns
    -------
    (size, size) array of bool

    Examples
    --------
    >>> spiral(5).astype(int)
    array([[1, 1, 1, 1, 1],
           [0, 0, 0, 0, 1],
           [1, 1, 1, 0, 1],
           [1, 0, 0, 0, 1],
           [1, 1, 1, 1, 1]])
    """
    size = check_whole("size", size, 0)
    check_room("size", size, size**2)
    image = np.zeros((size, size), dtype=np.bool_)
    image[:1, :1] = True
    for k in range(0, (size + 1) // 2 if size > 2 else 0, 2):  # lines have 3 pixels or more
        end = size - k
        image[k, max(k - 2, 0) : end] = True
        if end - k > 2:
            image[k:end, end - 1] = image[end - 1, k:end] = True
        if end - k > 4:
            image[k + 2 : end, k] = True
    return image


def hilbert(order: int = 7, *, padded: bool = False) -> NDArray[np.bool_]:
    """Draw the Hilbert curve, one pixel wide with gaps of one pixel: a path of 4-neighbors.

    Parameters
    ----------
    order : int
        The curve visits ``2**order`` by ``2**order`` points.
    padded : bool
        Whether to add an empty row and column, which makes the size a power of two.

    Returns
    -------
    (S, S) array of bool
        ``S = 2**(order + 1) - 1``, or one more if padded.

    Examples
    --------
    >>> hilbert(1).astype(int)
    array([[1, 0, 1],
           [1, 0, 1],
           [1, 1, 1]])
    """
    order, padded = check_whole("order", order, 0, 30), check_flag("padded", padded)
    check_room("order", order, 8 * 4**order)
    image = np.ones((1, 1), dtype=np.bool_)  # from the top left to the top right corner
    for _ in range(order):
        size, corner = len(image), image[::-1, ::-1].T
        quarters = [[image.T, corner], [image, image]]
        image = np.block([[np.pad(each, (0, 1)) for each in row] for row in quarters])[:-1, :-1]
        image[size, [0, -1]] = image[size + 1, size] = True
    return np.pad(image, (0, int(padded)))


# ---- Images tiled by independent cells: percolation noise and Voronoi cells


def percolation(
    shape: Sequence[int] = (512, 512), p: float = 0.592746, granularity: int = 1, seed: int = 0
) -> NDArray[np.bool_]:
    """Make noise of blocks that are foreground independently of each other.

    Parameters
    ----------
    shape, seed : sequence of int of any length, int
    p : float
        Probability of the foreground. Default: the percolation threshold of 4-neighbors.
    granularity : int
        Side of a block in pixels.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> percolation((2, 8), 0.5, granularity=2, seed=1).astype(int)
    array([[1, 1, 0, 0, 0, 0, 0, 0],
           [1, 1, 0, 0, 0, 0, 0, 0]])
    """
    sides, seed = check_sample(shape, seed)
    granularity = check_whole("granularity", granularity, 1)
    p = check_number("p", p, 0, 1)
    blocks = [-(-side // granularity) for side in sides]
    image = np.random.default_rng(seed).random(blocks, dtype=np.float32) < p
    for axis, side in enumerate(sides if granularity > 1 else ()):
        image = np.repeat(image, min(granularity, side), axis=axis)
    return np.ascontiguousarray(image[tuple(map(slice, sides))])


def voronoi(
    shape: Sequence[int] = (512, 512), cells: int = 300, seed: int = 0
) -> NDArray[np.int32]:
    """Divide an image among random points: each pixel holds the number of the nearest point.

    Parameters
    ----------
    shape, seed : sequence of int of any length, int
    cells : int
        Number of points.

    Returns
    -------
    array of int32
        1 to `cells`, without background. A cell that contains no pixel is missing.

    Examples
    --------
    >>> int(voronoi((4, 12), cells=4, seed=3).max())
    4
    """
    from scipy.spatial import KDTree

    shape, seed = check_sample(shape, seed)
    cells = check_whole("cells", cells, 1, 2**31 - 1)
    check_room("cells", cells, 64 * cells)
    image = np.zeros(prod(shape), dtype=np.int32)
    tree = KDTree(np.random.default_rng(seed).random((cells, len(shape))) * shape - 0.5)
    for begin in range(0, image.size, 2**18):
        part = image[begin : begin + 2**18]
        pixels = np.unravel_index(np.arange(begin, begin + part.size), shape)
        part[:] = tree.query(np.transpose(pixels), workers=-1)[1] + 1
    return image.reshape(shape)
