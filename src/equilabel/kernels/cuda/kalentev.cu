// Label equivalence (Kalentev et al. 2011), Listings 1 to 3, for any number of axes.
//
// Labels are indices into the padded image; 0 stands for background and padding; a label is at most
// the index of the element that bears it. `values` is the image without padding, flat; `rows` holds
// where each of its rows, of `width` elements, begins in the padded one.
//
// The passes race on `labels` and need no atomic operation. A word of 64 bits is read and written
// whole, and a value that another thread has replaced meanwhile, or that an old cache line still
// holds, is a label of the same component all the same: it is only higher than it could be.
#include "grid.cuh"

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
    if (position >= size) return;
    Index label = labels[position];
    if (label == 0) return;
    Index after = labels[label];
    while (after != label) {
        label = labels[after];
        after = labels[label];
    }
    labels[position] = label;
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
