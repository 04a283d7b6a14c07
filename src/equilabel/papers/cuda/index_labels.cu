// Initial labels: the flat index of each element, -1 for background.

#include "devices/cuda/index.cuh"

template <typename Pixel>
__global__ void label_by_index(const Pixel* __restrict__ values, bool has_background,
                               Pixel background, Index size, Index* __restrict__ labels)
{
    const Index i = thread_index();
    if (i < size) labels[i] = has_background && values[i] == background ? -1 : i;
}
