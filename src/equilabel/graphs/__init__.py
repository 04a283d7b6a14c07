"""The domain of graphs: vertices, and for each the list of its neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from equilabel.arguments import check_choice

from . import adjacency

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from equilabel.array_types import Array
    from equilabel.bonds import Bonds

    from .adjacency import Asymmetric


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph: vertices 0 to N - 1, and the neighbors of each (CSR).

    Each edge is stored twice, once for either end: as two arcs. Self loops and repeated edges may
    occur; they change no component. Arrays of other integers are converted; those of int32 and
    int64 are kept, and `label_graph` looks at them again. Whether each edge is stored twice is
    checked by the constructors below, and not by ``Graph(offsets, neighbors)`` itself.

    Attributes
    ----------
    offsets : (N + 1,) array of int32 or int64, of NumPy or CuPy
        The neighbors of vertex ``i`` are ``neighbors[offsets[i]:offsets[i + 1]]``.
    neighbors : (A,) array of int32 or int64, of the same library
        Where there is ``j`` among the neighbors of ``i``, there is ``i`` among those of ``j``.

    Raises
    ------
    TypeError
        If they are not integers.
    ValueError
        If offsets do not rise from 0 to the number of neighbors, or a neighbor is no vertex.

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
        for name, array in zip(
            ("offsets", "neighbors"),
            adjacency.check_csr(self.offsets, self.neighbors),
            strict=True,
        ):
            object.__setattr__(self, name, array)

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
        sources = adjacency.sources(self.offsets, self.neighbors)
        once = sources < self.neighbors
        return sources[once], self.neighbors[once]

    @classmethod
    def from_edges(
        cls, sources: ArrayLike, targets: ArrayLike | None = None, *, size: int | None = None
    ) -> Graph:
        """Make a graph of a list of edges.

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
            If a vertex is negative or not below `size`, or the shapes are others.
        """
        one, other = adjacency.check_ends(sources, targets)
        count = adjacency.check_size(size, one, other)
        return cls(*adjacency.from_arcs(one, other, count, both=True))

    @classmethod
    def from_csr(
        cls, offsets: ArrayLike, neighbors: ArrayLike, *, asymmetric: Asymmetric = "refuse"
    ) -> Graph:
        """Make a graph of the two arrays of a compressed sparse matrix.

        Parameters
        ----------
        offsets, neighbors : arrays of int
            As the attributes.
        asymmetric : {"refuse", "symmetrize"}
            What to do if ``j`` is a neighbor of ``i`` but ``i`` is none of ``j``: raise ValueError,
            or add what is missing.

        Raises
        ------
        TypeError
            If they are not integers.
        ValueError
            If they do not describe a graph.
        """
        check_choice("asymmetric", asymmetric, adjacency.CHOICES)
        starts, ends = adjacency.check_csr(offsets, neighbors)
        return cls(*adjacency.symmetric(starts, ends, asymmetric))

    @classmethod
    def from_neighbor_list(
        cls,
        neighbors: ArrayLike,
        size: int | None = None,
        *,
        asymmetric: Asymmetric = "refuse",
    ) -> Graph:
        """Make a graph of a table with equally many entries for each vertex (Komura 2016).

        Parameters
        ----------
        neighbors : (K, N) or (K * N,) array of int
            Entry ``i + k * N`` is a neighbor of vertex ``i``, or -1 where it has fewer than K.
        size : int, optional
            N; needed if the array is flat.
        asymmetric : {"refuse", "symmetrize"}
            As for `from_csr`.

        Raises
        ------
        TypeError, ValueError
            As `from_csr` does.

        Examples
        --------
        >>> Graph.from_neighbor_list([[1, 0, -1], [-1, 2, 1]]).neighbors.tolist()
        [1, 0, 2, 1]
        """
        check_choice("asymmetric", asymmetric, adjacency.CHOICES)
        starts, ends = adjacency.from_table(neighbors, size)
        return cls(*adjacency.symmetric(starts, ends, asymmetric))

    @classmethod
    def from_scipy(cls, array: Any, *, asymmetric: Asymmetric = "symmetrize") -> Graph:
        """Make a graph of a sparse array of SciPy or, on a GPU, of `cupyx.scipy.sparse`.

        Parameters
        ----------
        array : (N, N) sparse array or matrix
            A stored entry is an edge, whatever its value; one of two directions is enough. Zeros
            that fill up the blocks of a BSR array are no entries.
        asymmetric : {"refuse", "symmetrize"}
            As for `from_csr`.

        Raises
        ------
        TypeError
            If it is no sparse array.
        ValueError
            If it is not square.
        """
        check_choice("asymmetric", asymmetric, adjacency.CHOICES)
        return cls.from_csr(*adjacency.from_sparse(array), asymmetric=asymmetric)

    @classmethod
    def from_networkx(cls, graph: Any) -> Graph:
        """Make a graph of one of NetworkX; vertices are numbered in the order of iteration.

        Parameters
        ----------
        graph : networkx.Graph, or one of its relatives
            Directions of edges do not count.

        Raises
        ------
        TypeError
            If it is no graph of NetworkX.
        """
        return cls.from_edges(*adjacency.from_networkx(graph), size=len(graph))

    @classmethod
    def from_image(
        cls, image: ArrayLike, connectivity: int | None = None, *, background: int | None = 0
    ) -> Graph:
        """Make a graph of an image: neighbors of equal value are joined.

        Parameters
        ----------
        image : array of bool or int
            Each pixel is a vertex, in raster order; background pixels are vertices without edges.
        connectivity : int, optional
            As for `label`; by default all axes.
        background : int, optional
            Value whose pixels are not joined; None if there is none.

        Raises
        ------
        ValueError
            If `connectivity` is out of range.
        """
        pixels = adjacency.as_array(image)
        one, other = adjacency.from_pixels(pixels, connectivity, background)
        return cls.from_edges(one, other, size=int(pixels.size))

    @classmethod
    def from_bonds(cls, bonds: Bonds) -> Graph:
        """Make a graph of a lattice: its open bonds are edges.

        Raises
        ------
        ValueError
            If an open bond leads outside.
        """
        return cls.from_edges(*adjacency.from_bonds(bonds), size=bonds.size)
