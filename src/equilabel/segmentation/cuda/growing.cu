// The nearest object of each pixel, one axis after the other, as in cpu/growing.py.

#include "devices/cuda/index.cuh"

__device__ i4 square(int k, i4 step) { return k * step * k * step; }
__device__ f8 square(int k, f8 step) { return __dmul_rn(__dmul_rn(k, step), __dmul_rn(k, step)); }
__device__ i4 plus(i4 a, i4 b) { return a + b; }
__device__ f8 plus(f8 a, f8 b) { return __dadd_rn(a, b); }

// Write the least sum of squares along an axis of `length` places, `inner` pixels apart, and the label there; 0 where
// the sum is above `limit`. Without `sums`, they are 0 in objects and `far` elsewhere.
template <typename Label, typename Square>
__global__ void find_along(Index size, Index length, Index inner, Square step, int reach, Square far, Square limit,
                           const Label* __restrict__ labels, const Square* __restrict__ sums, Square* squares,
                           Label* near)
{
    const Index i = thread_index();
    if (i >= size) return;
    auto sum = [=](Index at) { return sums ? sums[at] : labels[at] ? Square(0) : far; };
    const Index place = i / inner % length;
    Index from = i;
    Square least = sum(i);
    for (int k = 1; k <= reach; ++k) {
        const Square cost = square(k, step);
        if (cost > least) break;
        const Square before = k <= place ? plus(sum(i - k * inner), cost) : far;
        if (before <= least && k <= place) least = before, from = i - k * inner;
        const Square after = place + k < length ? plus(sum(i + k * inner), cost) : far;
        if (after < least) least = after, from = i + k * inner;
    }
    squares[i] = least;
    near[i] = least <= limit ? labels[from] : Label(0);
}
