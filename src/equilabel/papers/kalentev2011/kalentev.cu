// Label equivalence (Kalentev et al. 2011), Listings 1 to 4, for any number of axes.
//
// Labels are indices into the padded image; 0 stands for background and padding; a label is at most
// the index of the element that bears it. `values` is the image without padding, flat; `rows` holds
// where each of its rows, of `width` elements, begins in the padded one.
//
// The passes race on `labels` and need no atomic operation. A word of 64 bits is read and written
// whole, and a value that another thread has replaced meanwhile, or that an old cache line still
// holds, is a label of the same component all the same: it is only higher than it could be.

#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"

__device__ inline Index padded(const Index* __restrict__ rows, Index width, Index element)
{
    const Index row = element / width;
    return rows[row] + (element - row * width);
}

// Listing 1. Padding and background hold 0 already.
template <typename Pixel>
__global__ void init_labels(const Pixel* __restrict__ values, bool has_background, Pixel background,
                            const Index* __restrict__ rows, Index width, Index size, Index* labels)
{
    const Index element = thread_index();
    if (element >= size || (has_background && values[element] == background)) return;
    const Index position = padded(rows, width, element);
    labels[position] = position;
}

// Listing 3. Between two passes `labels[l] == l` for every label l that is in use.
//
// Why the races are safe: every label read here was in use before the pass, and whatever is written to
// `labels[l]` is less than l. So a pass that sets `changed` leaves fewer labels in use, whoever of two
// writers wins, and the loop ends. What the loser knew is not lost: if it still matters, its element
// and its neighbor differ, and the next scan finds them again. A pass that changes nothing has read a
// single label for each component: that of the first element, which has none lower to refer to.
template <typename Pixel>
__global__ void scan(const Pixel* __restrict__ values, const Index* __restrict__ rows, Index width,
                     Index size, const Index* __restrict__ jumps, const Index* __restrict__ shifts,
                     Index steps, Index* labels, int* changed)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index position = padded(rows, width, element);
    const Index label = labels[position];
    if (label == 0) return;
    const Pixel value = values[element];
    Index lowest = label;
    for (Index k = 0; k < steps; ++k) {
        const Index near = labels[position + jumps[k]];
        // a label that is not 0 lies inside the image: only then is there a value
        if (0 < near && near < lowest && values[element + shifts[k]] == value) lowest = near;
    }
    if (lowest < label) {
        labels[label] = min(labels[label], lowest);
        if (*changed == 0) *changed = 1;  // all write the same, and most find it written
    }
}

// Listing 2, over the padded image. A thread writes the end of its own chain, which no thread moves;
// others that pass by find a shorter chain to the same end.
__global__ void analyze(Index size, Index* labels)
{
    const Index position = thread_index();
    if (position < size && labels[position] != 0) labels[position] = root_of(labels, position);
}

// Section 4: count every foreground element and its exposed faces as its own component. `counts` holds
// `kinds` numbers for each element of the padded image, 0 at first; `sides` of both lists are the
// distances to the two neighbors along each axis, 0 where the axis has but one element.
template <typename Pixel, typename Count>
__global__ void init_counts(const Pixel* __restrict__ values, const Index* __restrict__ rows,
                            Index width, Index size, const Index* __restrict__ jumps,
                            const Index* __restrict__ shifts, int kinds, const Index* labels,
                            Count* counts)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index position = padded(rows, width, element);
    if (labels[position] == 0) return;
    const Pixel value = values[element];
    counts[position * kinds] = 1;
    for (int axis = 0; axis < kinds - 1; ++axis) {
        Count exposed = 0;
        for (int side = 2 * axis; side < 2 * axis + 2; ++side) {
            const Index jump = jumps[side];
            exposed += jump == 0 || labels[position + jump] == 0 ||
                       values[element + shifts[side]] != value;
        }
        counts[position * kinds + 1 + axis] = exposed;
    }
}

// Listing 4: as `analyze`, and what an element counted moves to the end of its chain. The listing adds
// atomically for every element, and all wait where one component is large; here the lanes that move to
// the same end add up first, and then the block for the end that is lowest in it.
//
// Why this is safe: counts move from elements that are not their own ends to elements that are, and no
// pass changes which is which. A thread clears its own only.
template <typename Count>
__global__ void analyze_counts(Index size, int kinds, Index* labels, Count* counts)
{
    __shared__ unsigned long long lowest;
    __shared__ Count sums[7];
    if (threadIdx.x == 0) lowest = ~0ull;
    if (threadIdx.x < 7) sums[threadIdx.x] = 0;
    __syncthreads();
    const Index position = thread_index();
    Index label = position < size ? labels[position] : 0;
    bool moves = false;
    if (label != 0) {
        label = root_of(labels, position);
        labels[position] = label;
        moves = label != position && counts[position * kinds] != 0;
    }
    const unsigned moving = __ballot_sync(ALL, moves);
    unsigned lanes = 0;
    bool leads = false;
    if (moves) {
        lanes = lanes_alike(moving, label);
        leads = threadIdx.x % 32 == __ffs(lanes) - 1;
        if (leads) atomicMin(&lowest, static_cast<unsigned long long>(label));
    }
    __syncthreads();
    if (moves) {
        const bool shared = static_cast<unsigned long long>(label) == lowest;
        Count* const mine = counts + position * kinds;
        Count* const end = counts + label * kinds;
        for (int kind = 0; kind < kinds; ++kind) {
            const Count sum = sum_over(lanes, mine[kind]);
            mine[kind] = 0;
            if (!leads) continue;
            // Apart: one addition, to whichever of the two memories, takes longer.
            if (shared)
                atomicAdd(sums + kind, sum);
            else
                atomicAdd(end + kind, sum);
        }
    }
    __syncthreads();
    if (threadIdx.x < kinds && lowest != ~0ull && sums[threadIdx.x])
        atomicAdd(counts + lowest * kinds + threadIdx.x, sums[threadIdx.x]);
}

// Leave with each element that bears its own index where it lies in the image, as -1 - element.
__global__ void mark_roots(const Index* __restrict__ rows, Index width, Index size, Index* labels)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index position = padded(rows, width, element);
    if (labels[position] == position) labels[position] = -1 - element;
}

// Turn labels into roots. After `mark_roots`, and in a launch of its own, nothing is written that
// another thread reads.
__global__ void crop(const Index* __restrict__ labels, const Index* __restrict__ rows, Index width,
                     Index size, Index* roots)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index label = labels[padded(rows, width, element)];
    if (label < 0) roots[element] = element;
    else roots[element] = label == 0 ? -1 : -1 - labels[label];
}
