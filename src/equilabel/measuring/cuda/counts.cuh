// What 32 pixels of a row add to counts, values, Euler numbers and outlines: words with a bit for each pixel.
#pragma once

#include "devices/cuda/warp.cuh"
#include "measuring/cuda/walk.cuh"

// What is counted: pairs of each pixel with earlier neighbors (none, those across faces, all); Euler numbers
// (bit 0: corners connect, bit 1: faces only); classes of border pixels (0, 2 or 3 columns); products of
// coordinates; values of a type (`Nothing` if none).
struct Nothing {};

template <int RANK, int STEPS, int EULER, int OUTLINE, bool SECONDS, typename GRAY = Nothing>
struct Kinds {
    typedef GRAY Gray;
    static constexpr int Rank = RANK, Steps = STEPS, Euler = EULER, Outline = OUTLINE;
    static constexpr bool Seconds = SECONDS;
    static constexpr int Neighbors = RANK == 2 ? 4 : 13;
    static constexpr int Pairs = STEPS == 0 ? 0 : STEPS == 1 ? RANK : Neighbors;
    static constexpr bool Compares = STEPS || EULER || OUTLINE;
};

// Pixels that have the label of each of their earlier neighbors, in raster order; in 2D the first nine are 0.
struct Same {
    unsigned of[13];
};
enum { NORTHWEST = 9, NORTH, NORTHEAST, WEST };

// Return the neighbor of each pair that is counted.
template <class Kinds>
__device__ constexpr int neighbor_of(int pair)
{
    if (Kinds::Steps == 2) return 13 - Kinds::Neighbors + pair;
    return pair + 3 - Kinds::Rank == 0 ? 4 : pair + 3 - Kinds::Rank == 1 ? 10 : 12;
}

// Pixels whose configurations add to an Euler number, and subtract from it, as in measuring/cpu/neighbor_bits.py:
// if corners connect, and if faces connect.
struct Euler {
    unsigned more[2][2], less[2][3];
};

__device__ inline Euler euler_marks(unsigned set, const Same& same)
{
    const unsigned unw = same.of[0], un = same.of[1], une = same.of[2], uw = same.of[3], u = same.of[4];
    const unsigned ue = same.of[5], usw = same.of[6], us = same.of[7], use = same.of[8];
    const unsigned nw = same.of[9], n = same.of[10], ne = same.of[11], w = same.of[12];
    const unsigned corner = w & nw;
    return {{{set & ~(unw | un | uw | u | nw | n | w), ue & ~u},
             {set & ~w, n & u & un & ~(corner & uw & unw)}},
            {{(ue | use) & ~(u | us), (us | usw) & ~(w | uw | u), (ne | ue | une) & ~(n | un | u)},
             {n & ~corner, u & ~(w & uw), 0}}};
}

// The neighbors of border pixels that are border pixels of the same label.
struct Borders {
    unsigned north, south, west, east, northwest, northeast, southwest, southeast;
};

// Border pixels by what they add to the perimeter, as in measuring/cpu/neighbor_bits.py: a straight link, a diagonal
// one, or half of each.
struct Outline {
    unsigned straight, diagonal, mixed;
};

// Add four words bit by bit: the ones, twos and fours of each sum.
__device__ inline void add_bits(unsigned p, unsigned q, unsigned r, unsigned s, unsigned sum[3])
{
    const unsigned pq = p ^ q, rs = r ^ s;
    sum[0] = pq ^ rs;
    sum[1] = (p & q) ^ (r & s) ^ (pq & rs);
    sum[2] = p & q & r & s;
}

__device__ inline Outline outline_marks(unsigned border, const Borders& near)
{
    unsigned a[3], b[3];
    add_bits(near.north, near.south, near.west, near.east, a);
    add_bits(near.northwest, near.northeast, near.southwest, near.southeast, b);
    const unsigned once = border & a[0] & ~a[1];
    return {border & a[1] & ~(b[0] & b[1]) & ~b[2],
            (border & ~a[0] & ~a[1] & ~a[2] & b[1] & ~b[0]) | (once & b[0] & b[1]), once & (b[0] ^ b[1])};
}

// Count border pixels of a mask for the columns of the table.
template <class Kinds>
__device__ inline void count_outline(const Outline& marks, const Borders& near, unsigned mask,
                                     unsigned* columns)
{
    const unsigned straight = marks.straight & mask, mixed = marks.mixed & mask;
    const unsigned diagonal = marks.diagonal & mask;
    if (Kinds::Outline == 2) {
        columns[0] = 6 * __popc(straight) + 3 * __popc(mixed);
        columns[1] = 2 * __popc(diagonal) + __popc(mixed);
    } else {  // straight along y, straight along x, diagonal
        const unsigned some_x = near.west ^ near.east, some_y = near.north ^ near.south;
        const unsigned both_x = near.west & near.east, both_y = near.north & near.south;
        const int bend = __popc(straight & some_x & some_y);
        const int more_x = __popc(straight & both_x & some_y), more_y = __popc(straight & both_y & some_x);
        columns[0] = 6 * __popc(straight & both_y & ~near.west & ~near.east) + 3 * bend + 2 * more_x +
                     4 * more_y + 3 * __popc(mixed & some_y);
        columns[1] = 6 * __popc(straight & both_x & ~near.north & ~near.south) + 3 * bend + 4 * more_x +
                     2 * more_y + 3 * __popc(mixed & some_x);
        columns[2] = 2 * __popc(diagonal) + __popc(mixed & (some_x | some_y));
    }
}

// ------------------------------------------------------------------------------------------
// Values of one or two bytes under the pixels of a stretch; a thread takes those of a word at once.
// All other types are in intensity.cu.

struct Values {
    unsigned sum, low, high;  // low: greatest value of the type minus the lowest
    u8 squares;
};
constexpr int VALUE_COLUMNS = 4;  // of the table: sum, greatest of ~value and of value, sum of squares

// The values of a word, several packed in a number.
template <typename Gray>
struct Numbers {
    static constexpr int Each = 4 / sizeof(Gray), Count = 32 / Each, Shift = 32 / Each;
    unsigned of[Count];
};

// The values of an image, and their table of sums, with a row for each label.
template <typename Gray>
struct Grays {
    const Gray* values;
    u8* sums;
    bool aligned;  // whether all rows begin at multiples of 16 bytes
};

// Read the values of a word; those of pixels that are not in `own` are undefined.
template <typename Gray>
__device__ inline Numbers<Gray> read_numbers(const Grays<Gray>& grays, const Strip& strip, int row, int word,
                                             unsigned own, Index columns)
{
    typedef Numbers<Gray> Numbers;
    Numbers numbers = {};
    if (own == 0) return numbers;
    const Index x = strip.x + 32 * word;
    const Gray* const values = grays.values + (strip.first_row + row) * columns + x;
    if (grays.aligned && x + 32 <= columns) {
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

// No values: nothing is read.
template <>
struct Numbers<Nothing> {};

template <>
struct Grays<Nothing> {};

__device__ inline Numbers<Nothing> read_numbers(const Grays<Nothing>&, const Strip&, int, int, unsigned, Index)
{
    return {};
}

// Keep the greater of each of two pairs of 16 bits.
__device__ inline void keep_greater(unsigned& pair, unsigned other) { pair = __vmaxu2(pair, other); }

// Return a byte of ones for each of four bits: each is moved to the sign of its byte, which is then repeated.
__device__ inline unsigned bytes_of(unsigned bits)
{
    unsigned all;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(all) : "r"(bits * 0x10204080u));
    return all;
}

__device__ inline Values count_values(unsigned mask, const Numbers<u1>& numbers)
{
    Values found = {};
    unsigned squares = 0, low[2] = {}, high[2] = {};  // of the higher byte of each pair, and of the lower
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const unsigned all = bytes_of(mask >> 4 * k & 15);
        const unsigned four = numbers.of[k] & all, rest = four ^ all;
        found.sum = __dp4a(four, 0x01010101u, found.sum);
        squares = __dp4a(four, four, squares);
        // The lower byte of each pair only matters if the higher ones are equal.
        keep_greater(high[0], four);
        keep_greater(high[1], four * 256);
        keep_greater(low[0], rest);
        keep_greater(low[1], rest * 256);
    }
    found.squares = squares;
    keep_greater(low[0], low[1]);
    keep_greater(high[0], high[1]);
    found.low = max(low[0] >> 8 & 255, low[0] >> 24);
    found.high = max(high[0] >> 8 & 255, high[0] >> 24);
    return found;
}

__device__ inline Values count_values(unsigned mask, const Numbers<u2>& numbers)
{
    Values found = {};
    unsigned low = 0, high = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        const unsigned all = (mask >> 2 * k & 3) * 0x8001u & 0x00010001u;
        const unsigned two = numbers.of[k] & all * 0xffff;
        const unsigned first = two & 0xffff, second = two >> 16;
        found.sum += first + second;
        found.squares += static_cast<u8>(first) * first + static_cast<u8>(second) * second;
        keep_greater(high, two);
        keep_greater(low, two ^ all * 0xffff);
    }
    found.low = max(low & 0xffff, low >> 16);
    found.high = max(high & 0xffff, high >> 16);
    return found;
}

// ------------------------------------------------------------------------------------------
// Counts of the pixels of a stretch, and how they are added to the table of measuring/counts.py.

// Indices of the counts of an entry, in coordinates relative to the first pixel of a strip. Values come last.
enum { PIXELS, X, Y, LOW_X, LOW_Y, HIGH_X, HIGH_Y, PAIRS };

template <class Kinds>
struct At {
    static constexpr int Full = PAIRS + Kinds::Pairs, Face = Full + (Kinds::Euler & 1);
    static constexpr int Outline = Face + (Kinds::Euler >> 1), Sum = Outline + Kinds::Outline;
    static constexpr bool Gray = sizeof(Numbers<typename Kinds::Gray>) > 1;
    static constexpr int Low = Sum + 1, High = Sum + 2, All = Sum + (Gray ? 3 : 0);
    static constexpr int Squares = Kinds::Seconds ? 3 : 0;
    static constexpr unsigned Extremes = 1u << LOW_X | 1u << LOW_Y | 1u << HIGH_X | 1u << HIGH_Y |
                                         (Gray ? 1u << Low | 1u << High : 0);
    typedef ::Entry<All, Squares + Gray, Extremes> Entry;
};

template <int RANK, int STEPS, int EULER, int OUTLINE, bool SECONDS, typename Gray>
using EntryOf = typename At<Kinds<RANK, STEPS, EULER, OUTLINE, SECONDS, Gray>>::Entry;

// The first pixel of a strip, and its coordinates along the axes before rows.
struct Origin {
    Index x, y, before[4];
    int skip;  // axes that the image lacks

    // One thread of a block calls this, as an origin lies in shared memory.
    __device__ void find(const Strip& strip, const ImageLayout& layout)
    {
        x = strip.x;
        y = strip.y;
        skip = SIDES - layout.axes;
        Index slab = strip.slab;
        for (int axis = 3; axis >= skip; --axis) {
            before[axis] = slab % layout.sides[axis];
            slab /= layout.sides[axis];
        }
    }
};

// Add an entry, in coordinates relative to an origin, to the row of a label in the tables of counts and of values.
// If their last row is that of a smaller label, `most`, the label is kept in the first column of row 0, which has
// no label, if it is the greatest so far.
template <class Kinds, typename Label>
__device__ inline void write_counts(Label label, const typename At<Kinds>::Entry& entry, const Origin& origin,
                                    const ImageLayout& layout, u8 most, u8* table,
                                    const Grays<typename Kinds::Gray>& grays)
{
    typedef At<Kinds> At;
    if (label > most) {
        if (*static_cast<volatile u8*>(table) < label) atomicMax(table, static_cast<u8>(label));
        return;
    }
    u8* const to = table + static_cast<u8>(label) * layout.width;
    const int skip = origin.skip;
    const u8 n = entry.of[PIXELS], x = origin.x, y = origin.y;
    const u8 all_x = n * x + entry.of[X], all_y = n * y + entry.of[Y];
    u8* const sums = to + layout.sums - skip;
    u8* const lows = to + layout.lows - skip;
    u8* const highs = to + layout.highs - skip;
    atomicAdd(to, n);
    for (int axis = skip; axis < 4; ++axis) {
        const Index at = origin.before[axis];
        atomicAdd(sums + axis, n * at);
        atomicMax(lows + axis, static_cast<u8>(layout.sides[axis] - at));
        atomicMax(highs + axis, static_cast<u8>(at + 1));
    }
    if (skip <= 4) {
        atomicAdd(sums + 4, all_y);
        atomicMax(lows + 4, layout.sides[4] - (y + ~entry.of[LOW_Y]));
        atomicMax(highs + 4, y + entry.of[HIGH_Y]);
    }
    atomicAdd(sums + 5, all_x);
    atomicMax(lows + 5, layout.sides[5] - (x + ~entry.of[LOW_X]));
    atomicMax(highs + 5, x + entry.of[HIGH_X]);
    if (Kinds::Seconds) {
        u8* next = to + layout.seconds;
        for (int one = SIDES - layout.rank; one < SIDES; ++one)
            for (int other = one; other < SIDES; ++other) {
                u8 product;
                if (one == 5)
                    product = n * x * x + 2 * x * entry.of[X] + entry.wide[0];
                else if (one == 4)
                    product = other == 5 ? n * x * y + x * entry.of[Y] + y * entry.of[X] + entry.wide[1]
                                         : n * y * y + 2 * y * entry.of[Y] + entry.wide[2];
                else
                    product = origin.before[one] *
                              (other == 5 ? all_x : other == 4 ? all_y : n * origin.before[other]);
                atomicAdd(next++, product);
            }
    }
#pragma unroll
    for (int k = 0; k < Kinds::Pairs; ++k)
        if (entry.of[PAIRS + k]) atomicAdd(to + layout.pairs + k, static_cast<u8>(entry.of[PAIRS + k]));
    const auto add_signed = [](u8* to, unsigned value) {  // Euler numbers may be negative
        if (value) atomicAdd(to, static_cast<u8>(static_cast<Index>(static_cast<int>(value))));
    };
    if (Kinds::Euler & 1) add_signed(to + layout.euler_full, entry.of[At::Full]);
    if (Kinds::Euler & 2) add_signed(to + layout.euler_face, entry.of[At::Face]);
#pragma unroll
    for (int k = 0; k < Kinds::Outline; ++k)
        if (entry.of[At::Outline + k])
            atomicAdd(to + layout.outline + k, static_cast<u8>(entry.of[At::Outline + k]));
    if constexpr (At::Gray) {
        constexpr unsigned Most = static_cast<typename Kinds::Gray>(~0u);
        u8* const sums = grays.sums + VALUE_COLUMNS * static_cast<u8>(label);
        atomicAdd(sums, static_cast<u8>(entry.of[At::Sum]));
        atomicMax(sums + 1, ~static_cast<u8>(Most - entry.of[At::Low]));
        atomicMax(sums + 2, static_cast<u8>(entry.of[At::High]));
        atomicAdd(sums + 3, entry.wide[At::Squares]);
    }
}

// What is known of the neighbors of a word's pixels.
template <class Kinds>
struct NeighborBits {
    unsigned pairs[Kinds::Pairs ? Kinds::Pairs : 1];
    Euler euler;
    Outline outline;
    Borders near;

    // All threads of a warp call this together.
    template <class Planes>
    __device__ void look(const Planes& planes, int row, int word, unsigned own)
    {
        if constexpr (Kinds::Steps || Kinds::Euler) {
            Same same = {};
#pragma unroll
            for (int k = 13 - Kinds::Neighbors; k < 13; ++k) same.of[k] = planes.same(k, row, word);
#pragma unroll
            for (int k = 0; k < Kinds::Pairs; ++k) pairs[k] = same.of[neighbor_of<Kinds>(k)];
            if (Kinds::Euler) euler = euler_marks(own, same);
        }
        if constexpr (Kinds::Outline) {
            const auto& border = planes.border;
            const unsigned edge = border.at(row, word) & own;
            if (!__any_sync(ALL, edge)) return;
            const auto both = [&](int neighbor, int line, int place) {
                return border.at(line, place) & planes.same(neighbor, line, place);
            };
            near = {border.at(row - 1, word) & planes.same(NORTH, row, word), both(NORTH, row + 1, word),
                    border.beside(row, word, 0) & planes.same(WEST, row, word),
                    __funnelshift_r(both(WEST, row, word), both(WEST, row, word + 1), 1),
                    border.beside(row - 1, word, 0) & planes.same(NORTHWEST, row, word),
                    border.beside(row - 1, word, 2) & planes.same(NORTHEAST, row, word),
                    __funnelshift_l(both(NORTHEAST, row + 1, word - 1), both(NORTHEAST, row + 1, word), 1),
                    __funnelshift_r(both(NORTHWEST, row + 1, word), both(NORTHWEST, row + 1, word + 1), 1)};
            outline = outline_marks(edge, near);
        }
    }
};

// Find the border pixels of a strip and around it. All threads of a block call this, and wait for each other.
template <class Planes>
__device__ inline void find_border(Planes& planes, const Strip& strip)
{
    auto& border = planes.border;
    for (int at = threadIdx.x; at < (strip.rows + 2) * border.Pitch; at += blockDim.x) {
        const int row = at / border.Pitch - 1, word = at % border.Pitch - 1;
        const unsigned west = planes.same(WEST, row, word);  // beyond the outer words, no bits are used
        const unsigned after = word + 2 < border.Pitch ? planes.same(WEST, row, word + 1) : 0;
        border.word[at] = planes.set(row, word) & ~(west & __funnelshift_r(west, after, 1) &
                                                    planes.same(NORTH, row, word) & planes.same(NORTH, row + 1, word));
    }
    __syncthreads();
}

// What is known of a word's pixels: their neighbors, and the values under them.
template <class Kinds>
struct Seen : NeighborBits<Kinds>, Numbers<typename Kinds::Gray> {};

// Return the counts of a stretch: coordinates in closed form, and its pixels of what was seen.
template <class Kinds>
__device__ inline typename At<Kinds>::Entry count_stretch(const Stretch& stretch, const Seen<Kinds>& seen)
{
    typedef At<Kinds> At;
    const NeighborBits<Kinds>& near_bits = seen;
    typename At::Entry entry = {};
    const unsigned first = 32 * stretch.word + stretch.bit, n = stretch.length, row = stretch.row;
    const unsigned along = n * (n - 1) / 2;  // of 0 to n - 1
    entry.of[PIXELS] = n;
    entry.of[X] = n * first + along;
    entry.of[Y] = n * row;
    entry.of[LOW_X] = ~first;  // the greatest complement is that of the least
    entry.of[LOW_Y] = ~row;
    entry.of[HIGH_X] = first + n;
    entry.of[HIGH_Y] = row + 1;
    if (Kinds::Seconds) {
        entry.wide[0] = n * first * first + 2 * first * along + (n - 1) * n * (2 * n - 1) / 6;
        entry.wide[1] = entry.of[X] * row;
        entry.wide[2] = n * row * row;
    }
    const unsigned mask = stretch.mask;
#pragma unroll
    for (int k = 0; k < Kinds::Pairs; ++k) entry.of[PAIRS + k] = __popc(near_bits.pairs[k] & mask);
#pragma unroll
    for (int kind = 0; kind < 2; ++kind)
        if (Kinds::Euler >> kind & 1) {
            int sum = 0;
#pragma unroll
            for (int k = 0; k < 2; ++k) sum += __popc(near_bits.euler.more[kind][k] & mask);
#pragma unroll
            for (int k = 0; k < 3; ++k) sum -= __popc(near_bits.euler.less[kind][k] & mask);
            entry.of[kind ? At::Face : At::Full] = sum;
        }
    if (Kinds::Outline) count_outline<Kinds>(near_bits.outline, near_bits.near, mask, entry.of + At::Outline);
    if constexpr (At::Gray) {
        const Values values = count_values(mask, seen);
        entry.of[At::Sum] = values.sum;
        entry.of[At::Low] = values.low;
        entry.of[At::High] = values.high;
        entry.wide[At::Squares] = values.squares;
    }
    return entry;
}

// Count a strip, and add its counts to the tables; all threads of a block call this. `planes`, in shared memory, gets
// from `source` the words of its rows, and what is known of neighbors; `pixels` returns where labels begin in a word,
// and the labels. A thread goes down some rows of a word. Values are read one row early.
template <class Kinds, int Words, typename Label, class Source, class Pixels, class Planes>
__device__ inline void count_strip(const Source& source, const Strip& strip, const Pixels& pixels, Planes& planes,
                                   const ImageLayout& layout, u8 most, u8* table,
                                   const Grays<typename Kinds::Gray>& grays)
{
    typedef typename At<Kinds>::Entry Entry;
    __shared__ BlockTable<Label, Entry> block_table;
    __shared__ Origin origin;
    block_table.clear();
    if (threadIdx.x == 0) origin.find(strip, layout);
    planes.read(source, layout, strip);
    if constexpr (Kinds::Outline) find_border(planes, strip);
    const auto write = [&](Label label, const Entry& entry) {
        write_counts<Kinds>(label, entry, origin, layout, most, table, grays);
    };
    const int each = layout.tall * Words / blockDim.x;
    const int word = threadIdx.x % Words, first = threadIdx.x / Words * each;
    const int end = min(first + each, strip.rows);
    Held<Label, Entry> held;
    const auto word_of = [&](int row) { return row < end ? planes.set(row, word) : 0; };
    const auto numbers_of = [&](int row, unsigned own) {
        return read_numbers(grays, strip, row, word, own, layout.sides[5]);
    };
    unsigned following = word_of(first);
    auto ahead = numbers_of(first, following);
    for (int row = first; row < first + each; ++row) {
        const unsigned set = following;
        const auto numbers = ahead;
        following = word_of(row + 1);
        ahead = numbers_of(row + 1, following);
        if (!__any_sync(ALL, set)) continue;
        Seen<Kinds> seen = {{}, numbers};
        seen.look(planes, row, word, set);
        const auto found = pixels.find(row, word, set);
        Label label = set ? pixels.label(found, row, word, __ffs(set) - 1) : Label(0);
        for (unsigned rest = set; rest;) {
            Stretch stretch;
            stretch.row = row;
            stretch.word = word;
            stretch.bit = __ffs(rest) - 1;
            const unsigned after = ~(rest >> stretch.bit) | (found.start >> stretch.bit & ~1u);
            stretch.length = after ? __ffs(after) - 1 : 32;
            stretch.mask = ALL >> (32 - stretch.length) << stretch.bit;
            rest &= ~stretch.mask;
            // Read before it is needed, to hide the latency of memory.
            const Label next = rest ? pixels.label(found, row, word, __ffs(rest) - 1) : Label(0);
            held.take(label, count_stretch<Kinds>(stretch, seen), block_table, write);
            label = next;
        }
        __syncwarp();
    }
    block_table.add_all(held.label, held.entry, write);
    __syncthreads();
    block_table.close(write);
}
