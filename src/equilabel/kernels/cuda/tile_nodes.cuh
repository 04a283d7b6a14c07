// What a tile leaves behind once its runs are united in shared memory: its nodes, and the node of each run.
#pragma once
#include "bits.cuh"

constexpr unsigned NODE = 0x80000000u;  // marks a number of a node among parents
constexpr int CROWD = 3;                // runs of a word

// Where the entry of a run lies: runs are counted through a row, whose entries begin at `base`; one in 33
// is left out, see `Pitch`.
__device__ inline unsigned entry(unsigned base, unsigned run)
{
    return base + run + (run >> 5);
}

// Make the roots among `parents` nodes and their own parents, write the node of every run, and how many
// runs and nodes each segment has. All threads of the block call this together, each with its first row
// and its word, where runs begin in its words, the runs before these in their rows, and those of the rows.
// By value and into the caller, or registers would spill in three dimensions.
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
    // Where a word has many runs, neighboring threads take neighboring entries.
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
