// Eight pixels at a time: which runs of a chunk touch which runs above.
//
// A chunk has an entry for every pair of its pixels. That of a run is where its first pixel in the chunk is:
// no other run has one there. What goes on from the chunk before begins anew, and follows the run before.
#pragma once

#include "devices/cuda/grid_barrier.cuh"
#include "devices/cuda/index.cuh"
#include "runs/cuda/pixels.cuh"

constexpr int CHUNK = 8, ENTRIES = 4;  // pixels and entries of a chunk

// The pixels of a chunk and of those around it, a bit each.
struct Chunk {
    unsigned own = 0, left = 0, right = 0, up = 0, up_left = 0, up_right = 0;

    Chunk() = default;

    // Number `at` of `across` in a row, and in an earlier row, the one above, unless that is null.
    __device__ Chunk(const u1* row, const u1* above, int at, int across)
    {
        const bool before = at > 0, after = at + 1 < across;
        own = row[at];
        left = before ? row[at - 1] : 0;
        right = after ? row[at + 1] : 0;
        up = above ? above[at] : 0;
        up_left = above && before ? above[at - 1] : 0;
        up_right = above && after ? above[at + 1] : 0;
    }
};

__device__ inline unsigned heads_of(unsigned pixels)
{
    return pixels & ~(pixels << 1);
}

// The entry of the run at a pixel, from the first of the chunk.
__device__ inline int entry_at(unsigned pixels, int place)
{
    return (31 - __clz(heads_of(pixels) & ((2u << place) - 1))) / 2;
}

// Where runs touch runs above, a bit for each pair of them: straight, in bits 0 to 7; to the pixel before, in
// bits 8 to 15; to the one after, in bits 16 to 23.
__device__ inline unsigned touching(const Chunk& chunk, bool corners)
{
    const unsigned own = chunk.own, up = chunk.up;
    const unsigned before = up << 1 | chunk.up_left >> 7, after = up >> 1 | (chunk.up_right & 1) << 7;
    const unsigned begins = own & ~(own << 1 | chunk.left >> 7);
    unsigned touch = own & up & (begins | ~before);
    if (corners) {
        const unsigned ends = own & ~(own >> 1 | (chunk.right & 1) << 7);
        touch |= (begins & ~up & before) << 8 | (ends & ~up & after) << 16;
    }
    return touch;
}

// Take one of these; returns the entry above that it leads to, from the first of the chunk above.
__device__ inline int take(unsigned& touch, const Chunk& chunk, int& place)
{
    const unsigned rest = (touch | touch >> 8 | touch >> 16) & 255, bit = rest & -rest;
    place = __ffs(rest) - 1;
    if (touch & bit) {
        touch ^= bit;
        return entry_at(chunk.up, place);
    }
    if (touch & bit << 8) {
        touch ^= bit << 8;
        return place ? entry_at(chunk.up, place - 1) : entry_at(chunk.up_left, CHUNK - 1) - ENTRIES;
    }
    touch ^= bit << 16;
    return (place + 1) / 2;
}

// Find parents for the runs of a chunk that have none yet, whose heads are `orphans`: the run that goes on in it,
// `before`, or one above. `store` takes an entry and its parent; what is used of `touch` is taken out.
template <typename Store>
__device__ inline void adopt(const Chunk& chunk, unsigned before, unsigned above, unsigned& touch,
                             unsigned& orphans, const Store& store)
{
    if (orphans & chunk.left >> 7) {
        store(0, before);
        orphans ^= 1;
    }
    const unsigned heads = heads_of(chunk.own);
    for (unsigned rest = orphans; rest; rest &= rest - 1) {
        const unsigned head = rest & -rest, later = heads & ~(2 * head - 1);
        const unsigned span = (later ? later & -later : 256) - head;
        unsigned within = touch & span * 0x010101;
        if (within == 0) continue;
        int place;
        touch ^= within;
        store((__ffs(head) - 1) / 2, above + take(within, chunk, place));
        touch ^= within;
        orphans ^= head;
    }
}

// The entry of the run that goes on in a chunk from the one before, where full chunks of the warp are passed
// by. Neighboring threads have neighboring chunks, this one entries from `first` on.
__device__ inline unsigned entry_before(const Chunk& chunk, unsigned first)
{
    const int lane = threadIdx.x % 32;
    const bool passed = chunk.own == 255 && chunk.left >> 7;
    const unsigned ends = __ballot_sync(ALL, !passed) & ((1u << lane) - 1);
    const int other = ends ? 31 - __clz(ends) : 0;
    const unsigned pixels = __shfl_sync(ALL, chunk.own, other);
    if (lane == 0) return first - ENTRIES + (chunk.left >> 7 ? entry_at(chunk.left, CHUNK - 1) : 0);
    return first - ENTRIES * (lane - other) + (pixels >> 7 ? entry_at(pixels, CHUNK - 1) : 0);
}

// ------------------------------------------------------------------------------------------
// Chains of entries, each with a smaller one as parent, or itself; and unions that wait in a queue.
//
// Roots become children of smaller entries by compare-and-swap alone, and what is no root only ever gets
// ancestors as parents: no union is lost, and chains end.

__device__ inline unsigned parent_in(const volatile unsigned* parents, unsigned at)
{
    return parents[at];
}

// The parents of four entries in shared memory, the first of which is a multiple of four.
__device__ inline void parents_of_four(const unsigned* parents, unsigned first, unsigned (&parent)[4])
{
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(parents + first));
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parent[0]), "=r"(parent[1]), "=r"(parent[2]), "=r"(parent[3]) : "r"(place) : "memory");
}

// Give two entries one root, the smaller of theirs: climb from both at once, halving the ways.
__device__ inline void unite_entries(unsigned* parents, unsigned one, unsigned two)
{
    unsigned parent = parent_in(parents, one), other = parent_in(parents, two);
    while (parent != other) {
        const unsigned above = parent_in(parents, parent), beyond = parent_in(parents, other);
        if (above == parent && beyond == other) {
            const unsigned high = max(parent, other), low = min(parent, other);
            const unsigned seen = atomicCAS(parents + high, high, low);
            if (seen == high) return;
            one = high;
            parent = seen;
            two = other = low;
        } else {
            if (above != parent) {
                atomicMin(parents + one, above);
                one = parent;
                parent = above;
            }
            if (beyond != other) {
                atomicMin(parents + two, beyond);
                two = other;
                other = beyond;
            }
        }
    }
}

constexpr unsigned NONE = ~0u;  // instead of an entry

// Climb from `Count` entries at once, where there are some, given their parents, to what are roots by then. Each
// step is stored, so that chains in which many climb are halved.
template <int Count>
__device__ inline void climb_all(unsigned* parents, const unsigned (&own)[Count], unsigned (&parent)[Count])
{
    bool more = true;
    while (more) {
        more = false;
#pragma unroll
        for (int j = 0; j < Count; ++j) {
            if (parent[j] == NONE) continue;
            const unsigned above = parent_in(parents, parent[j]);
            if (above == parent[j]) continue;
            atomicMin(parents + own[j], above);
            parent[j] = above;
            more = true;
        }
    }
}

constexpr unsigned UNITED = ~0u;

// Pairs of entries to be united, shared by the threads of a block so that all have equally many: first what tells
// where they touch, in the same places. Entries are told by 16 bits, counted from `first` or, the second of a pair,
// from `second`.
struct Queue {
    unsigned *parents, *pairs, *count;
    unsigned first, second, room;

    // Reserve places for some pairs; returns the first. All threads of a warp call this together.
    __device__ unsigned reserve(unsigned pairs) const
    {
        const int lane = threadIdx.x % 32;
        unsigned sum = pairs, before = 0;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31 && sum) before = atomicAdd(count, sum);
        return __shfl_sync(ALL, before, 31) + sum - pairs;
    }

    // Unite two if that takes one step; returns whether it did.
    __device__ bool unite_soon(unsigned one, unsigned two) const
    {
        const unsigned parent = parent_in(parents, first + one), other = parent_in(parents, second + two);
        const unsigned high = max(parent, other), low = min(parent, other);
        return high == low || atomicCAS(parents + high, high, low) == high;
    }

    // Unite all pairs that wait; threads have waited for each other.
    __device__ void unite() const
    {
        const unsigned all = min(*count, room);
        for (unsigned at = threadIdx.x; at < all; at += blockDim.x)
            if (const unsigned pair = pairs[at]; pair != UNITED)
                unite_entries(parents, first + (pair >> 16), second + (pair & 0xffff));
    }
};

// ------------------------------------------------------------------------------------------
// Border components of bands, as nodes in global memory: each block unites its own with those of the band
// before, and labels its own.

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
