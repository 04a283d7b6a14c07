// Label relaxation (Weigel 2011, Section II.C.1): the roots on both sides of each border between tiles
// exchange their labels until nothing changes.
//
// Between `label_tiles` and `spread`, roots[i] is the root of an element in its tile, unless the element is
// a root itself: roots[r] is the label of root r, at first r.

#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"
#include "papers/meshes/lattice.cuh"

// One thread for each element. A link counts if it leaves the tile, or leads around a periodic axis, and the
// roots differ.
template <class Use>
__device__ inline void each_pair(const Lattice& lattice, const u2* __restrict__ links, Index i,
                                 const Index* __restrict__ roots, const Use& use)
{
    const unsigned bits = links[i] & ~FOREGROUND;
    if (bits == 0) return;
    const Site site = site_of(lattice, i);
    for (int k = 0; k < lattice.count; ++k) {
        if (!(bits >> k & 1) || seam_level(lattice, site, k) == 0) continue;
        const Index one = roots[i], other = roots[neighbor(lattice, site, k, 1)];
        if (one != other) use(one, other);
    }
}

__global__ void count_pairs(const __grid_constant__ Lattice lattice, const u2* __restrict__ links, Index size,
                            const Index* __restrict__ roots, u8* count)
{
    const Index i = thread_index();
    u8 mine = 0;
    if (i < size) each_pair(lattice, links, i, roots, [&](Index, Index) { ++mine; });
    const u8 all = sum_of_all(mine);
    if (threadIdx.x % 32 == 0 && all) atomicAdd(count, all);
}

// Each warp takes a part of the list; the order of warps does not matter.
__global__ void store_pairs(const __grid_constant__ Lattice lattice, const u2* __restrict__ links, Index size,
                            const Index* __restrict__ roots, u8* next, Index* pairs)
{
    const Index i = thread_index();
    const int lane = threadIdx.x % 32;
    unsigned mine = 0;
    if (i < size) each_pair(lattice, links, i, roots, [&](Index, Index) { ++mine; });
    unsigned before = mine;  // of this lane and those before it
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, before, step);
        if (lane >= step) before += other;
    }
    u8 begin = 0;
    if (lane == 31 && before) begin = atomicAdd(next, static_cast<u8>(before));
    begin = __shfl_sync(ALL, begin, 31) + before - mine;
    if (i >= size) return;
    each_pair(lattice, links, i, roots, [&](Index one, Index other) {
        pairs[2 * begin] = one;
        pairs[2 * begin + 1] = other;
        ++begin;
    });
}

// One thread for each pair, which gives both roots the smaller label.
//
// Why the races are safe: labels are only lowered, by atomicMin, to labels of the same component, so old
// labels do no harm. `changed` is set if two labels differed, of which one is lower after the launch; so the
// rounds end. The last round has found no pair that differs.
__global__ void relax(Index count, const Index* __restrict__ pairs, Index* roots, int* changed)
{
    const Index i = thread_index();
    if (i >= count) return;
    const Index one = pairs[2 * i], other = pairs[2 * i + 1];
    const Index mine = parent_of(roots, one), theirs = parent_of(roots, other);
    if (mine == theirs) return;
    atomicMin(roots + (mine > theirs ? one : other), min(mine, theirs));
    if (*changed == 0) *changed = 1;  // all threads write the same value
}

// A root holds the smallest index of its component, which holds itself: a root is overwritten with the value
// that it has, so what other threads read does not change.
__global__ void spread(Index size, Index* roots)
{
    const Index i = thread_index();
    if (i < size && roots[i] >= 0) roots[i] = roots[roots[i]];
}
