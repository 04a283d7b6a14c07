// Third pass of `runs`: nodes, then runs, get labels in raster order of the first pixels, from 1 to N, or
// from 0 where there is no background.
#include "node_labels.cuh"

constexpr int MANY_THREADS = 1024;                 // few blocks have to wait for few
constexpr int WARPS = MANY_THREADS / 32;
constexpr unsigned long long PART = 1ull << 62, WHOLE = 2ull << 62, VALUE = PART - 1;

// Sum of what all blocks before this one have, by looking back at their states, a thousand at once.
// Each is waited for: it is that of a block that drew a smaller number, so that it runs or has run, and
// it tells its part before it waits for anything.
__device__ inline unsigned long long sum_before(const volatile unsigned long long* states, Index block)
{
    __shared__ Index from;
    __shared__ unsigned long long sums[WARPS];
    unsigned long long sum = 0;
    for (Index last = block - 1; last >= 0; last -= MANY_THREADS) {
        if (threadIdx.x == 0) from = 0;
        __syncthreads();
        const Index other = last - threadIdx.x;
        unsigned long long state = other >= 0 ? 0 : PART;
        while (state < PART) state = states[other];
        // Of all that are whole, the last counts, and none before.
        if (state >= WHOLE) atomicMax(&from, other);
        __syncthreads();
        const Index first = from;
        const unsigned long long part = sum_of_warp(other >= first ? state & VALUE : 0);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = part;
        __syncthreads();
        sum += sum_of_warp(sums[threadIdx.x % 32]);
        if (first) break;
    }
    return sum;
}

// Label the roots of a forest, then all nodes. `states` holds zeros: one for each block, one to draw
// numbers. A warp takes 256 words, in up to 32 segments.
//
// Why the races are safe: a thread stores to its own entries only, a label and nothing else, to roots
// first. Who comes by finds a parent or a label that is final. A thread that waits for the label of a
// root waits for a smaller index: for its own block, whose roots are all labeled by then, or for one that
// drew a smaller number, which runs and waits for none but smaller ones.
template <typename Id, int WORDS>
__global__ void __launch_bounds__(MANY_THREADS)
    number_nodes(const Job job)
{
    constexpr int Segments = WORDS < 8 ? 32 : 256 / WORDS;
    __shared__ Index drawn;
    __shared__ unsigned roots_of[WARPS];
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    if (threadIdx.x == 0) drawn = atomicAdd(job.states + job.blocks, 1ull);
    __syncthreads();
    const Index block = drawn;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Index mine = (block * WARPS + warp) * Segments + lane;
    const bool real = lane < Segments && mine < plan.rows * plan.segments;
    int segment;
    const Index line = line_of(plan, mine, segment);
    const Items<Id> own(real ? job.counts[mine] & 0xffff : 0, first_pixel(plan, line, segment));

    unsigned roots = 0;
#pragma unroll 4
    for (unsigned from = 0; from < own.count; from += 32) {
        const Id node = own[from + lane];
        const bool root = from + lane < own.count && parent_of(nodes, node) == node;
        roots += __popc(__ballot_sync(ALL, root));
    }
    if (lane == 0) roots_of[warp] = roots;
    __syncthreads();
    const unsigned part = roots_of[lane];
    const unsigned total = sum_of_warp(part), here = sum_of_warp(lane < warp ? part : 0);
    if (threadIdx.x == 0) __stcg(job.states + block, PART | total);
    const unsigned long long before = sum_before(job.states, block);
    if (threadIdx.x == 0) {
        __stcg(job.states + block, WHOLE | (before + total));
        if (block == job.blocks - 1) *job.found = before + total;
    }

    if (roots) {
        Id label = before + here + job.first_label - 1;
#pragma unroll 4
        for (unsigned from = 0; from < own.count; from += 32) {
            const Id node = own[from + lane];
            const bool root = from + lane < own.count && parent_of(nodes, node) == node;
            const unsigned set = __ballot_sync(ALL, root);
            if (root) __stcg(nodes + node, LABEL<Id> | (label + __popc(set & ((2u << lane) - 1))));
            label += __popc(set);
        }
    }
    __syncthreads();
    for (unsigned from = 0; from < own.count; from += 32) {
        const Id node = own[from + lane];
        if (from + lane >= own.count) continue;
        const Id entry = parent_of(nodes, node);
        if (!(entry & LABEL<Id>)) __stcg(nodes + node, label_of(nodes, entry));
    }
}

// In the run tables, put labels in place of nodes.
template <typename Id, int WORDS, bool MANY>
__global__ void __launch_bounds__(THREADS)
    label_entries(const Job job)
{
    const Plan& plan = job.plan;
    int segment;
    const Index line = line_of(plan, thread_index() / WORDS, segment) * SETTLED;
    const Index left = plan.rows - line;
    if (left > 0)
        resolve<Id, WORDS, MANY>(job, line, segment, left < SETTLED ? static_cast<int>(left) : SETTLED,
                                [](int, unsigned, Id) {});
}
