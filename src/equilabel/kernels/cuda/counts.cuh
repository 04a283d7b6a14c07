// What is counted of the pixels of a stretch, and how it goes to the table that kernels/layout.py lays out.
#pragma once
#include "small_values.cuh"

// Where the counts of an entry lie; the coordinates are taken from the first pixel of a strip. Values come
// last.
enum { PIXELS, X, Y, LOW_X, LOW_Y, HIGH_X, HIGH_Y, PAIRS };

template <class Kinds>
struct At {
    static constexpr int Full = PAIRS + Kinds::Pairs, Face = Full + (Kinds::Euler & 1);
    static constexpr int Outline = Face + (Kinds::Euler >> 1), Value = Outline + Kinds::Outline;
    static constexpr bool Gray = sizeof(Numbers<typename Kinds::Gray>) > 1;
    static constexpr int All = Value + (Gray ? 3 : 0), Squares = Kinds::Seconds ? 3 : 0;
    static constexpr unsigned Extremes = 1u << LOW_X | 1u << LOW_Y | 1u << HIGH_X | 1u << HIGH_Y |
                                         (Gray ? 1u << (Value + LOW) | 1u << (Value + HIGH) : 0);
    typedef ::Entry<All, Squares + Gray, Extremes> Entry;
};

template <int RANK, int STEPS, int EULER, int OUTLINE, bool SECONDS, typename Gray>
using EntryOf = typename At<Kinds<RANK, STEPS, EULER, OUTLINE, SECONDS, Gray>>::Entry;

// Whether a table whose last row is that of `most` has one for a label. If not, the table tells: the first
// column of row 0, which is that of no label, keeps the greatest of them.
template <typename Label>
__device__ inline bool has_row(Label label, u8 most, u8* table)
{
    if (label <= most) return true;
    if (*static_cast<volatile u8*>(table) < label) atomicMax(table, static_cast<u8>(label));
    return false;
}

// The first pixel of a strip, and what the table says of the axes before rows.
struct Origin {
    Index x, y, before[4];
    int skip;  // axes that the image has not

    // For shared memory: one thread fills it.
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

// Add an entry, its coordinates taken from an origin, to that of a label in the table.
template <class Kinds>
__device__ inline void write_counts(const typename At<Kinds>::Entry& entry, const Origin& origin,
                                    const ImageLayout& layout, u8* to)
{
    typedef At<Kinds> At;
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
    const auto add_signed = [](u8* to, unsigned value) {  // where more may be taken than added
        if (value) atomicAdd(to, static_cast<u8>(static_cast<Index>(static_cast<int>(value))));
    };
    if (Kinds::Euler & 1) add_signed(to + layout.euler_full, entry.of[At::Full]);
    if (Kinds::Euler & 2) add_signed(to + layout.euler_face, entry.of[At::Face]);
#pragma unroll
    for (int k = 0; k < Kinds::Outline; ++k)
        if (entry.of[At::Outline + k])
            atomicAdd(to + layout.outline + k, static_cast<u8>(entry.of[At::Outline + k]));
}

// Add the values of an entry to those of a label in their own table.
template <class Kinds>
__device__ inline void write_numbers(const typename At<Kinds>::Entry& entry,
                                     const Grays<typename Kinds::Gray>& grays, Index label)
{
    typedef At<Kinds> At;
    if constexpr (At::Gray) {
        Values values;
#pragma unroll
        for (int k = 0; k < Values::N; ++k) values.of[k] = entry.of[At::Value + k];
        values.wide[0] = entry.wide[At::Squares];
        write_values<typename Kinds::Gray>(values, grays.sums + VALUE_COLUMNS * label);
    }
}

// What a word of a row looks like.
template <class Kinds>
struct NeighborBits {
    unsigned pairs[Kinds::Pairs ? Kinds::Pairs : 1];
    Euler euler;
    Outline outline;
    Borders near;

    __device__ void compare(unsigned set, const Same<Kinds::Rank>& same)
    {
#pragma unroll
        for (int k = 0; k < Kinds::Pairs; ++k) pairs[k] = same.of[neighbor_of<Kinds>(k)];
        if (Kinds::Euler) euler = euler_marks(set, same);
    }

    __device__ void sort(unsigned border, const Borders& borders)
    {
        near = borders;
        outline = outline_marks(border, borders);
    }
};

// What is seen of a word: its neighbors, and the values under it.
template <class Kinds>
struct Seen : NeighborBits<Kinds>, Numbers<typename Kinds::Gray> {};

// The places of a stretch, in closed form, and its share of what was seen.
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
    entry.of[LOW_X] = ~first;  // the greatest is that of the least
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
        const Values values = count_values<typename Kinds::Gray>(stretch, seen);
#pragma unroll
        for (int k = 0; k < Values::N; ++k) entry.of[At::Value + k] = values.of[k];
        entry.wide[At::Squares] = values.wide[0];
    }
    return entry;
}
