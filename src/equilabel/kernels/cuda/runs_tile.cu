// First pass of `runs`: pixels to bits, and components of every tile by its runs, in shared memory.
#include "bits.cuh"
#include "forest.cuh"

constexpr unsigned NODE = 0x80000000u;  // marks a number of a node among parents

// Point every run at a run above it, if one touches it, else at itself; bits used are taken out.
__device__ inline void adopt(Touch& touch, unsigned begins, unsigned run, unsigned other,
                             unsigned other_begins, unsigned* parents)
{
    for (unsigned rest = begins; rest; ++run) {
        const unsigned bit = rest & -rest;
        rest ^= bit;
        const unsigned span = (rest ? rest & -rest : 0) - bit;
        unsigned parent = run;
        if (const unsigned found = touch.straight & span) {
            parent = run_at(other, other_begins, __ffs(found) - 1);
            touch.straight ^= found & -found;
        } else if (touch.left & bit) {
            parent = run_left_of(other, other_begins, __ffs(bit) - 1);
            touch.left ^= bit;
        } else if (const unsigned found = touch.right & span) {
            parent = run_at(other, other_begins, __ffs(found) - 1) + 1;
            touch.right ^= found & -found;
        }
        parents[run] = parent;
    }
}

__device__ inline void unite_touching(Touch touch, unsigned run, unsigned begins, unsigned other,
                                      unsigned other_begins, unsigned* parents)
{
    while (touch.straight | touch.left | touch.right) {
        unsigned there;
        const int bit = take(touch, other, other_begins, there);
        unite_shared(parents, run_at(run, begins, bit), there);
    }
}

// What is set in the words of a thread, and where runs begin in them.
template <typename Tile, typename Pixel>
__device__ inline void read_tile(const Pixel* image, Pixel background, bool bounded, bool aligned,
                                 const Plan& plan, const Corner& corner, const Lines<Tile>& lines,
                                 unsigned (&set)[Tile::Each], unsigned (&start)[Tile::Each])
{
    constexpr int Words = Tile::Words, Each = Tile::Each;
    const int word = threadIdx.x % Words;
    const bool whole = sizeof(Pixel) == 1 && aligned && bounded &&
                       corner.y + Tile::Tall <= plan.shape[4] &&
                       corner.z + Tile::Deep <= plan.shape[3] &&
                       word_size(plan, corner.segment, Words - 1) == 32;
    if (whole)
        differing_whole<Words>(image + first_pixel(plan, lines[0], corner.segment),
                               lines.step * plan.columns, background, set);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (!whole || Tile::Many) {
            const Index begin = first_pixel(plan, lines[k], corner.segment) + 32 * word;
            const int count = lines.inside(k) ? word_size(plan, corner.segment, word) : 0;
            if (!bounded)
                set[k] = count ? ALL >> (32 - count) : 0;
            else if (!whole)
                set[k] = differing(image, plan.rows * plan.columns, begin, count, background);
            if (Tile::Many) start[k] = set[k] & ~agreeing(image, begin, count, Index(-1), word == 0, 0);
        }
        if (!Tile::Many) start[k] = set[k] & ~from_left<Words>(set[k]);
    }
}

// One block per tile. Writes `bits` (and `begins` of many-valued images), how many runs and nodes each
// segment has (`counts`: 16 bits each), the nodes as their own parents, and the node of every run.
// Clears `states` for the pass that numbers. `aligned` says that rows of bytes begin at multiples of 16.
template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS, Tile::Blocks)
    find_tiles(const Pixel* __restrict__ image, Pixel background, bool bounded, bool aligned,
               const Plan plan, unsigned* __restrict__ bits, unsigned* __restrict__ begins,
               unsigned* __restrict__ counts, Id* __restrict__ nodes, u2* __restrict__ tables,
               unsigned long long* __restrict__ states, Index states_size)
{
    constexpr int Words = Tile::Words, Each = Tile::Each, Abreast = Tile::Abreast;
    constexpr int Capacity = Tile::Capacity;
    constexpr bool Many = Tile::Many;
    __shared__ unsigned parents[Tile::Rows * Capacity];
    __shared__ unsigned words[THREADS * Each], starts[Many ? THREADS * Each : 1];
    __shared__ u2 firsts[THREADS * Each];  // runs of the tile before a word

    const int thread = threadIdx.x, row = thread / Words, word = thread % Words;
    const Index state = static_cast<Index>(blockIdx.x) * THREADS + thread;
    if (state < states_size) states[state] = 0;
    const Corner corner = corner_of<Tile>(plan, blockIdx.x);
    const Lines<Tile> lines(plan, corner);
    const auto segment_of = [&](int k) { return lines[k] * plan.segments + corner.segment; };

    unsigned set[Each], start[Each], run[Each], total[Each];
    read_tile<Tile>(image, background, bounded, aligned, plan, corner, lines, set, start);
    runs_before<Words>(start, run, total);
    unsigned some = 0;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (lines.inside(k)) {
            bits[segment_of(k) * Words + word] = set[k];
            if (Many) begins[segment_of(k) * Words + word] = start[k];
        }
        run[k] += (k * Abreast + row) * Capacity;
        words[k * THREADS + thread] = set[k];
        if (Many) starts[k * THREADS + thread] = start[k];
        firsts[k * THREADS + thread] = run[k];
        some |= set[k];
    }
    if (!__syncthreads_or(some)) {
#pragma unroll
        for (int k = 0; k < Each; ++k)
            if (lines.inside(k) && word == 0) counts[segment_of(k)] = 0;
        return;
    }

    // The row above first: it gives most runs their parents without a race.
    const auto touching_at = [&](int k, int edge, bool exists, unsigned other, unsigned& other_start,
                                 unsigned known) {
        const int there = k * THREADS + thread + (plan.dz[edge] * Tile::Tall + plan.dy[edge]) * Words;
        if (Many) {
            other_start = exists ? starts[there] : 0;
            const int count = exists && lines.inside(k) ? word_size(plan, corner.segment, word) : 0;
            const bool last = word_size(plan, corner.segment, word + 1) == 0;
            return touching<Words>(image, first_pixel(plan, lines[k], corner.segment) + 32 * word, count,
                                   last, -plan.back[edge] * plan.columns, set[k], start[k], other,
                                   other_start, plan.diagonal[edge]);
        }
        other_start = other & ~from_left<Words>(other);
        if (edge == 0) return touching<Words>(set[k], start[k], other, other_start, plan.diagonal[0]);
        return touching<Words>(set[k], other, plan.diagonal[edge], known);
    };
    Touch above[Each];
    unsigned above_start[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const bool exists = (k * Abreast + row) % Tile::Tall > 0 && plan.inner > 0;
        const int there = k * THREADS + thread - Words;
        above[k] = touching_at(k, 0, exists, exists ? words[there] : 0, above_start[k], 0);
        adopt(above[k], start[k], run[k], exists ? firsts[there] : 0, above_start[k], parents);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Each; ++k)
        if (above[k].straight | above[k].left | above[k].right)
            unite_touching(above[k], run[k], start[k], firsts[k * THREADS + thread - Words],
                           above_start[k], parents);
    // Of tiles that span two axes, the rows of the layer above.
    for (int edge = 1; Tile::Deep > 1 && edge < plan.inner; ++edge) {
        const int dz = plan.dz[edge], dy = plan.dy[edge];
#pragma unroll
        for (int k = 0; k < Each; ++k) {
            const int z = (k * Abreast + row) / Tile::Tall, y = row % Tile::Tall;
            const bool exists = z + dz >= 0 && y + dy >= 0 && y + dy < Tile::Tall && dy < lines.below;
            const int here = k * THREADS + thread, there = here + (dz * Tile::Tall + dy) * Words;
            const unsigned other = exists ? words[there] : 0;
            // Rows (z, y) and (z - 1, x): with x = y, a square's fourth side need not be followed where
            // (z, y - 1) and (z - 1, y - 1) are set too. With x = y +- 1, nothing need be where (z, x)
            // or (z - 1, y) is. Each rule leans on smaller y or fewer steps: no circle.
            unsigned known = 0, other_start;
            if (!Many && exists && dy == 0 && y)
                known = set[k] & other & words[here - Words] & words[there - Words];
            if (!Many && exists && dy) known = words[here + dy * Words] | words[here - Tile::Tall * Words];
            const Touch touch = touching_at(k, edge, exists, other, other_start, known);
            if (touch.straight | touch.left | touch.right)
                unite_touching(touch, run[k], start[k], firsts[there], other_start, parents);
        }
    }
    __syncthreads();

    // Roots become nodes, in order. A thread reads and writes entries of its own runs only.
    unsigned roots[Each], rank[Each], given[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        roots[k] = 0;
        for (int j = 0; j < __popc(start[k]); ++j)
            roots[k] |= static_cast<unsigned>(parents[run[k] + j] == run[k] + j) << j;
    }
    runs_before<Words>(roots, rank, given);
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (word == 0 && lines.inside(k)) counts[segment_of(k)] = total[k] << 16 | given[k];
        if (roots[k] == 0) continue;
        Id node = first_node(plan, lines[k], corner.segment) + rank[k];
        unsigned number = NODE | ((k * Abreast + row) * Capacity + rank[k]);
        for (unsigned rest = roots[k]; rest; rest &= rest - 1) {
            parents[run[k] + __ffs(rest) - 1] = number++;
            nodes[node] = node;
            ++node;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        if (start[k] == 0) continue;
        u2* table = run_table<Tile>(plan, nodes, tables, lines[k], corner.segment) +
                    (run[k] - (k * Abreast + row) * Capacity);
        for (int j = 0; j < __popc(start[k]); ++j) {
            unsigned parent = parents[run[k] + j];
            while (!(parent & NODE)) parent = parents[parent];
            table[j] = static_cast<u2>(parent);
        }
    }
}
