// Thirty-two pixels at a time, compared one by one: types of more than a byte, images of many values.
//
// All 32 threads of a warp call these together, each for its own word. A warp reads 32 pixels side by
// side, or four for each thread where rows begin at multiples of that; ballots make words of answers.
#pragma once
#include "bits.cuh"

// Foreground among pixels of any type: the warp reads one thread's 32 after the other's.
template <typename Pixel>
__device__ inline unsigned read_words(const Pixel* image, Index size, Index begin, int count,
                                      const Test<Pixel>& test)
{
    if constexpr (sizeof(Pixel) == 1) return read_bytes(image, size, begin, count, test);
    const int lane = threadIdx.x % 32;
    unsigned word = 0;
#pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const Index there = __shfl_sync(ALL, begin, k) + lane;
        const bool exists = lane < __shfl_sync(ALL, count, k);
        const unsigned found = __ballot_sync(ALL, exists && test(image[exists ? there : 0]));
        if (lane == k) word = found;
    }
    return word;
}

// Pixels that agree with those `away` from them, the first `skip` and the last `leave` left out.
template <typename Pixel>
__device__ inline unsigned agreeing(const Pixel* image, Index begin, int count, Index away, int skip,
                                    int leave)
{
    const int lane = threadIdx.x % 32;
    unsigned word = 0;
    const int end = count - leave;
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        const Index there = __shfl_sync(ALL, begin, k) + lane;
        const Index other = there + __shfl_sync(ALL, away, k);
        const int from = __shfl_sync(ALL, skip, k), to = __shfl_sync(ALL, end, k);
        const bool exists = lane >= from && lane < to;
        const bool same = exists && image[there] == image[other];
        const unsigned found = __ballot_sync(ALL, same);
        if (lane == k) word = found;
    }
    return word;
}

// Four pixels side by side, read at once.
template <typename Pixel>
struct alignas(sizeof(Pixel) < 4 ? 4 * sizeof(Pixel) : 16) Quad {
    Pixel value[4];
};

// Ballots over a warp's 32 words: four words at a time, of which each thread has a quad. A thread keeps
// those of the four that its own word is among, one for each place in a quad.
struct Ballots {
    unsigned kept[4] = {0, 0, 0, 0};

    __device__ void add(int turn, int place, bool bit)
    {
        const unsigned ballot = __ballot_sync(ALL, bit);
        if (threadIdx.x % 32 / 4 == turn) kept[place] = ballot;
    }

    // The last bit of a turn, when it is known late.
    __device__ void add_last(int turn, bool bit)
    {
        if (threadIdx.x % 32 / 4 == turn) kept[3] |= static_cast<unsigned>(bit) << 31;
    }

    __device__ unsigned word() const
    {
        unsigned all = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            unsigned bits = kept[j] >> 8 * (threadIdx.x % 4) & 255;  // go to every fourth place
            bits = (bits | bits << 12) & 0x000f000fu;
            bits = (bits | bits << 6) & 0x03030303u;
            bits = (bits | bits << 3) & 0x11111111u;
            all |= bits << j;
        }
        return all;
    }
};

template <typename Pixel>
__device__ inline Quad<Pixel> quad_at(const Pixel* image, Index pixel, bool exists)
{
    Quad<Pixel> none = {{0, 0, 0, 0}};
    return exists ? *reinterpret_cast<const Quad<Pixel>*>(image + pixel) : none;
}

// Pixels that differ from a value, and those that agree with the one before them in the segment.
template <int Words, typename Pixel>
__device__ inline void read_quads(const Pixel* image, Index begin, int count, Pixel value,
                                  unsigned& differing, unsigned& joined)
{
    const int lane = threadIdx.x % 32;
    Ballots different, equal;
    Pixel last = 0;
#pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
        const bool exists = 4 * (lane % 8) < __shfl_sync(ALL, count, 4 * turn + lane / 8);
        const Quad<Pixel> own = quad_at(image, __shfl_sync(ALL, begin, 4 * turn) + 4 * lane, exists);
        Pixel before = __shfl_up_sync(ALL, own.value[3], 1);
        if (lane == 0) before = last;
        last = __shfl_sync(ALL, own.value[3], 31);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            different.add(turn, j, exists && own.value[j] != value);
            equal.add(turn, j, exists && own.value[j] == (j ? own.value[j ? j - 1 : 0] : before));
        }
    }
    differing = different.word();
    joined = equal.word() & (threadIdx.x % Words ? ALL : ALL - 1);
}

// Pixels that agree with those `away` from them, the one before or the one after that; if not
// `diagonal`, the first only.
template <int Words, typename Pixel>
__device__ inline void agree_quads(const Pixel* image, Index begin, int count, Index away, bool end,
                                   bool diagonal, unsigned& same, unsigned& before, unsigned& after)
{
    const int lane = threadIdx.x % 32;
    Ballots straight, left, right;
    Pixel last = 0, last_other = 0;
#pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
        const bool exists = 4 * (lane % 8) < __shfl_sync(ALL, count, 4 * turn + lane / 8);
        const Index pixel = __shfl_sync(ALL, begin, 4 * turn) + 4 * lane;
        const Quad<Pixel> own = quad_at(image, pixel, exists);
        const Quad<Pixel> other = quad_at(image, pixel + __shfl_sync(ALL, away, 4 * turn), exists);
#pragma unroll
        for (int j = 0; j < 4; ++j) straight.add(turn, j, exists && own.value[j] == other.value[j]);
        if (!diagonal) continue;
        Pixel previous = __shfl_up_sync(ALL, other.value[3], 1);
        if (lane == 0) previous = last_other;
        const Pixel next = __shfl_down_sync(ALL, other.value[0], 1);
        if (turn) right.add_last(turn - 1, last == __shfl_sync(ALL, other.value[0], 0));
        last = __shfl_sync(ALL, own.value[3], 31);
        last_other = __shfl_sync(ALL, other.value[3], 31);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            left.add(turn, j, exists && own.value[j] == (j ? other.value[j ? j - 1 : 0] : previous));
            right.add(turn, j, exists && own.value[j] == (j < 3 ? other.value[j < 3 ? j + 1 : 3] : next) &&
                                   (j < 3 || lane < 31));
        }
    }
    same = straight.word();
    before = left.word() & (threadIdx.x % Words ? ALL : ALL - 1);
    after = right.word() & (end && count ? ~(1u << (count - 1)) : ALL);
    if (count < 32) {  // bits that came late
        const unsigned exist = count ? ALL >> (32 - count) : 0;
        after &= exist;
    }
}

// Rows of many values: `away` leads from a pixel of the first row to that of the other; `count` is 0
// where there is no other row. Bits of `joined` and `joined_other` say that a pixel equals the one
// before it. `fours` says that rows begin where quads can be read.
template <int Words, typename Pixel>
__device__ inline Touch touching(const Pixel* image, Index begin, int count, bool end, Index away,
                                 unsigned row, unsigned begins, unsigned other, unsigned other_begins,
                                 bool diagonal, bool fours)
{
    const unsigned joined = row & ~begins, joined_other = other & ~other_begins;
    unsigned same, before = 0, after = 0;
    diagonal = __any_sync(ALL, diagonal);
    if (fours) {
        agree_quads<Words>(image, begin, count, away, end, diagonal, same, before, after);
    } else {
        same = agreeing(image, begin, count, away, 0, 0);
        if (diagonal) {
            before = agreeing(image, begin, count, away - 1, threadIdx.x % Words == 0, 0);
            after = agreeing(image, begin, count, away + 1, 0, end);
        }
    }
    same &= row;
    return {same & ~(from_left<Words>(same) & joined), before & row & ~joined & ~joined_other,
            after & row & ~from_right<Words>(joined_other) & ~from_right<Words>(joined)};
}
