// Lines through a grid: along an axis, or a diagonal.
#pragma once

#include "devices/cuda/index.cuh"

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
