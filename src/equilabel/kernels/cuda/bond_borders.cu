// Second pass of `runs` on a lattice of bonds: unite nodes along the bonds that leave their tile, or go
// around the lattice. A warp takes a segment: all of its bonds to a row of another tile, and those that
// lead from its ends to other segments.
//
// Why the races are safe: nodes change by `unite` alone; see there. All else is read only.
#include "bond_lattice.cuh"
#include "union_find.cuh"

// Where a row is.
struct Spot {
    int at[AXES];

    __device__ Spot(const Plan& plan, Index row)
    {
#pragma unroll
        for (int axis = AXES - 1; axis >= 0; --axis) {
            const int side = plan.shape[axis];
            at[axis] = 0;
            if (side == 1) continue;
            if (row >> 32) {
                at[axis] = static_cast<int>(row % side);
                row /= side;
            } else {
                const unsigned low = static_cast<unsigned>(row), above = low / side;
                at[axis] = static_cast<int>(low - above * side);
                row = above;
            }
        }
    }

    // The row that a step leads to, -1 if it is outside, and whether it is in another tile.
    template <typename Tile>
    __device__ Index follow(const Plan& plan, const Lattice& lattice, int step, bool& leaves) const
    {
        Index row = 0;
        leaves = false;
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) {
            const int side = plan.shape[axis], away = lattice.step[step][axis];
            int there = at[axis] + away;
            if (axis == 3) leaves = leaves || at[axis] / Tile::Deep != there / Tile::Deep;
            if (axis == 4) leaves = leaves || at[axis] / Tile::Tall != there / Tile::Tall;
            leaves = leaves || (axis < 3 && away);
            if (there < 0 || there >= side) {
                if (!lattice.periodic[axis]) return -1;
                leaves = true;
                there = there < 0 ? side - 1 : 0;
            }
            row = row * side + there;
        }
        return row;
    }
};

template <typename Word, typename Id, typename BondTile>
struct Segment {
    static constexpr int Words = BondTile::Words;
    const Job& job;
    const Lattice& lattice;
    Index row;
    int segment, length;  // which one of the row; sites of it

    __device__ const Word* sites() const
    {
        return static_cast<const Word*>(job.image) + first_pixel(job.plan, row, segment);
    }

    __device__ Id node(Index line, int place, unsigned run) const
    {
        const Plan& plan = job.plan;
        const int y = static_cast<int>(line % plan.shape[4]);
        const int z = static_cast<int>(line / plan.shape[4] % plan.shape[3]);
        const Id base = tile_base<BondTile>(plan, Place<Index>{line, place, z, y});
        const u2* const table =
            run_table<true>(plan, static_cast<Id*>(job.nodes), job.tables, line, place, 0);
        return node_of<BondTile>(plan, base, table[run]);
    }

    __device__ unsigned last_run(Index line, int place) const
    {
        return (job.counts[line * job.plan.segments + place] >> 16) - 1;
    }

    __device__ unsigned begins(Index line, int word) const
    {
        return 32 * word < length ? job.begins[(line * job.plan.segments + segment) * Words + word] : 0;
    }

    // Along a step to another row, from all sites but one whose bond leads to another segment. A lane
    // takes a site of each word; the warp comes here together.
    __device__ void join_row(int step, Index there) const
    {
        const int lane = threadIdx.x % 32, across = lattice.step[step][AXES];
        const int end = across > 0 ? length - 1 : length;
        const Word* const open = sites();
        unsigned runs = 0, other_runs = 0, carry = 0, before = 0, theirs = begins(there, 0);
        for (int word = 0; 32 * word < length; ++word) {
            const int column = 32 * word + lane;
            const unsigned ours = begins(row, word), next = begins(there, word + 1);
            const bool real = column < end && (across >= 0 || column > 0);
            const unsigned bonds = __ballot_sync(ALL, real && (open[real ? column : 0] >> step & 1));
            // Of the sites that bonds lead to, where runs begin.
            unsigned leads = theirs;
            if (across > 0) leads = theirs >> 1 | next << 31;
            if (across < 0) leads = theirs << 1 | before;
            const unsigned joins = bonds & (~(bonds << 1 | carry) | ours | leads);  // as `new_joins`
            if (joins >> lane & 1) {
                unsigned other = run_at(other_runs, theirs, lane);
                if (across > 0) other += leads >> lane & 1;
                if (across < 0) other -= theirs >> lane & 1;
                unite(static_cast<Id*>(job.nodes), node(row, segment, run_at(runs, ours, lane)),
                      node(there, segment, other));
            }
            __syncwarp();
            carry = bonds >> 31;
            before = theirs >> 31;
            runs += __popc(ours);
            other_runs += __popc(theirs);
            theirs = next;
        }
    }

    // Along a step from the last site to the first of the next segment, or the other way round.
    __device__ void join_end(int step, Index there) const
    {
        const int across = lattice.step[step][AXES], segments = job.plan.segments;
        int other = segment + across;
        if (other < 0 || other >= segments) {
            if (!lattice.periodic[AXES]) return;
            other = other < 0 ? segments - 1 : 0;
        }
        if (!(sites()[across > 0 ? length - 1 : 0] >> step & 1)) return;
        unite(static_cast<Id*>(job.nodes), node(row, segment, across > 0 ? last_run(row, segment) : 0),
              node(there, other, across > 0 ? 0 : last_run(there, other)));
    }
};

// One warp per segment.
template <typename Word, typename Id, typename BondTile>
__global__ void __launch_bounds__(THREADS)
    join_bond_tiles(const __grid_constant__ Job job, const __grid_constant__ Lattice lattice)
{
    const Plan& plan = job.plan;
    const Index mine = thread_index() / 32;
    if (mine >= plan.rows * plan.segments) return;
    int place;
    const Index row = line_of(plan, mine, place);
    const Index left = plan.columns - static_cast<Index>(place) * plan.width;
    const int length = left < plan.width ? static_cast<int>(left) : plan.width;
    const Segment<Word, Id, BondTile> segment = {job, lattice, row, place, length};
    const Spot spot(plan, row);
    bool leaves;
    for (int step = 0; step < lattice.count; ++step) {
        if (step == lattice.along) continue;
        const Index there = spot.follow<BondTile>(plan, lattice, step, leaves);
        if (there >= 0 && leaves) segment.join_row(step, there);
    }
    for (int step = threadIdx.x % 32; step < lattice.count; step += 32) {
        if (lattice.step[step][AXES] == 0) continue;
        const Index there = spot.follow<BondTile>(plan, lattice, step, leaves);
        if (there >= 0) segment.join_end(step, there);
    }
}
