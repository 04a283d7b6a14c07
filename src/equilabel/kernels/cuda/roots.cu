// From roots to numbers in raster order. A root is the first element of its component.
#include "index.cuh"

// Write 1 for roots and 0 for others: an inclusive sum of these is the number at each root.
template <typename Root, typename Sum>
__global__ void flag(const Root* __restrict__ roots, Index size, Sum* __restrict__ sums)
{
    const Index i = thread_index();
    if (i < size) sums[i] = roots[i] == i;
}

// `labels` may be `roots` itself: a thread reads its own root alone, before it writes.
template <typename Root, typename Sum, typename Number>
__global__ void gather(const Root* roots, Index size, const Sum* __restrict__ sums,
                       Number* labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Root root = roots[i];
    labels[i] = root < 0 ? 0 : static_cast<Number>(sums[root]);
}
