// Third pass of `runs`: nodes to labels, 1 to N in raster order of the first pixels.
#include "forest.cuh"
#include "plan.cuh"

constexpr int LANES = 4;                   // threads that share a segment
constexpr int GROUPS = THREADS / LANES;    // segments of a block
constexpr unsigned long long PART = 1ull << 62, WHOLE = 2ull << 62, VALUE = PART - 1;

// The highest bit of an entry says that it is a label, no parent.
template <typename Id>
constexpr Id LABEL = Id(1) << (8 * sizeof(Id) - 1);

// Sum of what all blocks before this one have, by looking back at their states; all threads of a warp.
__device__ inline unsigned long long sum_before(unsigned long long* states, Index block)
{
    const int lane = threadIdx.x % 32;
    unsigned long long sum = 0;
    for (Index last = block - 1; last >= 0; last -= 32) {
        const Index other = last - lane;
        unsigned long long state = other >= 0 ? 0 : WHOLE;
        // Blocks draw their numbers in the order they start, so that those before are running.
        const volatile unsigned long long* there = states + other;
        while (other >= 0 && state < PART) state = *there;
        const unsigned whole = __ballot_sync(ALL, state >= WHOLE);
        const int end = whole ? __ffs(whole) - 1 : 31;
        unsigned long long part = lane <= end ? state & VALUE : 0;
#pragma unroll
        for (int step = 16; step; step /= 2) part += __shfl_xor_sync(ALL, part, step);
        sum += part;
        if (whole) break;
    }
    return sum;
}

// Flatten the forest and label its roots. `states` holds zeros: one for each block, one to draw numbers.
//
// Why the races are safe: a thread stores to its own entries only, to one that is no root the root of
// its set, to a root its label once every thread of the block has flattened. Others that come by
// find an ancestor or, at a root, a label, and stop.
template <typename Id>
__global__ void __launch_bounds__(THREADS)
    rank_roots(const Plan plan, const unsigned* __restrict__ counts, Id* nodes,
               unsigned long long* states, Index blocks, long long* found)
{
    __shared__ Index drawn;
    __shared__ unsigned roots_of[GROUPS];
    __shared__ unsigned long long base;
    if (threadIdx.x == 0) drawn = atomicAdd(states + blocks, 1ull);
    __syncthreads();
    const Index block = drawn;
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const Index segment = block * GROUPS + group;
    const bool real = segment < plan.rows * plan.segments;
    const unsigned count = real ? counts[segment] & 0xffff : 0;
    const Index row = segment / plan.segments;
    const Id first = first_node(plan, row, static_cast<int>(segment - row * plan.segments));

    unsigned roots = 0;
    for (unsigned k = lane; k < count; k += LANES) {
        const Id node = first + k;
        Id root = node, parent = parent_of(nodes, root);
        while (parent != root && !(parent & LABEL<Id>)) {
            root = parent;
            parent = parent_of(nodes, root);
        }
        if (root == node)
            ++roots;
        else
            __stcg(nodes + node, root);
    }
#pragma unroll
    for (int step = LANES / 2; step; step /= 2) roots += __shfl_xor_sync(ALL, roots, step, LANES);
    if (lane == 0) roots_of[group] = roots;
    __syncthreads();
    if (threadIdx.x < 32) {
        unsigned here[GROUPS / 32], sum = 0;
#pragma unroll
        for (int k = 0; k < GROUPS / 32; ++k) {
            here[k] = roots_of[GROUPS / 32 * threadIdx.x + k];
            sum += here[k];
        }
        const unsigned mine = sum;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (threadIdx.x >= step) sum += other;
        }
        const unsigned total = __shfl_sync(ALL, sum, 31);
        sum -= mine;
#pragma unroll
        for (int k = 0; k < GROUPS / 32; ++k) {
            roots_of[GROUPS / 32 * threadIdx.x + k] = sum;
            sum += here[k];
        }
        if (threadIdx.x == 0 && block) __stcg(states + block, PART | total);
        const unsigned long long before = sum_before(states, block);
        if (threadIdx.x == 0) {
            __stcg(states + block, WHOLE | (before + total));
            base = before;
            if (block == blocks - 1) *found = before + total;
        }
    }
    __syncthreads();

    if (roots == 0) return;  // the same for all threads of a group
    Id label = base + roots_of[group];
    const unsigned members = ((1u << LANES) - 1) << (threadIdx.x % 32 - lane);
    for (unsigned from = 0; from < count; from += LANES) {
        const Id node = first + from + lane;
        const bool root = from + lane < count && parent_of(nodes, node) == node;
        const unsigned set = __ballot_sync(members, root) & members;
        if (root) {
            const unsigned rank = __popc(set & ((2u << threadIdx.x % 32) - 1));
            __stcg(nodes + node, LABEL<Id> | (label + rank));
        }
        label += __popc(set);
    }
}

// Give every other node the label of its root. Roots are not stored to.
template <typename Id>
__global__ void __launch_bounds__(THREADS)
    spread_labels(const Plan plan, const unsigned* __restrict__ counts, Id* nodes)
{
    const Index segment = thread_index() / LANES;
    if (segment >= plan.rows * plan.segments) return;
    const unsigned count = counts[segment] & 0xffff;
    if (count == 0) return;
    const Index row = segment / plan.segments;
    const Index first = first_node(plan, row, static_cast<int>(segment - row * plan.segments));
    for (unsigned k = threadIdx.x % LANES; k < count; k += LANES) {
        const Id parent = nodes[first + k];
        if (!(parent & LABEL<Id>)) nodes[first + k] = nodes[parent];
    }
}
