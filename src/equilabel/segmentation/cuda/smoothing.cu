// Gaussian smoothing along one axis, and the extremes of an image.

#include "devices/cuda/index.cuh"

// Return the place that continues an axis beyond its ends: its last one, or the reflection.
__device__ Index beyond(Index place, Index length, bool nearest)
{
    if (place >= 0 && place < length) return place;
    if (nearest) return place < 0 ? 0 : length - 1;
    place %= 2 * length;
    if (place < 0) place += 2 * length;
    return place < length ? place : 2 * length - 1 - place;
}

// Smooth along an axis of `length` places, `inner` elements apart. `weights` are those from the middle to
// `reach`. Sums are in double precision, from the middle, then from the ends inwards, and no multiplication is
// fused with an addition: they are those of the CPU to the last bit.
template <typename Value, typename Real>
__global__ void smooth_axis(const Value* __restrict__ image, Real* __restrict__ out, Index size, Index length,
                            Index inner, const double* __restrict__ weights, int reach, int nearest)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index place = i / inner % length;
    const Value* here = image + i;
    double sum = __dmul_rn(static_cast<double>(*here), weights[0]);
    if (place >= reach && place + reach < length) {
        for (int k = reach; k > 0; --k) {
            const Index step = k * inner;
            const double pair = __dadd_rn(static_cast<double>(here[-step]), static_cast<double>(here[step]));
            sum = __dadd_rn(sum, __dmul_rn(pair, weights[k]));
        }
    } else {
        const Value* line = here - place * inner;
        for (int k = reach; k > 0; --k) {
            const double before = static_cast<double>(line[beyond(place - k, length, nearest) * inner]);
            const double after = static_cast<double>(line[beyond(place + k, length, nearest) * inner]);
            sum = __dadd_rn(sum, __dmul_rn(__dadd_rn(before, after), weights[k]));
        }
    }
    out[i] = static_cast<Real>(sum);
}

// Whole numbers in the order of floats.
__device__ int key(float value)
{
    const int bits = __float_as_int(value);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

__device__ long long key(double value)
{
    const long long bits = __double_as_longlong(value);
    return bits < 0 ? bits ^ 0x7fffffffffffffff : bits;
}

template <typename Real>
using KeyOf = decltype(key(Real()));

// Lower `ends[0]` to the smallest key of the values, and raise `ends[1]` to the largest.
template <typename Real>
__global__ void find_extremes(const Real* __restrict__ values, Index size, KeyOf<Real>* ends)
{
    using Key = KeyOf<Real>;
    __shared__ Key lows[32], highs[32];
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    Key low = ends[2], high = ends[3];  // of no value
    for (Index i = thread_index(); i < size; i += step) {
        const Key here = key(values[i]);
        low = min(low, here);
        high = max(high, here);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = min(low, __shfl_down_sync(0xffffffff, low, offset));
        high = max(high, __shfl_down_sync(0xffffffff, high, offset));
    }
    if (threadIdx.x % 32 == 0) {
        lows[threadIdx.x / 32] = low;
        highs[threadIdx.x / 32] = high;
    }
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < blockDim.x / 32; ++k) {
        low = min(low, lows[k]);
        high = max(high, highs[k]);
    }
    atomicMin(ends, low);
    atomicMax(ends + 1, high);
}
