"""`label_graph`: components of graphs and of lattices of bonds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import library, passes, place, resolve, using
from equilabel.domains.bonds import Bonds
from equilabel.domains.graph import Graph, is_of_cupy
from equilabel.papers import check_ability, find_method, load_passes, load_recipe

from .output import LARGEST, Report, calls_of, passes_of

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray
    from equilabel.devices import Device
    from equilabel.domains.contract import Method

    from .signatures import GraphOptions


# ---- Checks of the arguments of `label_graph`


def take_graph(graph: Any) -> Graph | Bonds:
    """Return a `Graph` or `Bonds` as it is, other graphs as a `Graph`; raise TypeError."""
    if isinstance(graph, (Graph, Bonds)):
        return graph
    if hasattr(graph, "tocsr"):
        return Graph.from_scipy(graph)
    if isinstance(graph, np.ndarray) or is_of_cupy(graph):
        return Graph.from_dense(graph)
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):
        return Graph.from_networkx(graph)
    if hasattr(graph, "get_edgelist"):
        return Graph.from_igraph(graph)
    message = (
        "graph must be a Graph, Bonds, a sparse or square array, or a graph of NetworkX or igraph; "
        f"got {type(graph).__name__}. Make one with Graph.from_edges."
    )
    raise TypeError(message)


def check_bonds(bonds: Bonds) -> None:
    """Raise ValueError if an open bond leads outside; reads all bits, and waits for a GPU once."""
    if not bonds.size:
        return
    known = 2 ** len(bonds.steps) - 1
    wrong: list[tuple[str, Array]] = []
    if known < int(np.iinfo(bonds.open.dtype).max):
        beyond = (bonds.open > known).any()
        wrong.append((f"bits of steps 0 to {len(bonds.steps) - 1} alone", beyond))
    for axis in range(bonds.rank):
        for end, move in ((-1, 1), (0, -1)):
            leading = [k for k, step in enumerate(bonds.steps) if step[axis] == move]
            if bonds.periodic[axis] or not leading:
                continue
            bits = bonds.open.dtype.type(sum(2**k for k in leading))
            outside = (bonds.open[(slice(None),) * axis + (end,)] & bits).any()
            wrong.append((f"no open bonds that lead outside along axis {axis}", outside))
    if not wrong:
        return
    found = np.stack([flag for _, flag in wrong])
    if not bool(found.any()):
        return
    rule = wrong[int(found.argmax())][0]
    message = (
        f"bonds must have {rule}; got some. Clear these bits, as the functions of "
        "equilabel.domains.lattices do, or make the axis periodic."
    )
    raise ValueError(message)


# ---- Labels of lattices of bonds by runs, without waiting for a GPU


def label_bonds_by_runs(bonds: Bonds, out: Array = None, kernels: Any = None) -> tuple[Array, Any]:
    """Label a lattice of bonds by the method `runs`, on its device, without checks.

    Labels are 0 to N - 1 in raster order of the first sites: int32, or int64 from 2^31 sites on, in
    `out` if given, which is C-contiguous. On a GPU, the count N is an object: ``int(count)`` waits
    for the device. `kernels` replace the passes of the device, such as by counted ones.

    >>> from equilabel.domains.bonds import Bonds
    >>> ring = Bonds(np.array([0, 1, 0, 1], np.uint8), np.array([[1]]), (True,))
    >>> label_bonds_by_runs(ring)
    (array([0, 1, 1, 0], dtype=int32), 2)
    """
    where = library(bonds.open)
    if out is None:
        out = where.empty(bonds.shape, np.int32 if bonds.size < 2**31 else np.int64)
    if bonds.size == 0:
        return out, 0
    device = resolve("auto", bonds.open)
    kernels = kernels or load_passes("runs", device)
    flat = out.reshape(-1)
    with using(device, lambda: 10 * bonds.size):
        table = load_recipe("runs")(kernels, bonds, room=flat)
        count = kernels.number(table)
        kernels.paint(table, flat, blank=False)
    return out, count


# ---- `label_graph`: components of graphs and of lattices of bonds


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: Literal[False] = False,
    report: Literal[False] = False,
    **options: Unpack[GraphOptions],
) -> HostArray: ...


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: Literal[True],
    report: Literal[False] = False,
    **options: Unpack[GraphOptions],
) -> tuple[HostArray, int]: ...


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: bool,
    report: Literal[False] = False,
    **options: Unpack[GraphOptions],
) -> HostArray | tuple[HostArray, int]: ...


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: Literal[False] = False,
    report: Literal[True],
    **options: Unpack[GraphOptions],
) -> tuple[HostArray, Report]: ...


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: Literal[True],
    report: Literal[True],
    **options: Unpack[GraphOptions],
) -> tuple[HostArray, int, Report]: ...


@overload
def label_graph(
    graph: Graph | Bonds | Any,
    *,
    return_num: bool = False,
    report: bool = False,
    **options: Unpack[GraphOptions],
) -> Any: ...


def label_graph(
    graph: Graph | Bonds | Any,
    *,
    method: str = "auto",
    device: Device = "auto",
    return_num: bool = False,
    report: bool = False,
    **options: Any,
) -> Any:
    """Label the connected components of a graph, or the clusters of a lattice.

    Parameters
    ----------
    graph : Graph, Bonds, sparse or square array, or graph of NetworkX or igraph
        A sparse array of SciPy or CuPy is converted by ``Graph.from_scipy``, a square one (an
        adjacency matrix) of NumPy or CuPy by ``Graph.from_dense``, which takes longer than
        labeling: to label it more than once, make a `Graph` of it. Vertices of NetworkX are
        numbered in the order of iteration: ``dict(zip(graph, labels))`` has the label of each.
    method : str
        A key of `METHODS` that labels graphs or bonds. "auto" is the fastest.
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        "auto" is where the arrays of the graph are; see `label`.
    return_num : bool
        Whether to return the number of components, too.
    report : bool
        Whether to return a report, too: rounds, and how often each pass was called.
    **options
        Options of the method, see `METHODS`.

    Returns
    -------
    labels : (N,) array of int32 or int64
        The component of each vertex, numbered from 0 in the order of their smallest vertices, as by
        ``scipy.sparse.csgraph.connected_components``. For `Bonds` it has the shape of the lattice.
        A CuPy array if the graph is on a GPU. int64 only if int32 cannot hold the number of
        components.
    num : int
        Only with ``return_num=True``, which waits for a GPU.
    report : Report
        Only with ``report=True``; always last.

    Raises
    ------
    ValueError
        If `method` or `device` is out of range, open bonds lead outside, or an array is not square.
    TypeError
        If `graph` is not one of these types, or the method has no such option.
    DeviceUnavailableError
        As for `label`.

    See Also
    --------
    label, Graph

    Examples
    --------
    >>> from equilabel import lattices
    >>> label_graph(Graph.from_edges([(0, 2), (3, 4)], size=6), return_num=True)
    (array([0, 1, 0, 2, 2, 3], dtype=int32), 4)
    >>> label_graph(Graph.from_bonds(lattices.square(3, open_probability=0.5, seed=1)))
    array([0, 1, 1, 0, 1, 1, 0, 1, 1], dtype=int32)
    """
    domain = take_graph(graph)
    return_num, report = check_flag("return_num", return_num), check_flag("report", report)
    row = find_method(method, domain.kind)
    held = domain.open if isinstance(domain, Bonds) else domain.neighbors
    where = resolve(device, held)
    rank = domain.rank if isinstance(domain, Bonds) else None
    check_ability(row, domain.kind, rank, where.partition(":")[0], options)
    if isinstance(domain, Bonds):
        check_bonds(domain)
    kernels = passes_of(load_passes(row.name, where), where, reported=report)
    with using(where):
        labels, count, rounds = _number(_bring(domain, where), row, where, kernels, options)
        count = int(count) if return_num else count
    home = resolve("auto", held)
    if home.partition(":")[0] != where.partition(":")[0]:
        with using(home if home != "cpu" else where):
            labels = place(labels, home)
    if isinstance(domain, Bonds):
        labels = labels.reshape(domain.shape)
    if not report:
        return (labels, count) if return_num else labels
    told = Report(row.name, where, rounds, *calls_of(kernels))
    return (labels, count, told) if return_num else (labels, told)


def _bring(domain: Graph | Bonds, device: str) -> Graph | Bonds:
    """Move a graph or a lattice to a device; a graph is checked again, as arrays may change."""
    if isinstance(domain, Bonds):
        return Bonds(place(domain.open, device), domain.steps, domain.periodic)
    return Graph(place(domain.offsets, device), place(domain.neighbors, device))


def _number(
    domain: Graph | Bonds, method: Method, device: str, kernels: Any, options: dict[str, Any]
) -> tuple[Array, Any, int]:
    """Return the numbers of components from 0, on the device, their count, and rounds."""
    held = domain.open if isinstance(domain, Bonds) else domain.neighbors
    dtype = np.int32 if domain.size <= LARGEST else np.int64
    labels: Array = np.empty(domain.size, dtype, like=held)
    if not domain.size:
        return labels, 0, 0
    if isinstance(domain, Bonds) and method.answer == "runs":
        return *label_bonds_by_runs(domain, labels.reshape(domain.shape), kernels), 1
    found = load_recipe(method.name)(kernels, domain, **options)
    count = passes("runs.numbering", device).number_roots(found.roots, labels)
    labels -= 1
    if dtype == np.int64 and int(count) <= LARGEST:
        labels = labels.astype(np.int32)
    return labels, count, found.rounds
