// The generalized labeler (Komura 2016) on graphs: a few vertices per thread, with their lists of
// neighbors.
//
// Neighbors below a vertex, except the lowest, which is its first label, are its residual list. The lowest
// is searched again instead of being removed.

#include "devices/cuda/union_find.cuh"

// Lists of neighbors of the vertices of a thread, read so that loads overlap. Lists after the last vertex are
// empty.
template <typename Offset, typename Node, typename Root, int batch>
struct Lists {
    const Node* __restrict__ neighbors;
    Offset begin[batch], end[batch];
    Root vertex[batch], lowest[batch];  // lowest of the neighbors and the vertex itself
    int below[batch];                   // number of neighbors below the vertex

    __device__ Lists(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors, Index size)
        : neighbors(neighbors)
    {
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            const Index i = thread_index(b, batch);
            vertex[b] = lowest[b] = static_cast<Root>(i);
            below[b] = 0;
            begin[b] = i < size ? offsets[i] : 0;
            end[b] = i < size ? offsets[i + 1] : 0;
        }
        if constexpr (batch == 1) {
            for (Offset k = begin[0]; k < end[0]; ++k) note(0, neighbors[k]);
            return;
        }
        bool more = true;
        for (Offset k = 0; more; ++k) {
            more = false;
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                if (k < end[b] - begin[b]) {
                    note(b, neighbors[begin[b] + k]);
                    more = true;
                }
            }
        }
    }

    __device__ void note(int b, Node neighbor)
    {
        const Root j = static_cast<Root>(neighbor);
        below[b] += j < vertex[b];
        lowest[b] = min(lowest[b], j);
    }
};

// Step (i): the label is the lowest of the neighbors and the vertex itself (Figure 2).
template <typename Offset, typename Node, typename Root, int batch>
__global__ void initialize(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Root* __restrict__ labels)
{
    const Lists<Offset, Node, Root, batch> lists(offsets, neighbors, size);
#pragma unroll
    for (int b = 0; b < batch; ++b) {
        const Index i = thread_index(b, batch);
        if (i < size) labels[i] = lists.lowest[b];
    }
}

// Step (iii): unite every vertex with its residual list (Algorithm 1 is `unite_roots`, which says why
// its races are safe).
template <typename Offset, typename Node, typename Root, int batch>
__global__ void reduce_labels(const Offset* __restrict__ offsets,
                              const Node* __restrict__ neighbors, Index size, Root* labels)
{
    const Lists<Offset, Node, Root, batch> lists(offsets, neighbors, size);
#pragma unroll
    for (int b = 0; b < batch; ++b) {
        if (lists.below[b] < 2) continue;
        const Root i = lists.vertex[b];
        for (Offset k = lists.begin[b]; k < lists.end[b]; ++k) {
            const Root j = static_cast<Root>(neighbors[k]);
            if (lists.lowest[b] < j && j < i) unite_roots(labels, i, j);
        }
    }
}
