// The pixels of a chunk read, and its labels written.
#pragma once
#include "band_chunks.cuh"

// A chunk of bytes that begins at a multiple of 8, and foreground among them.
template <typename Pixel>
__device__ inline uint2 read_wide(const Pixel* pixels)
{
    return __ldg(reinterpret_cast<const uint2*>(pixels));
}

template <typename Pixel>
__device__ inline unsigned test_wide(uint2 eight, const Test<Pixel>& test)
{
    if constexpr (sizeof(Pixel) == 1) return test.four(eight.x) >> 28 | test.four(eight.y) >> 28 << 4;
    return 0;
}

// Foreground among `count` pixels; `wide` if they are bytes that can be read at once.
template <typename Pixel>
__device__ inline unsigned read_chunk(const Pixel* pixels, int count, int compare, bool wide,
                                      const Test<Pixel>& test)
{
    if (count <= 0) return 0;
    if (compare == EVERY) return 255 >> (CHUNK - count);
    if constexpr (sizeof(Pixel) == 1)
        if (wide) return test_wide(read_wide(pixels), test);
    unsigned set = 0;
#pragma unroll
    for (int j = 0; j < CHUNK; ++j)
        if (j < count) set |= static_cast<unsigned>(test(pixels[j])) << j;
    return set;
}

// Write the labels of a chunk from those of its entries, four at once; if `pairs`, eight together with the
// neighboring thread, whose chunk is in the same row.
__device__ inline void paint_chunk(u4* labels, unsigned set, const unsigned (&label)[ENTRIES], int count,
                                   bool pairs)
{
    u4 value[CHUNK], last = 0;
    const unsigned heads = heads_of(set);
#pragma unroll
    for (int j = 0; j < CHUNK; ++j) {
        last = heads >> j & 1 ? label[j / 2] : last;
        value[j] = set >> j & 1 ? last : 0;
    }
    if (pairs) {  // whole sectors of 32 bytes at a time
        const bool odd = threadIdx.x & 1;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const u4 other = __shfl_xor_sync(ALL, odd ? value[j] : value[4 + j], 1);
            (odd ? value[j] : value[4 + j]) = other;
        }
        if (count <= 0) return;
        uint4* const fours = reinterpret_cast<uint4*>(labels);
        __stcs(fours - odd, make_uint4(value[0], value[1], value[2], value[3]));
        __stcs(fours + 2 - odd, make_uint4(value[4], value[5], value[6], value[7]));
        return;
    }
    if (count <= 0) return;
    uint4* const fours = reinterpret_cast<uint4*>(labels);
    __stcs(fours, make_uint4(value[0], value[1], value[2], value[3]));
    if (count > 4) __stcs(fours + 1, make_uint4(value[4], value[5], value[6], value[7]));
}
