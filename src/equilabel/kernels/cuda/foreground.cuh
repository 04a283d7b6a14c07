// Foreground: thirty-two pixels at a time, from values to words of bits.
//
// All 32 threads of a warp call these together, each for its own word; `Words` neighboring threads hold
// a segment.
#pragma once
#include "tiling.cuh"

// Bits 28 to 31 of the result tell which bytes are not 0.
__device__ inline unsigned bytes_set(unsigned bytes)
{
    const unsigned high = (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
    return high * 0x00204081u;
}

// Bits 7, 15, 23 and 31 tell which bytes exceed a value, given 255 less it in every byte: their sum
// carries.
__device__ inline unsigned bytes_above(unsigned bytes, unsigned rest)
{
    const unsigned low = (bytes & 0x7f7f7f7fu) + (rest & 0x7f7f7f7fu);
    return ((bytes & rest) | ((bytes | rest) & low)) & 0x80808080u;
}

// Which pixels are foreground: all, or those that differ from a value, or compare with it.
enum Compare { EVERY, DIFFERS, ABOVE, UP_TO, BELOW };

// Pixels whose values are compared by size, not by their bits.
template <typename Value>
struct Gray {
    Value value;
    __device__ bool operator==(Gray other) const { return value == other.value; }
};

// What tells foreground, from the bits of a value: here, that pixels differ from it.
template <typename Pixel>
struct Test {
    Pixel value;
    __device__ Test(u8 bits, int) : value(static_cast<Pixel>(bits)) {}
    // Whether background is 0, and nothing else.
    __device__ bool is_zero() const { return value == 0; }
    __device__ bool operator()(Pixel pixel) const { return pixel != value; }
    // The same of four bytes, as bits 28 to 31.
    __device__ unsigned four(unsigned bytes) const
    {
        return bytes_set(bytes ^ static_cast<unsigned>(value) * 0x01010101u);
    }
};

template <typename Value>
struct Test<Gray<Value>> {
    Value value;
    int compare;
    unsigned sign = 0, rest = 0, turn = 0, keep = ~0u;  // for four bytes at once

    __device__ Test(u8 bits, int compare) : compare(compare)
    {
        memcpy(&value, &bits, sizeof(Value));
        if constexpr (sizeof(Value) == 1) {
            // Signed bytes have the order of unsigned ones with their highest bit turned. What is below
            // a value is what does not exceed the one before.
            if (Value(-1) < Value(0)) sign = 0x80808080u;
            const unsigned byte = (static_cast<unsigned char>(value) ^ (sign & 0x80)) - (compare == BELOW);
            if (byte > 255) keep = 0;  // nothing is below the least
            rest = ~(byte * 0x01010101u);
            if (compare != ABOVE) turn = 0x80808080u;
        }
    }

    __device__ bool is_zero() const { return false; }

    __device__ bool operator()(Gray<Value> pixel) const
    {
        if (compare == ABOVE) return pixel.value > value;
        return compare == UP_TO ? pixel.value <= value : pixel.value < value;
    }

    __device__ unsigned four(unsigned bytes) const
    {
        return ((bytes_above(bytes ^ sign, rest) ^ turn) & keep) * 0x00204081u;
    }
};

// Bits of 16 bytes.
template <typename Test>
__device__ inline unsigned foreground(uint4 pixels, const Test& test)
{
    unsigned word = __funnelshift_l(test.four(pixels.w), 0, 4);
    word = __funnelshift_l(test.four(pixels.z), word, 4);
    word = __funnelshift_l(test.four(pixels.y), word, 4);
    return __funnelshift_l(test.four(pixels.x), word, 4);
}

// The same of bytes that are 0 or 1, where 0 is background.
__device__ inline unsigned lowest_bits(uint4 pixels)
{
    constexpr unsigned GATHER = 0x10204080;  // bits 0, 8, 16 and 24 to 28 to 31
    unsigned word = __funnelshift_l(pixels.w * GATHER, 0, 4);
    word = __funnelshift_l(pixels.z * GATHER, word, 4);
    word = __funnelshift_l(pixels.y * GATHER, word, 4);
    return __funnelshift_l(pixels.x * GATHER, word, 4);
}

// Words of whole segments of bytes, `Each` a thread, `away` bytes from one to the next: neighboring
// threads read neighboring 16 bytes, then hand on the bits. `segment` begins at a multiple of 16 bytes.
template <int Words, int Each, typename Pixel>
__device__ inline void read_whole(const Pixel* segment, Index away, const Test<Pixel>& test,
                                  unsigned (&set)[Each])
{
    const int word = threadIdx.x % Words;
    const unsigned halves = word < Words / 2 ? 0x5410 : 0x7632;
    uint4 low[Each], high[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const uint4* pixels = reinterpret_cast<const uint4*>(segment + k * away) + word;
        low[k] = __ldcs(pixels);
        high[k] = __ldcs(pixels + Words);
    }
    unsigned any = 0, two[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        any |= low[k].x | low[k].y | low[k].z | low[k].w;
        any |= high[k].x | high[k].y | high[k].z | high[k].w;
    }
    if (test.is_zero() && !__any_sync(ALL, any & 0xfefefefe)) {
#pragma unroll
        for (int k = 0; k < Each; ++k) two[k] = lowest_bits(low[k]) | lowest_bits(high[k]) << 16;
    } else {
#pragma unroll
        for (int k = 0; k < Each; ++k) two[k] = foreground(low[k], test) | foreground(high[k], test) << 16;
    }
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const unsigned even = __shfl_sync(ALL, two[k], 2 * word, Words);
        const unsigned odd = __shfl_sync(ALL, two[k], 2 * word + 1, Words);
        set[k] = __byte_perm(even, odd, halves);
    }
}

// Thirty-two pixels of one byte, of which `count` are wanted; they may begin anywhere.
template <typename Pixel>
__device__ inline void load_bytes(const Pixel* image, Index size, Index begin, int count,
                                  unsigned (&quads)[8])
{
    const Pixel* pixels = image + begin;
    const unsigned offset = reinterpret_cast<unsigned long long>(pixels) % 16;
    const uint4* aligned = reinterpret_cast<const uint4*>(pixels - offset);
    if (begin < offset || begin - offset + (offset ? 48 : 32) > size) {  // at an end of the image
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            quads[k] = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (4 * k + j < count)
                    quads[k] |= reinterpret_cast<const unsigned char*>(pixels)[4 * k + j] << 8 * j;
        }
        return;
    }
    *reinterpret_cast<uint4*>(quads) = __ldg(aligned);
    *reinterpret_cast<uint4*>(quads + 4) = __ldg(aligned + 1);
    if (offset == 0) return;
    unsigned more[12];
    *reinterpret_cast<uint4*>(more + 8) = __ldg(aligned + 2);
#pragma unroll
    for (int k = 0; k < 8; ++k) more[k] = quads[k];
#pragma unroll
    for (int k = 0; k < 10; ++k) more[k] = offset & 8 ? more[k + 2] : more[k];
#pragma unroll
    for (int k = 0; k < 9; ++k) more[k] = offset & 4 ? more[k + 1] : more[k];
#pragma unroll
    for (int k = 0; k < 8; ++k) quads[k] = __funnelshift_r(more[k], more[k + 1], 8 * (offset & 3));
}

// Foreground among pixels of one byte: a thread reads its 32 itself.
template <typename Pixel>
__device__ inline unsigned read_bytes(const Pixel* image, Index size, Index begin, int count,
                                      const Test<Pixel>& test)
{
    if (count == 0) return 0;
    unsigned quads[8];
    load_bytes(image, size, begin, count, quads);
    unsigned word = 0;
#pragma unroll
    for (int k = 7; k >= 0; --k) word = __funnelshift_l(test.four(quads[k]), word, 4);
    return word & ALL >> (32 - count);
}

// The same, and pixels that agree with the one before them in the segment.
template <int Words, typename Pixel>
__device__ inline void read_byte_values(const Pixel* image, Index size, Index begin, int count,
                                        const Test<Pixel>& test, unsigned& differing, unsigned& joined)
{
    unsigned quads[8] = {};
    if (count) load_bytes(image, size, begin, count, quads);
    const unsigned last = __shfl_up_sync(ALL, quads[7], 1);
    unsigned word = 0, apart = 0;
#pragma unroll
    for (int k = 7; k >= 0; --k) {
        const unsigned before = __funnelshift_l(k ? quads[k - 1] : last, quads[k], 8);
        word = __funnelshift_l(test.four(quads[k]), word, 4);
        apart = __funnelshift_l(bytes_set(quads[k] ^ before), apart, 4);
    }
    differing = count ? word & ALL >> (32 - count) : 0;
    joined = ~apart & (threadIdx.x % Words ? ALL : ALL - 1);
}
