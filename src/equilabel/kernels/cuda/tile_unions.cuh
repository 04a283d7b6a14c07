// The unions of a tile's runs, in shared memory: with those of the row above, and what they touch elsewhere.
#pragma once
#include "tile_nodes.cuh"
#include "union_find.cuh"

// Point every run at a run above it, if one touches it, else at itself; bits used are taken out. With
// `skip`, where those above have parents already, at the parent of that run. Returns where runs begin that
// point at themselves.
__device__ inline unsigned adopt(Touch& touch, unsigned begins, unsigned base, unsigned run,
                                 unsigned other_begins, unsigned other_base, unsigned other, bool skip,
                                 unsigned* parents)
{
    unsigned alone = 0;
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
        if (parent == own)
            alone |= bit;
        else if (skip)
            parent = parents[parent];
        parents[own] = parent;
    }
    return alone;
}

// Point runs that are `alone` at the first run of another row that they touch straight; returns the touches
// that are left.
__device__ inline unsigned adopt_alone(unsigned touch, unsigned alone, unsigned begins, unsigned base,
                                       unsigned run, unsigned other_begins, unsigned other_base,
                                       unsigned other, unsigned* parents)
{
    unsigned left = touch;
    for (unsigned rest = touch; rest && alone; rest &= rest - 1) {
        const unsigned bit = rest & -rest, before = begins & (bit | (bit - 1));
        if (before == 0) continue;  // it began in another word
        const unsigned begin = 1u << (31 - __clz(before));
        if (!(alone & begin)) continue;
        alone ^= begin;
        left ^= bit;
        const int place = __ffs(bit) - 1;
        parents[entry(base, run_at(run, begins, place))] =
            entry(other_base, run_at(other, other_begins, place));
    }
    return left;
}

__device__ inline void unite_touching(Touch touch, unsigned begins, unsigned base, unsigned run,
                                      unsigned other_begins, unsigned other_base, unsigned other,
                                      unsigned* parents)
{
    while (touch.straight | touch.left | touch.right) {
        unsigned there;
        const int bit = take(touch, other, other_begins, there);
        unite_shared(parents, entry(base, run_at(run, begins, bit)), entry(other_base, there));
    }
}

// The same of two rows, one below the other, which touch others straight: lanes of a warp that have few in
// one row go on with the next. `firsts` are the runs before the word in the other rows.
template <int Words, int Pitch>
__device__ inline void unite_straight(unsigned touch, unsigned touch_below, const unsigned (&begins)[2],
                                      const unsigned (&run)[2], int row, unsigned other_begins,
                                      unsigned other_begins_below, const u2* firsts, int other_row,
                                      unsigned* parents)
{
    while (touch | touch_below) {
        const int k = touch == 0;
        const unsigned bits = touch ? touch : touch_below, rest = bits & (bits - 1);
        const int place = __ffs(bits) - 1;
        touch = k ? 0 : rest;
        touch_below = k ? rest : touch_below;
        const unsigned mine = run_at(k ? run[1] : run[0], k ? begins[1] : begins[0], place);
        const unsigned there = run_at(firsts[k * Words], k ? other_begins_below : other_begins, place);
        unite_shared(parents, entry((row + k) * Pitch, mine), entry((other_row + k) * Pitch, there));
    }
}

// Runs below one another are chains, mostly as long as tiles are tall: halve them as often as it takes, where
// a word has few runs.
template <typename Tile>
__device__ inline void shorten(const unsigned (&start)[Tile::Each], unsigned base,
                               const unsigned (&run)[Tile::Each], unsigned* parents)
{
    for (int tall = 2; tall < Tile::Tall; tall *= 2) {
#pragma unroll
        for (int k = 0; k < Tile::Each; ++k) {
            const int runs = __popc(start[k]);
            for (int j = 0; runs <= CROWD && j < runs; ++j) {
                const unsigned own = entry(base + k * Tile::Pitch, run[k] + j);
                const unsigned parent = parent_of(parents, own), above = parent_of(parents, parent);
                if (above != parent) atomicMin(parents + own, above);
            }
        }
    }
}
