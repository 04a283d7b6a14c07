// Nodes on their way to labels: those of a warp's segments, and the label that a node ends up with.
#pragma once
#include "resolve.cuh"
#include "union_find.cuh"

// Sum over a warp.
template <typename Value>
__device__ inline Value sum_of_warp(Value value)
{
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// The label of a node, once it has one.
template <typename Id>
__device__ inline Id label_of(const Id* nodes, Id node)
{
    Id entry = parent_of(nodes, node);
    while (!(entry & LABEL<Id>)) entry = parent_of(nodes, entry);
    return entry;
}

// The nodes of a warp's segments, one after the other; a thread knows of the segment of its number.
template <typename Id>
struct Items {
    unsigned before, count;  // nodes before the segment; of all
    Id first;                // the first node, less those before

    __device__ Items(unsigned of_segment, Id node)
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

    __device__ Id operator[](unsigned item) const
    {
        int segment = 0;  // the last one before which there are no more
#pragma unroll
        for (int step = 16; step; step /= 2)
            if (item >= __shfl_sync(ALL, before, segment + step)) segment += step;
        return __shfl_sync(ALL, first, segment) + item;
    }
};
