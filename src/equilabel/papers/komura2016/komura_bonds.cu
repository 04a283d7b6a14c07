// The generalized labeler (Komura 2016) on a lattice of bonds: its two passes that read neighbors.
//
// The list of neighbors of a site holds the earlier sites to which an open bond leads: forward (a bit of the
// site itself) or backward (a bit of the other site). Only around a periodic axis does a step forward lead to
// an earlier site. The residual list is the same list without its lowest site. Neither is stored.

#include "devices/cuda/union_find.cuh"

// A lattice and one of its sites; `Root` is wide enough for all flat indices.
template <typename Word, int rank, typename Root>
struct Site {
    const Word* __restrict__ open;
    const Index* __restrict__ shape;
    const Index* __restrict__ steps;
    const bool* __restrict__ periodic;
    Root site, coordinates[rank];
    bool around;  // whether any axis is periodic: otherwise no step forward leads to an earlier site

    __device__ Site(const Word* open, Index site, const Index* shape, const Index* steps,
                    const bool* periodic)
        : open(open), shape(shape), steps(steps), periodic(periodic), site(static_cast<Root>(site))
    {
        Root rest = this->site;
#pragma unroll
        for (int axis = rank - 1; axis > 0; --axis) {
            const Root side = static_cast<Root>(shape[axis]), above = rest / side;
            coordinates[axis] = rest - above * side;
            rest = above;
        }
        coordinates[0] = rest;
        around = false;
#pragma unroll
        for (int axis = 0; axis < rank; ++axis) around = around || periodic[axis];
    }

    // The site one step away, forward or backward; the site itself if that is outside.
    __device__ Root beside(Index k, bool forward) const
    {
        Root found = 0;
        bool inside = true;
#pragma unroll
        for (int axis = 0; axis < rank; ++axis) {
            const Root step = static_cast<Root>(steps[k * rank + axis]);
            const Root side = static_cast<Root>(shape[axis]);
            Root there = coordinates[axis] + (forward ? step : -step);
            if (there < 0 || there >= side) {
                inside = inside && periodic[axis];
                there = there < 0 ? side - 1 : 0;
            }
            found = found * side + there;
        }
        return inside ? found : site;
    }

    // The earlier site to which an open bond leads along step k, or the site itself.
    __device__ Root earlier(Index k, bool forward) const
    {
        if (forward && !around) return site;
        const Root other = beside(k, forward);
        if (other >= site) return site;
        return open[forward ? site : other] >> k & 1 ? other : site;
    }

    // The lowest of these sites, or the site itself, and their number.
    __device__ Root lowest(Index count, int& earlier_sites) const
    {
        Root found = site;
        earlier_sites = 0;
        for (Index k = 0; k < count; ++k) {
            const Root one = earlier(k, true), other = earlier(k, false);
            earlier_sites += (one != site) + (other != site);
            found = min(found, min(one, other));
        }
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
    const Site<Word, rank, Root> site(open, i, shape, steps, periodic);
    int earlier_sites;
    labels[i] = site.lowest(count, earlier_sites);
}

// Step (iii): unite every site with its residual list (Algorithm 1 is `unite_roots`). Around an axis of two
// sites, a site may occur twice: it is united twice or skipped twice, which gives the same labels.
template <typename Word, int rank, typename Root>
__global__ void unite_sites(const Word* __restrict__ open, Index size, const Index* __restrict__ shape,
                            const Index* __restrict__ steps, Index count,
                            const bool* __restrict__ periodic, Root* labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Site<Word, rank, Root> site(open, i, shape, steps, periodic);
    int earlier_sites;
    const Root self = static_cast<Root>(i), lowest = site.lowest(count, earlier_sites);
    if (earlier_sites < 2) return;
    for (Index k = 0; k < count; ++k) {
        for (int way = 0; way < 2; ++way) {
            const Root other = site.earlier(k, way == 0);
            if (other != self && other != lowest) unite_roots(labels, self, other);
        }
    }
}
