// Label equivalence with references (Hawick et al. 2010, Kernel D), Algorithm 8: one thread per element.
//
// Labels are flat indices, -1 for background. A label in use is that of the element whose index it is, its
// owner; `references[l]` is the lowest label that label l is known to be equivalent to.

#include "devices/cuda/union_find.cuh"
#include "papers/cuda/neighbors.cuh"

// Scanning phase. Labels are only read, and a minimum does not depend on the order of its operations: the
// references are the same in every run.
template <typename Pixel, int rank>
__global__ void scan(const Pixel* __restrict__ values, Index size, const Index* __restrict__ shape,
                     const Index* __restrict__ steps, const Index* __restrict__ offsets, Index count,
                     const Index* __restrict__ labels, Index* references, int* changed)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    if (label < 0) return;
    const Place<rank> place(i, shape);
    const Index lowest = lowest_near(values, labels, i, label, place, shape, steps, offsets, count);
    if (lowest < label) {
        atomicMin(references + label, lowest);
        if (*changed == 0) *changed = 1;  // all threads write the same value
    }
}

// Analysis phase: the owner of a label follows its chain. A thread writes the root of its own label, which
// no thread changes; others that read it find a shorter chain to the same root.
__global__ void analyze(Index size, const Index* __restrict__ labels, Index* references)
{
    const Index i = thread_index();
    if (i < size && labels[i] == i) references[i] = root_of(references, i);
}

// Labeling phase. A thread reads and writes the label of its own element only.
__global__ void relabel(Index size, Index* labels, const Index* __restrict__ references)
{
    const Index i = thread_index();
    if (i < size && labels[i] >= 0) labels[i] = references[labels[i]];
}
