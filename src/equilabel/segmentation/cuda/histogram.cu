// Histograms: each block counts in shared memory, and adds what it found once.

#include "devices/cuda/index.cuh"

// How often each value from `first` on occurs; others are left out. `bins` tables fit shared memory.
template <typename Pixel>
__global__ void count_values(const Pixel* __restrict__ pixels, Index size, Index first, int bins,
                             unsigned long long* counts)
{
    extern __shared__ unsigned table[];
    for (int k = threadIdx.x; k < bins; k += blockDim.x) table[k] = 0;
    __syncthreads();
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    // A thread adds stretches of one value at once: background would make all wait for one counter.
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

// Pixels in each of `bins` bins between ascending edges, evenly spaced but for rounding. NaN and pixels
// outside are left out; the last bin holds its upper edge too.
template <typename Real>
__global__ void count_bins(const Real* __restrict__ pixels, Index size, const Real* __restrict__ edges,
                           int bins, unsigned long long* counts)
{
    extern __shared__ unsigned table[];
    for (int k = threadIdx.x; k < bins; k += blockDim.x) table[k] = 0;
    __syncthreads();
    const Real lowest = edges[0], highest = edges[bins];
    const double scale = bins / (static_cast<double>(highest) - static_cast<double>(lowest));
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = thread_index(); i < size; i += step) {
        const Real pixel = pixels[i];
        if (!(pixel >= lowest && pixel <= highest)) continue;
        const double place = (static_cast<double>(pixel) - static_cast<double>(lowest)) * scale;
        int k = min(static_cast<int>(place), bins - 1);
        while (pixel < edges[k]) --k;
        while (k < bins - 1 && pixel >= edges[k + 1]) ++k;
        atomicAdd(table + k, 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x)
        if (table[k]) atomicAdd(counts + k, static_cast<unsigned long long>(table[k]));
}
