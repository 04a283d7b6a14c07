// Hierarchical sewing (Weigel 2011, Section II.C.2): links across the seams of a level are inserted as
// unions of trees of indices, roots[i] <= i, in global memory.
//
// In the paper, a block sews a square of tiles with one thread or two, because its unions would conflict.
// Those of union_find.cuh do not: every element along every seam of a level has a thread, and only levels
// come one after the other.

#include "devices/cuda/union_find.cuh"
#include "papers/meshes/lattice.cuh"

// Unite a site with sites that it is linked to, along steps in one direction of the axis. A link that also
// crosses a seam of a higher level along another axis is left for that level.
__device__ inline void sew_site(const Lattice& lattice, const u2* __restrict__ links, const Site& site,
                                int axis, int way, int level, u8* roots)
{
    const Index here = element_at(lattice, site);
    const unsigned bits = links[here] & ~FOREGROUND;
    for (int k = 0; k < lattice.count; ++k)
        if (bits >> k & 1 && lattice.steps[4 * k + axis] == way && seam_level(lattice, site, k) == level)
            unite(roots, static_cast<u8>(here), static_cast<u8>(neighbor(lattice, site, k, 1)));
}

// Seams lie before the coordinates first, first + spacing, ... of the axis; the seam around a periodic axis
// lies before its side, and has level -1. One thread for each pair of elements that face each other across a
// seam. It reads roots of linked elements only, which are foreground.
__global__ void sew(const __grid_constant__ Lattice lattice, const u2* __restrict__ links, int axis,
                    Index first, Index spacing, Index pairs, Index across, int level, u8* roots)
{
    const Index i = thread_index();
    if (i >= pairs) return;
    const Index number = divide(i, across), seam = first + number * spacing;
    Index rest = i - number * across;
    Site site;
    for (int each = 3; each >= 0; --each) {
        const Index side = each == axis ? 1 : lattice.shape[each];
        const Index above = divide(rest, side);
        site.at[each] = rest - above * side;
        rest = above;
    }
    site.at[axis] = seam - 1;
    sew_site(lattice, links, site, axis, 1, level, roots);
    site.at[axis] = seam == lattice.shape[axis] ? 0 : seam;
    sew_site(lattice, links, site, axis, -1, level, roots);
}

// A thread writes the root of its own element, which no thread changes; others that read it find a shorter
// chain to the same root.
__global__ void point_at_roots(Index size, Index* roots)
{
    const Index i = thread_index();
    if (i < size && roots[i] >= 0) roots[i] = root_of(roots, i);
}
