// Values of one or two bytes under the pixels of a stretch: a thread takes those of a word at once.
// intensity.cu has all other types.
#pragma once
#include "neighbor_bits.cuh"
#include "walk.cuh"

enum { SUM, LOW, HIGH };
typedef Entry<3, 1, 1u << LOW | 1u << HIGH> Values;  // LOW: of what is missing to the greatest of the type
constexpr int VALUE_COLUMNS = 4;  // of the table: sum, greatest of ~value and of value, sum of squares

// The values of a word, several in a number.
template <typename Gray>
struct Numbers {
    static constexpr int Each = 4 / sizeof(Gray), Count = 32 / Each, Shift = 32 / Each;
    unsigned of[Count];
};

// Those of pixels that are not in `own` may be anything.
template <typename Gray>
__device__ inline Numbers<Gray> read_numbers(const Gray* values, const Strip& strip, int row, int word,
                                             unsigned own, Index columns, bool aligned)
{
    typedef Numbers<Gray> Numbers;
    Numbers numbers = {};
    if (own == 0) return numbers;
    const Index x = strip.x + 32 * word;
    values += (strip.first_row + row) * columns + x;
    if (aligned && x + 32 <= columns) {
        const uint4* quads = reinterpret_cast<const uint4*>(values);
#pragma unroll
        for (int k = 0; k < Numbers::Count; k += 4) {
            const uint4 quad = __ldg(quads + k / 4);
            numbers.of[k] = quad.x;
            numbers.of[k + 1] = quad.y;
            numbers.of[k + 2] = quad.z;
            numbers.of[k + 3] = quad.w;
        }
        return numbers;
    }
#pragma unroll
    for (int k = 0; k < Numbers::Count; ++k) {
#pragma unroll
        for (int j = 0; j < Numbers::Each; ++j) {
            const int pixel = k * Numbers::Each + j;
            if (own >> pixel & 1)
                numbers.of[k] |= static_cast<unsigned>(values[pixel]) << Numbers::Shift * j;
        }
    }
    return numbers;
}

// The values of an image, and where they go: a table with a row for each label.
template <typename Gray>
struct Grays {
    const Gray* values;
    u8* sums;
    bool aligned;  // whether all rows begin at multiples of 16 bytes
};

template <typename Gray>
__device__ inline Numbers<Gray> read_numbers(const Grays<Gray>& grays, const Strip& strip, int row, int word,
                                             unsigned own, Index columns)
{
    return read_numbers(grays.values, strip, row, word, own, columns, grays.aligned);
}

// No values: nothing is read.
template <>
struct Numbers<Nothing> {};

template <>
struct Grays<Nothing> {};

__device__ inline Numbers<Nothing> read_numbers(const Grays<Nothing>&, const Strip&, int, int, unsigned, Index)
{
    return {};
}

// Values as pairs of 16 bits, of which the greater are kept.
__device__ inline void keep_greater(unsigned& pair, unsigned other) { pair = __vmaxu2(pair, other); }

// A byte of ones for each of four bits: each is brought to the head of its byte, which is then repeated.
__device__ inline unsigned bytes_of(unsigned bits)
{
    unsigned all;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(all) : "r"(bits * 0x10204080u));
    return all;
}

__device__ inline Values count_bytes(unsigned mask, const unsigned (&numbers)[8])
{
    Values entry = {};
    unsigned squares = 0, low[2] = {}, high[2] = {};  // of the higher byte of each pair, and of the lower
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const unsigned all = bytes_of(mask >> 4 * k & 15);
        const unsigned four = numbers[k] & all, rest = four ^ all;
        entry.of[SUM] = __dp4a(four, 0x01010101u, entry.of[SUM]);
        squares = __dp4a(four, four, squares);
        // The other byte of a pair decides between equals only.
        keep_greater(high[0], four);
        keep_greater(high[1], four * 256);
        keep_greater(low[0], rest);
        keep_greater(low[1], rest * 256);
    }
    entry.wide[0] = squares;
    keep_greater(low[0], low[1]);
    keep_greater(high[0], high[1]);
    entry.of[LOW] = max(low[0] >> 8 & 255, low[0] >> 24);
    entry.of[HIGH] = max(high[0] >> 8 & 255, high[0] >> 24);
    return entry;
}

__device__ inline Values count_shorts(unsigned mask, const unsigned (&numbers)[16])
{
    Values entry = {};
    unsigned low = 0, high = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned all = (mask >> 2 * k & 3) * 0x8001u & 0x00010001u;
        const unsigned two = numbers[k] & all * 0xffff;
        const unsigned first = two & 0xffff, second = two >> 16;
        entry.of[SUM] += first + second;
        entry.wide[0] += static_cast<u8>(first) * first + static_cast<u8>(second) * second;
        keep_greater(high, two);
        keep_greater(low, two ^ all * 0xffff);
    }
    entry.of[LOW] = max(low & 0xffff, low >> 16);
    entry.of[HIGH] = max(high & 0xffff, high >> 16);
    return entry;
}

template <typename Gray>
__device__ inline Values count_values(const Stretch& stretch, const Numbers<Gray>& numbers)
{
    if constexpr (sizeof(Gray) == 1)
        return count_bytes(stretch.mask, numbers.of);
    else
        return count_shorts(stretch.mask, numbers.of);
}

template <typename Gray>
__device__ inline void write_values(const Values& entry, u8* to)
{
    constexpr unsigned Most = static_cast<Gray>(~0u);
    atomicAdd(to, static_cast<u8>(entry.of[SUM]));
    atomicMax(to + 1, ~static_cast<u8>(Most - entry.of[LOW]));
    atomicMax(to + 2, static_cast<u8>(entry.of[HIGH]));
    atomicAdd(to + 3, entry.wide[0]);
}
