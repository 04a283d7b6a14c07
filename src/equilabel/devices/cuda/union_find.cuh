// Forests of indices: parents[i] <= i, and roots are their own parents.
//
// Why the races of `unite` are safe: an entry changes in two ways only. `unite` turns a root into a child of a
// smaller entry, by compare-and-swap, which fails if it is no root any more. On its way it lets entries
// that are no roots point to their grandparents, by a plain store: an old value that comes late is an
// ancestor still, and a root is never stored to. So chains end, in the root of the set, whoever wins.
#pragma once

#include "devices/cuda/index.cuh"

// How far to climb in search of the other root. Where many unite at once, waiting chains grow: past
// this, a root goes below an entry that is none, which is right too, but makes chains longer.
constexpr int CLIMB = 8, CLIMB_SHARED = 2;

// Past the first-level caches, which do not see what other multiprocessors store; volatile, or the
// compiler may take an earlier value for granted.
template <typename Id>
__device__ inline Id parent_of(const volatile Id* parents, Id index)
{
    return parents[index];
}

// The root of an entry; nothing is changed. An old value, from a cache or overtaken by another thread,
// lies on the way to the same root, and chains only go down: the walk ends.
template <typename Id>
__device__ inline Id root_of(const Id* parents, Id index)
{
    Id parent = parents[index];
    for (Id above = parents[parent]; above != parent; above = parents[parent]) parent = above;
    return parent;
}

// Give two entries one root, the smaller of theirs: label reduction (Komura 2016, Algorithm 1).
//
// Why the races are safe: roots are lowered by atomicMin alone, which answers with what was there. If
// that is no longer `high`, another thread has joined a chain there, and the lower of both entries
// stays; the other is joined to it in the next turn. An entry that `root_of` took for a root too late,
// or from an old cache line, is found out in the same way. No join is lost, and the root is the lowest
// index of the set in whatever order threads come.
template <typename Id>
__device__ inline void unite_roots(Id* parents, Id one, Id two)
{
    Id high = root_of(parents, one);
    Id low = root_of(parents, two);
    bool done = high == low;
    if (high < low) {
        const Id lower = high;
        high = low;
        low = lower;
    }
    while (!done) {
        const Id before = atomicMin(parents + high, low);
        if (before == low) {
            done = true;
        } else if (before > low) {
            high = before;
        } else {
            high = low;
            low = before;
        }
    }
}

// Climb from both at once until both are roots, or for long enough, and let the entries passed skip one;
// then the larger root goes below the other end, unless another thread was first. `parent` and `other`
// have been read from the entries of both.
template <typename Id>
__device__ inline void unite(Id* parents, Id one, Id two, Id parent, Id other)
{
    for (int hops = 0; parent != other; ++hops) {
        if (parent < other) {
            Id swap = one;
            one = two;
            two = swap;
            swap = parent;
            parent = other;
            other = swap;
        }
        if (parent == one && (other == two || hops >= CLIMB)) {
            const Id seen = atomicCAS(parents + one, one, other);
            if (seen == one) return;
            parent = seen;
        } else {
            const Id next = parent_of(parents, parent), beyond = parent_of(parents, other);
            if (next != parent) __stcg(parents + one, next);
            if (beyond != other) __stcg(parents + two, beyond);
            one = parent;
            two = other;
            parent = next;
            other = beyond;
        }
    }
}

template <typename Id>
__device__ inline void unite(Id* parents, Id one, Id two)
{
    unite(parents, one, two, parent_of(parents, one), parent_of(parents, two));
}

// The same in shared memory. Chains are shortened by an atomic operation there, which costs little:
// entries only get smaller, and compute-sanitizer can tell that no two threads are in each other's way.
__device__ inline void unite_shared(unsigned* parents, unsigned one, unsigned two)
{
    unsigned parent = parent_of(parents, one), other = parent_of(parents, two);
    for (int hops = 0; parent != other; ++hops) {
        if (parent < other) {
            unsigned swap = one;
            one = two;
            two = swap;
            swap = parent;
            parent = other;
            other = swap;
        }
        if (parent == one && (other == two || hops >= CLIMB_SHARED)) {
            const unsigned seen = atomicCAS(parents + one, one, other);
            if (seen == one) return;
            parent = seen;
        } else {
            const unsigned next = parent_of(parents, parent);
            if (next != parent) atomicMin(parents + one, next);
            one = parent;
            parent = next;
            if (hops < CLIMB_SHARED) {
                const unsigned beyond = parent_of(parents, other);
                if (beyond != other) atomicMin(parents + two, beyond);
                two = other;
                other = beyond;
            }
        }
    }
}
