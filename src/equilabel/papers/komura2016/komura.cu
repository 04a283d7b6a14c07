// The generalized labeler (Komura 2016) on images, lattices of bonds and graphs: three kernels in four
// launches, no host loop.

#include "devices/cuda/union_find.cuh"
#include "papers/meshes/grid.cuh"

// ---- Images
// Labels are flat indices, -1 for background; a label is at most the index of its element. The list of
// neighbors of an element holds its earlier neighbors of equal value, the lowest first; the residual list is
// the same list without its first entry. Neither is stored.

constexpr int BATCH = 4;  // elements of a thread of `analyze`

// Step (i): the label is the lowest neighbor, or the element itself.
template <typename Pixel, int rank>
__global__ void initialize(const Pixel* __restrict__ values, bool has_background, Pixel background,
                           Index size, const Index* __restrict__ shape,
                           const Index* __restrict__ steps, const Index* __restrict__ offsets,
                           Index count, Index* __restrict__ labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Pixel value = values[i];
    Index label = i;
    if (has_background && value == background) {
        label = -1;
    } else {
        const Place<rank> place(i, shape);
        for (Index k = 0; k < count && label == i; ++k)
            if (place.inside(steps + k * rank, shape) && values[i + offsets[k]] == value)
                label = i + offsets[k];
    }
    labels[i] = label;
}

// Steps (ii) and (iv). A thread writes the roots of its own elements, which no thread changes; others that
// read them find a shorter chain to the same root. A few elements per thread climb at once: their reads overlap.
template <typename Root>
__global__ void analyze(Index size, Root* labels)
{
    Root label[BATCH], root[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
        const Index i = thread_index(b, BATCH);
        root[b] = label[b] = i < size ? labels[i] : static_cast<Root>(-1);
    }
    bool more = true;
    while (more) {
        Root above[BATCH];
        more = false;
#pragma unroll
        for (int b = 0; b < BATCH; ++b) above[b] = root[b] < 0 ? root[b] : labels[root[b]];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            more = more || above[b] != root[b];
            root[b] = above[b];
        }
    }
#pragma unroll
    for (int b = 0; b < BATCH; ++b)
        if (root[b] != label[b]) labels[thread_index(b, BATCH)] = root[b];
}

// Step (iii): unite every element with its residual list (Algorithm 1 is `unite_roots`).
template <typename Pixel, int rank>
__global__ void reduce_labels(const Pixel* __restrict__ values, Index size,
                              const Index* __restrict__ shape, const Index* __restrict__ steps,
                              const Index* __restrict__ offsets, Index count, Index* labels)
{
    const Index i = thread_index();
    if (i >= size || labels[i] < 0) return;
    const Pixel value = values[i];
    const Place<rank> place(i, shape);
    bool residual = false;
    for (Index k = 0; k < count; ++k) {
        if (place.inside(steps + k * rank, shape) && values[i + offsets[k]] == value) {
            if (residual) unite_roots(labels, i, i + offsets[k]);
            residual = true;
        }
    }
}

// ---- Lattices of bonds: the two passes that read neighbors
// The list of neighbors of a site holds the earlier sites to which an open bond leads: forward (a bit of the
// site itself) or backward (a bit of the other site). Only around a periodic axis does a step forward lead to
// an earlier site. The residual list is the same list without its lowest site. Neither is stored.

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

// ---- Graphs: a few vertices per thread, with their lists of neighbors
// Neighbors below a vertex, except the lowest, which is its first label, are its residual list. The lowest
// is searched again instead of being removed.

// Lists of neighbors of the vertices of a thread, read so that loads overlap. Lists after the last vertex are
// empty.
template <typename Offset, typename Node, typename Root, int batch>
struct Lists {
    const Node* __restrict__ neighbors;
    Offset begin[batch], end[batch];
    Root vertex[batch], lowest[batch];  // lowest of the neighbors and the vertex itself
    int below[batch];                   // number of neighbors below the vertex

    __device__ Lists(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors, Index size)
        : neighbors(neighbors)
    {
#pragma unroll
        for (int b = 0; b < batch; ++b) {
            const Index i = thread_index(b, batch);
            vertex[b] = lowest[b] = static_cast<Root>(i);
            below[b] = 0;
            begin[b] = i < size ? offsets[i] : 0;
            end[b] = i < size ? offsets[i + 1] : 0;
        }
        if constexpr (batch == 1) {
            for (Offset k = begin[0]; k < end[0]; ++k) note(0, neighbors[k]);
            return;
        }
        bool more = true;
        for (Offset k = 0; more; ++k) {
            more = false;
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                if (k < end[b] - begin[b]) {
                    note(b, neighbors[begin[b] + k]);
                    more = true;
                }
            }
        }
    }

    __device__ void note(int b, Node neighbor)
    {
        const Root j = static_cast<Root>(neighbor);
        below[b] += j < vertex[b];
        lowest[b] = min(lowest[b], j);
    }
};

// Step (i): the label is the lowest of the neighbors and the vertex itself (Figure 2).
template <typename Offset, typename Node, typename Root, int batch>
__global__ void label_vertices(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                               Index size, Root* __restrict__ labels)
{
    const Lists<Offset, Node, Root, batch> lists(offsets, neighbors, size);
#pragma unroll
    for (int b = 0; b < batch; ++b) {
        const Index i = thread_index(b, batch);
        if (i < size) labels[i] = lists.lowest[b];
    }
}

// Step (iii): unite every vertex with its residual list (Algorithm 1 is `unite_roots`, which says why
// its races are safe).
template <typename Offset, typename Node, typename Root, int batch>
__global__ void unite_vertices(const Offset* __restrict__ offsets,
                               const Node* __restrict__ neighbors, Index size, Root* labels)
{
    const Lists<Offset, Node, Root, batch> lists(offsets, neighbors, size);
#pragma unroll
    for (int b = 0; b < batch; ++b) {
        if (lists.below[b] < 2) continue;
        const Root i = lists.vertex[b];
        for (Offset k = lists.begin[b]; k < lists.end[b]; ++k) {
            const Root j = static_cast<Root>(neighbors[k]);
            if (lists.lowest[b] < j && j < i) unite_roots(labels, i, j);
        }
    }
}
