// Label equivalence (Kalentev et al. 2011), Listings 1 to 4, for any number of axes.
//
// Labels are indices into the padded image; 0 stands for background and padding; a label is at most the
// index of its element. `values` is the image without padding, flat; `rows` says where each of its rows, of
// `width` elements, begins in the padded one.
//
// The passes race on `labels` and need no atomic operation. Words of 64 bits are read and written whole, and
// an old value is still a label of the same component: it is only higher than it could be.

#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"

__device__ inline Index padded(const Index* __restrict__ rows, Index width, Index element)
{
    const Index row = element / width;
    return rows[row] + (element - row * width);
}

// Listing 1. Padding and background are 0 already.
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
// Why the races are safe: every label read here was in use before the pass, and every value written to
// `labels[l]` is less than l. So a pass that sets `changed` leaves fewer labels in use, whichever of two
// writers wins, and the loop ends. The value of the other writer is not lost: if it still matters, its
// element and its neighbor differ, and the next scan finds them again. A pass that changes nothing has read a
// single label for each component, that of its first element.
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
        // A label that is not 0 is inside the image: only then there is a value.
        if (0 < near && near < lowest && values[element + shifts[k]] == value) lowest = near;
    }
    if (lowest < label) {
        labels[label] = min(labels[label], lowest);
        if (*changed == 0) *changed = 1;  // all threads write the same value
    }
}

// Listing 2, over the padded image. A thread writes the root of its own element, which no thread changes;
// others that read it find a shorter chain to the same root.
__global__ void analyze(Index size, Index* labels)
{
    const Index position = thread_index();
    if (position < size && labels[position] != 0) labels[position] = root_of(labels, position);
}

// Section 4: count every foreground element and its exposed faces as its own component. `counts` holds
// `kinds` numbers for each element of the padded image, 0 at first. `jumps` and `shifts` are the distances
// to the two neighbors along each axis, 0 if the axis has only one element.
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

// Listing 4: as `analyze`, but also moves the counts of each element to its root. The listing adds atomically
// for every element, which is slow if one component is large; here the lanes with the same root add up first,
// and then the block for the lowest root in it.
//
// Why this is safe: counts move from elements that are not roots to elements that are, and no pass changes
// which elements are roots. A thread clears only its own counts.
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
            // Two branches: a single addition to either memory is slower.
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

// Replace the label of each element that has its own index by -1 - element, its index in the image.
__global__ void mark_roots(const Index* __restrict__ rows, Index width, Index size, Index* labels)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index position = padded(rows, width, element);
    if (labels[position] == position) labels[position] = -1 - element;
}

// Turn labels into roots, after `mark_roots` and in its own launch: nothing is written that another thread
// reads.
__global__ void crop(const Index* __restrict__ labels, const Index* __restrict__ rows, Index width,
                     Index size, Index* roots)
{
    const Index element = thread_index();
    if (element >= size) return;
    const Index label = labels[padded(rows, width, element)];
    if (label < 0) roots[element] = element;
    else roots[element] = label == 0 ? -1 : -1 - labels[label];
}
