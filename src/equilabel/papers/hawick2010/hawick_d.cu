// Label equivalence with references (Hawick et al. 2010, Kernel D), Algorithm 8: one thread per element.
//
// Labels are flat indices, -1 for background. A label in use is that of the element that it names, its
// owner; `references[l]` is the lowest label that label l is known to be equivalent to.

#include "devices/cuda/union_find.cuh"
#include "papers/cuda/neighbors.cuh"

// Scanning phase. Labels are read only, and a minimum does not depend on the order in which it is taken:
// the references that follow are the same in every run.
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
        if (*changed == 0) *changed = 1;  // all write the same, and most find it written
    }
}

// Analysis phase: the owner of a label follows its chain. A thread writes the end of its own chain, which
// no thread moves; others that pass by find a shorter chain to the same end.
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
