// The generalized labeler (Komura 2016) on images: three kernels in four launches, no host loop.
//
// Labels are flat indices, -1 for background; a label is at most the index of its element. The list of
// neighbors of an element holds its earlier neighbors of equal value, the lowest first; the residual list is
// the same list without its first entry. Neither is stored.

#include "devices/cuda/union_find.cuh"
#include "papers/cuda/neighbors.cuh"

constexpr int BATCH = 4;  // elements of a thread of `analyze`

// Step (i): the label is the lowest neighbor, or the element itself.
template <typename Pixel, int rank>
__global__ void initialize(const Pixel* __restrict__ values, bool has_background, Pixel background,
                           Index size, const Index* __restrict__ shape,
                           const Index* __restrict__ steps, const Index* __restrict__ offsets,
                           Index count, Index* __restrict__ labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Pixel value = values[i];
    Index label = i;
    if (has_background && value == background) {
        label = -1;
    } else {
        const Place<rank> place(i, shape);
        for (Index k = 0; k < count && label == i; ++k)
            if (place.inside(steps + k * rank, shape) && values[i + offsets[k]] == value)
                label = i + offsets[k];
    }
    labels[i] = label;
}

// Steps (ii) and (iv). A thread writes the roots of its own elements, which no thread changes; others that
// read them find a shorter chain to the same root. A few elements per thread climb at once: their reads overlap.
template <typename Root>
__global__ void analyze(Index size, Root* labels)
{
    Root label[BATCH], root[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
        const Index i = thread_index(b, BATCH);
        root[b] = label[b] = i < size ? labels[i] : static_cast<Root>(-1);
    }
    bool more = true;
    while (more) {
        Root above[BATCH];
        more = false;
#pragma unroll
        for (int b = 0; b < BATCH; ++b) above[b] = root[b] < 0 ? root[b] : labels[root[b]];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            more = more || above[b] != root[b];
            root[b] = above[b];
        }
    }
#pragma unroll
    for (int b = 0; b < BATCH; ++b)
        if (root[b] != label[b]) labels[thread_index(b, BATCH)] = root[b];
}

// Step (iii): unite every element with its residual list (Algorithm 1 is `unite_roots`).
template <typename Pixel, int rank>
__global__ void reduce_labels(const Pixel* __restrict__ values, Index size,
                              const Index* __restrict__ shape, const Index* __restrict__ steps,
                              const Index* __restrict__ offsets, Index count, Index* labels)
{
    const Index i = thread_index();
    if (i >= size || labels[i] < 0) return;
    const Pixel value = values[i];
    const Place<rank> place(i, shape);
    bool residual = false;
    for (Index k = 0; k < count; ++k) {
        if (place.inside(steps + k * rank, shape) && values[i + offsets[k]] == value) {
            if (residual) unite_roots(labels, i, i + offsets[k]);
            residual = true;
        }
    }
}
