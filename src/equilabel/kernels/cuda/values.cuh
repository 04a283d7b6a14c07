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

// Pixels that agree with the one before them, of which there is one for all but the first of a segment.
template <typename Pixel>
__device__ inline unsigned joined_words(const Pixel* image, Index begin, int count, bool first)
{
    const int lane = threadIdx.x % 32;
    unsigned word = 0;
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        const Index there = __shfl_sync(ALL, begin, k) + lane;
        const int from = __shfl_sync(ALL, static_cast<int>(first), k), to = __shfl_sync(ALL, count, k);
        const bool exists = lane >= from && lane < to;
        const bool same = exists && image[there] == image[there - 1];
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

// Those of some pixels that are equal to others: bits of the first.
template <typename Pixel>
__device__ inline unsigned equal_at(const Pixel* one, const Pixel* other, unsigned pixels)
{
    unsigned equal = 0;
    for (; pixels; pixels &= pixels - 1) {
        const int place = __ffs(pixels) - 1;
        equal |= static_cast<unsigned>(one[place] == other[place]) << place;
    }
    return equal;
}

// Rows of many values: `away` leads from a pixel of the first row to that of the other. Runs touch as if they
// were of one value, at one pixel for each pair: whether they are of one is seen there.
template <int Words, typename Pixel>
__device__ inline Touch touching(const Pixel* image, Index begin, Index away, unsigned row, unsigned begins,
                                 unsigned other, unsigned other_begins, bool diagonal)
{
    image += begin;
    Touch touch = {equal_at(image, image + away, row & other & (begins | other_begins)), 0, 0};
    if (__any_sync(ALL, diagonal)) {
        // Pixels that go on from the one before, of which the straight pair there tells.
        const unsigned joined = row & ~begins, joined_other = other & ~other_begins;
        const unsigned left = begins & from_left<Words>(other) & ~joined_other;
        const unsigned right = row & from_right<Words>(other & ~joined_other) & ~from_right<Words>(joined);
        touch.left = equal_at(image, image + away - 1, diagonal ? left : 0);
        touch.right = equal_at(image, image + away + 1, diagonal ? right : 0);
    }
    return touch;
}
