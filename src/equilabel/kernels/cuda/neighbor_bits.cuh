// What 32 pixels of a row add to the columns of outlines and Euler numbers: a word for each kind, a bit
// for each pixel.
#pragma once
#include "warp.cuh"

// Which columns are counted: pairs of each pixel with earlier neighbors (none, those across faces, all);
// Euler numbers (bit 0: corners connect, bit 1: faces only); border pixels by what they add to the
// perimeter (0, or 2 or 3 columns); products of coordinates; values of a type (`Nothing` if none).
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

// Which of the earlier neighbors have the label of the pixel, in raster order.
template <int Rank>
struct Same {
    unsigned of[Rank == 2 ? 4 : 13];
};

// Where the pairs that are counted lie among all neighbors.
template <class Kinds>
__device__ constexpr int neighbor_of(int pair)
{
    if (Kinds::Steps == 2) return pair;
    if (Kinds::Rank == 2) return pair == 0 ? 1 : 3;
    return pair == 0 ? 4 : pair == 1 ? 10 : 12;
}

// Pixels at which configurations begin that add to an Euler number, and that take from it, as
// kernels/cpu/euler.py has them: those of corners, then those of faces.
struct Euler {
    unsigned more[2][2], less[2][3];
};

__device__ inline Euler euler_marks(unsigned set, const Same<2>& same)
{
    const unsigned nw = same.of[0], n = same.of[1], ne = same.of[2], w = same.of[3];
    return {{{set & ~(w | nw | n), 0}, {set & ~w, 0}}, {{ne & ~n, 0, 0}, {n & ~(w & nw), 0, 0}}};
}

__device__ inline Euler euler_marks(unsigned set, const Same<3>& same)
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

// Border pixels by what they add to the perimeter, as kernels/cpu/perimeter.py sorts them: straight
// lines, diagonal ones, and half of each.
struct Outline {
    unsigned straight, diagonal, mixed;
};

// Add words bit by bit: the ones, twos and fours of each sum.
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

// The same as columns of the table, for pixels of a mask: straight, diagonal.
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
