// The components of a tile that has few runs, where a thread takes a run and not a word.
#pragma once
#include "tile_nodes.cuh"
#include "union_find.cuh"

constexpr int FEW = 1024;  // runs of a tile at most

// What threads know of the runs of a tile, counted through all of its rows; in the memory for parents.
template <int Rows>
struct FewRuns {
    unsigned parents[FEW];
    u2 begins[FEW], ends[FEW];  // first pixels, and the row above them in 6 bits; last pixels
    unsigned roots[FEW / 32];   // which runs are roots
    unsigned before[Rows];      // runs before a row
};

// Runs that begin up to a pixel of a row.
template <int Words>
__device__ inline unsigned begun_by(const unsigned* words, const u2* firsts, unsigned pixel, bool& set)
{
    const unsigned word = pixel / 32, bit = pixel % 32, own = words[word];
    const unsigned carry = word ? words[word - 1] >> 31 : 0;
    set = own >> bit & 1;
    return firsts[word] + __popc(own & ~(own << 1 | carry) & ((2u << bit) - 1));
}

// Write what `find_tile` says; `totals` are the runs of each row. Returns false, and does nothing, if there are
// many. All threads of the block call this, and have waited since what is in shared memory was written.
template <typename Id, typename Tile>
__device__ __forceinline__ bool
find_few(const Job& job, const Corner& where, const unsigned (&set)[2], const unsigned (&start)[2],
         const unsigned (&run)[2], const u2* totals, const unsigned* words, const u2* firsts,
         unsigned* memory)
{
    constexpr int Words = Tile::Words, Tall = Tile::Tall, Pairs = Tile::Rows / 2;
    constexpr unsigned Width = 32 * Words;
    static_assert(!Tile::Many && Tile::Each == 2 && Pairs <= 32 && Width <= 1024, "ten bits and six");
    static_assert(sizeof(FewRuns<Tile::Rows>) <= sizeof(unsigned) * Tile::Rows * Tile::Pitch, "fits");
    FewRuns<Tile::Rows>& few = *reinterpret_cast<FewRuns<Tile::Rows>*>(memory);
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    const int lane = threadIdx.x % 32, word = threadIdx.x % Words, row = threadIdx.x / Words * 2;

    // Runs before each row.
    unsigned sum = lane < Pairs ? totals[2 * lane] + totals[2 * lane + 1] : 0;
#pragma unroll
    for (int step = 1; step < Pairs; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step);
        if (lane >= step) sum += other;
    }
    const unsigned runs = __shfl_sync(ALL, sum, Pairs - 1);
    if (runs > FEW) return false;
    unsigned base[3];  // runs before the rows of this thread, and after
    base[2] = __shfl_sync(ALL, sum, row / 2);
    base[1] = base[2] - totals[row + 1];
    base[0] = base[1] - totals[row];

    // Where runs begin and end.
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (word == 0) few.before[row + k] = base[k];
        unsigned at = base[k] + run[k];
        for (unsigned rest = start[k]; rest; rest &= rest - 1, ++at) {
            if (!plan.inner) few.parents[at] = at;
            few.begins[at] = static_cast<u2>((row + k) << 10 | (32 * word + __ffs(rest) - 1));
        }
        at = base[k] + run[k] - (set[k] & ~start[k] & 1);
        for (unsigned rest = set[k] & ~from_right<Words>(set[k]); rest; rest &= rest - 1)
            few.ends[at++] = static_cast<u2>(32 * word + __ffs(rest) - 1);
    }
    __syncthreads();
    // The runs that one touches along an edge: returns the first, and how many.
    const auto touched = [&](unsigned own, int edge, unsigned& count) {
        const unsigned begin = few.begins[own] & 1023, end = few.ends[own];
        const int line = few.begins[own] >> 10, z = line / Tall, y = line % Tall;
        const int dz = plan.dz[edge], dy = plan.dy[edge];
        count = 0;
        if (z + dz < 0 || y + dy < 0 || y + dy >= Tall) return 0u;
        const int there = line + dz * Tall + dy;
        const unsigned wider = plan.diagonal[edge];
        const unsigned* const other = words + there * Words;
        bool held, any;
        const unsigned left = begin ? begin - wider : 0;
        const unsigned at = begun_by<Words>(other, firsts + there * Words, left, held) - held;
        count = begun_by<Words>(other, firsts + there * Words, min(end + wider, Width - 1), any) - at;
        return few.before[there] + at;
    };
    // The first of those above is the parent, which takes no atomic operation.
    unsigned more = 0;
    if (plan.inner)
        for (unsigned own = threadIdx.x, turn = 1; own < runs; own += THREADS, turn *= 2) {
            unsigned count;
            const unsigned first = touched(own, 0, count);
            few.parents[own] = count ? first : own;
            if (count > 1) more |= turn;
        }
    __syncthreads();
    // Runs below one another are chains, as long as tiles are tall: halve them.
    for (int tall = 2; tall < Tall; tall *= 2)
        for (unsigned own = threadIdx.x; own < runs; own += THREADS) {
            const unsigned parent = parent_of(few.parents, own), above = parent_of(few.parents, parent);
            if (above != parent) atomicMin(few.parents + own, above);
        }
    __syncthreads();
    for (unsigned own = threadIdx.x, turn = 1; own < runs; own += THREADS, turn *= 2)
        for (int edge = more & turn ? 0 : 1; edge < plan.inner; ++edge) {
            unsigned count, there = touched(own, edge, count);
            for (; count; --count) unite_shared(few.parents, own, there++);
        }
    __syncthreads();
    // Which are roots, and how many come before.
    for (unsigned from = threadIdx.x - lane; from < runs; from += THREADS) {
        const unsigned own = from + lane;
        const unsigned roots = __ballot_sync(ALL, own < runs && few.parents[own] == own);
        if (lane == 0) few.roots[from / 32] = roots;
    }
    __syncthreads();
    const unsigned own_roots = 32 * lane < runs ? __popc(few.roots[lane]) : 0;
    unsigned rooted = own_roots;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, rooted, step);
        if (lane >= step) rooted += other;
    }
    rooted -= own_roots;
    const auto roots_before = [&](unsigned at) {
        const unsigned bits = at < runs ? few.roots[at / 32] & ((1u << at % 32) - 1) : 0;
        const unsigned before = __shfl_sync(ALL, rooted, at / 32);
        return at < runs ? before + __popc(bits) : ~0u;
    };
    const unsigned all_roots = __shfl_sync(ALL, rooted + own_roots, 31);
    unsigned rank[3];
    const Corner corner = where;
    const Lines<Tile> lines(plan, corner);
#pragma unroll
    for (int k = 0; k < 3; ++k) rank[k] = min(roots_before(base[k]), all_roots);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const unsigned given = rank[k + 1] - rank[k];
        if (word == 0 && lines.inside(k))
            job.counts[lines[k] * plan.segments + corner.segment] = totals[row + k] << 16 | given;
        const Id node = first_pixel(plan, lines[k], corner.segment);
        for (unsigned j = word; j < given; j += Words) nodes[node + j] = node + j;
    }
    for (unsigned from = threadIdx.x - lane; from < runs; from += THREADS) {
        const unsigned own = from + lane, line = own < runs ? few.begins[own] >> 10 : 0;
        const unsigned mine = roots_before(own), first = roots_before(few.before[line]);
        if (own < runs && few.roots[from / 32] >> lane & 1)
            few.parents[own] = NODE | (line * Tile::Capacity + mine - first);
    }
    __syncthreads();
    u2* const entries = few.ends;
    for (unsigned own = threadIdx.x; own < runs; own += THREADS) {
        unsigned parent = few.parents[own];
        while (!(parent & NODE)) parent = few.parents[parent];
        entries[own] = static_cast<u2>(parent);
    }
    __syncthreads();
    // A few threads for each row, each with two entries at once.
    constexpr unsigned Beside = NEAR / 2;
    for (unsigned at = threadIdx.x; at < Tile::Rows * Beside; at += THREADS) {
        const unsigned line = at / Beside, count = totals[line], before = few.before[line];
        const unsigned whole = (count + NEAR - 1) / NEAR * NEAR;
        const Index there = corner.row + line / Tall * static_cast<Index>(plan.shape[4]) + line % Tall;
        unsigned* const table = reinterpret_cast<unsigned*>(
            run_table<false>(plan, nodes, job.tables, there, corner.segment, count));
        for (unsigned j = at % Beside * 2; j < whole; j += 2 * Beside) {
            const unsigned one = j < count ? entries[before + j] : 0;
            const unsigned two = j + 1 < count ? entries[before + j + 1] : 0;
            table[j / 2] = two << 16 | one;
        }
    }
    return true;
}
