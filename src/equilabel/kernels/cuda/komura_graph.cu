// The generalized labeler (Komura 2016) on graphs: one thread per vertex, with its list of neighbors.
//
// Neighbors below a vertex are its residual list, but for the lowest, which is its first label. That
// one is looked for again instead of being removed.
#include "union_find.cuh"

template <typename Node>
__device__ inline Index lowest_neighbor(const Node* __restrict__ neighbors, Index begin, Index end,
                                        Index i)
{
    Index lowest = i;
    for (Index k = begin; k < end; ++k) lowest = min(lowest, static_cast<Index>(neighbors[k]));
    return lowest;
}

// Step (i): the label is the lowest of the neighbors and the vertex itself (Figure 2).
template <typename Offset, typename Node, typename Root>
__global__ void initialize(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Root* __restrict__ labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    labels[i] = static_cast<Root>(lowest_neighbor(neighbors, offsets[i], offsets[i + 1], i));
}

// Step (iii): unite every vertex with its residual list (Algorithm 1 is `unite_roots`, which says why
// its races are safe).
template <typename Offset, typename Node, typename Root>
__global__ void reduce_labels(const Offset* __restrict__ offsets,
                              const Node* __restrict__ neighbors, Index size, Root* labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index begin = offsets[i], end = offsets[i + 1];
    const Index lowest = lowest_neighbor(neighbors, begin, end, i);
    for (Index k = begin; k < end; ++k) {
        const Index j = neighbors[k];
        if (lowest < j && j < i) unite_roots(labels, static_cast<Root>(i), static_cast<Root>(j));
    }
}
