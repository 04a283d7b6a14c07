// Unites the runs of a tile in shared memory, and writes its nodes and the node of each run.
#pragma once

#include "devices/cuda/union_find.cuh"
#include "runs/cuda/pixels.cuh"

constexpr unsigned NODE = 0x80000000u;  // marks numbers of nodes among parents
constexpr int CROWD = 3;                // runs of a word, above which work is shared with neighbors

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
    // If words have many runs, neighboring threads take neighboring entries.
    unsigned most = 0;
#pragma unroll
    for (int k = 0; k < Each; ++k) most = max(most, static_cast<unsigned>(__popc(start[k])));
    const bool crowded = __any_sync(ALL, most > CROWD);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        u2* const table = run_table<Many>(plan, nodes, job.tables, lines[k], corner.segment, total[k]);
        if (!Many && total[k])
            for (unsigned j = total[k] + word; j < NEAR; j += Words) table[j] = 0;
        const auto resolve = [&](unsigned j) {
            unsigned parent = parents[entry((row + k) * Pitch, j)];
            while (!(parent & NODE)) parent = parents[parent];
            table[j] = static_cast<u2>(parent);
        };
        if (crowded)
            for (unsigned j = word; j < total[k]; j += Words) resolve(j);
        else
            for (int j = 0; j < __popc(start[k]); ++j) resolve(run[k] + j);
    }
}

// ------------------------------------------------------------------------------------------
// Unions of a tile's runs in shared memory, with the row above and with other rows.

// Point every run at a run above that touches it, or at itself; bits that were used are removed. With `skip`, the
// runs above have parents already, and these are used. Returns where runs begin that point at themselves.
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

// Point runs that are `alone` at the first run of another row that they touch straight; returns the other touches.
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

// The same for two neighboring rows with straight touches only: lanes that have few in one row go on with the next.
// `firsts` are the numbers of runs before the word in the other rows.
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
