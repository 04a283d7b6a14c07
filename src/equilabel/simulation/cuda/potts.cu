// Random numbers without a state: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy
// as 1, 2, 3, Proc. SC11, 2011, doi:10.1145/2063384.2063405). The same numbers as in simulation/cpu/potts.py,
// which explains the counter and the key.

#include "devices/cuda/index.cuh"
#include "devices/cuda/warp.cuh"

// Purposes of random numbers. Axes 4 and 5 use the next number.
constexpr unsigned SPINS = 0, BONDS = 1, STATES = 3, POINTS = 4, FLIPS = 6;

constexpr unsigned MULTIPLIERS[] = {0xD2511F53u, 0xCD9E8D57u}, WEYL[] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int ROUNDS = 10;

// The four words that a site draws in a sweep for one purpose.
__device__ inline uint4 philox(unsigned site, u8 sweep, unsigned purpose, u8 seed)
{
    uint4 words = make_uint4(site, static_cast<unsigned>(sweep),
                             static_cast<unsigned>(sweep >> 32), purpose);
    unsigned key = static_cast<unsigned>(seed), other = static_cast<unsigned>(seed >> 32);
#pragma unroll
    for (int turn = 0; turn < ROUNDS; ++turn) {
        if (turn > 0) {
            key += WEYL[0];
            other += WEYL[1];
        }
        const unsigned high = __umulhi(MULTIPLIERS[0], words.x), low = MULTIPLIERS[0] * words.x;
        const unsigned above = __umulhi(MULTIPLIERS[1], words.z), under = MULTIPLIERS[1] * words.z;
        words = make_uint4(above ^ words.y ^ key, under, high ^ words.w ^ other, low);
    }
    return words;
}

// One of four words; `k` is a constant in unrolled loops, so that words stay in registers.
__device__ inline unsigned word_of(uint4 words, int k)
{
    return k == 0 ? words.x : k == 1 ? words.y : k == 2 ? words.z : words.w;
}

// A number of 0 to limit - 1 from a word; all are equally likely to 2**-32.
__device__ inline unsigned below(unsigned limit, unsigned word) { return __umulhi(word, limit); }

// ------------------------------------------------------------------------------------------
// Cluster updates of the Potts model (Swendsen and Wang 1987): bonds, new states, measurements.
//
// A spin is one of the states 0 to q - 1, one byte. All axes are periodic and at least 2 long, and there are
// fewer than 2**32 sites, so that coordinates need divisions of 32 bits only. Kernels are bound by computation
// rather than memory: a site needs two to seven bytes and one call of Philox, about a hundred integer
// instructions. Labeling the clusters takes longer.

constexpr int RANKS = 6;  // axes, at most

// Sides from the last axis to the first: step k leads along sides[k].
struct Lattice {
    unsigned sides[RANKS], size;
};

// Distances to the next site along each step, around the ends of axes.
template <int rank>
struct Ahead {
    Index by[rank];

    __device__ Ahead(unsigned site, const Lattice& lattice)
    {
        Index stride = 1;
#pragma unroll
        for (int k = 0; k < rank; ++k) {
            const unsigned side = lattice.sides[k];
            const unsigned rest = k + 1 < rank ? site / side : 0;
            const bool inside = site - rest * side + 1 < side;
            by[k] = inside ? stride : stride - stride * side;
            stride *= side;
            site = rest;
        }
    }
};

// Write the words that each site draws, for tests.
__global__ void random_words(const unsigned* __restrict__ sites, Index size, u8 sweep,
                             unsigned purpose, u8 seed, uint4* __restrict__ words)
{
    const Index i = thread_index();
    if (i < size) words[i] = philox(sites[i], sweep, purpose, seed);
}

__global__ void random_spins(Index size, unsigned states, u8 seed, u1* __restrict__ spins)
{
    const Index i = thread_index();
    if (i < size) spins[i] = below(states, philox(static_cast<unsigned>(i), 0, SPINS, seed).x);
}

// Weigel 2011, Equation 7: a bond between equal spins is open if its random number is below the threshold. The
// second read of a spin, for another row, hits the second-level cache: 1 byte in, 1 byte out.
template <int rank>
__global__ void activate_bonds(const u1* __restrict__ spins, Lattice lattice, u8 threshold,
                               u8 sweep, u8 seed, u1* __restrict__ open)
{
    const Index i = thread_index();
    if (i >= lattice.size) return;
    const unsigned site = static_cast<unsigned>(i);
    const Ahead<rank> ahead(site, lattice);
    const u1 spin = spins[i];
    unsigned equal = 0;
#pragma unroll
    for (int k = 0; k < rank; ++k) equal |= static_cast<unsigned>(spins[i + ahead.by[k]] == spin) << k;
    unsigned kept = 0;
#pragma unroll
    for (int begin = 0; begin < rank; begin += 4) {
        if (!(equal >> begin)) continue;
        const uint4 words = philox(site, sweep, BONDS + begin / 4, seed);
#pragma unroll
        for (int k = begin; k < rank && k < begin + 4; ++k)
            kept |= static_cast<unsigned>(word_of(words, k - begin) < threshold) << k;
    }
    open[i] = static_cast<u1>(equal & kept);
}

// Labels of clusters count from `first` in raster order. Each site computes the new state of its cluster itself,
// which is faster than to read it from a table at random places.
template <typename Id>
__global__ void flip_clusters(const Id* __restrict__ labels, Id first, Index size, unsigned states,
                              u8 sweep, u8 seed, u1* __restrict__ spins)
{
    const Index i = thread_index();
    if (i >= size) return;
    const unsigned cluster = static_cast<unsigned>(labels[i] - first);
    spins[i] = below(states, philox(cluster, sweep, STATES, seed).x);
}

// Weigel 2011, Section III: mark the cluster of a random site of each tile. Threads that choose the same cluster
// write the same byte.
template <int rank, typename Id>
__global__ void mark_clusters(const Id* __restrict__ labels, Id first, Lattice lattice, unsigned tile,
                              Index points, u8 sweep, u8 seed, u1* __restrict__ marked)
{
    const Index point = thread_index();
    if (point >= points) return;
    unsigned rest = static_cast<unsigned>(point);
    Index site = 0, stride = 1;
    uint4 words = philox(static_cast<unsigned>(point), sweep, POINTS, seed);
#pragma unroll
    for (int k = 0; k < rank; ++k) {
        if (k == 4) words = philox(static_cast<unsigned>(point), sweep, POINTS + 1, seed);
        const unsigned side = lattice.sides[k], tiles = (side - 1) / tile + 1;
        const unsigned begin = rest % tiles * tile;
        rest /= tiles;
        site += stride * (begin + below(min(tile, side - begin), word_of(words, k % 4)));
        stride *= side;
    }
    marked[labels[site] - first] = 1;
}

template <typename Id>
__global__ void flip_marked(const Id* __restrict__ labels, Id first, Index size,
                            const u1* __restrict__ marked, unsigned states, u8 threshold, u8 sweep,
                            u8 seed, u1* __restrict__ spins)
{
    const Index i = thread_index();
    if (i >= size) return;
    const unsigned cluster = static_cast<unsigned>(labels[i] - first);
    if (!marked[cluster]) return;
    const uint4 words = philox(cluster, sweep, FLIPS, seed);
    if (words.x < threshold) spins[i] = (spins[i] + 1 + below(states - 1, words.y)) % states;
}

// Count bonds between equal spins, and sites in each state: each block counts in shared memory, then adds to the
// row once. All lanes of a warp make the same number of turns.
template <int rank>
__global__ void measure_spins(const u1* __restrict__ spins, Lattice lattice, unsigned states, u8* row)
{
    extern __shared__ unsigned counts[];  // sites in each state, fewer than 2**32
    __shared__ u8 bonds;
    for (unsigned k = threadIdx.x; k < states; k += blockDim.x) counts[k] = 0;
    if (threadIdx.x == 0) bonds = 0;
    __syncthreads();
    u8 equal = 0;
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index first = thread_index() - threadIdx.x % 32; first < lattice.size; first += step) {
        const Index i = first + threadIdx.x % 32;
        const bool inside = i < lattice.size;
        const unsigned lanes = __ballot_sync(ALL, inside);
        if (!inside) continue;
        const Ahead<rank> ahead(static_cast<unsigned>(i), lattice);
        const u1 spin = spins[i];
#pragma unroll
        for (int k = 0; k < rank; ++k) equal += spins[i + ahead.by[k]] == spin;
        const unsigned alike = lanes_alike(lanes, static_cast<unsigned>(spin));
        if (__ffs(alike) - 1 == static_cast<int>(threadIdx.x % 32)) atomicAdd(counts + spin, __popc(alike));
    }
    equal = sum_of_all(equal);
    if (threadIdx.x % 32 == 0) atomicAdd(&bonds, equal);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(row, bonds);
    for (unsigned k = threadIdx.x; k < states; k += blockDim.x)
        if (counts[k]) atomicAdd(row + 1 + k, static_cast<u8>(counts[k]));
}

// Count the sites of each cluster. A warp counts one cluster, that of its first site, in a register: if one cluster
// spans the lattice, all warps would otherwise wait for its counter in every turn.
template <typename Id>
__global__ void add_sizes(const Id* __restrict__ labels, Id first_label, Index size, unsigned* sizes)
{
    const int lane = threadIdx.x % 32;
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    const Index begin = thread_index() - lane;
    if (begin >= size) return;  // whole warps
    const Id own = labels[begin];
    unsigned times = 0;
    for (Index first = begin; first < size; first += step) {
        const Index i = first + lane;
        const Id label = i < size ? labels[i] : own;
        const unsigned others = __ballot_sync(ALL, label != own);
        times += __popc(__ballot_sync(ALL, i < size && label == own));
        if (label == own) continue;
        const unsigned alike = lanes_alike(others, label);
        if (__ffs(alike) - 1 == lane) atomicAdd(sizes + (label - first_label), __popc(alike));
    }
    if (lane == 0) atomicAdd(sizes + (own - first_label), times);
}

// Count clusters, the sites of the largest, and the sum of the squares of all sizes.
__global__ void sum_sizes(const unsigned* __restrict__ sizes, Index size, u8* row)
{
    u8 clusters = 0, squares = 0;
    unsigned largest = 0;
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = thread_index(); i < size; i += step) {
        const unsigned sites = sizes[i];
        clusters += sites > 0;
        squares += static_cast<u8>(sites) * sites;
        largest = max(largest, sites);
    }
    clusters = sum_of_all(clusters);
    squares = sum_of_all(squares);
    largest = most_of(ALL, largest);
    if (threadIdx.x % 32) return;
    atomicAdd(row, clusters);
    atomicMax(row + 1, static_cast<u8>(largest));
    atomicAdd(row + 2, squares);
}
