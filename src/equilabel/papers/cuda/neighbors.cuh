// Coordinates of an element of a grid, and the labels of its neighbors.
#pragma once

#include "devices/cuda/index.cuh"

// Coordinates of an element, from which follows which steps stay inside the image.
template <int rank>
struct Place {
    Index coordinates[rank];

    __device__ Place() {}
    __device__ Place(Index element, const Index* __restrict__ shape)
    {
#pragma unroll
        for (int axis = rank - 1; axis > 0; --axis) {
            const Index rest = element / shape[axis];
            coordinates[axis] = element - rest * shape[axis];
            element = rest;
        }
        coordinates[0] = element;
    }

    __device__ bool inside(const Index* __restrict__ step, const Index* __restrict__ shape) const
    {
        bool inside = true;
#pragma unroll
        for (int axis = 0; axis < rank; ++axis) {
            const Index there = coordinates[axis] + step[axis];
            inside = inside && 0 <= there && there < shape[axis];
        }
        return inside;
    }
};

// The lowest label among an element and its neighbors of equal value; background has -1. `steps` lead to all
// neighbors, `offsets` are the same as distances of flat indices.
//
// Other threads may lower labels meanwhile. A label is read whole, and an old one is still a label of the same
// component: it is only higher than it could be.
template <typename Pixel, int rank>
__device__ inline Index lowest_near(const Pixel* __restrict__ values, const Index* labels, Index i,
                                    Index label, const Place<rank>& place,
                                    const Index* __restrict__ shape, const Index* __restrict__ steps,
                                    const Index* __restrict__ offsets, Index count)
{
    const Pixel value = values[i];
    Index lowest = label;
    for (Index k = 0; k < count; ++k) {
        if (!place.inside(steps + k * rank, shape)) continue;
        const Index there = i + offsets[k], near = labels[there];
        if (0 <= near && near < lowest && values[there] == value) lowest = near;
    }
    return lowest;
}
