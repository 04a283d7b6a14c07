// First pass of `runs` on a lattice of bonds: stretches of open bonds along rows, and components of every
// tile by these, in shared memory. Tiles are those of images of many values: each site may be a run.
#include "bond_lattice.cuh"
#include "tile_nodes.cuh"
#include "union_find.cuh"

// Point every run at one above that a bond joins it with, else at itself; bits used are taken out.
__device__ inline void adopt(unsigned& joins, unsigned begins, unsigned base, unsigned run,
                             unsigned other_begins, unsigned other_base, unsigned other,
                             unsigned* parents)
{
    for (unsigned rest = begins; rest; ++run) {
        const unsigned bit = rest & -rest;
        rest ^= bit;
        const unsigned span = (rest ? rest & -rest : 0) - bit;
        const unsigned own = entry(base, run), found = joins & span;
        parents[own] = own;
        if (found) {
            parents[own] = entry(other_base, run_at(other, other_begins, __ffs(found) - 1));
            joins ^= found & -found;
        }
    }
}

// One block per tile. Writes `bits`, all of them set, and `begins`, the nodes as their own parents, the node
// of every run, and how many runs and nodes each segment has. Clears `states` for the pass that numbers.
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

    // The row above first: it gives most runs their parents without a race.
    const int above = y > 0 ? thread - Words : thread;
    const unsigned above_start = starts[above];
    unsigned joins = y > 0 ? downs[above] & set : 0;
    joins = new_joins<Words>(joins, above_start, start[0]);
    adopt(joins, start[0], row * Pitch, run[0], above_start, (row - 1) * Pitch, firsts[above], parents);
    __syncthreads();
    for (; joins; joins &= joins - 1) {
        const int bit = __ffs(joins) - 1;
        unite_shared(parents, entry(row * Pitch, run_at(run[0], start[0], bit)),
                     entry((row - 1) * Pitch, run_at(firsts[above], above_start, bit)));
    }
    // All other bonds that stay in the tile and do not go around the lattice.
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
        // Of the sites that bonds lead to, where runs begin.
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
