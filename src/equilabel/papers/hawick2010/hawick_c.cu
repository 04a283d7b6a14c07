// Directional propagation (Hawick et al. 2010, Kernel C): one thread per line.
//
// Labels are flat indices, -1 for background.

#include "papers/cuda/lines.cuh"

// Algorithm 7, for the step `k`. Lines of one direction have no element in common, so no two threads use
// the same label, and the result does not depend on their order.
template <typename Pixel, int rank>
__global__ void sweep(const Pixel* __restrict__ values, Index size, const Index* __restrict__ shape,
                      const Index* __restrict__ steps, const Index* __restrict__ offsets, Index k,
                      Index lines, Index* labels, int* changed)
{
    const Index number = thread_index();
    if (number >= lines) return;
    const Line<rank> line(number, size, shape, steps + k * rank);
    if (line.length < 2) return;
    const Index offset = offsets[k];
    Index i = line.first, label = labels[i];
    Pixel value = values[i];
    bool lowered = false;
    for (Index n = 1; n < line.length; ++n) {
        i += offset;
        const Index own = labels[i];
        const Pixel next = values[i];
        if (0 <= label && label < own && next == value) {
            labels[i] = label;
            lowered = true;
        } else {
            label = own;
        }
        value = next;
    }
    if (lowered && *changed == 0) *changed = 1;  // all threads write the same value
}
