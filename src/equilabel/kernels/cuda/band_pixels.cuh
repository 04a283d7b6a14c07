// The pixels of a chunk read, and its labels written.
#pragma once
#include "band_chunks.cuh"

// Foreground among `count` pixels; `wide` if they are bytes that can be read at once.
template <typename Pixel>
__device__ inline unsigned read_chunk(const Pixel* pixels, int count, int compare, bool wide,
                                      const Test<Pixel>& test)
{
    if (count <= 0) return 0;
    if (compare == EVERY) return 255 >> (CHUNK - count);
    if constexpr (sizeof(Pixel) == 1)
        if (wide) {
            const uint2 eight = __ldg(reinterpret_cast<const uint2*>(pixels));
            return test.four(eight.x) >> 28 | test.four(eight.y) >> 28 << 4;
        }
    unsigned set = 0;
#pragma unroll
    for (int j = 0; j < CHUNK; ++j)
        if (j < count) set |= static_cast<unsigned>(test(pixels[j])) << j;
    return set;
}

// Write the labels of a chunk from those of its entries; with `quads`, four at once.
__device__ inline void paint_chunk(u4* labels, unsigned set, const unsigned (&label)[ENTRIES], int count,
                                   bool quads)
{
    u4 value[CHUNK], last = 0;
    const unsigned heads = heads_of(set);
#pragma unroll
    for (int j = 0; j < CHUNK; ++j) {
        last = heads >> j & 1 ? label[j / 2] : last;
        value[j] = set >> j & 1 ? last : 0;
    }
    if (quads) {
        uint4* const fours = reinterpret_cast<uint4*>(labels);
        __stcs(fours, make_uint4(value[0], value[1], value[2], value[3]));
        if (count > 4) __stcs(fours + 1, make_uint4(value[4], value[5], value[6], value[7]));
        return;
    }
#pragma unroll
    for (int j = 0; j < CHUNK; ++j)
        if (j < count) labels[j] = value[j];
}
