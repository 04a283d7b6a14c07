// Foreground of 32 pixels at a time, as a word of bits.
//
// All 32 threads of a warp call these functions together, each for its own word; `Words` neighboring threads
// hold a segment.
#pragma once

#include "devices/cuda/union_find.cuh"
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
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const unsigned two = foreground(low[k], test) | foreground(high[k], test) << 16;
        const unsigned even = __shfl_sync(ALL, two, 2 * word, Words);
        const unsigned odd = __shfl_sync(ALL, two, 2 * word + 1, Words);
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

// Pixels of one byte: foreground, and pixels that equal the one before them in the segment. A thread reads its own 32.
template <int Words, typename Pixel>
__device__ inline void read_bytes(const Pixel* image, Index size, Index begin, int count, const Test<Pixel>& test,
                                  unsigned& set, unsigned& joined)
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
    set = count ? word & ALL >> (32 - count) : 0;
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

// The same for one or two words of a thread: two sums are computed at once, in halves of a word.
template <int Words, int Each>
__device__ inline void runs_before(const unsigned (&begins)[Each], unsigned (&before)[Each], unsigned (&total)[Each])
{
    static_assert(Each <= 2, "halves of a word");
    unsigned all;
    const unsigned sum = sum_before<Words>(__popc(begins[0]) | __popc(begins[Each - 1]) << 16, all);
    before[0] = sum & 0xffff;
    total[0] = all & 0xffff;
    before[Each - 1] = sum >> 16;
    total[Each - 1] = all >> 16;
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
// All 32 threads of a warp call these functions together, each for its own word. A warp reads four pixels for each
// thread; ballots collect the results in words.

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

// Foreground, and with `Many`, pixels that equal the one before them in the segment. `Aligned` says that four pixels can
// be read at once.
template <bool Many, bool Aligned, int Words, typename Pixel>
__device__ inline void read_quads(const Pixel* image, Index begin, int count, const Test<Pixel>& test, unsigned& set,
                                  unsigned& joined)
{
    const int lane = threadIdx.x % 32;
    Ballots foreground, equal;
    Pixel last = {};
#pragma unroll(Aligned ? 8 : 2)
    for (int turn = 0; turn < 8; ++turn) {
        const int here = __shfl_sync(ALL, count, 4 * turn + lane / 8) - 4 * (lane % 8);  // pixels from the quad on
        const Pixel* const pixels = image + __shfl_sync(ALL, begin, 4 * turn) + 4 * lane;
        Quad<Pixel> own = {};
        const auto exists = [&](int j) { return (Aligned ? 0 : j) < here; };
        if (Aligned && here > 0) own = *reinterpret_cast<const Quad<Pixel>*>(pixels);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (!Aligned && exists(j)) own.value[j] = pixels[j];
            foreground.add(turn, j, exists(j) && test(own.value[j]));
        }
        if constexpr (Many) {
            Pixel before = __shfl_up_sync(ALL, own.value[3], 1);
            if (lane == 0) before = last;
            last = __shfl_sync(ALL, own.value[3], 31);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                equal.add(turn, j, exists(j) && own.value[j] == (j ? own.value[j ? j - 1 : 0] : before));
        }
    }
    set = foreground.word();
    joined = Many ? equal.word() & (threadIdx.x % Words ? ALL : ALL - 1) : 0;
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

// ------------------------------------------------------------------------------------------
// The runs of a tile in shared memory: their nodes, and how they get them.

constexpr unsigned NODE = 0x80000000u;  // marks numbers of nodes among parents
constexpr unsigned UNITED = ~0u;        // a pair of a queue that is united

// Index of the entry of a run of a row, whose entries begin at `base`; one in 33 is left out, see `Pitch`.
__device__ inline unsigned entry(unsigned base, unsigned run)
{
    return base + run + (run >> 5);
}

// Make the roots among `parents` nodes that are their own parents; write the node of every run, and the numbers of
// runs and nodes of each segment. All threads of the block call this together, each with its first row and its word:
// where runs begin in its words, the number of runs before them in their rows, and that of the rows. Arguments are
// passed by value and the function is inlined, because otherwise registers spill in three dimensions.
template <typename Id, typename Tile>
__device__ __forceinline__ void
write_nodes(const Job& job, const Corner corner, const Lines<Tile> lines,
            unsigned (&parents)[Tile::Rows * Tile::Pitch], const int row, const int word,
            const unsigned (&start)[Tile::Each], const unsigned (&run)[Tile::Each],
            const unsigned (&total)[Tile::Each])
{
    constexpr int Words = Tile::Words, Each = Tile::Each, Pitch = Tile::Pitch;
    constexpr bool Many = Tile::Many;
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    const auto segment_of = [&](int k) { return lines[k] * plan.segments + corner.segment; };

    // Roots become nodes, in order. A thread reads and writes entries of its own runs only.
    unsigned roots[Each], rank[Each], given[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        roots[k] = 0;
        for (int j = 0; j < __popc(start[k]); ++j) {
            const unsigned own = entry((row + k) * Pitch, run[k] + j);
            roots[k] |= static_cast<unsigned>(parents[own] == own) << j;
        }
    }
    runs_before<Words>(roots, rank, given);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (word == 0 && lines.inside(k)) job.counts[segment_of(k)] = total[k] << 16 | given[k];
        const Id first = first_pixel(plan, lines[k], corner.segment);
        for (unsigned j = word; j < given[k]; j += Words) nodes[first + j] = first + j;
        unsigned number = NODE | ((row + k) * Tile::Capacity + rank[k]);
        for (unsigned rest = roots[k]; rest; rest &= rest - 1)
            parents[entry((row + k) * Pitch, run[k] + __ffs(rest) - 1)] = number++;
    }
    __syncthreads();
    // Neighboring threads take neighboring entries; short tables are filled up with zeros.
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        u2* const table = run_table<Many>(plan, nodes, job.tables, lines[k], corner.segment, total[k]);
        const unsigned whole = Many || total[k] == 0 ? total[k] : max(total[k], NEAR);
        for (unsigned j = word; j < whole; j += Words) {
            unsigned parent = j < total[k] ? parents[entry((row + k) * Pitch, j)] : NODE;
            while (!(parent & NODE)) parent = parents[parent];
            table[j] = static_cast<u2>(parent);
        }
    }
}

// ------------------------------------------------------------------------------------------
// Unions of a tile's runs in shared memory, with the row above and with other rows.

// Point every run at a run above that touches it, or at itself; bits that were used are removed. With `skip`, the
// runs above have parents already, and these are used.
__device__ inline void adopt(Touch& touch, unsigned begins, unsigned base, unsigned run, unsigned other_begins,
                             unsigned other_base, unsigned other, bool skip, unsigned* parents)
{
    for (unsigned rest = begins; rest; ++run) {
        const unsigned bit = rest & -rest;
        rest ^= bit;
        const unsigned span = (rest ? rest & -rest : 0) - bit;
        unsigned parent = entry(base, run);
        const unsigned own = parent;
        if (const unsigned found = touch.straight & span) {
            parent = entry(other_base, run_at(other, other_begins, __ffs(found) - 1));
            touch.straight ^= found & -found;
        } else if (touch.left & bit) {
            parent = entry(other_base, run_left_of(other, other_begins, __ffs(bit) - 1));
            touch.left ^= bit;
        } else if (const unsigned found = touch.right & span) {
            parent = entry(other_base, run_at(other, other_begins, __ffs(found) - 1) + 1);
            touch.right ^= found & -found;
        }
        parents[own] = skip && parent != own ? parents[parent] : parent;
    }
}

// Unite the runs of a thread's rows, the first of which is `row`, with those that they touch in other rows; lanes that
// have few in one row go on with the next. `firsts` are the numbers of runs before the word in the other rows.
template <int Words, int Pitch, int Each>
__device__ inline void unite_touching(Touch (&touch)[Each], const unsigned (&begins)[Each], const unsigned (&run)[Each],
                                      int row, const unsigned (&other_begins)[Each], int other_row, const u2* firsts,
                                      unsigned* parents)
{
    constexpr int Last = Each - 1;
    while (true) {
        const bool first = touch[0].straight | touch[0].left | touch[0].right;
        if (!first && !(touch[Last].straight | touch[Last].left | touch[Last].right)) return;
        const int k = first ? 0 : Last;
        Touch rest = first ? touch[0] : touch[Last];
        unsigned there;
        const int place = take(rest, firsts[k * Words], first ? other_begins[0] : other_begins[Last], there);
        const unsigned mine = run_at(first ? run[0] : run[Last], first ? begins[0] : begins[Last], place);
        touch[Last] = first && Last ? touch[Last] : rest;
        touch[0] = first ? rest : touch[0];
        unite_shared(parents, entry((row + k) * Pitch, mine), entry((other_row + k) * Pitch, there));
    }
}
