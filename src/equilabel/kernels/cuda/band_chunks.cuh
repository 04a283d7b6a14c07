// Eight pixels at a time: which runs of a chunk touch which runs above.
//
// A chunk has an entry for every pair of its pixels. That of a run is where its first pixel in the chunk is:
// no other run has one there. What goes on from the chunk before begins anew, and follows the run before.
#pragma once
#include "bits.cuh"

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
