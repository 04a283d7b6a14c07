// Passes of `runs` on lattices of bonds, 32 sites at a time.

#include "runs/cuda/pixels.cuh"

constexpr int MOST_STEPS = 64;  // bits of a site

struct Lattice {
    int count, along, down;  // steps; the one along rows and the one to the row below, -1 for none
    signed char step[MOST_STEPS][AXES + 1];
    signed char periodic[AXES + 1];
};

// Up to 32 sites of a row. Sites of one byte are kept in registers; others are read again for every step.
template <typename Word>
struct Sites {
    const Word* first;
    int count;
    unsigned quads[sizeof(Word) == 1 ? 8 : 1];

    // `aligned` says that words of 32 sites begin at multiples of 16 bytes.
    __device__ Sites(const Word* sites, int count, bool aligned) : first(sites), count(count)
    {
        if constexpr (sizeof(Word) == 1) {
            if (aligned && count == 32) {
                const uint4* pair = reinterpret_cast<const uint4*>(sites);
                const uint4 low = __ldg(pair), high = __ldg(pair + 1);
                quads[0] = low.x, quads[1] = low.y, quads[2] = low.z, quads[3] = low.w;
                quads[4] = high.x, quads[5] = high.y, quads[6] = high.z, quads[7] = high.w;
                return;
            }
#pragma unroll
            for (int k = 0; k < 32; ++k) {
                const unsigned site = k < count ? sites[k] : 0;
                quads[k / 4] = k % 4 ? quads[k / 4] | site << 8 * (k % 4) : site;
            }
        }
    }

    // Bit c is the bond of site c along a step.
    __device__ unsigned plane(int step) const
    {
        unsigned word = 0;
        if constexpr (sizeof(Word) == 1) {
#pragma unroll
            for (int j = 7; j >= 0; --j)  // the product brings four bits side by side to the top
                word = __funnelshift_l((quads[j] >> step & 0x01010101u) * 0x10204080u, word, 4);
        } else {
            for (int k = 0; k < count; ++k) word |= static_cast<unsigned>(first[k] >> step & 1) << k;
        }
        return word;
    }
};

// The bonds that join new pairs of runs: not where the bond beside one is open too and both sites at each of
// its ends are in one run, because these four form a square of which three sides are open. `ours` and
// `theirs` say where runs begin among the sites, and among the sites that bonds lead to.
template <int Words>
__device__ inline unsigned new_joins(unsigned bonds, unsigned ours, unsigned theirs)
{
    return bonds & (~from_left<Words>(bonds) | ours | theirs);
}

// ------------------------------------------------------------------------------------------
// First pass of `runs` on a lattice of bonds: runs along rows, and components of every tile, in shared
// memory. Tiles are those of images of several values, because each site may be a run.

// One block per tile. Writes `bits` (all are set) and `begins`, the nodes as their own parents, the node of
// every run, and the numbers of runs and nodes of each segment. Clears `states` for the pass that numbers.
template <typename Word, typename Id, typename BondTile>
__global__ void __launch_bounds__(THREADS, 4)
    find_bond_tiles(const __grid_constant__ Job job, const __grid_constant__ Lattice lattice)
{
    using Tile = BondTile;
    constexpr int Words = Tile::Words, Pitch = Tile::Pitch;
    static_assert(Tile::Many && Tile::Each == 1, "a word for each thread");
    __shared__ unsigned parents[Tile::Rows * Pitch];
    __shared__ unsigned starts[THREADS], downs[THREADS];
    __shared__ u2 firsts[THREADS];  // runs of the row before a word

    const Plan& plan = job.plan;
    const int thread = threadIdx.x, row = thread / Words, word = thread % Words;
    const int z = row / Tile::Tall, y = row % Tile::Tall;
    const Index state = static_cast<Index>(blockIdx.x) * THREADS + thread;
    if (state <= job.blocks) job.states[state] = 0;
    const Corner corner = corner_of<Tile>(plan, blockIdx.x);
    const Lines<Tile> lines(plan, corner);
    const bool inside = lines.inside(0);
    const int count = inside ? word_size(plan, corner.segment, word) : 0;
    const Index begin = first_pixel(plan, lines[0], corner.segment) + 32 * word;
    const Sites<Word> sites(static_cast<const Word*>(job.image) + begin, count, job.aligned);

    const unsigned set = count ? ALL >> (32 - count) : 0;
    const unsigned joined = lattice.along >= 0 ? from_left<Words>(sites.plane(lattice.along)) : 0;
    unsigned start[1] = {set & ~joined}, run[1], total[1];
    run[0] = runs_before<Words>(start[0], total[0]);
    if (inside) {
        const Index place = (lines[0] * plan.segments + corner.segment) * Words + word;
        job.bits[place] = set;
        job.begins[place] = start[0];
    }
    starts[thread] = start[0];
    firsts[thread] = run[0];
    downs[thread] = lattice.down >= 0 ? sites.plane(lattice.down) : 0;
    __syncthreads();

    // The row above comes first: it gives most runs their parents without a race.
    const int above = y > 0 ? thread - Words : thread;
    const unsigned above_start[1] = {starts[above]};
    Touch joins[1] = {{new_joins<Words>(y > 0 ? downs[above] & set : 0, above_start[0], start[0]), 0, 0}};
    adopt(joins[0], start[0], row * Pitch, run[0], above_start[0], (row - 1) * Pitch, firsts[above], false, parents);
    __syncthreads();
    unite_touching<Words, Pitch>(joins, start, run, row, above_start, row - 1, firsts + above, parents);
    // All other bonds that stay in the tile and do not lead around the lattice.
    for (int k = 0; k < lattice.count; ++k) {
        const signed char* const step = lattice.step[k];
        if (k == lattice.along || k == lattice.down || step[0] || step[1] || step[2]) continue;
        const int dz = step[3], dy = step[4], across = step[5];
        const bool exists = z + dz < Tile::Deep && corner.z + z + dz < plan.shape[3] && y + dy >= 0 &&
                            y + dy < Tile::Tall && corner.y + y + dy < plan.shape[4];
        const int there = exists ? thread + (dz * Tile::Tall + dy) * Words : thread;
        unsigned bonds = exists ? sites.plane(k) : 0;
        if (across > 0 && count && word_size(plan, corner.segment, word + 1) == 0)
            bonds &= ~(1u << (count - 1));  // the last site of the segment
        if (across < 0 && word == 0) bonds &= ~1u;
        // Where runs begin among the sites that bonds lead to.
        const unsigned other_start = starts[there];
        const unsigned left = from_left<Words>(other_start), right = from_right<Words>(other_start);
        const unsigned theirs = across ? (across < 0 ? left : right) : other_start;
        unsigned rest = new_joins<Words>(bonds, start[0], theirs);
        for (; rest; rest &= rest - 1) {
            const int bit = __ffs(rest) - 1;
            unsigned other = run_at(firsts[there], other_start, bit);  // the next run, or the one before
            if (across > 0) other += theirs >> bit & 1;
            if (across < 0) other -= other_start >> bit & 1;
            unite_shared(parents, entry(row * Pitch, run_at(run[0], start[0], bit)),
                         entry((row + dz * Tile::Tall + dy) * Pitch, other));
        }
    }
    __syncthreads();
    write_nodes<Id, Tile>(job, corner, lines, parents, row, word, start, run, total);
}

// ------------------------------------------------------------------------------------------
// Second pass of `runs` on a lattice of bonds: unite nodes along the bonds that leave their tile or lead
// around the lattice. A warp takes a segment: all of its bonds to rows of other tiles, and those from its
// ends to other segments.
//
// Why the races are safe: nodes change only by `unite`, see there. Everything else is read only.

// Coordinates of a row.
struct Spot {
    int at[AXES];

    __device__ Spot(const Plan& plan, Index row)
    {
#pragma unroll
        for (int axis = AXES - 1; axis >= 0; --axis) {
            at[axis] = static_cast<int>(row % plan.shape[axis]);
            row /= plan.shape[axis];
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
    int segment, length;  // number in the row; number of sites

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

    // Unite along a step to another row, from all sites except one whose bond leads to another segment. A
    // lane takes a site of each word; all lanes of a warp call this together.
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
            // Where runs begin among the sites that bonds lead to.
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

    // Unite along a step from the last site to the first of the next segment, or the other way round.
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
