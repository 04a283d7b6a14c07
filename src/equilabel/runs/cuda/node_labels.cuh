// Access to the nodes of a block's segments, and climbing to roots or labels.
#pragma once

#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"
#include "runs/cuda/tiling.cuh"

constexpr int MANY_THREADS = 1024;  // large blocks: fewer have to wait for each other
constexpr int WARPS = MANY_THREADS / 32;

// Sum over a warp.
template <typename Value>
__device__ inline Value sum_of_warp(Value value)
{
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// The nodes of a block's segments as one sequence of items, in shared memory; empty segments are left out.
template <typename Id, int SEGMENTS>
struct Items {
    static constexpr unsigned SOME = 1 << 20;  // sums count segments from this bit on, and nodes below it
    unsigned before[SEGMENTS + 32];            // nodes before a segment; of all after the last
    Id first[SEGMENTS];                        // the first node, less those before
    unsigned total;

    // All threads of the block call this; those beyond the segments have none.
    __device__ void count(unsigned own, Id node, unsigned (&sums)[WARPS])
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned mine = own + (own ? SOME : 0);
        unsigned sum = mine;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        if (threadIdx.x < SEGMENTS) before[threadIdx.x] = ~0u;
        if (threadIdx.x < 32) before[SEGMENTS + threadIdx.x] = ~0u;
        __syncthreads();
        sum += sum_of_warp(lane < warp ? sums[lane] : 0) - mine;
        if (own) {
            before[sum / SOME] = sum % SOME;
            first[sum / SOME] = node - sum % SOME;
        }
        if (threadIdx.x == MANY_THREADS - 1) total = (sum + mine) % SOME;
        __syncthreads();
    }

    // The segment of an item.
    __device__ unsigned find(unsigned item) const
    {
        unsigned segment = 0;
#pragma unroll
        for (int step = SEGMENTS / 2; step; step /= 2)
            if (item >= before[segment + step]) segment += step;
        return segment;
    }

    // The segment of this lane's item, of 32 items from `from` on. `segment`, equal in all lanes, is that of the
    // first item or of the item before; it becomes that of the last. All threads of a warp call this.
    __device__ unsigned advance(unsigned from, unsigned& segment) const
    {
        const int lane = threadIdx.x % 32;
        const unsigned begins = before[min(segment + 1 + lane, SEGMENTS + 31u)] - from;
        const unsigned marks = any_bits(begins < 32 ? 1u << begins : 0);
        const unsigned mine = segment + __popc(marks & ((2u << lane) - 1));
        segment += __popc(marks);
        return mine;
    }
};

// Call `visit` for the nodes of a range of items, 64 at once, by all threads of a warp together: with two nodes for
// each thread, whether they exist, and the number of groups of 32 items before them.
template <typename Id, int SEGMENTS, class Visit>
__device__ inline void visit_nodes(const Items<Id, SEGMENTS>& items, unsigned begin, unsigned end,
                                   const Visit& visit)
{
    unsigned segment = items.find(begin);
    for (unsigned from = begin; from < end; from += 64) {
        Id node[2];
        const unsigned item = from + threadIdx.x % 32;
        node[0] = items.first[items.advance(from, segment)] + item;
        node[1] = items.first[items.advance(from + 32, segment)] + item + 32;
        visit(node, item < end, item + 32 < end, from / 32);
    }
}

// Climb from nodes that are not roots to their roots, or to the labels of these. Each step is stored, so that
// chains in which many threads climb are halved at each step. With `Waiting`, climb until labels are found.
template <typename Id, bool Waiting>
__device__ inline void climb(Id* nodes, const Id (&node)[2], const bool (&real)[2])
{
    bool climbs[2];
    Id parent[2], above[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) parent[k] = real[k] ? parent_of(nodes, node[k]) : LABEL<Id>;
#pragma unroll
    for (int k = 0; k < 2; ++k) climbs[k] = !(parent[k] & LABEL<Id>);
    while (climbs[0] || climbs[1]) {
#pragma unroll
        for (int k = 0; k < 2; ++k) above[k] = climbs[k] ? parent_of(nodes, parent[k]) : parent[k];
        bool rises = false;
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if (above[k] != parent[k]) {
                __stcg(nodes + node[k], above[k]);
                rises = true;
            }
            climbs[k] = climbs[k] && !(above[k] & LABEL<Id>) && (Waiting || above[k] != parent[k]);
            parent[k] = above[k];
        }
#if __CUDA_ARCH__ >= 700
        if (Waiting && !rises) __nanosleep(200);  // let others use the memory until roots have their labels
#endif
    }
}

// The same for all nodes that a warp has listed.
template <typename Id, bool Waiting>
__device__ inline void climb_listed(Id* nodes, const Id* list, unsigned count)
{
    for (unsigned at = threadIdx.x % 32; at < count; at += 64) {
        const bool real[2] = {true, at + 32 < count};
        const Id node[2] = {list[at], real[1] ? list[at + 32] : 0};
        climb<Id, Waiting>(nodes, node, real);
    }
}
