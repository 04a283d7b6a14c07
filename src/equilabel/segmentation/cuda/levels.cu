// The threshold of a smoothed image, found where the image is, and the pixels above it.

#include "segmentation/cuda/keys.cuh"

constexpr int BINS = 256;  // of a histogram, and threads of the block that finds the threshold

__device__ f4 multiply_add(f4 number, f4 step, f4 first) { return __fadd_rn(__fmul_rn(number, step), first); }
__device__ f8 multiply_add(f8 number, f8 step, f8 first) { return __dadd_rn(__dmul_rn(number, step), first); }

// The edges of `bins` bins of equal width between `ends`, as `numpy.linspace` rounds them: one thread for each.
template <typename Real>
__global__ void find_edges(const KeyOf<Real>* ends, int bins, Real* edges)
{
    const Index k = thread_index();
    if (k > bins) return;
    const KeyOf<Real> low = ~ends[0];
    const Real lowest = value_of(low), highest = value_of(ends[1]);
    const Real step = (highest - lowest) / static_cast<Real>(bins);
    edges[k] = k < bins ? multiply_add(static_cast<Real>(k), step, lowest) : highest;
}

// What `compare` and the host are told: the threshold, and whether it must be found in another way.
struct Note {
    double level;
    u8 fault;
};

// Add up one number after the other, from either end, as NumPy does. One thread calls this.
template <typename Real>
__device__ void add_up(const Real* values, Real* sums, bool from_end)
{
    Real sum = 0;
#pragma unroll 16
    for (int k = 0; k < BINS; ++k) {
        const int at = from_end ? BINS - 1 - k : k;
        sum += values[at];
        sums[at] = sum;
    }
}

// Note the `level` or, if `search`, the threshold of Otsu: the center of the bin up to which the variance between the
// classes is greatest, with the operations of scikit-image in their order, so that it has the same bits. There is a
// fault if pixels are not finite or all equal, or too large or too near each other for their type. One block.
template <typename Real>
__global__ void __launch_bounds__(BINS)
    find_level(const KeyOf<Real>* ends, const u8* counts, const Real* edges, bool search, double level, Note* note)
{
    __shared__ float numbers[BINS], below[BINS], above[BINS];
    __shared__ Real weights[BINS], lower[BINS], upper[BINS], best[BINS];
    __shared__ int place[BINS];
    const int k = threadIdx.x;
    const KeyOf<Real> low = ~ends[0];
    const Real lowest = value_of(low), highest = value_of(ends[1]);
    bool fault = !(isfinite(lowest) && isfinite(highest) && lowest < highest);
    if (search) {
        numbers[k] = __ull2float_rn(counts[k]);
        weights[k] = static_cast<Real>(numbers[k]) * ((edges[k] + edges[k + 1]) / 2);
        fault |= !(edges[k] < edges[k + 1]);
        __syncthreads();
        if (k == 0) add_up(numbers, below, false);
        if (k == 32) add_up(numbers, above, true);
        if (k == 64) add_up(weights, lower, false);
        if (k == 96) add_up(weights, upper, true);
        __syncthreads();
        best[k] = -1;
        place[k] = k;
        if (k + 1 < BINS) {
            const Real apart = lower[k] / below[k] - upper[k + 1] / above[k + 1];
            best[k] = static_cast<Real>(below[k] * above[k + 1]) * (apart * apart);
            fault |= !isfinite(best[k]);
        }
        for (int half = BINS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (k >= half) continue;
            const Real other = best[k + half];
            if (other > best[k] || (other == best[k] && place[k + half] < place[k])) {
                best[k] = other;
                place[k] = place[k + half];
            }
        }
        if (k == 0) level = (edges[place[0]] + edges[place[0] + 1]) / 2;
    }
    fault = __syncthreads_or(fault);
    if (k == 0) *note = {level, fault};
}

template <typename Real>
struct alignas(4 * sizeof(Real) < 16 ? 4 * sizeof(Real) : 16) Quad {
    Real of[4];
};

// Write whether pixels are above a level, if `dark` not above it. Both arrays begin at multiples of 16 bytes.
template <typename Real>
__global__ void compare(const Real* __restrict__ pixels, Index size, const Note* note, bool dark, u1* mask)
{
    const Real level = static_cast<Real>(note->level);
    const auto test = [&](Real pixel) -> u1 { return dark ? pixel <= level : pixel > level; };
    const Index first = 4 * thread_index();
    if (first + 4 <= size) {
        const Quad<Real> own = *reinterpret_cast<const Quad<Real>*>(pixels + first);
        Quad<u1> found;
#pragma unroll
        for (int j = 0; j < 4; ++j) found.of[j] = test(own.of[j]);
        *reinterpret_cast<Quad<u1>*>(mask + first) = found;
    } else {
        for (Index i = first; i < size; ++i) mask[i] = test(pixels[i]);
    }
}
