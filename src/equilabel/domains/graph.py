"""Graphs as lists of neighbors, and conversions from other forms."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from equilabel.arguments import as_host_array, check_choice, check_whole, normalize_bools, shown
from equilabel.storage.memory import check_room

from . import grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from equilabel.array_types import Array

    from .bonds import Bonds


# ---- Checks, and conversion to compressed sparse rows (CSR)
# Arrays are of NumPy or CuPy, and stay on their device.

Asymmetric = Literal["refuse", "symmetrize"]
CHOICES = ("refuse", "symmetrize")
MOST = 3_037_000_499  # vertices whose pairs can be numbered in 63 bits
BYTES = 16  # for each vertex, while a graph is made
SHORT = np.iinfo(np.int32).max


def as_array(values: Any, name: str = "image") -> Array:
    """Return an array of CuPy as it is, and anything else as an array of NumPy."""
    return values if is_of_cupy(values) else as_host_array(name, values)


def is_of_cupy(values: Any) -> bool:
    """Return whether an array is one of CuPy, without importing CuPy."""
    return type(values).__module__.partition(".")[0] == "cupy"


def as_indices(values: Any, name: str) -> Array:
    """Return an array of int32 or int64; raise TypeError if it is not of integers."""
    array = as_array(values, name)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.int64)
    if array.dtype.kind not in "ui":
        message = f"{name} must be an array of integers; got {array.dtype}. Convert it."
        raise TypeError(message)
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        message = f"{name} must fit into 64 bits with a sign; got {int(array.max())}."
        raise ValueError(message)
    narrow = array.dtype.itemsize < 4 or array.dtype.str[1:] == "i4"
    return array.astype(np.int32 if narrow else np.int64, copy=False)


def check_ends(sources: Any, targets: Any) -> tuple[Array, Array]:
    """Return the two ends of each edge, or raise ValueError for other shapes."""
    if targets is None:
        pairs = as_indices(sources, "sources")
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            message = (
                f"sources must have shape (M, 2) if targets is not given; got {pairs.shape}. "
                "Pass one array of pairs, or both ends as two arrays."
            )
            raise ValueError(message)
        return pairs[:, 0], pairs[:, 1]
    one, other = as_indices(sources, "sources"), as_indices(targets, "targets")
    if one.ndim != 1 or one.shape != other.shape:
        message = (
            "sources and targets must be two arrays of one length; got shapes "
            f"{one.shape} and {other.shape}."
        )
        raise ValueError(message)
    return one, other


def check_size(size: int | None, *ends: Array) -> int:
    """Return the number of vertices; raise ValueError if an end is none of them."""
    least, most = 0, -1
    for vertices in ends:
        if vertices.size:
            least = min(least, int(vertices.min()))
            most = max(most, int(vertices.max()))
    count = most + 1 if size is None else check_whole("size", size, 0)
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        message = (
            f"vertices must be 0 to {count - 1}, as there are {count}; got {wrong}. "
            "Pass a larger size=, or indices from 0."
        )
        raise ValueError(message)
    return count


def check_csr(offsets: Any, neighbors: Any) -> tuple[Array, Array]:
    """Return both arrays; raise TypeError or ValueError unless they are lists of neighbors."""
    starts, ends = as_indices(offsets, "offsets"), as_indices(neighbors, "neighbors")
    if is_of_cupy(starts) != is_of_cupy(ends):
        kinds = f"{type(offsets).__name__} and {type(neighbors).__name__}"
        message = f"offsets and neighbors must be arrays of one library; got {kinds} of two."
        raise TypeError(message)
    if starts.ndim != 1 or ends.ndim != 1 or not starts.size:
        message = (
            "offsets and neighbors must have one axis, and offsets an entry more than there are "
            f"vertices; got shapes {starts.shape} and {ends.shape}."
        )
        raise ValueError(message)
    with starts.device if is_of_cupy(starts) else nullcontext():
        rises = bool((starts[1:] >= starts[:-1]).all())
        if not rises or int(starts[0]) != 0 or int(starts[-1]) != ends.size:
            message = (
                f"offsets must rise from 0 to the number of neighbors, {ends.size}; got "
                f"{int(starts[0])} to {int(starts[-1])}{'' if rises else ', falling in between'}."
            )
            raise ValueError(message)
        check_size(int(starts.size) - 1, ends)
    return starts, ends


def arc_sources(offsets: Array, neighbors: Array) -> Array:
    """Return the vertex that each arc starts from, (A,), of the type of `neighbors`."""
    vertices = np.arange(offsets.size - 1, dtype=neighbors.dtype, like=neighbors)
    found: Array = np.repeat(vertices, offsets[1:] - offsets[:-1])
    return found


def from_arcs(
    one: Array, other: Array, size: int, *, both: bool, unique: bool = False
) -> tuple[Array, Array]:
    """Sort arcs by source and target; return offsets and neighbors of the narrowest types.

    `both` says that each arc stands for both directions; `unique` drops repeated arcs.
    """
    keys = _keys(one, other, size)
    check_room("size", size, BYTES * size)
    if both:
        keys = np.concatenate([keys, _keys(other, one, size)])
    keys.sort()
    keys = _distinct(keys) if unique else keys
    first = keys // max(size, 1)
    vertex = np.int32 if size <= SHORT else np.int64
    neighbors = (keys - first * size).astype(vertex)
    count = np.int32 if keys.size <= SHORT else np.int64
    offsets = np.zeros(size + 1, count, like=keys)
    if size:
        offsets[1:] = np.cumsum(np.bincount(first, minlength=size))
    return offsets, neighbors


def symmetric(offsets: Array, neighbors: Array, asymmetric: str) -> tuple[Array, Array]:
    """Return arcs in both directions; raise ValueError if some are missing and this is refused."""
    size = int(offsets.size) - 1
    one, other = arc_sources(offsets, neighbors), neighbors
    forth, back = _keys(one, other, size), _keys(other, one, size)
    for keys in (forth, back):
        keys.sort()
    forth, back = _distinct(forth), _distinct(back)
    if forth.size == back.size and bool((forth == back).all()):
        return offsets, neighbors
    if asymmetric == "symmetrize":
        return from_arcs(one, other, size, both=True, unique=True)
    alone = int(forth[~np.isin(forth, back)][0])
    i, j = divmod(alone, size)
    message = (
        f"neighbors must be symmetric; got {j} as a neighbor of {i}, but not {i} as one of {j}. "
        "Pass asymmetric='symmetrize' to add what is missing."
    )
    raise ValueError(message)


def _keys(one: Array, other: Array, size: int) -> Array:
    """Return a number for each pair of vertices; raise ValueError if there are too many."""
    if size > MOST:
        message = (
            f"a graph must have at most {MOST} vertices to be sorted; got {shown(size)}. "
            "Pass sorted, symmetric arrays to Graph(offsets, neighbors) itself."
        )
        raise ValueError(message)
    return one.astype(np.int64) * size + other


def _distinct(keys: Array) -> Array:
    """Return sorted numbers without repetitions."""
    new = np.empty(keys.size, np.bool_, like=keys)
    new[:1] = True
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


# ---------------------------------------------------------------- other forms


def from_table(neighbors: Any, size: int | None) -> tuple[Array, Array]:
    """Return offsets and neighbors of Komura's list of neighbors."""
    table = as_indices(neighbors, "neighbors")
    size = None if size is None else check_whole("size", size, 0)
    if table.ndim == 1 and size and table.size % size == 0:
        table = table.reshape(-1, size)
    if table.ndim != 2 or size not in (None, table.shape[1]):
        message = (
            "neighbors must have shape (K, N), or be flat with K * N entries and size=N; got shape "
            f"{table.shape} and size={shown(size)}."
        )
        raise ValueError(message)
    if table.size and int(table.min()) < -1:
        message = f"neighbors must be vertices, or -1 for none; got {int(table.min())}."
        raise ValueError(message)
    check_size(int(table.shape[1]), table[table >= 0])
    check_room("size", int(table.shape[1]), BYTES * int(table.shape[1]))
    there = table.T >= 0
    offsets = np.zeros(table.shape[1] + 1, np.int64, like=table)
    offsets[1:] = np.cumsum(there.sum(axis=1))
    return offsets, table.T[there]


LARGEST = int(np.finfo(np.float64).max)  # background that is looked for


def from_pixels(
    pixels: Array, connectivity: int | None, background: int | None
) -> tuple[Array, Array]:
    """Return the ends of the edges between neighbors of equal value that are not background."""
    pixels = normalize_bools(pixels)
    if pixels.dtype.kind not in "buif":
        message = f"image must be of bool or numbers; got {pixels.dtype}."
        raise TypeError(message)
    pixels = pixels.view(np.uint8) if pixels.dtype == np.bool_ else pixels
    level: Any = None if background is None else check_whole("background", background)
    if level is not None:
        limits = (np.finfo if pixels.dtype.kind == "f" else np.iinfo)(pixels.dtype)
        least, most = max(int(limits.min), -LARGEST), min(int(limits.max), LARGEST)
        level = pixels.dtype.type(level) if least <= level <= most else None
    axes = pixels.ndim
    hops = axes if connectivity is None else check_whole("connectivity", connectivity)
    if axes and not 1 <= hops <= axes:
        message = f"connectivity must be 1 to {axes} for {axes} axes; got {shown(hops)}."
        raise ValueError(message)
    numbers = np.arange(pixels.size, dtype=np.int64, like=pixels).reshape(pixels.shape)
    ends = [(numbers.ravel()[:0],) * 2]
    for step in grid.half(grid.offsets(axes, hops)) if axes else ():
        here = tuple(slice(max(-s, 0), min(-s, 0) or None) for s in step.tolist())
        there = tuple(slice(max(s, 0), min(s, 0) or None) for s in step.tolist())
        joined = pixels[here] == pixels[there]
        if level is not None:
            joined &= pixels[here] != level
        ends.append((numbers[here][joined], numbers[there][joined]))
    one, other = map(np.concatenate, zip(*ends, strict=True))
    return one, other


# ---- The domain of graphs


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph: vertices 0 to N - 1, and the neighbors of each (CSR).

    Each edge is stored twice, once at either end: as two arcs. Self loops and repeated edges may
    occur; they change no component. Arrays of int32 and int64 are kept, others are converted. The
    constructors below check that each edge is stored twice; ``Graph(offsets, neighbors)`` does not.

    Attributes
    ----------
    offsets : (N + 1,) array of int32 or int64, of NumPy or CuPy
        The neighbors of vertex ``i`` are ``neighbors[offsets[i]:offsets[i + 1]]``.
    neighbors : (A,) array of int32 or int64, of the same library
        If ``j`` is among the neighbors of ``i``, then ``i`` is among those of ``j``.

    Raises
    ------
    TypeError
        If they are not integers.
    ValueError
        If offsets do not rise from 0 to the number of neighbors, or a neighbor is not a vertex.

    Examples
    --------
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (4, 3)])
    >>> graph.offsets.tolist(), graph.neighbors.tolist()
    ([0, 1, 3, 4, 5, 6], [1, 0, 2, 1, 4, 3])
    """

    kind: ClassVar[Literal["graph"]] = "graph"

    offsets: Array
    neighbors: Array

    def __post_init__(self) -> None:
        offsets, neighbors = check_csr(self.offsets, self.neighbors)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "neighbors", neighbors)

    @property
    def size(self) -> int:
        """Number of vertices."""
        return int(self.offsets.size) - 1

    @property
    def degrees(self) -> Array:
        """Number of neighbors of each vertex, (N,)."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Both ends of each edge, the smaller first, without self loops: two arrays (M,)."""
        sources = arc_sources(self.offsets, self.neighbors)
        once = sources < self.neighbors
        return sources[once], self.neighbors[once]

    @classmethod
    def from_edges(
        cls, sources: ArrayLike, targets: ArrayLike | None = None, *, size: int | None = None
    ) -> Graph:
        """Make a graph from a list of edges.

        Parameters
        ----------
        sources, targets : (M,) arrays of int
            The two ends of each edge; or one array (M, 2), without `targets`. Each edge is given
            once, in either direction.
        size : int, optional
            Number of vertices; by default the greatest index plus 1.

        Raises
        ------
        TypeError
            If the ends are not integers.
        ValueError
            If a vertex is negative or not below `size`, or if the shapes do not match.
        """
        one, other = check_ends(sources, targets)
        count = check_size(size, one, other)
        return cls(*from_arcs(one, other, count, both=True))

    @classmethod
    def from_csr(
        cls, offsets: ArrayLike, neighbors: ArrayLike, *, asymmetric: Asymmetric = "refuse"
    ) -> Graph:
        """Make a graph from the two arrays of a compressed sparse matrix.

        Parameters
        ----------
        offsets, neighbors : arrays of int
            As the attributes.
        asymmetric : {"refuse", "symmetrize"}
            What to do if ``j`` is a neighbor of ``i``, but ``i`` is not one of ``j``: raise
            ValueError, or add the missing arc.

        Raises
        ------
        TypeError
            If they are not integers.
        ValueError
            If they do not describe a graph.
        """
        check_choice("asymmetric", asymmetric, CHOICES)
        starts, ends = check_csr(offsets, neighbors)
        return cls(*symmetric(starts, ends, asymmetric))

    @classmethod
    def from_neighbor_list(
        cls,
        neighbors: ArrayLike,
        size: int | None = None,
        *,
        asymmetric: Asymmetric = "refuse",
    ) -> Graph:
        """Make a graph from a table with equally many entries for each vertex (Komura 2016).

        Parameters
        ----------
        neighbors : (K, N) or (K * N,) array of int
            Entry ``i + k * N`` is a neighbor of vertex ``i``, or -1 if it has fewer than K.
        size : int, optional
            N; needed if the array is flat.
        asymmetric : {"refuse", "symmetrize"}
            As for `from_csr`.

        Raises
        ------
        TypeError, ValueError
            As for `from_csr`.

        Examples
        --------
        >>> Graph.from_neighbor_list([[1, 0, -1], [-1, 2, 1]]).neighbors.tolist()
        [1, 0, 2, 1]
        """
        check_choice("asymmetric", asymmetric, CHOICES)
        starts, ends = from_table(neighbors, size)
        return cls(*symmetric(starts, ends, asymmetric))

    @classmethod
    def from_scipy(cls, array: Any, *, asymmetric: Asymmetric = "symmetrize") -> Graph:
        """Make a graph from a sparse array of SciPy or, on a GPU, of `cupyx.scipy.sparse`.

        Parameters
        ----------
        array : (N, N) sparse array or matrix
            A stored entry is an edge, whatever its value; one of the two directions is enough.
            Zeros that fill up the blocks of a BSR array are not entries.
        asymmetric : {"refuse", "symmetrize"}
            As for `from_csr`.

        Raises
        ------
        TypeError
            If it is not a sparse array.
        ValueError
            If it is not square.
        """
        check_choice("asymmetric", asymmetric, CHOICES)
        if not hasattr(array, "tocsr"):
            message = f"array must be a sparse array; got {type(array).__name__}."
            raise TypeError(message)
        if len(array.shape) != 2 or array.shape[0] != array.shape[1]:
            message = f"array must have as many rows as columns; got shape {array.shape}."
            raise ValueError(message)
        rows = array.tocsr()
        if getattr(array, "format", None) == "bsr":  # zeros that fill up its blocks are no entries
            rows.eliminate_zeros()
        return cls.from_csr(rows.indptr, rows.indices, asymmetric=asymmetric)

    @classmethod
    def from_dense(cls, array: Any) -> Graph:
        """Make a graph from an adjacency matrix of NumPy or, on a GPU, of CuPy.

        Parameters
        ----------
        array : (N, N) array of bool or numbers
            An entry is an edge unless it is 0, NaN or infinite, as for `scipy.sparse.csgraph`, or
            masked; one of the two directions is enough.

        Raises
        ------
        TypeError, ValueError
            If it is not of bool or numbers, or not square.
        """
        masked = isinstance(array, np.ma.MaskedArray)
        matrix = as_array(array.filled(0) if masked else array, "array")
        if matrix.dtype.kind not in "buif":
            message = f"array must be of bool or numbers; got {matrix.dtype}."
            raise TypeError(message)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            rule = f"array must have as many rows as columns; got shape {matrix.shape}."
            message = f"{rule} Pairs of vertices are taken by Graph.from_edges."
            raise ValueError(message)
        with matrix.device if is_of_cupy(matrix) else nullcontext():
            there = np.nonzero((matrix != 0) & np.isfinite(matrix))
        return cls.from_edges(*there, size=len(matrix))

    @classmethod
    def from_igraph(cls, graph: Any) -> Graph:
        """Make a graph from an `igraph.Graph`, or raise TypeError; directions are ignored."""
        if not (hasattr(graph, "get_edgelist") and hasattr(graph, "vcount")):
            message = f"graph must be one of igraph; got {type(graph).__name__}."
            raise TypeError(message)
        ends = np.fromiter(chain.from_iterable(graph.get_edgelist()), np.int64)
        return cls.from_edges(ends[::2], ends[1::2], size=graph.vcount())

    @classmethod
    def from_networkx(cls, graph: Any) -> Graph:
        """Make a graph from one of NetworkX; vertices are numbered in the order of iteration.

        Parameters
        ----------
        graph : networkx.Graph, or one of its relatives
            Directions of edges are ignored.

        Raises
        ------
        TypeError
            If it is not a graph of NetworkX.
        """
        if not (hasattr(graph, "edges") and hasattr(graph, "nodes")):
            message = f"graph must be one of NetworkX; got {type(graph).__name__}."
            raise TypeError(message)
        number = {node: index for index, node in enumerate(graph)}
        pairs = chain.from_iterable((number[one], number[other]) for one, other in graph.edges())
        ends = np.fromiter(pairs, np.int64)
        return cls.from_edges(ends[::2], ends[1::2], size=len(graph))

    @classmethod
    def from_image(
        cls, image: ArrayLike, connectivity: int | None = None, *, background: int | None = 0
    ) -> Graph:
        """Make a graph from an image: neighbors of equal value are joined.

        Parameters
        ----------
        image : array of bool or int
            Each pixel is a vertex, in raster order; background pixels are vertices without edges.
        connectivity : int, optional
            As for `label`; by default the number of axes.
        background : int, optional
            Value whose pixels are not joined; None if there is none.

        Raises
        ------
        ValueError
            If `connectivity` is out of range.
        """
        pixels = as_array(image)
        one, other = from_pixels(pixels, connectivity, background)
        return cls.from_edges(one, other, size=int(pixels.size))

    @classmethod
    def from_bonds(cls, bonds: Bonds) -> Graph:
        """Make a graph from a lattice: its open bonds are edges.

        Raises
        ------
        ValueError
            If an open bond leads outside.
        """
        if getattr(bonds, "kind", None) != "bonds":
            message = (
                f"bonds must be Bonds; got {shown(bonds)}. Make them with "
                "equilabel.domains.lattices."
            )
            raise TypeError(message)
        flat = bonds.open.reshape(-1)
        ends = [(np.zeros(0, np.int64, like=flat),) * 2]
        for k in range(len(bonds.steps)):
            sites = np.flatnonzero(flat >> k & 1)
            found = np.asarray(bonds.neighbors(k), like=flat)[sites]
            if found.size and int(found.min()) < 0:
                outside = int(sites[found < 0][0])
                message = (
                    "bonds must not be open across a boundary that is not periodic; got bit "
                    f"{k} of site {outside}. Clear it, or make the axis periodic."
                )
                raise ValueError(message)
            ends.append((sites, found))
        return cls.from_edges(*map(np.concatenate, zip(*ends, strict=True)), size=bonds.size)
