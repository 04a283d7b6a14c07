// Foreground of 32 pixels at a time, as a word of bits.
//
// All 32 threads of a warp call these functions together, each for its own word; `Words` neighboring threads
// hold a segment.
#pragma once

#include "runs/cuda/tiling.cuh"

// Bits 28 to 31 of the result say which bytes are not 0.
__device__ inline unsigned bytes_set(unsigned bytes)
{
    const unsigned high = (((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu) | bytes) & 0x80808080u;
    return high * 0x00204081u;
}

// Bits 7, 15, 23 and 31 say which bytes exceed a value, given `rest`, 255 minus the value in every byte: the
// sum of these bytes carries.
__device__ inline unsigned bytes_above(unsigned bytes, unsigned rest)
{
    const unsigned low = (bytes & 0x7f7f7f7fu) + (rest & 0x7f7f7f7fu);
    return ((bytes & rest) | ((bytes | rest) & low)) & 0x80808080u;
}

// Which pixels are foreground: all, those that differ from a value, or those that compare with it.
enum Compare { EVERY, DIFFERS, ABOVE, UP_TO, BELOW };

// Pixels whose values are compared by size, not by their bits.
template <typename Value>
struct Gray {
    Value value;
    __device__ bool operator==(Gray other) const { return value == other.value; }
};

// Tests whether pixels are foreground; here, whether they differ from a value, given by its bits.
template <typename Pixel>
struct Test {
    Pixel value;
    __device__ Test(u8 bits, int) : value(static_cast<Pixel>(bits)) {}
    // Whether the background is 0.
    __device__ bool is_zero() const { return value == 0; }
    __device__ bool operator()(Pixel pixel) const { return pixel != value; }
    // The same for four bytes, as bits 28 to 31.
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
            // Signed bytes have the order of unsigned ones with their highest bit flipped. Bytes below a
            // value are those that do not exceed the value before.
            if (Value(-1) < Value(0)) sign = 0x80808080u;
            const unsigned byte = (static_cast<unsigned char>(value) ^ (sign & 0x80)) - (compare == BELOW);
            if (byte > 255) keep = 0;  // no byte is below the least value
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

// Foreground of 16 bytes.
template <typename Test>
__device__ inline unsigned foreground(uint4 pixels, const Test& test)
{
    unsigned word = __funnelshift_l(test.four(pixels.w), 0, 4);
    word = __funnelshift_l(test.four(pixels.z), word, 4);
    word = __funnelshift_l(test.four(pixels.y), word, 4);
    return __funnelshift_l(test.four(pixels.x), word, 4);
}

// The same for bytes that are 0 or 1, where 0 is background.
__device__ inline unsigned lowest_bits(uint4 pixels)
{
    constexpr unsigned GATHER = 0x10204080;  // bits 0, 8, 16 and 24 to 28 to 31
    unsigned word = __funnelshift_l(pixels.w * GATHER, 0, 4);
    word = __funnelshift_l(pixels.z * GATHER, word, 4);
    word = __funnelshift_l(pixels.y * GATHER, word, 4);
    return __funnelshift_l(pixels.x * GATHER, word, 4);
}

// Words of whole segments of bytes, `Each` for a thread, `away` bytes from one to the next: neighboring threads
// read neighboring 16 bytes, then exchange bits. `segment` begins at a multiple of 16 bytes.
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

// Load 32 pixels of one byte, of which `count` are used; they may begin at any address.
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

// Foreground of pixels of one byte: a thread reads its own 32.
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

// The same, and pixels that equal the one before them in the segment.
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

// ------------------------------------------------------------------------------------------
// 32 pixels at a time, as bits: where runs begin, and where the runs of two rows touch.
//
// All 32 threads of a warp call these functions together, each for its own word; `Words` neighboring threads
// hold a segment, and zeros are shifted in from outside of it.

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

// The sum of `own` over the threads of the segment before this one; `total` is the sum of all.
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

// The same for `Each` words of a thread: two sums are computed at once, in halves of a word.
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

// For rows of one value, from bits alone: a pair of runs begins to touch where both are set and one begins.
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

// The same, by the columns where pairs stop touching. In columns of `known`, the two rows are connected by other
// edges; a stretch of `both` is left out if the word in which it ends has such a column.
template <int Words>
__device__ inline Touch touching(unsigned row, unsigned other, bool diagonal, unsigned known = 0)
{
    const unsigned both = row & other;
    // The sum carries from a known column to the pixel after its stretch.
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

// The run at a pixel of a word, given the number of runs before the word.
__device__ inline unsigned run_at(unsigned before, unsigned begins, int bit)
{
    return before + __popc(begins & ((2u << bit) - 1)) - 1;
}

// The run at the pixel before, which is not the same run.
__device__ inline unsigned run_left_of(unsigned before, unsigned begins, int bit)
{
    return before + __popc(begins & ((1u << bit) - 1)) - 1;
}

// Remove one bit of `touch`; returns its place, and the run of the other row that it touches.
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

// ------------------------------------------------------------------------------------------
// 32 pixels at a time, compared one by one: types of more than one byte, and images of several values.
//
// All 32 threads of a warp call these functions together, each for its own word. A warp reads 32 neighboring
// pixels, or four for each thread if rows are aligned for that; ballots collect the results in words.

// Foreground of pixels of any type: the warp reads the words of its threads one by one.
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

// Pixels that equal the one before them; `first` says that the word begins its segment, where there is none.
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

// Four neighboring pixels, read at once.
template <typename Pixel>
struct alignas(sizeof(Pixel) < 4 ? 4 * sizeof(Pixel) : 16) Quad {
    Pixel value[4];
};

// Ballots over a warp's 32 words, four words at a time, with a quad for each thread. A thread keeps the ballots
// of the four words that include its own, one for each place in a quad.
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
            unsigned bits = kept[j] >> 8 * (threadIdx.x % 4) & 255;  // spread to every fourth bit
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

// Pixels that differ from a value, and those that equal the one before them in the segment.
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

// The bits of `pixels` for which a pixel of `one` equals that of `other`.
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

// For rows of several values: `away` leads from a pixel of the first row to the one of the other row. Contacts are
// found as for one value, with one pixel for each pair of runs; values are compared at that pixel.
template <int Words, typename Pixel>
__device__ inline Touch touching(const Pixel* image, Index begin, Index away, unsigned row, unsigned begins,
                                 unsigned other, unsigned other_begins, bool diagonal)
{
    image += begin;
    Touch touch = {equal_at(image, image + away, row & other & (begins | other_begins)), 0, 0};
    if (__any_sync(ALL, diagonal)) {
        // Pixels that continue a run: the straight contact one pixel before already covers these.
        const unsigned joined = row & ~begins, joined_other = other & ~other_begins;
        const unsigned left = begins & from_left<Words>(other) & ~joined_other;
        const unsigned right = row & from_right<Words>(other & ~joined_other) & ~from_right<Words>(joined);
        touch.left = equal_at(image, image + away - 1, diagonal ? left : 0);
        touch.right = equal_at(image, image + away + 1, diagonal ? right : 0);
    }
    return touch;
}
