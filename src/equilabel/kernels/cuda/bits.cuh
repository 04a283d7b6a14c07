// Thirty-two pixels at a time, as bits: where runs begin, and what touches in two rows.
//
// All 32 threads of a warp call these together, each for its own word; `Words` neighboring threads hold
// a segment, and nothing is shifted in from beyond it.
#pragma once
#include "foreground.cuh"

// The word of the segment before or after this one, 0 where there is none.
template <int Words>
__device__ inline unsigned word_before(unsigned word)
{
    const unsigned other = __shfl_up_sync(ALL, word, 1, Words);
    return threadIdx.x % Words ? other : 0;
}

template <int Words>
__device__ inline unsigned word_after(unsigned word)
{
    const unsigned other = __shfl_down_sync(ALL, word, 1, Words);
    return threadIdx.x % Words != Words - 1 ? other : 0;
}

// Bit c of these is pixel c - 1, or c + 1.
template <int Words>
__device__ inline unsigned from_left(unsigned word)
{
    return word << 1 | word_before<Words>(word) >> 31;
}

template <int Words>
__device__ inline unsigned from_right(unsigned word)
{
    return word >> 1 | word_after<Words>(word) << 31;
}

// What the threads of the segment before this one have of something; the sum of all in `total`.
template <int Words>
__device__ inline unsigned sum_before(unsigned own, unsigned& total)
{
    unsigned sum = own;
#pragma unroll
    for (int step = 1; step < Words; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step, Words);
        if (threadIdx.x % Words >= step) sum += other;
    }
    total = __shfl_sync(ALL, sum, Words - 1, Words);
    return sum - own;
}

// Runs that begin in the words of the segment before this one.
template <int Words>
__device__ inline unsigned runs_before(unsigned begins, unsigned& total)
{
    return sum_before<Words>(__popc(begins), total);
}

// The same for `Each` words of a thread at once: two sums are shifted from thread to thread together.
template <int Words, int Each>
__device__ inline void runs_before(const unsigned (&begins)[Each], unsigned (&before)[Each],
                                   unsigned (&total)[Each])
{
#pragma unroll
    for (int k = 0; k < Each; k += 2) {
        const unsigned own = __popc(begins[k]) | (k + 1 < Each ? __popc(begins[k + 1]) << 16 : 0);
        unsigned sum = own;
#pragma unroll
        for (int step = 1; step < Words; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step, Words);
            if (threadIdx.x % Words >= step) sum += other;
        }
        const unsigned all = __shfl_sync(ALL, sum, Words - 1, Words);
        sum -= own;
        before[k] = sum & 0xffff;
        total[k] = all & 0xffff;
        if (k + 1 < Each) {
            before[k + 1] = sum >> 16;
            total[k + 1] = all >> 16;
        }
    }
}

// Where runs of a row touch runs of another, one bit for each pair, at a pixel of the first row:
// straight, or to the pixel before or after it where no straight bit joins the two.
struct Touch {
    unsigned straight, left, right;
};

// Rows of one value: by bits alone. Wherever both are set and one begins, a pair of runs begins to touch.
template <int Words>
__device__ inline Touch touching(unsigned row, unsigned begins, unsigned other, unsigned other_begins,
                                 bool diagonal)
{
    Touch touch = {row & other & (begins | other_begins), 0, 0};
    if (diagonal) {
        touch.left = begins & ~other & from_left<Words>(other);
        touch.right = row & ~other & from_right<Words>(other_begins) & ~from_right<Words>(row);
    }
    return touch;
}

// The same, by where they end to touch. In columns that are `known` the two are connected by other edges; a
// stretch of `both` with such a column in the word where it ends is left out.
template <int Words>
__device__ inline Touch touching(unsigned row, unsigned other, bool diagonal, unsigned known = 0)
{
    const unsigned both = row & other;
    // A sum carries from a known column to the pixel after its stretch.
    const unsigned long long sum = static_cast<unsigned long long>(both) + (both & known);
    const unsigned carried = static_cast<unsigned>((sum & ~static_cast<unsigned long long>(both)) >> 1);
    Touch touch = {both & ~from_right<Words>(both) & ~carried, 0, 0};
    if (__any_sync(ALL, diagonal)) {
        row &= ~known;
        other &= ~known;
        const unsigned alone = diagonal ? row & ~other : 0;
        touch.left = alone & from_left<Words>(other) & ~from_left<Words>(row);
        touch.right = alone & from_right<Words>(other) & ~from_right<Words>(row);
    }
    return touch;
}

// The run at a pixel of a word, from the runs before the word.
__device__ inline unsigned run_at(unsigned before, unsigned begins, int bit)
{
    return before + __popc(begins & ((2u << bit) - 1)) - 1;
}

// The run at the pixel before one where no run goes on.
__device__ inline unsigned run_left_of(unsigned before, unsigned begins, int bit)
{
    return before + __popc(begins & ((1u << bit) - 1)) - 1;
}

// Take one bit out of those left; returns where it was, and which run of the other row it touches.
__device__ inline int take(Touch& touch, unsigned before, unsigned begins, unsigned& run)
{
    const unsigned rest = touch.straight | touch.left | touch.right;
    const unsigned bit = rest & -rest;
    const int place = __ffs(rest) - 1;
    run = run_left_of(before, begins, place);
    if (touch.straight & bit) {
        touch.straight ^= bit;
        run += begins >> place & 1;
    } else if (touch.left & bit) {
        touch.left ^= bit;
    } else {
        touch.right ^= bit;
        run += (begins >> place & 1) + 1;
    }
    return place;
}
