"""`label_graph`: components of graphs and of lattices of bonds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from equilabel.arguments import check_flag
from equilabel.bonds import Bonds
from equilabel.devices import passes, place, resolve, using
from equilabel.graphs import Graph
from equilabel.methods import check_ability, find_method, load_recipe

from .bonds import label_bonds_by_runs
from .graph_checks import check_bonds, take_graph
from .output import LARGEST
from .report import Report, calls_of, passes_of

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray
    from equilabel.devices import Device
    from equilabel.methods import Method

    from .signatures import GraphOptions


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
    graph : Graph, Bonds, sparse array of SciPy or CuPy, or graph of NetworkX
        A sparse array is taken as ``Graph.from_scipy`` does, which takes longer than labeling: make
        a `Graph` of it to label it more than once. Vertices of NetworkX are numbered in the order
        of iteration.
    method : str
        A key of `METHODS` that labels graphs, or bonds; "auto" is the fastest.
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        "auto" is where the arrays of the graph are; see `label`.
    return_num : bool
        Also return the number of components.
    report : bool
        Also return what labeling took: rounds, and calls of each pass.
    **options
        Options of the method, see `METHODS`.

    Returns
    -------
    labels : (N,) array of int32 or int64
        The component of each vertex, numbered from 0 in the order of their smallest vertices, as
        ``scipy.sparse.csgraph.connected_components`` numbers them. For `Bonds` it has the shape of
        the lattice. Of CuPy if a GPU holds the graph. int64 only where int32 cannot hold the number
        of components.
    num : int
        Only with ``return_num=True``, which waits for a GPU.
    report : Report
        Only with ``report=True``; always last.

    Raises
    ------
    ValueError
        If `method` or `device` is out of range, or open bonds lead outside.
    TypeError
        If `graph` is none of these; or if the method has no such option.
    DeviceUnavailableError
        As for `label`.

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
    if isinstance(domain, Bonds):
        check_ability(row, "bonds", domain.rank, where.partition(":")[0], options)
        check_bonds(domain)
    else:
        check_ability(row, "graph", None, where.partition(":")[0], options)
    kernels = passes_of(passes(row.name, where), report)
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
    told = Report(row.name, where, rounds, calls_of(kernels) or {})
    return (labels, count, told) if return_num else (labels, told)


def _bring(domain: Graph | Bonds, device: str) -> Graph | Bonds:
    """Bring a graph or a lattice to a device; a graph is checked again, as arrays may change."""
    if isinstance(domain, Bonds):
        return Bonds(place(domain.open, device), domain.steps, domain.periodic)
    return Graph(place(domain.offsets, device), place(domain.neighbors, device))


def _number(
    domain: Graph | Bonds, method: Method, device: str, kernels: Any, options: dict[str, Any]
) -> tuple[Array, Any, int]:
    """Return the numbers of components from 0, on the device, how many there are, and rounds."""
    held = domain.open if isinstance(domain, Bonds) else domain.neighbors
    dtype = np.int32 if domain.size <= LARGEST else np.int64
    labels: Array = np.empty(domain.size, dtype, like=held)
    if not domain.size:
        return labels, 0, 0
    if isinstance(domain, Bonds) and method.answer == "runs":
        return *label_bonds_by_runs(domain, labels.reshape(domain.shape), kernels), 1
    found = load_recipe(method.name)(kernels, domain, **options)
    count = passes("roots", device).number(found.roots, labels)
    labels -= 1
    if dtype == np.int64 and int(count) <= LARGEST:
        labels = labels.astype(np.int32)
    return labels, count, found.rounds
