// Chains of entries, each with a smaller one as parent, or itself; and unions that wait in a queue.
//
// Roots become children of smaller entries by compare-and-swap alone, and what is no root only ever gets
// ancestors as parents: no union is lost, and chains end.
#pragma once
#include "index.cuh"

__device__ inline unsigned parent_in(const volatile unsigned* parents, unsigned at)
{
    return parents[at];
}

// The parents of four entries in shared memory, the first of which is a multiple of four.
__device__ inline void parents_of_four(const unsigned* parents, unsigned first, unsigned (&parent)[4])
{
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(parents + first));
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parent[0]), "=r"(parent[1]), "=r"(parent[2]), "=r"(parent[3]) : "r"(place) : "memory");
}

// Give two entries one root, the smaller of theirs: climb from both at once, halving the ways.
__device__ inline void unite_entries(unsigned* parents, unsigned one, unsigned two)
{
    unsigned parent = parent_in(parents, one), other = parent_in(parents, two);
    while (parent != other) {
        const unsigned above = parent_in(parents, parent), beyond = parent_in(parents, other);
        if (above == parent && beyond == other) {
            const unsigned high = max(parent, other), low = min(parent, other);
            const unsigned seen = atomicCAS(parents + high, high, low);
            if (seen == high) return;
            one = high;
            parent = seen;
            two = other = low;
        } else {
            if (above != parent) {
                atomicMin(parents + one, above);
                one = parent;
                parent = above;
            }
            if (beyond != other) {
                atomicMin(parents + two, beyond);
                two = other;
                other = beyond;
            }
        }
    }
}

constexpr unsigned NONE = ~0u;  // instead of an entry

// Climb from `Count` entries at once, where there are some, given their parents, to what are roots by then. Each
// step is stored, so that chains in which many climb are halved.
template <int Count>
__device__ inline void climb_all(unsigned* parents, const unsigned (&own)[Count], unsigned (&parent)[Count])
{
    bool more = true;
    while (more) {
        more = false;
#pragma unroll
        for (int j = 0; j < Count; ++j) {
            if (parent[j] == NONE) continue;
            const unsigned above = parent_in(parents, parent[j]);
            if (above == parent[j]) continue;
            atomicMin(parents + own[j], above);
            parent[j] = above;
            more = true;
        }
    }
}

constexpr unsigned UNITED = ~0u;

// Pairs of entries to be united, shared by the threads of a block so that all have equally many: first what tells
// where they touch, in the same places. Entries are told by 16 bits, counted from `first` or, the second of a pair,
// from `second`.
struct Queue {
    unsigned *parents, *pairs, *count;
    unsigned first, second, room;

    // Reserve places for some pairs; returns the first. All threads of a warp call this together.
    __device__ unsigned reserve(unsigned pairs) const
    {
        const int lane = threadIdx.x % 32;
        unsigned sum = pairs, before = 0;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31 && sum) before = atomicAdd(count, sum);
        return __shfl_sync(ALL, before, 31) + sum - pairs;
    }

    // Unite two if that takes one step; returns whether it did.
    __device__ bool unite_soon(unsigned one, unsigned two) const
    {
        const unsigned parent = parent_in(parents, first + one), other = parent_in(parents, second + two);
        const unsigned high = max(parent, other), low = min(parent, other);
        return high == low || atomicCAS(parents + high, high, low) == high;
    }

    // Unite all pairs that wait; threads have waited for each other.
    __device__ void unite() const
    {
        const unsigned all = min(*count, room);
        for (unsigned at = threadIdx.x; at < all; at += blockDim.x)
            if (const unsigned pair = pairs[at]; pair != UNITED)
                unite_entries(parents, first + (pair >> 16), second + (pair & 0xffff));
    }
};
