"""What others say, or what follows from a definition followed to the letter: slow and plain."""

from itertools import product

import numpy as np
import pytest
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage import measure

from equilabel.domains.bonds import Bonds
from equilabel.domains.grid import Foreground, Grid
from equilabel.papers.table import METHODS

GRID_METHODS = [name for name, row in METHODS.items() if "grid" in row.domains]
BOND_METHODS = [
    row.name for row in METHODS.values() if row.answer == "roots" and "bonds" in row.domains
]
LATTICES = {
    "chain": ((17,), [(1,)]),
    "square": ((9, 11), [(0, 1), (1, 0)]),
    "pair of columns": ((7, 2), [(0, 1), (1, 0)]),
    "one column": ((7, 1), [(0, 1), (1, 0)]),
    "triangular": ((8, 5), [(0, 1), (1, 0), (1, 1)]),
    "crossed": ((2, 6), [(1, -1), (1, 0), (1, 1), (0, 1)]),
    "no step along rows": ((6, 5), [(1, -1), (1, 0)]),
    "cubic": ((3, 4, 5), [(0, 0, 1), (0, 1, 0), (1, 0, 0)]),
    "corners": ((2, 3, 3), [(1, -1, 1), (0, 1, -1), (1, 0, 0)]),
    "four axes": ((2, 3, 1, 4), [(0, 0, 0, 1), (1, -1, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0)]),
}
# Enough where only the kind of answer matters: a method that answers with runs, one with roots.
ANSWERS = list({METHODS[name].answer: name for name in reversed(GRID_METHODS)}.values())


def expected_labels(image, background=None, connectivity=None):
    """Label as scikit-image does, and value by value with SciPy for more axes than it knows."""
    connectivity = image.ndim if connectivity is None else connectivity
    if image.dtype.kind == "b":
        return measure.label(image, background, connectivity=connectivity)
    background = 0 if background is None else background
    if image.dtype.kind == "u" and image.itemsize == 8:  # scikit-image wraps its upper half
        values, inverse = np.unique(image, return_inverse=True)
        image = inverse.reshape(image.shape)  # flat, before NumPy 2
        background = values.tolist().index(background) if background in values.tolist() else -1
    if image.ndim <= 3:
        return measure.label(image, background, connectivity=connectivity)
    return label_each_value(image, background, connectivity)


def label_each_value(image, background, connectivity):
    """Label each value by itself, and number all in raster order of the first pixel."""
    structure = ndimage.generate_binary_structure(image.ndim, connectivity)
    labels = np.zeros(image.shape, np.int64)
    for value in np.unique(image).tolist():
        if value != background:
            part, _ = ndimage.label(image == value, structure)
            labels[part > 0] = part[part > 0] + labels.max()
    return number_in_raster_order(labels)


def number_in_raster_order(labels):
    """Number labels 1, 2, ... by their first pixel, in C order; 0 stays."""
    values, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(values), np.int64)
    present = values[np.argsort(first)]
    order[np.searchsorted(values, present[present != 0])] = np.arange(1, 1 + (present != 0).sum())
    order[values == 0] = 0
    return order[inverse].reshape(labels.shape)


def label_pixel_graph(image, background, connectivity):
    """Label the graph whose nodes are pixels, and edges join neighbors of one value."""
    if image.dtype.kind == "b":
        background = background == 1
    places = np.arange(image.size).reshape(image.shape)
    ones, others = [], []
    for step in product((-1, 0, 1), repeat=image.ndim):
        if 0 < np.abs(step).sum() <= connectivity:
            here = tuple(slice(max(-s, 0), min(-s, 0) or None) for s in step)
            there = tuple(slice(max(s, 0), min(s, 0) or None) for s in step)
            equal = image[here] == image[there]
            ones.append(places[here][equal])
            others.append(places[there][equal])
    ends = np.concatenate(ones), np.concatenate(others)
    graph = coo_array((np.ones(len(ends[0]), bool), ends), (image.size, image.size))
    _, components = connected_components(graph.tocsr(), directed=False)
    foreground = (image != background).ravel()
    return number_in_raster_order(np.where(foreground, components + 1, 0).reshape(image.shape))


def label_periodic_graph(image, connectivity, periodic):
    """Label the graph of pixels whose neighbors are found around the axes that are periodic."""
    places = np.indices(image.shape)
    flat = np.arange(image.size).reshape(image.shape)
    ones, others = [], []
    for step in product((-1, 0, 1), repeat=image.ndim):
        if not 0 < np.abs(step).sum() <= connectivity:
            continue
        there, inside = [], np.ones(image.shape, bool)
        for coordinate, hop, side, around in zip(places, step, image.shape, periodic, strict=True):
            beyond = (coordinate + hop < 0) | (coordinate + hop >= side)
            inside &= around | ~beyond
            there.append((coordinate + hop) % side)
        met = inside & (image == image[tuple(there)])
        ones.append(flat[met])
        others.append(flat[tuple(there)][met])
    ends = np.concatenate(ones), np.concatenate(others)
    graph = coo_array((np.ones(len(ends[0]), bool), ends), (image.size, image.size))
    _, components = connected_components(graph.tocsr(), directed=False)
    foreground = (image != 0).ravel()
    return number_in_raster_order(np.where(foreground, components + 1, 0).reshape(image.shape))


def count_faces(mask, spacing):
    """Add up the faces between pixels of an object and pixels that are not, in units of length."""
    padded = np.pad(mask, 1).astype(np.int8)
    return sum(
        np.abs(np.diff(padded, axis=axis)).sum() * np.prod(spacing) / spacing[axis]
        for axis in range(mask.ndim)
    )


def measure_by_hand(labels, spacing):
    """Measure object by object, in any number of axes."""
    rows = []
    for label in np.unique(labels[labels != 0]).tolist():
        mask = labels == label
        where = np.argwhere(mask)
        low, high = where.min(0), where.max(0) + 1
        area = len(where) * np.prod(spacing)
        row = {"label": label, "num_pixels": len(where), "area": area}
        row |= {f"bbox-{k}": end for k, end in enumerate([*low, *high])}
        row["area_bbox"] = np.prod(high - low) * np.prod(spacing)
        row |= {f"centroid-{k}": c for k, c in enumerate(where.mean(0) * spacing)}
        local = (where - low).mean(0) * spacing
        row |= {f"centroid_local-{k}": c for k, c in enumerate(local)}
        row["extent"] = len(where) / np.prod(high - low)
        row["equivalent_diameter_area"] = (2 * mask.ndim * area / np.pi) ** (1 / mask.ndim)
        row["exposed"] = count_faces(mask, spacing)
        rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def same_partition(labels, others):
    """Return whether two label images group the same pixels."""
    return np.array_equal(number_in_raster_order(labels), number_in_raster_order(others))


def grid_of(image, background=0, connectivity=1, *, stacked=False, compare="!=", values=None):
    """Describe an image to passes; without a background, all of it is foreground."""
    level = None if background is None else image.dtype.type(background)
    if values is None:
        values = image.dtype.kind != "b" or background is None
    return Grid(
        image,
        Foreground("all" if background is None else compare, level, values),
        connectivity,
        stacked,
    )


def bond_roots(bonds):
    """Return the smallest site of each site's component, by SciPy's graphs."""
    sites = np.arange(bonds.size)
    ones, others = [], []
    for k in range(len(bonds.steps)):
        is_open = (bonds.open.reshape(-1) >> k & 1).astype(bool)
        ones.append(sites[is_open])
        others.append(bonds.neighbors(k)[is_open])
    ends = np.concatenate(ones), np.concatenate(others)
    graph = coo_array((np.ones(len(ends[0]), bool), ends), (bonds.size, bonds.size))
    _, components = connected_components(graph.tocsr(), directed=False)
    return np.unique(components, return_index=True)[1][components]


def random_bonds(shape, steps, periodic, share=0.5, seed=0, dtype=None):
    """Open a share of the bonds of a lattice."""
    chances = np.random.default_rng(seed)
    steps = np.array(steps, np.int64).reshape(-1, len(shape))
    dtype = np.min_scalar_type(2 ** len(steps) - 1) if dtype is None else np.dtype(dtype)
    bonds = Bonds(np.zeros(shape, dtype), steps, tuple(periodic))
    for k in range(len(steps)):
        is_open = (chances.random(shape) < share) & (bonds.neighbors(k).reshape(shape) >= 0)
        bonds.open[is_open] |= np.array(1 << k).astype(dtype)
    return bonds


def skip_unknown_rank(method, rank):
    """Skip a test of a method for a number of axes that it does not know."""
    if rank not in METHODS[method].ranks:
        pytest.skip(f"{method} knows {METHODS[method].ranks} axes")
