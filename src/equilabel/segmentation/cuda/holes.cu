// Labels at the border of an image.

#include "devices/cuda/index.cuh"

// Mark the labels at both ends of the middle one of three axes.
template <typename Label>
__global__ void mark_ends(const Label* __restrict__ labels, Index outer, Index length, Index inner, u1* marks)
{
    const Index i = thread_index();
    if (i >= 2 * outer * inner) return;
    const Index line = i / 2 / inner, place = i / 2 % inner, end = i % 2 * (length - 1);
    marks[labels[(line * length + end) * inner + place]] = 1;
}
