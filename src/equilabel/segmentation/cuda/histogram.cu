// Histograms: each block counts in shared memory, then adds its counts to the result. And sums of floats.

#include "devices/cuda/index.cuh"

// Count the `bins` values from `first` on; other pixels are left out. `bins` counters fit shared memory.
template <typename Pixel>
__global__ void count_values(const Pixel* __restrict__ pixels, Index size, Index first, int bins,
                             unsigned long long* counts)
{
    extern __shared__ unsigned table[];
    for (int k = threadIdx.x; k < bins; k += blockDim.x) table[k] = 0;
    __syncthreads();
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    // A thread counts equal pixels in a register: otherwise all would wait for the counter of background.
    Index value = -1;
    unsigned times = 0;
    for (Index i = thread_index(); i < size; i += step) {
        const Index here = static_cast<Index>(pixels[i]) - first;
        if (here != value) {
            if (times && value >= 0 && value < bins) atomicAdd(table + value, times);
            value = here;
            times = 0;
        }
        ++times;
    }
    if (times && value >= 0 && value < bins) atomicAdd(table + value, times);
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x)
        if (table[k]) atomicAdd(counts + k, static_cast<unsigned long long>(table[k]));
}

constexpr int TOGETHER = 4;  // pixels that a thread reads at once, to hide latency
constexpr int BINS = 256;  // at most, whose counters fit the static shared memory of every card for each lane

// Count pixels in `bins` bins. Edges are ascending and evenly spaced except for rounding. NaN and pixels
// outside are left out; the last bin includes its upper edge. The lanes of a warp have counters of their own, in
// different banks of memory, so that equal pixels do not wait for each other.
template <typename Real>
__global__ void __launch_bounds__(1024)
    count_bins(const Real* __restrict__ pixels, Index size, const Real* __restrict__ edges, int bins,
               unsigned long long* counts)
{
    __shared__ unsigned table[BINS * 32];
    __shared__ Real edge[BINS + 1];
    for (int k = threadIdx.x; k <= bins; k += blockDim.x) edge[k] = edges[k];
    for (int k = threadIdx.x; k < 32 * bins; k += blockDim.x) table[k] = 0;
    __syncthreads();
    const Real lowest = edge[0], highest = edge[bins];
    const Real scale = bins / (highest - lowest);
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = thread_index(); i < size; i += TOGETHER * step) {
        Real pixel[TOGETHER];
#pragma unroll
        for (int j = 0; j < TOGETHER; ++j) pixel[j] = pixels[min(i + j * step, size - 1)];
#pragma unroll
        for (int j = 0; j < TOGETHER; ++j) {
            const Real own = pixel[j];
            if (i + j * step >= size || !(own >= lowest && own <= highest)) continue;
            int k = max(0, min(static_cast<int>((own - lowest) * scale), bins - 1));  // or a neighbor
            while (own < edge[k]) --k;
            while (k < bins - 1 && own >= edge[k + 1]) ++k;
            atomicAdd(table + 32 * k + threadIdx.x % 32, 1u);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x) {
        unsigned sum = 0;
        for (int lane = 0; lane < 32; ++lane) sum += table[32 * k + (lane + k) % 32];
        if (sum) atomicAdd(counts + k, static_cast<unsigned long long>(sum));
    }
}

constexpr int LANES = 8, LEAF = 128;  // of NumPy; also in histogram.py

// Halve pixels until `LEAF` or fewer are left, as NumPy does, and write the sum of each leaf of this tree to the first
// of the 2^depth places below it; to others -0, which changes no sum. `LANES` threads add a leaf.
template <typename Real>
__global__ void sum_leaves(const Real* __restrict__ pixels, Index size, int depth, Real* sums)
{
    const Index place = thread_index() / LANES;
    const int lane = threadIdx.x % LANES;
    if (place >> depth) return;
    int level = depth;
    while (size > LEAF) {
        const Index half = size / (2 * LANES) * LANES;
        const bool second = place >> --level & 1;
        pixels += second ? half : 0;
        size = second ? size - half : half;
    }
    const bool first = !(place & ((Index(1) << level) - 1));
    Real sum = static_cast<Real>(-0.0);
    const int whole = static_cast<int>(size) / LANES * LANES;
    if (first && whole) {
        sum = pixels[lane];
        for (int i = LANES; i < whole; i += LANES) sum += pixels[i + lane];
        const unsigned group = ((1u << LANES) - 1) << (threadIdx.x % 32 - lane);
        for (int apart = 1; apart < LANES; apart *= 2) sum += __shfl_xor_sync(group, sum, apart);
    }
    if (lane) return;
    for (int i = whole; first && i < size; ++i) sum += pixels[i];
    sums[place] = sum;
}
