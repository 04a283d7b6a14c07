// Gaussian smoothing along one axis, and the extremes of the result.

#include "segmentation/cuda/keys.cuh"

// Return the place that continues an axis beyond its ends: its last one, or the reflection.
__device__ Index beyond(Index place, Index length, bool nearest)
{
    if (place >= 0 && place < length) return place;
    if (nearest) return place < 0 ? 0 : length - 1;
    place %= 2 * length;
    if (place < 0) place += 2 * length;
    return place < length ? place : 2 * length - 1 - place;
}

// Raise `ends[0]` to the largest of all `low`, and `ends[1]` to that of `high`. All threads of a block call this.
template <typename Key>
__device__ void raise_ends(Key low, Key high, Key* ends)
{
    __shared__ Key lows[32], highs[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        low = max(low, __shfl_down_sync(ALL, low, offset));
        high = max(high, __shfl_down_sync(ALL, high, offset));
    }
    if (threadIdx.x % 32 == 0) {
        lows[threadIdx.x / 32] = low;
        highs[threadIdx.x / 32] = high;
    }
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < blockDim.x / 32; ++k) {
        low = max(low, lows[k]);
        high = max(high, highs[k]);
    }
    // An old value is never too large: at worst it asks for a maximum that changes nothing.
    if (low > ends[0]) atomicMax(ends, low);
    if (high > ends[1]) atomicMax(ends + 1, high);
}

// The weighted sum of a pixel, at 0, and those up to `reach` places away: from the middle, then from the ends inwards.
template <class Pixel>
__device__ __forceinline__ double sum_around(const Pixel& pixel, const double* __restrict__ weights, int reach)
{
    double sum = __dmul_rn(pixel(0), weights[0]);
#pragma unroll
    for (int k = reach; k > 0; --k)
        sum = __dadd_rn(sum, __dmul_rn(__dadd_rn(pixel(-k), pixel(k)), weights[k]));
    return sum;
}

template <typename Real, int Places>
struct alignas(16) Smoothed {
    Real of[Places];
};

// Smooth along an axis of `length` places, `inner` elements apart, of which a thread takes `Places` neighboring ones.
// Threads are in rows of `columns`: along the axis if `inner` is 1, else along the elements that have one place; a
// block takes `wide` of these. `weights` are those from the middle to `reach`, which is `Reach` unless that is 0. Sums
// are in double precision, from the middle, then from the ends inwards, and no multiplication is fused with an
// addition: they are those of the CPU to the last bit. If `ends` is given, they are raised to the keys of the largest
// values, of those with all bits flipped first. `aligned` says that what a thread writes is `Smoothed`.
template <typename Value, typename Real, int Reach, int Places>
__global__ void smooth_axis(const Value* __restrict__ image, Real* __restrict__ out, Index rows, Index columns,
                            Index length, Index inner, int wide, const double* __restrict__ weights, int reach,
                            bool nearest, bool aligned, KeyOf<Real>* ends)
{
    const unsigned across = static_cast<unsigned>((columns + wide - 1) / wide), down = blockIdx.x / across;
    const Index x = static_cast<Index>(blockIdx.x - down * across) * wide + threadIdx.x % wide;
    const Index row = static_cast<Index>(down) * (blockDim.x / wide) + threadIdx.x / wide;
    const Index groups = (length + Places - 1) / Places;
    const Index line = inner == 1 ? row : row / groups;
    const Index place = (inner == 1 ? x : row - line * groups) * Places;
    const Index begin = line * length * inner + (inner == 1 ? 0 : x);
    KeyOf<Real> low = 0, high = 0;
    if (x < columns && row < rows) {
        const Value* const here = image + begin;
        const auto at = [&](Index k) { return static_cast<double>(here[beyond(k, length, nearest) * inner]); };
        Value window[Places + 2 * Reach];
        if (place >= Reach && place + Places + Reach <= length) {  // loads wait for nothing
#pragma unroll
            for (int k = 0; Reach && k < Places + 2 * Reach; ++k) window[k] = here[(place + k - Reach) * inner];
        } else {
            for (int k = 0; Reach && k < Places + 2 * Reach; ++k)
                window[k] = here[beyond(place + k - Reach, length, nearest) * inner];
        }
        Smoothed<Real, Places> found;
#pragma unroll
        for (int j = 0; j < Places; ++j) {
            double sum;
            if constexpr (Reach)
                sum = sum_around([&](int k) { return static_cast<double>(window[j + Reach + k]); }, weights, Reach);
            else
                sum = sum_around([&](int k) { return at(place + j + k); }, weights, reach);
            found.of[j] = static_cast<Real>(sum);
            if (place + j >= length) continue;
            const KeyOf<Real> own = key(found.of[j]), flipped = ~own;
            low = max(low, flipped);
            high = max(high, own);
            if (!aligned) out[begin + (place + j) * inner] = found.of[j];
        }
        if (aligned) *reinterpret_cast<Smoothed<Real, Places>*>(out + begin + place) = found;
    }
    if (ends) raise_ends(low, high, ends);
}
