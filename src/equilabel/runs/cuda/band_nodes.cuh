// Chunks of eight pixels: which runs of a chunk touch which runs of the row above.
//
// A chunk has an entry for every pair of its pixels. The entry of a run is that of its first pixel in the chunk,
// which no other run has. A run that continues from the chunk before has a new entry, whose parent is the old one.

#pragma once

#include "devices/cuda/warp.cuh"
#include "runs/cuda/pixels.cuh"

// ---- How all blocks of a cooperative launch wait for each other.

// The driver gives such a launch some memory, and its address in two registers: the highest bit of the second word
// turns once all blocks have come, and the others are 0 again.
__device__ inline void arrive_and_wait()
{
    unsigned high, low, before, now;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    const unsigned long long barrier = (static_cast<unsigned long long>(high) << 32 | low) + 4;
    const unsigned part = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(barrier), "r"(part) : "memory");
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(now) : "l"(barrier) : "memory");
    } while (!((before ^ now) >> 31));
}

__device__ inline void wait_for_blocks()
{
    __syncthreads();
    if (threadIdx.x == 0 && gridDim.x > 1) arrive_and_wait();
    __syncthreads();
}

// The same; until all have come, warps but the first do some work again and again. `done` is 0 in the beginning, in
// shared memory.
template <typename Work>
__device__ void wait_for_blocks_and(unsigned* done, const Work& work)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        if (gridDim.x > 1) arrive_and_wait();
        atomicExch(done, 1);
    } else if (threadIdx.x >= 32) {
        while (*static_cast<volatile unsigned*>(done) == 0) work();
    }
    __syncthreads();
}

constexpr int CHUNK = 8, ENTRIES = 4;  // pixels and entries of a chunk

// The pixels of a chunk and of its neighbors, one bit each.
struct Chunk {
    unsigned own = 0, left = 0, right = 0, up = 0, up_left = 0, up_right = 0;

    Chunk() = default;

    // Chunk `at` of `across` in a row; `above` is an earlier row, or null.
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

// The entry of the run at a pixel, relative to the first entry of the chunk.
__device__ inline int entry_at(unsigned pixels, int place)
{
    return (31 - __clz(heads_of(pixels) & ((2u << place) - 1))) / 2;
}

// Where runs touch runs above, one bit for each pair of runs: the pixel in the same column in bits 0 to 7, the
// one before in bits 8 to 15, the one after in bits 16 to 23.
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

// Remove one of these bits; returns the entry above that it leads to, relative to the chunk above.
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

// Find parents for the runs of a chunk whose heads are `orphans`: `before`, the run that continues in the chunk, or a
// run above. `store` gets an entry and its parent; bits of `touch` that were used are removed.
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

// The entry of the run that continues from the chunk before; full chunks of the warp are skipped. Neighboring
// threads have neighboring chunks; the entries of this one begin at `first`.
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
// A forest of entries whose parents are smaller entries, or themselves; and a queue of unions.
//
// A root becomes a child of a smaller entry only by compare-and-swap, and an entry that is not a root only gets
// ancestors as parents: no union is lost, and chains end.

// Give two entries one root, the smaller of theirs: climb from both at once, with path halving.
__device__ inline void unite_entries(unsigned* parents, unsigned one, unsigned two)
{
    unsigned parent = parent_of(parents, one), other = parent_of(parents, two);
    while (parent != other) {
        const unsigned above = parent_of(parents, parent), beyond = parent_of(parents, other);
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

// Climb from `Count` entries at once, given their parents (NONE for no entry), to their roots. Each step is stored,
// so that a chain in which many threads climb is halved at each step.
template <int Count>
__device__ inline void climb_all(unsigned* parents, const unsigned (&own)[Count], unsigned (&parent)[Count])
{
    bool more = true;
    while (more) {
        more = false;
#pragma unroll
        for (int j = 0; j < Count; ++j) {
            if (parent[j] == NONE) continue;
            const unsigned above = parent_of(parents, parent[j]);
            if (above == parent[j]) continue;
            atomicMin(parents + own[j], above);
            parent[j] = above;
            more = true;
        }
    }
}

// Pairs of entries to unite, which all threads of a block share equally. Each place first holds an item that says
// where two runs touch, then their entries, 16 bits each: relative to `first`, and to `second` for the other one.
struct Queue {
    unsigned *parents, *pairs, *count;
    unsigned first, second;

    // Reserve places for `pairs` pairs; returns the first place. All threads of a warp call this together.
    __device__ unsigned reserve(unsigned pairs) const
    {
        const unsigned sum = sum_up_to_lane(pairs);
        unsigned before = 0;
        if (threadIdx.x % 32 == 31 && sum) before = atomicAdd(count, sum);
        return __shfl_sync(ALL, before, 31) + sum - pairs;
    }

    // Unite two entries if one step is enough; returns whether they are united.
    __device__ bool unite_soon(unsigned one, unsigned two) const
    {
        const unsigned parent = parent_of(parents, first + one), other = parent_of(parents, second + two);
        const unsigned high = max(parent, other), low = min(parent, other);
        return high == low || atomicCAS(parents + high, high, low) == high;
    }

    // Unite all pairs in the queue, after a barrier of the block.
    __device__ void unite() const
    {
        for (unsigned at = threadIdx.x; at < *count; at += blockDim.x)
            if (const unsigned pair = pairs[at]; pair != UNITED)
                unite_entries(parents, first + (pair >> 16), second + (pair & 0xffff));
    }
};

// ------------------------------------------------------------------------------------------
// Border components of bands, as nodes in global memory: each block unites the nodes of its band with those of the
// band before, and labels them.

constexpr unsigned TOLD = 0x80000000u;  // marks numbers, counts and labels; parents do not have this bit
// Places in the queue. A chunk has at most eight touches along an edge: where a pixel has two, to the left and to the
// right, the next one is background. In two dimensions, five are left at most when runs have parents, and the first row
// of a band has eight with the band before.
__device__ inline int room_for_pairs(int chunks, int across, bool deep)
{
    return deep ? 32 * chunks : 5 * chunks + 3 * across;
}


// The argument of the kernel. A band is several planes of `lines` rows; in two dimensions a plane is a row. A border
// component has pixels in the first or last plane of its band, where another band follows; border components are
// counted in raster order of their first pixels.
struct Bands {
    const void* image;
    u4* labels;
    u2* tables;        // border component of each entry in the last plane of a band
    unsigned* nodes;   // parent of each border component, later its number
    unsigned* counts;  // components of each band that are not part of components of bands before
    long long* found;
    u8 background;     // bits of a value
    int compare, width, height;
    int across, lines, rows, bands;  // chunks of a row; rows of a plane, and of a band
    int step, stride;                // rows that the threads of a block process at once, and their chunks
    int hops;                        // connectivity
    // Whether chunks of bytes begin at multiples of 8; whether rows of labels begin at multiples of 4 (1) or 16 (2).
    int wide, quads;
};

// Most border components of a band.
__device__ inline int room_for_borders(const Bands& job)
{
    return 2 * ENTRIES * job.across * job.lines;
}

// An edge from a row to an earlier one: to the row before (edge 1), or to the plane before, straight (0) or with a
// step aside (2, 3).
struct Edge {
    int back;              // rows
    bool exists, corners;  // whether rows overlap diagonally too

    // From row y of a plane; `first` says that there is no plane before it.
    __device__ Edge(const Bands& job, int edge, int y, bool first)
    {
        const int aside = (edge == 3) - (edge == 1 || edge == 2);
        back = (edge == 1 ? 0 : job.lines) - aside;
        exists = (edge == 1 || !first) && y + aside >= 0 && y + aside < job.lines && (edge < 2 || job.hops > 1);
        corners = job.hops > (edge < 2 ? 1 : 2);
    }
};

// Shared memory of a block.
struct Memory {
    unsigned *parents, *marks;         // of entries; which are border components
    unsigned *merged, *sums, *labels;  // of border components; see `count_merged`
    unsigned* found;                   // labels before a band
    Queue queue;
    u1* pixels;  // those of the plane before the band precede them

    // For `chunks` chunks.
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
        const int room = room_for_pairs(chunks, job.across, job.lines > 1);
        pixels = reinterpret_cast<u1*>(queue.pairs + room) + job.across * job.lines;
    }

    // Number of border components before `at` that are part of others.
    __device__ unsigned merged_before(unsigned at) const
    {
        return sums[at / 32] + __popc(merged[at / 32] & ((1u << at % 32) - 1));
    }
};

// The sum over the threads before this one; `of_warp` has room for 32 sums.
__device__ inline unsigned sum_before_thread(unsigned own, unsigned* of_warp, unsigned& total)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned sum = sum_up_to_lane(own);
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    const unsigned warps = sum_up_to_lane(32 * lane < blockDim.x ? of_warp[lane] : 0);
    total = __shfl_sync(ALL, warps, 31);
    const unsigned before = __shfl_sync(ALL, warps, (warp + 31) % 32);
    return (warp ? before : 0) + sum - own;
}

// Count the border components of a band that are part of others, and keep their parents.
__device__ inline unsigned count_merged(const Bands& job, const Memory& memory, unsigned first, unsigned all)
{
    unsigned total = 0;
    for (unsigned from = 0; from <= all; from += blockDim.x) {
        const unsigned at = from + threadIdx.x, own = first + at;
        const unsigned parent = at < all ? parent_of(job.nodes, own) : own;
        const unsigned set = __ballot_sync(ALL, parent != own);
        if (parent != own) memory.labels[at] = parent;
        if (threadIdx.x % 32 == 0 && at <= all) memory.merged[at / 32] = set;
        total += __syncthreads_count(parent != own);
    }
    return total;
}

// Sum up the counts of `count_merged` for `merged_before`, by one warp.
__device__ inline void sum_merged(const Memory& memory, unsigned all)
{
    unsigned before = 0;
    for (unsigned from = 0; from <= all / 32; from += 32) {
        const unsigned at = from + threadIdx.x, own = at <= all / 32 ? __popc(memory.merged[at]) : 0;
        const unsigned sum = sum_up_to_lane(own);
        if (at <= all / 32) memory.sums[at] = before + sum - own;
        before += __shfl_sync(ALL, sum, 31);
    }
}

// A number that another block publishes; waits for it.
__device__ inline unsigned told(const unsigned* number)
{
    unsigned found = 0;
    while (!(found & TOLD)) found = parent_of(number, 0u);
    return found & ~TOLD;
}

// Label the border components of a band once those of all bands are united. `count` holds their number in its upper
// half, and the number of components of the band in its lower. Returns the number of labels of the bands before.
__device__ inline unsigned label_nodes(const Bands& job, const Memory& memory, int band, unsigned count)
{
    __shared__ unsigned of_warp[32];
    unsigned* const nodes = job.nodes;
    const unsigned most = room_for_borders(job), first = band * most, all = count >> 16;
    const unsigned merged = count_merged(job, memory, first, all);
    if (threadIdx.x == 0) __stcg(job.counts + band, TOLD | ((count & 0xffff) - merged));
    if (threadIdx.x < 32) sum_merged(memory, all);
    // Merged components keep their root; a root publishes its number in the band.
    for (unsigned at = threadIdx.x; at < all; at += blockDim.x)
        if (memory.merged[at / 32] >> at % 32 & 1) {
            unsigned root = memory.labels[at], parent = parent_of(nodes, root);
            for (; parent != root && !(parent & TOLD); parent = parent_of(nodes, root)) {
                root = parent;
                __stcg(nodes + first + at, root);  // shortens the chain for others
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
    // All blocks run at the same time, and each publishes its count before it waits for those of others.
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
