// Forests of indices: parents[i] <= i, and roots are their own parents.
//
// Why the races are safe: an entry changes in two ways only. `unite` turns a root into a child of a
// smaller root, by compare-and-swap, which fails if it is no root any more. `find` lets an entry that is
// no root point to its grandparent, by a plain store: an old value that comes late is an ancestor still,
// and a root is never stored to. So chains end, in the root of the set, whoever wins.
#pragma once
#include "grid.cuh"

// Past the first-level caches, which do not see what other multiprocessors store; volatile, or the
// compiler may take an earlier value for granted.
template <typename Id>
__device__ inline Id parent_of(const volatile Id* parents, Id index)
{
    return parents[index];
}

template <typename Id>
__device__ inline Id find(Id* parents, Id index)
{
    Id parent = parent_of(parents, index);
    while (parent != index) {
        const Id next = parent_of(parents, parent);
        if (next == parent) return parent;
        __stcg(parents + index, next);
        index = next;
        parent = parent_of(parents, index);
    }
    return index;
}

template <typename Id>
__device__ inline void unite(Id* parents, Id one, Id two)
{
    while (one != two) {
        one = find(parents, one);
        two = find(parents, two);
        if (one == two) return;
        if (one < two) {
            const Id swap = one;
            one = two;
            two = swap;
        }
        const Id seen = atomicCAS(parents + one, one, two);
        if (seen == one) return;
        one = seen;
    }
}

// The same in shared memory. Chains are shortened by an atomic operation there, which costs little:
// entries only get smaller, and compute-sanitizer can tell that no two threads are in each other's way.
__device__ inline unsigned find_shared(volatile unsigned* parents, unsigned index)
{
    unsigned parent = parents[index];
    while (parent != index) {
        const unsigned next = parents[parent];
        if (next == parent) return parent;
        atomicMin(const_cast<unsigned*>(parents) + index, next);
        index = next;
        parent = parents[index];
    }
    return index;
}

__device__ inline void unite_shared(unsigned* parents, unsigned one, unsigned two)
{
    while (one != two) {
        one = find_shared(parents, one);
        two = find_shared(parents, two);
        if (one == two) return;
        const unsigned high = max(one, two);
        two = min(one, two);
        one = atomicCAS(parents + high, high, two);
        if (one == high) return;
    }
}
