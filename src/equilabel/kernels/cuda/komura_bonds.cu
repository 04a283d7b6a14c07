// The generalized labeler (Komura 2016) on a lattice of bonds: its two passes that look at neighbors.
//
// The list of neighbors of a site holds the earlier sites to which an open bond leads: forward, by a bit
// of the site itself, or backward, by a bit of the other site. The two differ only at periodic
// boundaries, where a step forward may lead to an earlier site. The residual list is the same list
// without the lowest of them. Neither is stored.
#include "union_find.cuh"

// A lattice and one of its sites.
template <typename Word, int rank>
struct Site {
    const Word* __restrict__ open;
    const Index* __restrict__ shape;
    const Index* __restrict__ steps;
    const bool* __restrict__ periodic;
    Index site, coordinates[rank];

    __device__ Site(const Word* open, Index site, const Index* shape, const Index* steps,
                    const bool* periodic)
        : open(open), shape(shape), steps(steps), periodic(periodic), site(site)
    {
        Index rest = site;
#pragma unroll
        for (int axis = rank - 1; axis > 0; --axis) {
            const Index above = rest / shape[axis];
            coordinates[axis] = rest - above * shape[axis];
            rest = above;
        }
        coordinates[0] = rest;
    }

    // The site one step away, forward or backward; the site itself if that is outside.
    __device__ Index beside(Index k, bool forward) const
    {
        Index found = 0;
        bool inside = true;
#pragma unroll
        for (int axis = 0; axis < rank; ++axis) {
            const Index step = steps[k * rank + axis], side = shape[axis];
            Index there = coordinates[axis] + (forward ? step : -step);
            if (there < 0 || there >= side) {
                inside = inside && periodic[axis];
                there = there < 0 ? side - 1 : 0;
            }
            found = found * side + there;
        }
        return inside ? found : site;
    }

    // The earlier site to which an open bond leads along step k, or the site itself.
    __device__ Index earlier(Index k, bool forward) const
    {
        const Index other = beside(k, forward);
        if (other >= site) return site;
        return open[forward ? site : other] >> k & 1 ? other : site;
    }

    // The lowest of all of them, or the site itself.
    __device__ Index lowest(Index count) const
    {
        Index found = site;
        for (Index k = 0; k < count; ++k) found = min(found, min(earlier(k, true), earlier(k, false)));
        return found;
    }
};

// Step (i): the label is the lowest neighbor, or the site itself.
template <typename Word, int rank, typename Root>
__global__ void label_sites(const Word* __restrict__ open, Index size, const Index* __restrict__ shape,
                            const Index* __restrict__ steps, Index count,
                            const bool* __restrict__ periodic, Root* __restrict__ labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Site<Word, rank> site(open, i, shape, steps, periodic);
    labels[i] = static_cast<Root>(site.lowest(count));
}

// Step (iii): unite every site with its residual list (Algorithm 1 is `unite_roots`). A site that is met
// twice, around an axis of two sites, is united twice, or left out twice: it is the same bond to the labels.
template <typename Word, int rank, typename Root>
__global__ void unite_sites(const Word* __restrict__ open, Index size, const Index* __restrict__ shape,
                            const Index* __restrict__ steps, Index count,
                            const bool* __restrict__ periodic, Root* labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Site<Word, rank> site(open, i, shape, steps, periodic);
    const Index lowest = site.lowest(count);
    for (Index k = 0; k < count; ++k) {
        for (int way = 0; way < 2; ++way) {
            const Index other = site.earlier(k, way == 0);
            if (other != i && other != lowest)
                unite_roots(labels, static_cast<Root>(i), static_cast<Root>(other));
        }
    }
}
