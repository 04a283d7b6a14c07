// Coordinates of an element of a grid, the labels of its neighbors, and lines along a step.
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

// The first element of a line, and its number of elements: 0 if the line of that element has another number.
// `number` is less than `meshes.count_lines`; `step` leads from an element to the next.
template <int rank>
struct Line {
    Index first = 0, length = 0;

    __device__ Line(Index number, Index size, const Index* __restrict__ shape,
                    const Index* __restrict__ step)
    {
        int face = 0;  // axis along which it enters
        while (step[face] == 0 || number >= size / shape[face]) {
            if (step[face] != 0) number -= size / shape[face];
            ++face;
        }
        Index stride = 1, shortest = size;
        bool counted = false;  // on the face of an earlier axis
#pragma unroll
        for (int axis = rank - 1; axis >= 0; --axis) {
            const Index entry = step[axis] > 0 ? 0 : shape[axis] - 1;
            Index coordinate = entry;
            if (axis != face) {
                const Index rest = number / shape[axis];
                coordinate = number - rest * shape[axis];
                number = rest;
                counted = counted || (axis < face && step[axis] != 0 && coordinate == entry);
            }
            if (step[axis] != 0)
                shortest = min(shortest, step[axis] > 0 ? shape[axis] - coordinate : coordinate + 1);
            first += coordinate * stride;
            stride *= shape[axis];
        }
        if (!counted) length = shortest;
    }
};
