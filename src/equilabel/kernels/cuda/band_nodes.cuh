// Border components of bands, as nodes in global memory: each block unites its own with those of the band
// before, and labels its own.
#pragma once
#include "band_chains.cuh"
#include "band_chunks.cuh"
#include "grid_barrier.cuh"

constexpr unsigned TOLD = 0x80000000u;  // marks what is no parent: numbers, counts and labels
constexpr int PAIRS = 4, DEEP_PAIRS = 12;  // places of a chunk in the queue, in two and in three dimensions

// What the launch is told. A band is some rows, or in three dimensions planes of `lines` rows; in two a plane is
// a row. A border component is one that has pixels in the first or last plane of its band, where that meets
// another band; they are counted in raster order of their first pixels.
struct Bands {
    const void* image;
    u4* labels;
    u2* tables;        // of each entry in the last plane of a band: its border component
    unsigned* nodes;   // of each border component its parent, then its number
    unsigned* counts;  // components of each band that are part of none before
    long long* found;
    u8 background;     // bits of a value
    int compare, width, height;
    int across, lines, rows, bands;  // chunks of a row; rows of a plane, and of a band
    int step, stride;                // rows, and chunks of these, that the threads of a block have at once
    int hops;                        // connectivity
    int wide, quads;  // whether chunks of bytes begin at multiples of 8; rows of labels at multiples of 4: 1, of 16: 2
};

// Most border components of a band.
__device__ inline int room_for_borders(const Bands& job)
{
    return 2 * ENTRIES * job.across * job.lines;
}

// Where an edge leads from a row to an earlier one: to the plane before, with or without a step aside, or for
// edge 1 to the row before.
struct Edge {
    int back;              // rows
    bool exists, corners;  // whether rows overlap diagonally too

    // From row y of a plane; `first` if that has no plane before it.
    __device__ Edge(const Bands& job, int edge, int y, bool first)
    {
        const int aside = (edge == 3) - (edge == 1 || edge == 2);
        back = (edge == 1 ? 0 : job.lines) - aside;
        exists = (edge == 1 || !first) && y + aside >= 0 && y + aside < job.lines && (edge < 2 || job.hops > 1);
        corners = job.hops > (edge < 2 ? 1 : 2);
    }
};

// What the threads of a block tell each other.
struct Memory {
    unsigned *parents, *marks;         // of entries; which are border components
    unsigned *merged, *sums, *labels;  // of border components; see `count_merged`
    unsigned* found;                   // labels before a band
    Queue queue;
    u1* pixels;  // before them those of the plane before the band

    // Of `chunks` chunks.
    __device__ Memory(void* shared, const Bands& job, int chunks)
    {
        const int most = job.bands > 1 ? room_for_borders(job) : 0, words = most / 32 + 1;
        parents = static_cast<unsigned*>(shared);
        marks = parents + ENTRIES * chunks;
        merged = marks + chunks / CHUNK;
        sums = merged + words;
        labels = sums + words;
        found = labels + most;
        queue.parents = parents;
        queue.first = queue.second = 0;
        queue.count = found + job.bands;
        queue.pairs = queue.count + 1;
        queue.room = (job.lines > 1 ? DEEP_PAIRS : PAIRS) * chunks;
        pixels = reinterpret_cast<u1*>(queue.pairs + queue.room) + job.across * job.lines;
    }

    // Border components before one that have become part of others.
    __device__ unsigned merged_before(unsigned at) const
    {
        return sums[at / 32] + __popc(merged[at / 32] & ((1u << at % 32) - 1));
    }
};

// The sum over the lanes up to this one.
__device__ inline unsigned up_to_lane(unsigned sum)
{
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step);
        if (threadIdx.x % 32 >= step) sum += other;
    }
    return sum;
}

// What the threads before this one have; `of_warp` has room for 32 sums.
__device__ inline unsigned sum_before_thread(unsigned own, unsigned* of_warp, unsigned& total)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned sum = up_to_lane(own);
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    const unsigned warps = up_to_lane(32 * lane < blockDim.x ? of_warp[lane] : 0);
    total = __shfl_sync(ALL, warps, 31);
    const unsigned before = __shfl_sync(ALL, warps, (warp + 31) % 32);
    return (warp ? before : 0) + sum - own;
}

// The same for two numbers up to 4 in each slot of all threads, where those of an earlier slot come first: `own`
// holds them in its halves, and then what is before. Returns the sums of all.
template <int Slots>
__device__ inline unsigned sum_before_slots(unsigned (&own)[Slots])
{
    static_assert(Slots <= 4, "sums of a warp take a byte");
    __shared__ unsigned of_warp[Slots][32], of_slot[Slots];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    unsigned low = 0, high = 0;
#pragma unroll
    for (int slot = 0; slot < Slots; ++slot) {
        low |= (own[slot] & 0xffff) << 8 * slot;
        high |= (own[slot] >> 16) << 8 * slot;
    }
    if (Slots > 2) {
        low = up_to_lane(low);
        high = up_to_lane(high);
    } else {
        low = up_to_lane(low | high << 16);
        high = low >> 16;
    }
#pragma unroll
    for (int slot = 0; slot < Slots; ++slot) {
        const unsigned sum = (low >> 8 * slot & 255) | (high >> 8 * slot & 255) << 16;
        if (lane == 31) of_warp[slot][warp] = sum;
        own[slot] = sum - own[slot];
    }
    __syncthreads();
    for (int slot = warp; slot < Slots; slot += warps) {
        const unsigned part = lane < warps ? of_warp[slot][lane] : 0, sum = up_to_lane(part);
        of_warp[slot][lane] = sum - part;
        if (lane == 31) of_slot[slot] = sum;
    }
    __syncthreads();
    unsigned total = 0;
#pragma unroll
    for (int slot = 0; slot < Slots; ++slot) {
        own[slot] += total + of_warp[slot][warp];
        total += of_slot[slot];
    }
    return total;
}

// Count, of the border components of a band, those that are part of others, and note the parents of these.
__device__ inline unsigned count_merged(const Bands& job, const Memory& memory, unsigned first, unsigned all)
{
    unsigned total = 0;
    for (unsigned from = 0; from <= all; from += blockDim.x) {
        const unsigned at = from + threadIdx.x, own = first + at;
        const unsigned parent = at < all ? parent_in(job.nodes, own) : own;
        const unsigned set = __ballot_sync(ALL, parent != own);
        if (parent != own) memory.labels[at] = parent;
        if (threadIdx.x % 32 == 0 && at <= all) memory.merged[at / 32] = set;
        total += __syncthreads_count(parent != own);
    }
    return total;
}

// Sum up what `count_merged` found, for `merged_before`; the threads of one warp do this.
__device__ inline void sum_merged(const Memory& memory, unsigned all)
{
    unsigned before = 0;
    for (unsigned from = 0; from <= all / 32; from += 32) {
        const unsigned at = from + threadIdx.x, own = at <= all / 32 ? __popc(memory.merged[at]) : 0;
        const unsigned sum = up_to_lane(own);
        if (at <= all / 32) memory.sums[at] = before + sum - own;
        before += __shfl_sync(ALL, sum, 31);
    }
}

// What another block tells, once it does.
__device__ inline unsigned told(const unsigned* number)
{
    unsigned found = 0;
    while (!(found & TOLD)) found = parent_in(number, 0);
    return found & ~TOLD;
}

// Label the border components of a band once those of all bands are united; in the upper half, `count` is how
// many these are, in the lower, components of the band. Returns the labels of the bands before.
__device__ inline unsigned label_nodes(const Bands& job, const Memory& memory, int band, unsigned count)
{
    __shared__ unsigned of_warp[32];
    unsigned* const nodes = job.nodes;
    const unsigned most = room_for_borders(job), first = band * most, all = count >> 16;
    const unsigned merged = count_merged(job, memory, first, all);
    if (threadIdx.x == 0) __stcg(job.counts + band, TOLD | ((count & 0xffff) - merged));
    if (threadIdx.x < 32) sum_merged(memory, all);
    // The others remember their root; a root tells its number in the band.
    for (unsigned at = threadIdx.x; at < all; at += blockDim.x)
        if (memory.merged[at / 32] >> at % 32 & 1) {
            unsigned root = memory.labels[at], parent = parent_in(nodes, root);
            for (; parent != root && !(parent & TOLD); parent = parent_in(nodes, root)) {
                root = parent;
                __stcg(nodes + first + at, root);  // for those behind it
            }
            memory.labels[at] = root;
        }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < all; at += blockDim.x)
        if (!(memory.merged[at / 32] >> at % 32 & 1)) {
            const unsigned held = memory.labels[at] - memory.merged_before(at);
            memory.labels[at] = held;
            __stcg(nodes + first + at, TOLD | held);
        }
    // All blocks run at the same time, and each tells its part before it waits for those of others.
    unsigned total;
    const unsigned own = threadIdx.x < job.bands ? told(job.counts + threadIdx.x) : 0;
    const unsigned before = sum_before_thread(own, of_warp, total);
    if (threadIdx.x < job.bands) memory.found[threadIdx.x] = before;
    __syncthreads();
    const unsigned base = memory.found[band];
    for (unsigned at = threadIdx.x; at < all; at += blockDim.x) {
        unsigned& held = memory.labels[at];
        const bool other = memory.merged[at / 32] >> at % 32 & 1;
        held = (other ? memory.found[held / most] + told(nodes + held) : base + held) + 1;
    }
    if (band == 0 && threadIdx.x == 0) *job.found = total;
    __syncthreads();
    return base;
}
