// Components are split at their necks as in cpu/parts.py, each by a block of threads. It has cells of its own, which
// are background, foreground, or beyond the end of the image. Results do not depend on the order of threads.

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

// Of objects: as for `find_parts` in cpu/parts.py.
struct Limits {
    double tolerance, smallest, far, scale;
};

// ---- Squared distances to the background, added up one axis after the other: as in cpu/parts.py

// The least sum of squares along an axis of `length` places, `inner` cells apart. `near` has the squared distances to
// the cells k places before, and from `longest` on those to the cells after.
template <typename Square>
__device__ Square nearest(const Square* sums, int cell, int inner, int length, const Square* near, int longest)
{
    const int place = cell / inner % length;
    Square least = sums[cell];
    for (int k = 1; k < max(place + 1, length - place); ++k) {
        const Square before = near[k], after = near[longest + k];
        if (min(before, after) >= least) break;
        if (k <= place) least = min(least, sums[cell - k * inner] + before);
        if (place + k < length) least = min(least, sums[cell + k * inner] + after);
    }
    return least;
}

// Write the greatest squared distance of the points of each cell to background, `far` where there is none. `costs`,
// (axes, 2, 2, longest), are those of `find_parts`, and the first `top` axes are not of space; `one` and `other` are
// overwritten.
template <typename Square>
__global__ void measure_cells(int axes, const Index* told, int top, const Square* __restrict__ costs, int longest,
                              const Limits limits, const u1* __restrict__ cells, Square* one, Square* other,
                              Square* squares)
{
    const Component own(told, axes);
    cells += own.begin, one += own.begin, other += own.begin, squares += own.begin;
    const int size = static_cast<int>(own.end - own.begin), columns = static_cast<int>(own.sides[axes - 1]);
    for (int choice = 0; choice < 1 << (axes - top - 1); ++choice) {  // a half of a cell along each axis but the first
        auto near = [=](int axis, int half) { return costs + (2 * axis + half) * 2 * longest; };
        const Square* along = near(axes - 1, choice & 1);
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            const int x = i % columns;
            int before = 0, after = 0;
            while (before <= x && cells[i - before]) ++before;
            while (after < columns - x && cells[i + after]) ++after;
            Square least = static_cast<Square>(limits.far);
            if (before <= x) least = along[before];
            if (after < columns - x) least = min(least, along[longest + after]);
            one[i] = least;
        }
        __syncthreads();
        Square *source = one, *target = other;
        int inner = columns;
        for (int axis = axes - 2; axis > top; --axis) {
            const int length = static_cast<int>(own.sides[axis]);
            along = near(axis, choice >> (axes - 1 - axis) & 1);
            for (int i = threadIdx.x; i < size; i += blockDim.x)
                target[i] = nearest(source, i, inner, length, along, longest);
            __syncthreads();
            Square* const last = source;
            source = target, target = last, inner *= length;
        }
        const int length = static_cast<int>(own.sides[top]);
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            Square greatest = choice ? squares[i] : 0;
            for (int half = 0; half < 2 && cells[i] == 1; ++half)
                greatest = max(greatest, nearest(source, i, inner, length, near(top, half), longest));
            squares[i] = greatest;
        }
        __syncthreads();
    }
}

// ---- Seeds and parts: as in cpu/parts.py

constexpr int STEPS = 729;  // of neighbors along six axes, and none
constexpr u4 WAITING = 0x7fffffff, NEW = 0x80000000, LOWER = 0xffffffff;  // marks that are no numbers of seeds

// Squares of distances as numbers of the same order.
__device__ u8 height(i4 square) { return square; }
__device__ u8 height(f8 square) { return static_cast<u8>(__double_as_longlong(square)); }

// The cells of a component, and what its threads share.
template <typename Square>
struct Cells {
    const Square* squares;
    u4 *marks, *reached, *waiting;
    const int* offsets;
    int size, steps;
    Limits limits;
    u8* highest;
    int *used, *left, *fault;

    __device__ double radius(int cell) const { return sqrt(static_cast<double>(squares[cell])) * limits.scale; }

    // The mark of a cell, past the nearest cache: others are changing marks there by atomics.
    __device__ u4 mark(int cell) const { return __ldcg(marks + cell); }

    // Mark the cells of each seed with its number, from 1; return how many seeds there are.
    __device__ u4 find_seeds() const
    {
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            if (!squares[i] || radius(i) <= limits.smallest) continue;
            if (squares[i] >= limits.far) *fault = 1;  // no background
            bool top = true;
            for (int k = 0; k < steps && top; ++k) top = squares[i + offsets[k]] <= squares[i];
            if (top) waiting[atomicAdd(left, 1)] = i;
        }
        __syncthreads();
        const int maxima = *fault ? 0 : *left;
        sort_down(maxima);
        u4 count = 0;
        for (int k = 0; k < maxima; ++k)
            if (__syncthreads_and(!mark(waiting[k]))) count += is_seed(waiting[k], count + 1);
        return count;
    }

    // Sort the maxima that wait from the highest to the lowest, equal ones as they lie, by a bitonic network.
    __device__ void sort_down(int count) const
    {
        for (int length = 2; length < 2 * count; length *= 2) {
            for (int flip = length - 1; flip; flip = flip == length - 1 ? length / 4 : flip / 2) {
                for (int k = threadIdx.x; k < count; k += blockDim.x) {
                    const int other = k ^ flip;
                    if (other <= k || other >= count) continue;
                    const u4 one = waiting[k], two = waiting[other];
                    if (squares[one] > squares[two] || (squares[one] == squares[two] && one < two)) continue;
                    waiting[k] = two, waiting[other] = one;
                }
                __syncthreads();
            }
        }
    }

    // Mark the cells that a maximum reaches without going down by more than the tolerance; return whether it is a seed.
    // It is none if a higher cell, or one of another maximum, is among them.
    __device__ bool is_seed(int maximum, u4 number) const
    {
        const double level = radius(maximum) - limits.tolerance;
        if (threadIdx.x == 0) marks[maximum] = number, reached[0] = maximum, *used = 1, *fault = 0;
        __syncthreads();
        for (int begin = 0;;) {
            const int end = *used;
            const bool bad = *fault;
            __syncthreads();
            if (bad || begin == end) {
                for (int k = threadIdx.x; k < end && bad; k += blockDim.x) marks[reached[k]] = LOWER;
                __syncthreads();
                return !bad;
            }
            for (int k = begin + threadIdx.x; k < end; k += blockDim.x) {
                for (int step = 0; step < steps; ++step) {
                    const int cell = reached[k] + offsets[step];
                    if (!squares[cell] || mark(cell) == number || radius(cell) < level) continue;
                    const u4 before = squares[cell] > squares[maximum] ? LOWER : atomicCAS(marks + cell, 0, number);
                    if (!before) reached[atomicAdd(used, 1)] = cell;
                    else if (before != number) *fault = 1;
                }
            }
            __syncthreads();
            begin = end;
        }
    }

    // Let the neighbors of a cell wait that no other has reached: in this round if they are of `level` or higher.
    __device__ void spread(int cell, u8 level) const
    {
        for (int k = 0; k < steps; ++k) {
            const int other = cell + offsets[k];
            if (!squares[other] || atomicCAS(marks + other, 0, WAITING)) continue;
            if (height(squares[other]) >= level) reached[atomicAdd(used, 1)] = other;
            else waiting[atomicAdd(left, 1)] = other;
        }
    }

    // Mark all cells with numbers of seeds, from the greatest square to the smallest, those of one in rounds.
    __device__ void flood() const
    {
        if (threadIdx.x == 0) *used = *left = 0;
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            if (mark(i) == LOWER) marks[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            if (mark(i) && mark(i) < WAITING) spread(i, ~0ull);
        for (int begin = 0;;) {
            __syncthreads();
            const int count = *left;
            __syncthreads();
            if (!count) return;
            const u8 level = take_highest(count);
            begin = flood_level(begin, level);
        }
    }

    // Move the highest of `count` cells that wait to those that are reached; return their height.
    __device__ u8 take_highest(int count) const
    {
        if (threadIdx.x == 0) *highest = 0, *left = 0;
        __syncthreads();
        for (int k = threadIdx.x; k < count; k += blockDim.x) atomicMax(highest, height(squares[waiting[k]]));
        __syncthreads();
        const u8 level = *highest;
        for (int first = 0; first < count; first += blockDim.x) {
            const int k = first + threadIdx.x, cell = k < count ? waiting[k] : 0;
            __syncthreads();  // those that stay are written over those that were read
            if (k >= count) continue;
            if (height(squares[cell]) == level) reached[atomicAdd(used, 1)] = cell;
            else waiting[atomicAdd(left, 1)] = cell;
        }
        __syncthreads();
        return level;
    }

    // Mark the cells that are reached from `begin` on, and all that they reach at this level; return where these end.
    __device__ int flood_level(int begin, u8 level) const
    {
        for (;;) {
            const int end = *used;
            __syncthreads();
            if (begin == end) return end;
            for (int k = begin + threadIdx.x; k < end; k += blockDim.x) {
                const int cell = reached[k];
                Square greatest = 0;
                u4 number = WAITING;  // the smallest of those of the greatest neighbors
                for (int step = 0; step < steps; ++step) {
                    const int other = cell + offsets[step];
                    const u4 theirs = mark(other);
                    if (!theirs || theirs >= WAITING || squares[other] < greatest) continue;
                    number = squares[other] > greatest ? theirs : min(number, theirs);
                    greatest = squares[other];
                }
                marks[cell] = NEW | number;
            }
            __syncthreads();
            for (int k = begin + threadIdx.x; k < end; k += blockDim.x) {
                marks[reached[k]] = mark(reached[k]) & ~NEW;
                spread(reached[k], level);
            }
            __syncthreads();
            begin = end;
        }
    }
};

// Write how many parts each component has, and the part of each cell if there are several. Neighbors differ along
// `hops` axes at most; there is room for all cells in `reached` and in `waiting`.
template <typename Square>
__global__ void divide_cells(int axes, const Index* told, int hops, const Limits limits, const Square* squares,
                             u4* reached, u4* waiting, u4* marks, Index* several)
{
    __shared__ int offsets[STEPS], steps, used, left, fault;
    __shared__ u8 highest;
    const Component own(told, axes);
    const int size = static_cast<int>(own.end - own.begin);
    if (threadIdx.x == 0) steps = used = left = fault = 0;
    for (int i = threadIdx.x; i < size; i += blockDim.x) marks[own.begin + i] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < STEPS; k += blockDim.x) {
        int offset = 0, stride = 1, apart = 0, code = k;
        for (int axis = axes - 1; axis >= 0; --axis, code /= 3) {
            const int side = static_cast<int>(own.sides[axis]), step = code % 3 - 1;
            if (step) apart += side > 1 ? 1 : axes;  // there is no step along the axis of a stack
            offset += step * stride;
            stride *= side;
        }
        if (!code && apart && apart <= hops) offsets[atomicAdd(&steps, 1)] = offset;
    }
    __syncthreads();
    const Cells<Square> cells{squares + own.begin, marks + own.begin, reached + own.begin, waiting + own.begin, offsets,
                              size, steps, limits, &highest, &used, &left, &fault};
    const u4 found = cells.find_seeds();
    if (found > 1) cells.flood();
    if (threadIdx.x == 0) several[blockIdx.x] = found;
}

// Write the sum of a label and the part of a cell, where there is a part.
template <typename Label>
__global__ void place_parts(Label* labels, const Index* shape, int axes, const Index* told, const u4* parts)
{
    const Component own(told, axes);
    for (Index i = own.begin + threadIdx.x; i < own.end; i += blockDim.x)
        if (parts[i]) labels[own.place(i, shape)] = static_cast<Label>(own.label) + parts[i];
}
