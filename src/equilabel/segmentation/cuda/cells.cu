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

constexpr int NONE = 0xffff, FAR = 1 << 29;  // no background in a row, as in cpu/parts.py

// The square of the distance, in half pixels, from a half of a cell to one `k` places away, by the nearer half or not.
__device__ i4 square(int k, bool nearer)
{
    const int apart = k ? 2 * k - nearer : 0;
    return apart * apart;
}

// That to background in the row, from the left half of a cell or the right one; `gaps` are those before and after it.
__device__ i4 square_in_row(u4 gaps, bool right)
{
    const int before = gaps >> 16, after = gaps & NONE;
    const i4 least = before == NONE ? FAR : square(before, !right);
    return after == NONE ? least : min(least, square(after, right));
}

// Write the greatest squared distance, in half pixels, from the quarters of each cell to background: that of `measure`
// in cpu/distances.py, along the last two axes. There is room for the gaps of each cell; rows are shorter than `NONE`.
__global__ void measure_cells(int axes, const Index* told, const u1* __restrict__ cells, u4* gaps, i4* squares)
{
    const Component own(told, axes);
    const int columns = static_cast<int>(own.sides[axes - 1]), rows = static_cast<int>(own.sides[axes - 2]);
    for (Index i = own.begin + threadIdx.x; i < own.end; i += blockDim.x) {
        const int x = static_cast<int>((i - own.begin) % columns);
        int before = 0, after = 0;
        while (before <= x && cells[i - before]) ++before;
        while (after < columns - x && cells[i + after]) ++after;
        gaps[i] = static_cast<u4>(before <= x ? before : NONE) << 16 | (after < columns - x ? after : NONE);
    }
    __syncthreads();
    for (Index i = own.begin + threadIdx.x; i < own.end; i += blockDim.x) {
        const int y = static_cast<int>((i - own.begin) / columns % rows);
        i4 greatest = 0;
        for (int quarter = 0; cells[i] == 1 && quarter < 4; ++quarter) {
            const bool right = quarter & 1, lower = quarter & 2;
            i4 least = square_in_row(gaps[i], right);
            for (int k = 1; k < max(y + 1, rows - y) && square(k, true) < least; ++k) {
                if (k <= y) least = min(least, square_in_row(gaps[i - k * columns], right) + square(k, !lower));
                if (y + k < rows) least = min(least, square_in_row(gaps[i + k * columns], right) + square(k, lower));
            }
            greatest = max(greatest, least);
        }
        squares[i] = greatest;
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
