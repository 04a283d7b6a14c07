// Chains of parents in a graph: their ends, for a few vertices of a thread at a time, and unions near them.
#pragma once
#include "union_find.cuh"

constexpr int HOPS = 16;       // of a chain that is not shortened on the way to a union
constexpr int LONG = 32;       // ... on the way of `compress` and `finish`
constexpr int TURNS = 8;       // in which a union is tried before chains are shortened on its way
constexpr int BATCH = 4;       // vertices of a thread of `compress` and `finish`

// The root of a vertex whose parent is known, or an ancestor some hops away. Old values, from a cache,
// are ancestors too.
template <typename Id>
__device__ inline Id climb(const Id* parents, Id parent)
{
    Id above = parents[parent];
    for (int hops = 0; above != parent && hops < HOPS; ++hops) {
        parent = above;
        above = parents[parent];
    }
    return parent;
}

// The roots of a few vertices. All climb at the same time: what they read is on its way together, and
// chains that lead from one to another get shorter while both are at work. After LONG hops each is stored
// for others to see: of all the threads at work on one long chain, each halves what is left to those behind
// it, so that the chain takes the logarithm of its length. Blocks start in order: those of smaller vertices
// have left short chains.
template <typename Id>
struct Ends {
    Id parent[BATCH], root[BATCH];

    __device__ Ends(Id* parents, Index size)
    {
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const Index i = thread_index(b, BATCH);
            root[b] = parent[b] = i < size ? parents[i] : 0;
        }
        bool more = true;
        for (int hops = 0; more && hops < LONG; ++hops) {
            Id above[BATCH];
            more = false;
#pragma unroll
            for (int b = 0; b < BATCH; ++b) above[b] = parents[root[b]];
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                more = more || above[b] != root[b];
                root[b] = above[b];
            }
        }
        while (more) {
            Id above[BATCH];
            more = false;
#pragma unroll
            for (int b = 0; b < BATCH; ++b) above[b] = parent_of(parents, root[b]);
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                if (above[b] == root[b]) continue;
                __stcg(parents + thread_index(b, BATCH), above[b]);
                root[b] = above[b];
                more = true;
            }
        }
    }
};

// `unite` at the end of long chains: called, as it is rare and would be compiled many times.
template <typename Id>
__device__ __noinline__ void unite_far(Id* parents, Id one, Id two)
{
    unite(parents, one, two);
}

// Give two vertices one root. Most have it already, a few hops away, or roots that few other threads are
// at. Nothing is stored on the way: near the root of a large component all would store to the same entries.
template <typename Id>
__device__ inline void unite_near(Id* parents, Id one, Id two)
{
#pragma unroll 1
    for (int turn = 0; turn < TURNS; ++turn) {
        one = climb(parents, parents[one]);
        two = climb(parents, parents[two]);
        if (one == two) return;
        const Id high = max(one, two), low = min(one, two);
        const Id seen = atomicCAS(parents + high, high, low);
        if (seen == high) return;
        one = seen;
        two = low;
    }
    unite_far(parents, one, two);
}
