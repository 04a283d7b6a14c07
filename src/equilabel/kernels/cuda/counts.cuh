// What is counted of the pixels of a stretch, and how it goes to the table that kernels/layout.py lays out.
#pragma once
#include "neighbor_bits.cuh"
#include "walk.cuh"

// Where the counts of a line lie; the coordinates are taken from the first pixel of a strip.
enum { PIXELS, X, Y, LOW_X, LOW_Y, HIGH_X, HIGH_Y, PAIRS };

template <class Kinds>
struct At {
    static constexpr int Full = PAIRS + Kinds::Pairs, Face = Full + (Kinds::Euler & 1);
    static constexpr int Outline = Face + (Kinds::Euler >> 1), All = Outline + Kinds::Outline;
    typedef ::Line<All, Kinds::Seconds ? 3 : 0, 1u << LOW_X | 1u << LOW_Y | 1u << HIGH_X | 1u << HIGH_Y> Line;
};

template <int RANK, int STEPS, int EULER, int OUTLINE, bool SECONDS>
using LineOf = typename At<Kinds<RANK, STEPS, EULER, OUTLINE, SECONDS>>::Line;

// The first pixel of a strip, and what the table says of the axes before rows.
struct Origin {
    Index x, y, before[4];
    int skip;  // axes that the image has not

    // For shared memory: one thread fills it.
    __device__ void find(const Strip& strip, const Scene& scene)
    {
        x = strip.x;
        y = strip.y;
        skip = SIDES - scene.axes;
        Index slab = strip.slab;
        for (int axis = 3; axis >= skip; --axis) {
            before[axis] = slab % scene.sides[axis];
            slab /= scene.sides[axis];
        }
    }
};

// Add a line, its coordinates taken from an origin, to that of a label in the table.
template <class Kinds>
__device__ inline void write_counts(const typename At<Kinds>::Line& line, const Origin& origin,
                                    const Scene& scene, u8* to)
{
    typedef At<Kinds> At;
    const int skip = origin.skip;
    const u8 n = line.of[PIXELS], x = origin.x, y = origin.y;
    const u8 all_x = n * x + line.of[X], all_y = n * y + line.of[Y];
    u8* const sums = to + scene.sums - skip;
    u8* const lows = to + scene.lows - skip;
    u8* const highs = to + scene.highs - skip;
    atomicAdd(to, n);
    for (int axis = skip; axis < 4; ++axis) {
        const Index at = origin.before[axis];
        atomicAdd(sums + axis, n * at);
        atomicMax(lows + axis, static_cast<u8>(scene.sides[axis] - at));
        atomicMax(highs + axis, static_cast<u8>(at + 1));
    }
    if (skip <= 4) {
        atomicAdd(sums + 4, all_y);
        atomicMax(lows + 4, scene.sides[4] - (y + ~line.of[LOW_Y]));
        atomicMax(highs + 4, y + line.of[HIGH_Y]);
    }
    atomicAdd(sums + 5, all_x);
    atomicMax(lows + 5, scene.sides[5] - (x + ~line.of[LOW_X]));
    atomicMax(highs + 5, x + line.of[HIGH_X]);
    if (Kinds::Seconds) {
        u8* next = to + scene.seconds;
        for (int one = SIDES - scene.rank; one < SIDES; ++one)
            for (int other = one; other < SIDES; ++other) {
                u8 product;
                if (one == 5)
                    product = n * x * x + 2 * x * line.of[X] + line.wide[0];
                else if (one == 4)
                    product = other == 5 ? n * x * y + x * line.of[Y] + y * line.of[X] + line.wide[1]
                                         : n * y * y + 2 * y * line.of[Y] + line.wide[2];
                else
                    product = origin.before[one] *
                              (other == 5 ? all_x : other == 4 ? all_y : n * origin.before[other]);
                atomicAdd(next++, product);
            }
    }
#pragma unroll
    for (int k = 0; k < Kinds::Pairs; ++k)
        if (line.of[PAIRS + k]) atomicAdd(to + scene.pairs + k, static_cast<u8>(line.of[PAIRS + k]));
    const auto add_signed = [](u8* to, unsigned value) {  // where more may be taken than added
        if (value) atomicAdd(to, static_cast<u8>(static_cast<Index>(static_cast<int>(value))));
    };
    if (Kinds::Euler & 1) add_signed(to + scene.euler_full, line.of[At::Full]);
    if (Kinds::Euler & 2) add_signed(to + scene.euler_face, line.of[At::Face]);
#pragma unroll
    for (int k = 0; k < Kinds::Outline; ++k)
        if (line.of[At::Outline + k])
            atomicAdd(to + scene.outline + k, static_cast<u8>(line.of[At::Outline + k]));
}

// What a word of a row looks like.
template <class Kinds>
struct Sight {
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

// The places of a stretch, in closed form, and its share of what was seen.
template <class Kinds>
__device__ inline typename At<Kinds>::Line count_stretch(const Stretch& stretch, const Sight<Kinds>& sight)
{
    typedef At<Kinds> At;
    typename At::Line line = {};
    const unsigned first = 32 * stretch.word + stretch.bit, n = stretch.length, row = stretch.row;
    const unsigned along = n * (n - 1) / 2;  // of 0 to n - 1
    line.of[PIXELS] = n;
    line.of[X] = n * first + along;
    line.of[Y] = n * row;
    line.of[LOW_X] = ~first;  // the greatest is that of the least
    line.of[LOW_Y] = ~row;
    line.of[HIGH_X] = first + n;
    line.of[HIGH_Y] = row + 1;
    if (Kinds::Seconds) {
        line.wide[0] = n * first * first + 2 * first * along + (n - 1) * n * (2 * n - 1) / 6;
        line.wide[1] = line.of[X] * row;
        line.wide[2] = n * row * row;
    }
    const unsigned mask = stretch.mask;
#pragma unroll
    for (int k = 0; k < Kinds::Pairs; ++k) line.of[PAIRS + k] = __popc(sight.pairs[k] & mask);
#pragma unroll
    for (int kind = 0; kind < 2; ++kind)
        if (Kinds::Euler >> kind & 1) {
            int sum = 0;
#pragma unroll
            for (int k = 0; k < 2; ++k) sum += __popc(sight.euler.more[kind][k] & mask);
#pragma unroll
            for (int k = 0; k < 3; ++k) sum -= __popc(sight.euler.less[kind][k] & mask);
            line.of[kind ? At::Face : At::Full] = sum;
        }
    if (Kinds::Outline) count_outline<Kinds>(sight.outline, sight.near, mask, line.of + At::Outline);
    return line;
}
