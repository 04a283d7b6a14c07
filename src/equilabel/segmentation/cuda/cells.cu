// Components that are split on the host: their cells go there, and their parts come back. A block for each component.

#include "devices/cuda/index.cuh"

// What is told of each component: its label, the first and the last + 1 of its cells among those of all, and the first
// coordinate and the number of its cells along each axis. `place` is the flat index of a cell in an image of a shape,
// or -1 beyond its ends.
struct Component {
    Index label, begin, end;
    const Index *first, *sides;
    int axes;

    __device__ Component(const Index* told, int axes) : axes(axes)
    {
        told += blockIdx.x * (3 + 2 * axes);
        label = told[0], begin = told[1], end = told[2];
        first = told + 3, sides = first + axes;
    }

    __device__ Index place(Index cell, const Index* shape) const
    {
        unsigned rest = static_cast<unsigned>(cell - begin);
        Index place = 0, stride = 1;
        bool inside = true;
        for (int axis = axes - 1; axis >= 0; --axis) {
            const unsigned side = static_cast<unsigned>(sides[axis]);
            const Index at = first[axis] + rest % side;
            rest /= side;
            inside = inside && at >= 0 && at < shape[axis];
            place += at * stride;
            stride *= shape[axis];
        }
        return inside ? place : -1;
    }
};

// Copy what is inside and outside of components, and 2 for cells beyond the ends of the image.
template <typename Label>
__global__ void copy_cells(const Label* __restrict__ labels, const Index* shape, int axes, const Index* told, u1* cells)
{
    const Component own(told, axes);
    for (Index i = own.begin + threadIdx.x; i < own.end; i += blockDim.x) {
        const Index place = own.place(i, shape);
        cells[i] = place < 0 ? 2 : labels[place] == static_cast<Label>(own.label);
    }
}

// Write the sum of a label and the part of a cell, where there is a part.
template <typename Label>
__global__ void place_parts(Label* labels, const Index* shape, int axes, const Index* told, const u2* parts)
{
    const Component own(told, axes);
    for (Index i = own.begin + threadIdx.x; i < own.end; i += blockDim.x)
        if (parts[i]) labels[own.place(i, shape)] = static_cast<Label>(own.label) + parts[i];
}
