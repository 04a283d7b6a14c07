// First pass of `runs`: pixels of a tile to bits, and its components in shared memory, row by row.

#include "runs/cuda/pixels.cuh"

// Read the words of a thread: foreground, and where runs begin.
template <typename Pixel, typename Tile>
__device__ inline void read_tile(const Job& job, const Corner& corner, const Lines<Tile>& lines,
                                 unsigned (&set)[Tile::Each], unsigned (&start)[Tile::Each])
{
    constexpr int Words = Tile::Words, Each = Tile::Each;
    const Plan& plan = job.plan;
    const Pixel* const image = static_cast<const Pixel*>(job.image);
    const Test<Pixel> test(job.background, job.compare);
    const int word = threadIdx.x % Words;
    const bool whole = sizeof(Pixel) == 1 && !Tile::Many && job.aligned && job.compare != EVERY &&
                       corner.y + Tile::Tall <= plan.shape[4] && corner.z + Tile::Deep <= plan.shape[3] &&
                       word_size(plan, corner.segment, Words - 1) == 32;
    if constexpr (sizeof(Pixel) == 1)
        if (whole) read_whole<Words>(image + first_pixel(plan, lines[0], corner.segment), plan.columns, test, set);
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
        else if (job.fours)
            read_quads<Tile::Many, true, Words>(image, begin, count, test, set[k], joined);
        else
            read_quads<Tile::Many, false, Words>(image, begin, count, test, set[k], joined);
        if (job.compare == EVERY) set[k] = count ? ALL >> (32 - count) : 0;
        if (!Tile::Many) joined = from_left<Words>(set[k]);
        start[k] = set[k] & ~joined;
    }
}

// One block per tile. Writes `bits` (and `begins` of images of several values), the numbers of runs and nodes of each
// segment (`counts`: 16 bits each), the nodes as their own parents, and the node of every run.
// Clears `states` for the pass that numbers.
template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS, Tile::Blocks)
    find_tiles(const __grid_constant__ Job job)
{
    constexpr int Words = Tile::Words, Each = Tile::Each, Pitch = Tile::Pitch;
    constexpr bool Many = Tile::Many;
    __shared__ unsigned parents[Tile::Rows * Pitch], words[THREADS * Each], starts[Many ? THREADS * Each : 1];
    __shared__ u2 firsts[THREADS * Each];  // runs of the row before a word
    // To save registers: a thread has 40 or 48, and what does not fit is spilled to local memory, which takes cache from
    // the passes that follow.
    __shared__ Corner kept_corner;
    __shared__ u2 totals[Tile::Rows];  // runs of a row
    const Plan& plan = job.plan;
    const Pixel* const __restrict__ image = static_cast<const Pixel*>(job.image);
    const int thread = threadIdx.x, row = thread / Words * Each, word = thread % Words;
    const int here = row * Words + word;
    const Index state = static_cast<Index>(blockIdx.x) * THREADS + thread;
    if (state <= job.blocks) job.states[state] = 0;
    const Corner corner = corner_of<Tile>(plan, blockIdx.x);
    if (thread == 0) kept_corner = corner;
    const Lines<Tile> lines(plan, corner);

    unsigned set[Each], start[Each], run[Each], some = 0;
    read_tile<Pixel>(job, corner, lines, set, start);
    {
        unsigned total[Each];
        runs_before<Words>(start, run, total);
#pragma unroll
        for (int k = 0; k < Each; ++k) {
            const Index place = (lines[k] * plan.segments + corner.segment) * Words + word;
            if (lines.inside(k)) {
                job.bits[place] = set[k];
                if (Many) job.begins[place] = start[k];
            }
            words[here + k * Words] = set[k];
            if (Many) starts[here + k * Words] = start[k];
            firsts[here + k * Words] = run[k];
            if (word == 0) totals[row + k] = total[k];
            some |= set[k];
        }
    }
    if (!__syncthreads_or(some)) {  // no foreground
#pragma unroll
        for (int k = 0; k < Each; ++k)
            if (lines.inside(k) && word == 0) job.counts[lines[k] * plan.segments + corner.segment] = 0;
        return;
    }
    if constexpr (!Many) {  // read back, which saves registers
#pragma unroll
        for (int k = 0; k < Each; ++k) {
            set[k] = words[here + k * Words];
            start[k] = set[k] & ~from_left<Words>(set[k]);
            run[k] = firsts[here + k * Words];
        }
    }

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
    const bool busy = __any_sync(ALL, set[0] | set[Each - 1]);  // warps without foreground pass by
    Touch touch[Each] = {};
    unsigned other_start[Each];
#pragma unroll
    for (int k = 0; k < Each && busy; ++k) {
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
    for (int edge = 1; Tile::Deep > 1 && busy && edge < plan.inner; ++edge) {
        const int dz = plan.dz[edge], dy = plan.dy[edge], away = dz * Tile::Tall + dy;
#pragma unroll
        for (int k = 0; k < Each; ++k) {
            const int z = row / Tile::Tall, y = row % Tile::Tall + k;
            const bool exists = z + dz >= 0 && y + dy >= 0 && y + dy < Tile::Tall;
            const int mine = here + k * Words, there = mine + away * Words;
            const unsigned other = exists ? words[there] : 0;
            touch[k] = {0, 0, 0};
            if (!__any_sync(ALL, other)) continue;
            // Rows (z, y) and (z - 1, x): with x = y, the fourth side of a square is redundant where (z, y - 1)
            // and (z - 1, y - 1) are set too. With x = y +- 1, the edge is redundant where (z, x) or (z - 1, y)
            // is set. Each rule relies on smaller y or fewer steps, so the argument is not circular.
            unsigned known = 0;
            if (!Many && exists && dy == 0 && y)
                known = set[k] & other & words[mine - Words] & words[there - Words];
            if (!Many && exists && dy) known = words[mine + dy * Words] | words[mine - Tile::Tall * Words];
            if (!__any_sync(ALL, set[k] & ~known)) continue;
            touch[k] = touching_at(k, edge, exists, other, other_start[k], known);
        }
        unite_touching<Words, Pitch>(touch, start, run, row, other_start, row + away, firsts + (here + away * Words),
                                     parents);
    }
    __syncthreads();

    const Corner again = kept_corner;
    unsigned total[Each];
#pragma unroll
    for (int k = 0; k < Each; ++k) total[k] = totals[row + k];
    write_nodes<Id, Tile>(job, again, Lines<Tile>(plan, again), parents, row, word, start, run, total);
}
