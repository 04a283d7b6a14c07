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

// One block per tile. Writes `bits` (and `begins` of many-valued images), how many runs and nodes each
// segment has (`counts`: 16 bits each), the nodes as their own parents, and the node of every run.
// Clears `states` for the pass that numbers.
template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS)
    find_tiles(const Pixel* __restrict__ image, Pixel value, Compare compare, const Plan plan,
               unsigned* __restrict__ bits, unsigned* __restrict__ begins,
               unsigned* __restrict__ counts, Id* __restrict__ nodes, u2* __restrict__ tables,
               unsigned long long* __restrict__ states, Index states_size)
{
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    __shared__ unsigned parents[Tile::Rows * Tile::Capacity];
    __shared__ unsigned words[THREADS], starts[Many ? THREADS : 1], firsts[THREADS];
    __shared__ unsigned runs[Tile::Rows];

    const int thread = threadIdx.x, row = thread / Words, word = thread % Words;
    const Index state = static_cast<Index>(blockIdx.x) * THREADS + thread;
    if (state < states_size) states[state] = 0;

    unsigned index = blockIdx.x;
    const int segment = index % plan.segments;
    index /= plan.segments;
    const int y0 = index % plan.tiles[4] * Tile::Tall;
    index /= plan.tiles[4];
    const int z0 = index % plan.tiles[3] * Tile::Deep;
    const Index slab = index / plan.tiles[3];
    const Index corner = (slab * plan.shape[3] + z0) * plan.shape[4] + y0;
    const int z = row / Tile::Tall, y = row % Tile::Tall;
    const bool inside = z0 + z < plan.shape[3] && y0 + y < plan.shape[4];
    const Index line = corner + static_cast<Index>(z) * plan.shape[4] + y;
    const Index begin = first_pixel(plan, line, segment) + 32 * word;
    const int count = inside ? word_size(plan, segment, word) : 0;

    unsigned set;
    if (compare == EVERY)
        set = count ? ALL >> (32 - count) : 0;
    else
        set = foreground(image, plan.rows * plan.columns, begin, count, compare, value);
    unsigned start = set & ~from_left<Words>(set);
    if (Many) start = set & ~agreeing(image, begin, count, Index(-1), word == 0, 0);
    const Index place = (line * plan.segments + segment) * Words + word;
    if (inside) {
        bits[place] = set;
        if (Many) begins[place] = start;
    }
    words[thread] = set;
    if (Many) starts[thread] = start;
    unsigned total;
    const unsigned first = row * Tile::Capacity + runs_before<Words>(start, total);
    firsts[thread] = first;
    if (word == 0) runs[row] = total;

    if (!__syncthreads_or(set)) {
        if (inside && word == 0) counts[line * plan.segments + segment] = 0;
        return;
    }

    // The row above first: it gives most runs their parents without a race.
    Touch touch = {0, 0, 0};
    unsigned other = 0, other_begins = 0;
    for (int edge = 0; edge < max(plan.inner, 1); ++edge) {
        const bool real = edge < plan.inner;
        const int dz = real ? plan.step[edge][3] : 0, dy = real ? plan.step[edge][4] : 0;
        const bool exists = real && z + dz >= 0 && y + dy >= 0 && y + dy < Tile::Tall &&
                            y0 + y + dy < plan.shape[4];
        const int there = thread + (dz * Tile::Tall + dy) * Words;
        const unsigned set_there = exists ? words[there] : 0;
        other = exists ? firsts[there] : 0;
        if (Many) {
            other_begins = exists ? starts[there] : 0;
            const int some = exists ? count : 0;
            touch = touching<Words>(image, begin, some, word_size(plan, segment, word + 1) == 0,
                                    real ? -plan.back[edge] * plan.columns : 0, set, start,
                                    set_there, other_begins, real && plan.diagonal[edge]);
        } else {
            other_begins = set_there & ~from_left<Words>(set_there);
            // Rows (z, y) and (z - 1, x): with x = y, a square's fourth side need not be followed where
            // (z, y - 1) and (z - 1, y - 1) are set too. With x = y +- 1, nothing need be where
            // (z, x) or (z - 1, y) is. Each rule leans on smaller y or fewer steps: no circle.
            unsigned known = 0;
            if (Tile::Deep > 1 && edge > 0 && exists) {
                if (dy == 0)
                    known = y ? set & set_there & words[thread - Words] & words[there - Words] : 0;
                else
                    known = words[thread + dy * Words] | words[thread - Tile::Tall * Words];
            }
            touch = touching<Words>(set, set_there, real && plan.diagonal[edge], known);
        }
        if (edge == 0) {
            adopt(touch, start, first, other, other_begins, parents);
            __syncthreads();
        }
        unite_touching(touch, first, start, other, other_begins, parents);
    }
    __syncthreads();

    // Roots become nodes, in order. A thread reads and writes its own entries only.
    const int lane = thread % 32, warp = thread / 32;
    constexpr int Each = 32 / Words;  // rows of a warp
    for (int k = 0; k < Each; ++k) {
        const int r = warp * Each + k;
        const Index there = corner + static_cast<Index>(r / Tile::Tall) * plan.shape[4] + r % Tile::Tall;
        const Index node = first_node(plan, there, segment);
        unsigned given = 0;
        for (unsigned from = 0; from < runs[r]; from += 32) {
            const unsigned run = r * Tile::Capacity + from + lane;
            const bool root = from + lane < runs[r] && parents[run] == run;
            const unsigned roots = __ballot_sync(ALL, root);
            if (root) {
                const unsigned rank = given + __popc(roots & ((1u << lane) - 1));
                parents[run] = NODE | (r * Tile::Capacity + rank);
                nodes[node + rank] = node + rank;
            }
            given += __popc(roots);
        }
        const bool exists = z0 + r / Tile::Tall < plan.shape[3] && y0 + r % Tile::Tall < plan.shape[4];
        if (lane == 0 && exists) counts[there * plan.segments + segment] = runs[r] << 16 | given;
    }
    __syncthreads();
    for (int k = 0; k < Each; ++k) {
        const int r = warp * Each + k;
        if (runs[r] == 0) continue;
        const Index there = corner + static_cast<Index>(r / Tile::Tall) * plan.shape[4] + r % Tile::Tall;
        u2* table = run_table<Tile>(plan, nodes, tables, there, segment);
        for (unsigned run = lane; run < runs[r]; run += 32) {
            unsigned parent = parents[r * Tile::Capacity + run];
            while (!(parent & NODE)) parent = parents[parent];
            table[run] = static_cast<u2>(parent);
        }
    }
}
