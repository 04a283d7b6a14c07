// Neighbor propagation (Hawick et al. 2010, Kernel A): one thread per element.
//
// Labels are flat indices, -1 for background.

#include "papers/cuda/neighbors.cuh"

// Algorithm 5, in place as in the paper.
//
// Why the races are safe: a thread writes the label of its own element only, and only a lower one. A
// neighbor that reads it too early reads it in the next round, because a thread that lowers a label sets
// `changed`. A round that changes nothing has read the final labels: all neighbors agree.
template <typename Pixel, int rank>
__global__ void propagate(const Pixel* __restrict__ values, Index size,
                          const Index* __restrict__ shape, const Index* __restrict__ steps,
                          const Index* __restrict__ offsets, Index count, Index* labels, int* changed)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    if (label < 0) return;
    const Place<rank> place(i, shape);
    const Index lowest = lowest_near(values, labels, i, label, place, shape, steps, offsets, count);
    if (lowest < label) {
        labels[i] = lowest;
        if (*changed == 0) *changed = 1;  // all threads write the same value
    }
}
