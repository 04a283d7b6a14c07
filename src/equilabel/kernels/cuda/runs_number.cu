// Third pass of `runs`: nodes to labels, 1 to N in raster order of the first pixels.
#include "forest.cuh"
#include "plan.cuh"

constexpr int MANY_THREADS = 1024;                 // few blocks have to wait for few
constexpr int WARPS = MANY_THREADS / 32;
constexpr int SEGMENTS = 8;                         // of a warp
constexpr unsigned long long PART = 1ull << 62, WHOLE = 2ull << 62, VALUE = PART - 1;

// The highest bit of an entry says that it is a label, no parent.
template <typename Id>
constexpr Id LABEL = Id(1) << (8 * sizeof(Id) - 1);

// Sum over a warp.
template <typename Value>
__device__ inline Value sum_of_warp(Value value)
{
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

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

// The nodes of a warp's segments, one after the other.
template <typename Id>
struct Nodes {
    Id first[SEGMENTS];        // index of the first node of a segment, less the nodes before
    unsigned begin[SEGMENTS];  // nodes before
    unsigned count;

    __device__ Id operator[](unsigned k) const
    {
        Id start = first[0];
#pragma unroll
        for (int j = 1; j < SEGMENTS; ++j)
            if (k >= begin[j]) start = first[j];
        return start + k;
    }
};

template <typename Id>
__device__ inline Nodes<Id> nodes_of(Index rows, int segments, Index pitch, int width,
                                     const unsigned* counts, Index segment)
{
    const int lane = threadIdx.x % 32;
    const Index mine = segment + lane % SEGMENTS;
    const unsigned count = mine < rows * segments ? counts[mine] & 0xffff : 0;
    const Index row = mine / segments;
    const Id first = row * pitch + (mine - row * segments) * width;
    Nodes<Id> nodes;
    nodes.count = 0;
#pragma unroll
    for (int j = 0; j < SEGMENTS; ++j) {
        nodes.begin[j] = nodes.count;
        nodes.first[j] = __shfl_sync(ALL, first, j) - nodes.count;
        nodes.count += __shfl_sync(ALL, count, j);
    }
    return nodes;
}

// Label the roots of a forest, then all nodes. `states` holds zeros: one for each block, one to draw
// numbers.
//
// Why the races are safe: a thread stores to its own entries only, a label and nothing else, to roots
// first. Who comes by finds a parent or a label that is final. A thread that waits for the label of a
// root waits for a smaller index: for its own block, whose roots are all labeled by then, or for one that
// drew a smaller number, which runs and waits for none but smaller ones.
template <typename Id>
__global__ void __launch_bounds__(MANY_THREADS)
    number_nodes(Index rows, int segments, Index pitch, int width, const unsigned* __restrict__ counts,
                 Id* nodes, unsigned long long* states, Index blocks, long long* found)
{
    __shared__ Index drawn;
    __shared__ unsigned roots_of[WARPS];
    if (threadIdx.x == 0) drawn = atomicAdd(states + blocks, 1ull);
    __syncthreads();
    const Index block = drawn;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Nodes<Id> mine = nodes_of<Id>(rows, segments, pitch, width, counts,
                                        (block * WARPS + warp) * SEGMENTS);
    unsigned roots = 0;
#pragma unroll 4
    for (unsigned from = 0; from < mine.count; from += 32) {
        const Id node = mine[from + lane];
        const bool root = from + lane < mine.count && parent_of(nodes, node) == node;
        roots += __popc(__ballot_sync(ALL, root));
    }
    if (lane == 0) roots_of[warp] = roots;
    __syncthreads();
    const unsigned part = roots_of[lane];
    const unsigned total = sum_of_warp(part), here = sum_of_warp(lane < warp ? part : 0);
    if (threadIdx.x == 0) __stcg(states + block, PART | total);
    const unsigned long long before = sum_before(states, block);
    if (threadIdx.x == 0) {
        __stcg(states + block, WHOLE | (before + total));
        if (block == blocks - 1) *found = before + total;
    }

    if (roots) {
        Id label = before + here;
#pragma unroll 4
        for (unsigned from = 0; from < mine.count; from += 32) {
            const Id node = mine[from + lane];
            const bool root = from + lane < mine.count && parent_of(nodes, node) == node;
            const unsigned set = __ballot_sync(ALL, root);
            if (root) __stcg(nodes + node, LABEL<Id> | (label + __popc(set & ((2u << lane) - 1))));
            label += __popc(set);
        }
    }
    __syncthreads();
    for (unsigned k = lane; k < mine.count; k += 32) {
        const Id node = mine[k];
        Id parent = parent_of(nodes, node);
        if (parent & LABEL<Id>) continue;
        while (!(parent & LABEL<Id>)) parent = parent_of(nodes, parent);
        __stcg(nodes + node, parent);
    }
}
