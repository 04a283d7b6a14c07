// First pass of `runs`: finds the components of tiles. If corners touch, rows are processed in pairs.
//
// The pixels of two neighboring rows are then connected wherever columns are set without a gap: runs are those of
// the union of both rows, half as many or fewer, and only the outer row of a pair touches the pair before or after
// it. Run tables are still written for each row, because other passes read them so.

#include "runs/cuda/find_tile.cuh"

// Shared memory of a tile that is processed in pairs of rows.
template <typename Tile>
struct PairMemory {
    TileMemory<Tile> rows;
    u2 firsts[THREADS];  // runs of the pair before a word
};

constexpr int DENSE = 5;  // runs of a thread from which rows are processed in pairs

// A pair of rows, in the word of a thread.
struct Pair {
    unsigned either, begins, run, base;  // union of both rows; where runs begin; runs before; first entry of the pair

    template <int Words>
    __device__ void find(unsigned word)
    {
        either = word;
        begins = word & ~from_left<Words>(word);
    }

    __device__ unsigned at(int bit) const { return entry(base, run_at(run, begins, bit)); }
};

// Remove one bit of `touch`; returns its place, and the entry of the run of `other` that it touches. `after` says
// where runs of `other` begin one pixel later.
__device__ inline int take(Touch& touch, const Pair& other, unsigned after, unsigned& there)
{
    const unsigned rest = touch.straight | touch.left | touch.right;
    const unsigned bit = rest & -rest;
    const int place = __ffs(rest) - 1;
    unsigned run = run_left_of(other.run, other.begins, place);
    if (touch.straight & bit) {
        touch.straight ^= bit;
        run += other.begins >> place & 1;
    } else if (touch.left & bit) {
        touch.left ^= bit;
    } else {
        touch.right ^= bit;
        run += (other.begins >> place & 1) + (after >> place & 1);
    }
    there = entry(other.base, run);
    return place;
}

// All threads of a warp call this together.
template <int Words>
__device__ inline void unite_pairs(Touch touch, const Pair& own, const Pair& other, unsigned* parents)
{
    const unsigned after = from_right<Words>(other.begins);
    unsigned here = ~0u, last = ~0u;
    while (touch.straight | touch.left | touch.right) {
        unsigned there;
        const unsigned mine = own.at(take(touch, other, after, there));
        if (mine != here || there != last) unite_shared(parents, mine, there);
        here = mine;
        last = there;
    }
}

// Visit the runs of a word, with the bits up to the next run: first the one that continues from the word before.
template <class Visit>
__device__ inline void for_runs(const Pair& own, const Visit& visit)
{
    unsigned run = own.run, rest = own.begins;
    if (own.either & ~own.begins & 1) visit(entry(own.base, run - 1), (rest & -rest) - 1, false);
    for (; rest; ++run) {
        const unsigned bit = rest & -rest;
        rest ^= bit;
        visit(entry(own.base, run), (rest & -rest) - bit, true);
    }
}

// One block per tile. Writes what `find_tile` writes.
template <typename Pixel, typename Id, typename Tile>
__device__ __forceinline__ void
find_pairs(const Job& job, const unsigned tile, PairMemory<Tile>& memory)
{
    constexpr int Words = Tile::Words, Pitch = Tile::Pitch, Tall = Tile::Tall, Half = Tile::Rows / 2 * Pitch;
    constexpr unsigned Width = 32 * Words;
    static_assert(!Tile::Many && Tile::Each == 2 && Tall % 2 == 0, "a thread has a pair of rows");
    const Plan& plan = job.plan;
    const Corner corner = corner_of<Tile>(plan, tile);
    const Lines<Tile> lines(plan, corner);
    Rows<Tile> rows;
    read_rows<Pixel>(job, tile, corner, lines, rows, memory.rows);
    if (is_empty(job, corner, lines, rows)) return;
    read_back(memory.rows, rows);
    const unsigned(&set)[2] = rows.set, (&start)[2] = rows.start;
    if constexpr (Tile::Deep == 1)  // row by row is faster for few runs
        if (__syncthreads_count(__popc(start[0]) + __popc(start[1]) >= DENSE) < THREADS / 2) {
            find_by_rows<Pixel, Id>(job, corner, lines, rows, memory.rows);
            return;
        }

    Id* const nodes = static_cast<Id*>(job.nodes);
    unsigned* const parents = memory.rows.parents;
    unsigned* const keys = parents + Half;  // first pixels of roots; later entries of run tables
    u2* const ranks = memory.rows.firsts;   // number of first pixels before a word
    const int thread = threadIdx.x, pair = thread / Words, row = 2 * pair, word = thread % Words;
    const int z = row / Tall, y = row % Tall;
    unsigned* const words = memory.rows.words + row * Words + word;  // of this thread; `Words` after it the next row
    Pair own;
    unsigned total;
    own.find<Words>(set[0] | set[1]);
    own.run = runs_before<Words>(own.begins, total);
    own.base = pair * Pitch;
    memory.firsts[thread] = own.run;
    __syncthreads();

    // The pair that is `away` pairs further; all threads of a warp call this together.
    const auto pair_at = [&](int away, bool exists) {
        Pair other;
        other.find<Words>(exists ? words[2 * away * Words] | words[(2 * away + 1) * Words] : 0);
        other.run = exists ? memory.firsts[thread + away * Words] : 0;
        other.base = (pair + away) * Pitch;
        return other;
    };
    // The pair above comes first: it gives most runs their parents without a race.
    {
        const Pair above = pair_at(-1, y > 0);
        Touch touch = touching<Words>(set[0], y > 0 ? words[-Words] : 0, true);
        const unsigned after = from_right<Words>(above.begins);
        unsigned run = own.run;
        for (unsigned rest = own.begins; rest; ++run) {
            const unsigned bit = rest & -rest;
            rest ^= bit;
            const unsigned span = (rest & -rest) - bit, mine = entry(own.base, run);
            Touch within = {touch.straight & span, touch.left & span, touch.right & span};
            unsigned parent = mine;
            if (within.straight | within.left | within.right) {
                const Touch all = within;
                take(within, above, after, parent);
                touch.straight ^= all.straight ^ within.straight;
                touch.left ^= all.left ^ within.left;
                touch.right ^= all.right ^ within.right;
            }
            parents[mine] = parent;
            // The first pixel of the run in this word: in the upper row, if it has one there.
            const unsigned upper = set[0] & span;
            keys[mine] = 32 * word + __ffs(upper ? upper : bit) - 1 + (upper ? 0 : Width);
        }
        __syncthreads();
        unite_pairs<Words>(touch, own, above, parents);
    }
    if constexpr (Tile::Deep > 1) {
        // As in `find_by_rows`: a fourth side of a square is redundant, and a way around a corner.
        constexpr int Layer = Tall * Words;
        const bool deep = z > 0, first = deep && y > 0, last = deep && y + 2 < Tall;
        Pair other = pair_at(-Tall / 2, deep);
        unsigned known = first ? set[0] & words[-Words] & words[-Layer] & words[-Layer - Words] : 0;
        unite_pairs<Words>(touching<Words>(own.either, other.either, true, known), own, other, parents);
        other = pair_at(-Tall / 2 - 1, first);
        known = first ? words[-Words] | words[-Layer] : 0;
        unite_pairs<Words>(touching<Words>(set[0], first ? words[-Layer - Words] : 0, true, known), own,
                           other, parents);
        other = pair_at(-Tall / 2 + 1, last);
        known = last ? words[2 * Words] | words[Words - Layer] : 0;
        unite_pairs<Words>(touching<Words>(set[1], last ? words[2 * Words - Layer] : 0, true, known), own,
                           other, parents);
    }
    __syncthreads();
    words[0] = words[Words] = 0;
    // The first pixel of a component is in the pair of its root. It may belong to another run of that pair which
    // has a pixel in the upper row.
    for_runs(own, [&](unsigned mine, unsigned span, bool began) {
        const unsigned upper = set[0] & span;
        if (upper == 0 || (began && parents[mine] == mine)) return;
        unsigned root = mine;
        while (parents[root] != root) root = parents[root];
        if (root >= own.base) atomicMin(keys + root, 32 * word + __ffs(upper) - 1);
    });
    __syncthreads();
    unsigned* const tops = memory.rows.words + row * Words;
    for_runs(own, [&](unsigned mine, unsigned, bool began) {
        if (!began || parents[mine] != mine) return;
        const unsigned key = keys[mine];
        atomicOr(tops + key / 32, 1u << key % 32);
    });
    __syncthreads();
    // Nodes, in the order of first pixels.
    unsigned first[2] = {words[0], words[Words]}, rank[2], given[2], run[2], totals[2];
    runs_before<Words>(first, rank, given);
    runs_before<Words>(start, run, totals);  // computed again to save registers
    const Corner again = memory.rows.corner;
    const Lines<Tile> lines_again(plan, again);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        ranks[(row + k) * Words + word] = rank[k];
        if (word == 0 && lines_again.inside(k))
            job.counts[lines_again[k] * plan.segments + again.segment] = totals[k] << 16 | given[k];
        const Id node = first_pixel(plan, lines_again[k], again.segment);
        for (unsigned j = word; j < given[k]; j += Words) nodes[node + j] = node + j;
    }
    __syncthreads();
    for_runs(own, [&](unsigned mine, unsigned, bool began) {
        if (!began || parents[mine] != mine) return;
        const unsigned key = keys[mine], below = (1u << key % 32) - 1;
        const unsigned before = ranks[row * Words + key / 32] + __popc(tops[key / 32] & below);
        parents[mine] = NODE | ((row + key / Width) * Tile::Capacity + before);
    });
    __syncthreads();
    u2* const entries = reinterpret_cast<u2*>(keys);
    for_runs(own, [&](unsigned mine, unsigned span, bool) {
        unsigned parent = parents[mine];
        while (!(parent & NODE)) parent = parents[parent];
#pragma unroll
        for (int k = 0; k < 2; ++k)
            for (unsigned rest = start[k] & span; rest; rest &= rest - 1)
                entries[(row + k) * Tile::Capacity + run[k]++] = static_cast<u2>(parent);
    });
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        unsigned* const table = reinterpret_cast<unsigned*>(
            run_table<false>(plan, nodes, job.tables, lines_again[k], again.segment, totals[k]));
        const unsigned* const pairs = reinterpret_cast<unsigned*>(entries + (row + k) * Tile::Capacity);
        const unsigned whole = totals[k] ? max(totals[k], NEAR) : 0;
        for (unsigned j = word; 2 * j < whole; j += Words) table[j] = pairs[j];
    }
}

// ------------------------------------------------------------------------------------------
// Kernels of the first pass.

template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS, Tile::Blocks)
    find_tiles(const __grid_constant__ Job job)
{
    __shared__ TileMemory<Tile> memory;
    find_tile<Pixel, Id, Tile>(job, blockIdx.x, memory);
}

// The same if corners touch and foreground is one value.
template <typename Pixel, typename Id, typename PairTile>
__global__ void __launch_bounds__(THREADS, PairTile::Blocks)
    find_tile_pairs(const __grid_constant__ Job job)
{
    __shared__ PairMemory<PairTile> memory;
    find_pairs<Pixel, Id, PairTile>(job, blockIdx.x, memory);
}
