// First pass of `runs`: finds the components of tiles. If corners touch, rows are processed in pairs.
//
// The pixels of two neighboring rows are then connected wherever columns are set without a gap: runs are those of
// the union of both rows, half as many or fewer, and only the outer row of a pair touches the pair before or after
// it. Run tables are still written for each row, because other passes read them so.

#include "runs/cuda/pixels.cuh"

// ---- The first pass: pixels of a tile to bits, and its components in shared memory, row by row.

// Read the words of a thread: foreground, and where runs begin.
template <typename Tile, typename Pixel>
__device__ inline void read_tile(const Pixel* image, const Test<Pixel>& test, bool every, bool aligned,
                                 bool fours, const Plan& plan, const Corner& corner,
                                 const Lines<Tile>& lines, unsigned (&set)[Tile::Each],
                                 unsigned (&start)[Tile::Each])
{
    constexpr int Words = Tile::Words, Each = Tile::Each;
    const int word = threadIdx.x % Words;
    const bool whole = sizeof(Pixel) == 1 && !Tile::Many && aligned && !every &&
                       corner.y + Tile::Tall <= plan.shape[4] &&
                       corner.z + Tile::Deep <= plan.shape[3] &&
                       word_size(plan, corner.segment, Words - 1) == 32;
    if constexpr (sizeof(Pixel) == 1)
        if (whole)
            read_whole<Words>(image + first_pixel(plan, lines[0], corner.segment), plan.columns, test,
                              set);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (whole) {
            start[k] = set[k] & ~from_left<Words>(set[k]);
            continue;
        }
        const Index begin = first_pixel(plan, lines[k], corner.segment) + 32 * word;
        const int count = lines.inside(k) ? word_size(plan, corner.segment, word) : 0;
        unsigned joined;
        if constexpr (sizeof(Pixel) == 1)
            read_bytes<Words>(image, plan.rows * plan.columns, begin, count, test, set[k], joined);
        else if (fours)
            read_quads<Tile::Many, true, Words>(image, begin, count, test, set[k], joined);
        else
            read_quads<Tile::Many, false, Words>(image, begin, count, test, set[k], joined);
        if (every) set[k] = count ? ALL >> (32 - count) : 0;
        if (!Tile::Many) joined = from_left<Words>(set[k]);
        start[k] = set[k] & ~joined;
    }
}

// Shared memory of a tile. `corner`, `totals` and what `read_back` returns are here to save registers: a thread
// has 40 or 48, and what does not fit is spilled to local memory, which takes cache from the passes that follow.
template <typename Tile>
struct TileMemory {
    unsigned parents[Tile::Rows * Tile::Pitch];
    unsigned words[THREADS * Tile::Each], starts[Tile::Many ? THREADS * Tile::Each : 1];
    u2 firsts[THREADS * Tile::Each];  // runs of the row before a word
    u2 totals[Tile::Rows];            // runs of a row
    Corner corner;
};

// The words of a thread: foreground, where runs begin, and the number of runs of the row before them.
template <typename Tile>
struct Rows {
    unsigned set[Tile::Each], start[Tile::Each], run[Tile::Each];
};

// Read the words of a thread again from shared memory, which saves registers; for foreground of one value. All
// threads of a warp call this.
template <typename Tile>
__device__ inline void read_back(const TileMemory<Tile>& memory, Rows<Tile>& rows)
{
    constexpr int Words = Tile::Words;
    const int here = threadIdx.x / Words * Tile::Each * Words + threadIdx.x % Words;
#pragma unroll
    for (int k = 0; k < Tile::Each; ++k) {
        rows.set[k] = memory.words[here + k * Words];
        rows.start[k] = rows.set[k] & ~from_left<Words>(rows.set[k]);
        rows.run[k] = memory.firsts[here + k * Words];
    }
}

// Find the components of a tile whose words are in shared memory, after a barrier. Writes what `find_tile` writes.
template <typename Pixel, typename Id, typename Tile>
__device__ __forceinline__ void
find_by_rows(const Job& job, const Corner& corner, const Lines<Tile>& lines, const Rows<Tile>& rows,
             TileMemory<Tile>& memory)
{
    const Plan& plan = job.plan;
    const Pixel* const __restrict__ image = static_cast<const Pixel*>(job.image);
    constexpr int Words = Tile::Words, Each = Tile::Each, Pitch = Tile::Pitch;
    constexpr bool Many = Tile::Many;
    unsigned(&parents)[Tile::Rows * Pitch] = memory.parents;
    unsigned(&words)[THREADS * Each] = memory.words;
    unsigned(&starts)[Many ? THREADS * Each : 1] = memory.starts;
    u2(&firsts)[THREADS * Each] = memory.firsts;
    const unsigned(&set)[Each] = rows.set, (&start)[Each] = rows.start;
    const unsigned(&run)[Each] = rows.run;
    const int thread = threadIdx.x, row = thread / Words * Each, word = thread % Words;
    const int here = row * Words + word;

    const auto touching_at = [&](int k, int edge, bool exists, unsigned other, unsigned& other_start,
                                 unsigned known) {
        const int there = here + (plan.dz[edge] * Tile::Tall + plan.dy[edge] + k) * Words;
        if constexpr (Many) {
            other_start = exists ? starts[there] : 0;
            return touching<Words>(image, first_pixel(plan, lines[k], corner.segment) + 32 * word,
                                   -plan.back[edge] * plan.columns, set[k], start[k], other, other_start,
                                   plan.diagonal[edge]);
        }
        other_start = other & ~from_left<Words>(other);
        if (edge == 0) return touching<Words>(set[k], start[k], other, other_start, plan.diagonal[0]);
        return touching<Words>(set[k], other, plan.diagonal[edge], known);
    };
    // The row above comes first: it gives most runs their parents without a race. If the row above belongs to the
    // same thread, its runs have parents already, and these are used.
    Touch touch[Each];
    unsigned other_start[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const bool exists = (row + k) % Tile::Tall > 0 && plan.inner > 0;
        const int there = here + (k - 1) * Words;
        touch[k] = touching_at(k, 0, exists, exists ? words[there] : 0, other_start[k], 0);
        if (k > 0) __syncwarp();
        adopt(touch[k], start[k], (row + k) * Pitch, run[k], other_start[k], (row + k - 1) * Pitch,
              exists ? firsts[there] : 0, k > 0, parents);
    }
    __syncthreads();
    unite_touching<Words, Pitch>(touch, start, run, row, other_start, row - 1, firsts + (here - Words), parents);
    // In tiles that span two axes, the rows of the layer above.
    for (int edge = 1; Tile::Deep > 1 && edge < plan.inner; ++edge) {
        const int dz = plan.dz[edge], dy = plan.dy[edge], away = dz * Tile::Tall + dy;
#pragma unroll
        for (int k = 0; k < Each; ++k) {
            const int z = row / Tile::Tall, y = row % Tile::Tall + k;
            const bool exists = z + dz >= 0 && y + dy >= 0 && y + dy < Tile::Tall;
            const int mine = here + k * Words, there = mine + away * Words;
            const unsigned other = exists ? words[there] : 0;
            // Rows (z, y) and (z - 1, x): with x = y, the fourth side of a square is redundant where (z, y - 1)
            // and (z - 1, y - 1) are set too. With x = y +- 1, the edge is redundant where (z, x) or (z - 1, y)
            // is set. Each rule relies on smaller y or fewer steps, so the argument is not circular.
            unsigned known = 0;
            if (!Many && exists && dy == 0 && y)
                known = set[k] & other & words[mine - Words] & words[there - Words];
            if (!Many && exists && dy) known = words[mine + dy * Words] | words[mine - Tile::Tall * Words];
            touch[k] = touching_at(k, edge, exists, other, other_start[k], known);
        }
        unite_touching<Words, Pitch>(touch, start, run, row, other_start, row + away, firsts + (here + away * Words),
                                     parents);
    }
    __syncthreads();

    const Corner again = memory.corner;
    unsigned total[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) total[k] = memory.totals[row + k];
    write_nodes<Id, Tile>(job, again, Lines<Tile>(plan, again), parents, row, word, start, run, total);
}

// Read a tile, and write its `bits` (and `begins` of images of several values). Clears `states` for the pass that
// numbers. All threads of the block call this; a barrier is needed before they read what others wrote.
template <typename Pixel, typename Tile>
__device__ __forceinline__ void
read_rows(const Job& job, const unsigned tile, const Corner& corner, const Lines<Tile>& lines,
          Rows<Tile>& rows, TileMemory<Tile>& memory)
{
    const Plan& plan = job.plan;
    const Test<Pixel> test(job.background, job.compare);
    constexpr int Words = Tile::Words, Each = Tile::Each;
    constexpr bool Many = Tile::Many;
    const int thread = threadIdx.x, row = thread / Words * Each, word = thread % Words;
    const int here = row * Words + word;
    if (thread == 0) memory.corner = corner;
    const Index state = static_cast<Index>(tile) * THREADS + thread;
    if (state <= job.blocks) job.states[state] = 0;
    read_tile<Tile>(static_cast<const Pixel*>(job.image), test, job.compare == EVERY, job.aligned,
                    job.fours, plan, corner, lines, rows.set, rows.start);
    unsigned total[Each];
    runs_before<Words>(rows.start, rows.run, total);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const Index place = (lines[k] * plan.segments + corner.segment) * Words + word;
        if (lines.inside(k)) {
            job.bits[place] = rows.set[k];
            if (Many) job.begins[place] = rows.start[k];
        }
        memory.words[here + k * Words] = rows.set[k];
        if (Many) memory.starts[here + k * Words] = rows.start[k];
        memory.firsts[here + k * Words] = rows.run[k];
        if (word == 0) memory.totals[row + k] = total[k];
    }
}

// Wait for all threads; if the tile has no foreground, write that it has no runs, and return true.
template <typename Tile>
__device__ inline bool is_empty(const Job& job, const Corner& corner, const Lines<Tile>& lines,
                                const Rows<Tile>& rows)
{
    unsigned some = 0;
#pragma unroll
    for (int k = 0; k < Tile::Each; ++k) some |= rows.set[k];
    if (__syncthreads_or(some)) return false;
#pragma unroll
    for (int k = 0; k < Tile::Each; ++k)
        if (lines.inside(k) && threadIdx.x % Tile::Words == 0)
            job.counts[lines[k] * job.plan.segments + corner.segment] = 0;
    return true;
}

// One block per tile. Writes `bits` (and `begins` of images of several values), the numbers of runs and nodes of each
// segment (`counts`: 16 bits each), the nodes as their own parents, and the node of every run.
// Clears `states` for the pass that numbers.
template <typename Pixel, typename Id, typename Tile>
__device__ __forceinline__ void
find_tile(const Job& job, const unsigned tile, TileMemory<Tile>& memory)
{
    const Corner corner = corner_of<Tile>(job.plan, tile);
    const Lines<Tile> lines(job.plan, corner);
    Rows<Tile> rows;
    read_rows<Pixel>(job, tile, corner, lines, rows, memory);
    if (!is_empty(job, corner, lines, rows)) find_by_rows<Pixel, Id>(job, corner, lines, rows, memory);
}

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
