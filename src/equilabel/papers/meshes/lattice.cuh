// A mesh of four axes, see `equilabel.papers.meshes.Lattice`: which neighbors are linked, as bits.
#pragma once

#include "devices/cuda/index.cuh"

constexpr unsigned FOREGROUND = 1u << 15;  // bit of `links`; bit k stands for step k

struct Lattice {
    Index shape[4];
    int edge[4];      // of tiles
    int periodic[4];  // steps lead around from the end of an axis to its beginning
    int count;        // of steps
    signed char steps[60];
};

// Divides in 32 bits if that is enough: 64 bits take several times as long.
__device__ inline Index divide(Index number, Index by)
{
    if (((number | by) >> 32) == 0) return static_cast<unsigned>(number) / static_cast<unsigned>(by);
    return number / by;
}

struct Site {
    Index at[4];
};

__device__ inline Site site_of(const Lattice& lattice, Index element)
{
    Site site;
#pragma unroll
    for (int axis = 3; axis > 0; --axis) {
        const Index rest = divide(element, lattice.shape[axis]);
        site.at[axis] = element - rest * lattice.shape[axis];
        element = rest;
    }
    site.at[0] = element;
    return site;
}

__device__ inline Index element_at(const Lattice& lattice, const Site& site)
{
    Index element = site.at[0];
#pragma unroll
    for (int axis = 1; axis < 4; ++axis) element = element * lattice.shape[axis] + site.at[axis];
    return element;
}

// The element `distance` times step k away, -1 if that is outside.
__device__ inline Index neighbor(const Lattice& lattice, const Site& site, int k, Index distance)
{
    Index element = 0;
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < 4; ++axis) {
        const Index side = lattice.shape[axis];
        Index there = site.at[axis] + lattice.steps[4 * k + axis] * distance;
        if (there < 0 || there >= side) {
            inside = inside && lattice.periodic[axis];
            there %= side;
            if (there < 0) there += side;
        }
        element = element * side + there;
    }
    return inside ? element : -1;
}

// The level of sewing at which step k from a site crosses a border between tiles (Weigel 2011, Figure 7):
// the highest over all axes; 0 inside a tile, -1 around a periodic axis.
__device__ inline int seam_level(const Lattice& lattice, const Site& site, int k)
{
    int level = 0;
#pragma unroll
    for (int axis = 0; axis < 4; ++axis) {
        const Index there = site.at[axis] + lattice.steps[4 * k + axis];
        if (there < 0 || there >= lattice.shape[axis]) return -1;
        const Index one = divide(site.at[axis], lattice.edge[axis]);
        const Index other = divide(there, lattice.edge[axis]);
        if (one != other) level = max(level, __ffsll(max(one, other)));
    }
    return level;
}
