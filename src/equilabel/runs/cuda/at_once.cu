// All passes of `runs` in one launch, for images whose tiles all run at the same time. A block finds the runs
// of a tile, its warps unite borders, and then it labels and paints 256 words, counted in raster order.

#include "devices/cuda/grid_barrier.cuh"
#include "runs/cuda/find_tile.cuh"
#include "runs/cuda/join_tiles.cuh"
#include "runs/cuda/node_labels.cuh"
#include "runs/cuda/paint_words.cuh"

constexpr int TEAM = THREADS / 32;               // warps of a block
constexpr int HOPS = 8;                          // steps up a chain that are not stored
constexpr unsigned long long TOLD = 1ull << 32;  // marks a number of roots in `states` as valid

template <typename Tile>
union Memory {
    TileMemory<Tile> tile;
    JoinMemory<THREADS> join;
    LabelTable<u4, 32 / Tile::Words * Tile::Capacity> label_of_warp[TEAM];
};

// A thread's word, its contents, and the runs of its segment; neighboring threads have neighboring words.
template <typename Tile>
struct Word {
    Index begin;            // first pixel
    int count;              // pixels
    unsigned set, start;    // foreground; where runs begin
    unsigned run, runs;     // runs before the word, with Capacity a segment; of the segment
    unsigned nodes;         // of the segment
    u4 base;                // first node of the tile
    const u2* table;

    __device__ Word(const Job& job, Index place)
    {
        constexpr int Words = Tile::Words;
        const Plan& plan = job.plan;
        const int word = threadIdx.x % Words, lane = threadIdx.x % 32;
        const Index segments = plan.rows * plan.segments;
        const bool real = place / Words < segments;
        const Index mine = real ? place / Words : segments - 1;
        Place<Index> here;
        here.row = line_of(plan, mine, here.segment);
        const unsigned row = static_cast<unsigned>(here.row), layer = row / plan.shape[4];
        here.y = row - layer * plan.shape[4];
        here.z = layer % plan.shape[3];
        begin = first_pixel(plan, here.row, here.segment) + 32 * word;
        count = real ? word_size(plan, here.segment, word) : 0;
        set = real ? job.bits[place] : 0;
        const unsigned numbers = real ? job.counts[mine] : 0;
        start = Tile::Many && real ? job.begins[place] : 0;
        if (!Tile::Many) start = set & ~from_left<Words>(set);
        unsigned total;
        run = runs_before<Words>(start, total) + lane / Words * Tile::Capacity;
        runs = numbers >> 16;
        nodes = numbers & 0xffff;
        base = static_cast<u4>(tile_base<Tile>(plan, here));
        table = run_table<Tile::Many>(plan, static_cast<u4*>(job.nodes), job.tables, here.row,
                                      here.segment, runs);
    }

    // The node of a run.
    __device__ u4 node(const Plan& plan, unsigned run) const
    {
        return node_of<Tile>(plan, base, table[run]);
    }
};

// The nodes of a warp's segments, as one sequence; lane k holds the numbers of segment k.
struct WarpNodes {
    unsigned before, count;  // nodes before the segment; of all
    u4 first;                // the first node, less those before

    __device__ WarpNodes(unsigned of_segment, u4 node)
    {
        const int lane = threadIdx.x % 32;
        unsigned sum = of_segment;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        count = __shfl_sync(ALL, sum, 31);
        before = sum - of_segment;
        first = node - before;
    }

    __device__ u4 operator[](unsigned item) const
    {
        int segment = 0;  // the last one with at most `item` nodes before it
#pragma unroll
        for (int step = 16; step; step /= 2)
            if (item >= __shfl_sync(ALL, before, segment + step)) segment += step;
        return __shfl_sync(ALL, first, segment) + item;
    }
};

// The label of a node; waits until it has one.
__device__ inline u4 label_of(const u4* nodes, u4 node)
{
    u4 entry = parent_of(nodes, node);
    while (!(entry & LABEL<u4>)) entry = parent_of(nodes, entry);
    return entry & ~LABEL<u4>;
}

// Counts of warps, in shared memory.
struct Sums {
    unsigned of_warp[TEAM], before[TEAM];
};

// Publish the number of roots of this block; returns the number in the warps before this one.
__device__ inline unsigned tell_roots(const Job& job, unsigned roots, Sums& sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) sums.of_warp[warp] = roots;
    __syncthreads();
    const unsigned part = lane < TEAM ? sums.of_warp[lane] : 0;
    const unsigned total = sum_of_warp(part);
    if (threadIdx.x == 0) __stcg(job.states + blockIdx.x, TOLD | total);
    return sum_of_warp(lane < warp ? part : 0);
}

// The number of roots of the blocks before this one. All blocks run at the same time, and each publishes
// its number before it waits for others.
__device__ inline unsigned roots_before(const Job& job, Sums& sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const volatile unsigned long long* const states = job.states;
    unsigned sum = 0;
    for (unsigned other = threadIdx.x; other < blockIdx.x; other += THREADS) {
        unsigned long long state = 0;
        while (!(state & TOLD)) state = states[other];
        sum += static_cast<unsigned>(state);
    }
    sum = sum_of_warp(sum);
    if (lane == 0) sums.before[warp] = sum;
    __syncthreads();
    return sum_of_warp(lane < TEAM ? sums.before[lane] : 0);
}

// Climb to the root of a node, or to an ancestor with a label; returns true if `HOPS` steps did not reach it.
__device__ inline bool climb_near(const u4* nodes, u4& node)
{
    for (int hop = 0; hop < HOPS; ++hop) {
        const u4 parent = parent_of(nodes, node);
        if (parent == node || parent & LABEL<u4>) return false;
        node = parent;
    }
    return true;
}

// The root of a node, or an ancestor with a label. The thread also climbs from one of its own nodes, and
// stores each ancestor there, which shortens the chain.
__device__ inline u4 climb_both(u4* nodes, u4 node, const u4 own)
{
    u4 at = own;
    while (true) {
        const u4 parent = parent_of(nodes, node), above = parent_of(nodes, at);
        const bool further = parent != node && !(parent & LABEL<u4>);
        const bool higher = above != at && !(above & LABEL<u4>);
        if (!further && !higher) return node;
        if (further) node = parent;
        if (!higher) continue;
        if (at != own) __stcg(nodes + own, above);
        at = above;
    }
}

// Why the races are safe: as in numbering.cu, a thread stores labels to its own roots only, and others read
// a parent or a final label. The block that labels a root waits only for the counts of other blocks, which
// these publish before they wait.
template <typename Pixel, typename Tile, typename Edges, typename Blocks>
__device__ __forceinline__ void
label_all(const Job& job, const Edges& edges)
{
    constexpr int Words = Tile::Words, Beside = 32 / Words;
    __shared__ Memory<Tile> memory;
    __shared__ Sums sums;
    const Plan& plan = job.plan;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, word = lane % Words;
    u4* const nodes = static_cast<u4*>(job.nodes);

    const Corner corner = corner_of<Tile>(plan, blockIdx.x);
    if (corner.row < plan.rows) find_tile<Pixel, u4, Tile, true>(job, blockIdx.x, memory.tile);
    Blocks::wait();

    // Warps of all blocks unite rows, then seams.
    const Pixel* const image = static_cast<const Pixel*>(job.image);
    const unsigned across = 32 * gridDim.x, rows = (job.groups * Words + 31) / 32 * 32;
    unsigned* const queue = memory.join.queue + threadIdx.x / Words * (QUEUE * Words);
    for (unsigned item = 32 * blockIdx.x + across * warp + lane; item - lane < rows; item += TEAM * across)
        join_rows<Pixel, u4, Tile>(image, plan, edges, job.bits, job.begins, nodes, job.tables,
                                   static_cast<Index>(item / Words), job.groups, queue);
    for (unsigned item = 32 * blockIdx.x + across * (TEAM - 1 - warp) + lane; item < job.seams;
         item += TEAM * across)
        join_seam<Pixel, u4, Tile>(image, plan, edges, job.bits, job.counts, nodes, job.tables,
                                   static_cast<Index>(item));
    __syncwarp();
    // No union changes these, so they are loaded while other blocks unite.
    const Word<Tile> own(job, thread_index());
    const bool has_run = word < own.runs;
    const u4 entry = has_run ? own.node(plan, word) : 0;
    Blocks::wait();

    const unsigned from_lane = lane * Words % 32;
    const unsigned of_segment = __shfl_sync(ALL, own.nodes, from_lane);
    const u4 first_of = __shfl_sync(ALL, static_cast<u4>(own.begin) - 32 * word, from_lane);
    const WarpNodes nodes_of(lane < Beside ? of_segment : 0, first_of);
    unsigned roots = 0, near = 0;
    for (unsigned from = 0; from < nodes_of.count; from += 32) {
        const u4 node = nodes_of[from + lane];
        const bool root = from + lane < nodes_of.count && parent_of(nodes, node) == node;
        const unsigned set = __ballot_sync(ALL, root);
        if (from == 0) near = set;
        roots += __popc(set);
    }
    const unsigned here = tell_roots(job, roots, sums);
    // While counts of blocks arrive, runs climb. Long chains get shorter: each thread on one of them halves it
    // for the threads behind.
    u4 node = entry;
    if (__any_sync(ALL, has_run && climb_near(nodes, node))) {
        unsigned from = 0;
        do {
            const u4 mine = nodes_of[from + lane];
            if (from + lane < nodes_of.count)
                node = climb_both(nodes, has_run ? node : mine, mine);
            else if (has_run)
                node = climb_both(nodes, node, node);
            from += 32;
        } while (from < nodes_of.count);
    }
    u4 label = roots_before(job, sums) + here + job.first_label - 1;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == THREADS - 1)
        *job.found = label + roots - job.first_label + 1;
    for (unsigned from = 0; roots && from < nodes_of.count; from += 32) {
        const u4 node = nodes_of[from + lane];
        unsigned set = near;
        if (from) {
            const bool root = from + lane < nodes_of.count && parent_of(nodes, node) == node;
            set = __ballot_sync(ALL, root);
        }
        if (set >> lane & 1) __stcg(nodes + node, LABEL<u4> | (label + __popc(set & ((2u << lane) - 1))));
        label += __popc(set);
    }
    __syncwarp();

    auto& label_of_run = memory.label_of_warp[warp];
    const unsigned base = lane / Words * Tile::Capacity;
    if (has_run) label_of_run.set(base + word, label_of(nodes, node));
    for (unsigned j = word + Words; j < own.runs; j += Words)
        label_of_run.set(base + j, label_of(nodes, own.node(plan, j)));
    __syncwarp();
    u4* const labels = static_cast<u4*>(job.labels);
    if (job.quads)
        paint_quads<Tile::Many>(label_of_run, own.set, own.start, own.run, own.begin, own.count, labels);
    else
        paint_pixels(label_of_run, own.set, own.start, own.run, own.begin, own.count, labels);
}

template <typename Pixel, typename LowTile, typename Edges>
__global__ void __launch_bounds__(THREADS, 4)
    label_at_once(const __grid_constant__ Job job, const __grid_constant__ Edges edges)
{
    label_all<Pixel, LowTile, Edges, WholeGrid>(job, edges);
}

template <typename Pixel, typename LowTile, typename Edges>
__global__ void CLUSTERS __launch_bounds__(THREADS, 2)
    label_in_cluster(const __grid_constant__ Job job, const __grid_constant__ Edges edges)
{
    label_all<Pixel, LowTile, Edges, WholeCluster>(job, edges);
}
