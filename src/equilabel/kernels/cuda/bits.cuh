// Thirty-two pixels at a time: from values to words of bits, and what touches in two rows.
//
// All 32 threads of a warp call these together, each for its own word; `Words` neighboring threads hold
// a segment, and nothing is shifted in from beyond it.
#pragma once
#include "plan.cuh"

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

// Runs that begin in the words of the segment before this one; the sum of all in `total`.
template <int Words>
__device__ inline unsigned runs_before(unsigned begins, unsigned& total)
{
    unsigned sum = __popc(begins);
#pragma unroll
    for (int step = 1; step < Words; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step, Words);
        if (threadIdx.x % Words >= step) sum += other;
    }
    total = __shfl_sync(ALL, sum, Words - 1, Words);
    return sum - __popc(begins);
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

// Bits 28 to 31 of the result tell which bytes are not 0.
__device__ inline unsigned bytes_set(unsigned bytes)
{
    const unsigned high = (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
    return high * 0x00204081u;
}

// Bits of 16 pixels that differ from a value, which is given four times.
__device__ inline unsigned differing(uint4 pixels, unsigned values)
{
    unsigned word = __funnelshift_l(bytes_set(pixels.w ^ values), 0, 4);
    word = __funnelshift_l(bytes_set(pixels.z ^ values), word, 4);
    word = __funnelshift_l(bytes_set(pixels.y ^ values), word, 4);
    return __funnelshift_l(bytes_set(pixels.x ^ values), word, 4);
}

// Words of whole segments of bytes, `Each` a thread, `away` bytes from one to the next: neighboring
// threads read neighboring 16 bytes, then hand on the bits. `segment` begins at a multiple of 16 bytes.
template <int Words, int Each>
__device__ inline void differing_whole(const u1* segment, Index away, u1 value, unsigned (&set)[Each])
{
    const int word = threadIdx.x % Words;
    const unsigned values = value * 0x01010101u;
    const unsigned halves = word < Words / 2 ? 0x5410 : 0x7632;
    uint4 low[Each], high[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const uint4* pixels = reinterpret_cast<const uint4*>(segment + k * away) + word;
        low[k] = __ldcs(pixels);
        high[k] = __ldcs(pixels + Words);
    }
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const unsigned two = differing(low[k], values) | differing(high[k], values) << 16;
        const unsigned even = __shfl_sync(ALL, two, 2 * word, Words);
        const unsigned odd = __shfl_sync(ALL, two, 2 * word + 1, Words);
        set[k] = __byte_perm(even, odd, halves);
    }
}

// Other types of pixels are not read that way.
template <int Words, int Each, typename Pixel>
__device__ inline void differing_whole(const Pixel*, Index, Pixel, unsigned (&)[Each])
{
}

// Pixels of one byte that differ from a value: a thread reads its 32 itself.
__device__ inline unsigned differing(const u1* image, Index size, Index begin, int count, u1 value)
{
    if (count == 0) return 0;
    const u1* pixels = image + begin;
    const unsigned offset = reinterpret_cast<unsigned long long>(pixels) % 16;
    unsigned quads[12];
    const uint4* aligned = reinterpret_cast<const uint4*>(pixels - offset);
    const bool whole = begin >= offset && begin - offset + (offset ? 48 : 32) <= size;
    if (!whole) {
        unsigned word = 0;
        for (int k = 0; k < count; ++k) word |= static_cast<unsigned>(pixels[k] != value) << k;
        return word;
    }
    *reinterpret_cast<uint4*>(quads) = __ldg(aligned);
    *reinterpret_cast<uint4*>(quads + 4) = __ldg(aligned + 1);
    if (offset) {
        *reinterpret_cast<uint4*>(quads + 8) = __ldg(aligned + 2);
#pragma unroll
        for (int k = 0; k < 10; ++k) quads[k] = offset & 8 ? quads[k + 2] : quads[k];
#pragma unroll
        for (int k = 0; k < 9; ++k) quads[k] = offset & 4 ? quads[k + 1] : quads[k];
#pragma unroll
        for (int k = 0; k < 8; ++k)
            quads[k] = __funnelshift_r(quads[k], quads[k + 1], 8 * (offset & 3));
    }
    const unsigned values = value * 0x01010101u;
    unsigned word = 0;
#pragma unroll
    for (int k = 7; k >= 0; --k) word = __funnelshift_l(bytes_set(quads[k] ^ values), word, 4);
    return word & ALL >> (32 - count);
}

// Pixels of any type that differ from a value: the warp reads one thread's 32 after the other's.
template <typename Pixel>
__device__ inline unsigned differing(const Pixel* image, Index, Index begin, int count, Pixel value)
{
    const int lane = threadIdx.x % 32;
    unsigned word = 0;
#pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const Index there = __shfl_sync(ALL, begin, k) + lane;
        const bool exists = lane < __shfl_sync(ALL, count, k);
        const unsigned found = __ballot_sync(ALL, exists && image[exists ? there : 0] != value);
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
