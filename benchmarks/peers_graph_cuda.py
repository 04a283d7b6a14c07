"""ECL-CC, as its paper describes it, written anew so that it can be timed beside `label_graph`.

Jaiganesh and Burtscher, A High-Performance Connected Components Implementation for GPUs, HPDC 2018,
Section 3: a vertex begins at its first smaller neighbor; edges to smaller neighbors are united by
compare-and-swap of roots, while paths are halved ("intermediate pointer jumping"); a thread takes
the edges of a vertex of up to 16 neighbors, a warp those of up to 352, a block those of more, from
a list that grows from both ends; at last every vertex is pointed at its root. The answer is the
smallest vertex of each component: numbering, which `label_graph` does too, is not part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel import Graph

THREADS = 256
SOURCE = r"""
constexpr int FEW = 16, SEVERAL = 352;

struct Graph {
    int vertices;
    const long long* offsets;
    const int* neighbors;
    int *parent, *list, *ends;  // ends: warps' vertices so far, and taken; the same of blocks
};

__device__ int find_root(int* parent, int vertex)
{
    int at = parent[vertex];
    int last = vertex;
    for (int next; at > (next = parent[at]); last = at, at = next) parent[last] = next;
    return at;
}

__device__ void unite_edges(const Graph& graph, int vertex, int first, int step)
{
    int root = find_root(graph.parent, vertex);
    const long long end = graph.offsets[vertex + 1];
    for (long long edge = graph.offsets[vertex] + first; edge < end; edge += step) {
        const int neighbor = graph.neighbors[edge];
        if (neighbor >= vertex) continue;
        int other = find_root(graph.parent, neighbor);
        while (root != other) {
            const int high = max(root, other), low = min(root, other);
            const int seen = atomicCAS(graph.parent + high, high, low);
            if (seen == high) {
                root = low;
                break;
            }
            root = low;
            other = seen;
        }
    }
}

extern "C" __global__ void begin(const Graph graph)
{
    const int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int vertex = first; vertex < graph.vertices; vertex += step) {
        int parent = vertex;
        const long long end = graph.offsets[vertex + 1];
        for (long long edge = graph.offsets[vertex]; edge < end && parent == vertex; ++edge)
            parent = min(vertex, graph.neighbors[edge]);
        graph.parent[vertex] = parent;
    }
    if (first < 4) graph.ends[first] = 0;
}

extern "C" __global__ void by_threads(const Graph graph)
{
    const int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int vertex = first; vertex < graph.vertices; vertex += step) {
        if (graph.parent[vertex] == vertex) continue;  // no neighbor is smaller
        const long long many = graph.offsets[vertex + 1] - graph.offsets[vertex];
        if (many <= FEW)
            unite_edges(graph, vertex, 0, 1);
        else if (many <= SEVERAL)
            graph.list[atomicAdd(graph.ends, 1)] = vertex;
        else
            graph.list[graph.vertices - 1 - atomicAdd(graph.ends + 2, 1)] = vertex;
    }
}

extern "C" __global__ void by_warps(const Graph graph)
{
    const int lane = threadIdx.x % 32;
    for (;;) {
        int at = lane == 0 ? atomicAdd(graph.ends + 1, 1) : 0;
        at = __shfl_sync(0xffffffff, at, 0);
        if (at >= graph.ends[0]) return;
        unite_edges(graph, graph.list[at], lane, 32);
    }
}

extern "C" __global__ void by_blocks(const Graph graph)
{
    __shared__ int at;
    for (;;) {
        if (threadIdx.x == 0) at = atomicAdd(graph.ends + 3, 1);
        __syncthreads();
        if (at >= graph.ends[2]) return;
        unite_edges(graph, graph.list[graph.vertices - 1 - at], threadIdx.x, blockDim.x);
        __syncthreads();
    }
}

extern "C" __global__ void flatten(const Graph graph)
{
    const int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int vertex = first; vertex < graph.vertices; vertex += step) {
        const int old = graph.parent[vertex];
        int root = old;
        for (int next; root > (next = graph.parent[root]);) root = next;
        if (root != old) graph.parent[vertex] = root;
    }
}
"""
PASSES = ("begin", "by_threads", "by_warps", "by_blocks", "flatten")
ARRAYS = ("offsets", "neighbors", "parent", "list", "ends")
TOLD = np.dtype([("vertices", "i8"), *((name, "u8") for name in ARRAYS)])


def ecl_cc(graph: Graph) -> Callable[[], Any]:
    """Return what labels a graph of up to 2^31 - 1 vertices by ECL-CC, and returns its roots."""
    module = cupy.RawModule(code=SOURCE, options=("-std=c++17",))
    passes = [module.get_function(name) for name in PASSES]
    offsets = graph.offsets.astype(np.int64)
    neighbors = graph.neighbors.astype(np.int32)
    parent, vertices, ends = (cupy.empty(n, np.int32) for n in (graph.size, graph.size, 4))
    told = np.zeros((), TOLD)
    told["vertices"] = graph.size
    arrays = offsets, neighbors, parent, vertices, ends
    for name, array in zip(ARRAYS, arrays, strict=True):
        told[name] = array.data.ptr
    arguments = (told.view(f"V{TOLD.itemsize}"),)
    card = cupy.cuda.Device().attributes
    blocks = card["MultiProcessorCount"] * card["MaxThreadsPerMultiProcessor"] // THREADS

    def run() -> Any:
        for each in passes:
            each((blocks,), (THREADS,), arguments)
        return parent

    run.keeps = arrays  # type: ignore[attr-defined]
    return run
