// Label equivalence and Row-Col Unify (Kalentev et al. 2011), for any number of axes.

#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"
#include "papers/meshes/grid.cuh"

// ---- Label equivalence, Listings 1 to 4
// Labels are indices into the padded image; 0 stands for background and padding; a label is at most the
// index of its element. `values` is the image without padding, flat; `rows` says where each of its rows, of
// `width` elements, begins in the padded one.
//
// The passes race on `labels` and need no atomic operation. Words of 64 bits are read and written whole, and
// an old value is still a label of the same component: it is only higher than it could be.

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

// ---- Row-Col Unify, Section 2.1, Algorithms 2 to 5: one block of threads per line
// Labels are flat indices, -1 for background.

constexpr int MOST = 1024;  // elements of a segment

// The part of a line in shared memory: labels, references to elements of the segment, and whether an element
// is joined to the next one. A thread has two elements.
struct Segment {
    Index labels[MOST];
    unsigned short references[MOST];
    bool joined[MOST];
};

// Algorithm 3: elements two by two; the second refers to the first. Returns whether labels differed.
__device__ inline bool unify_pairs(Segment& segment)
{
    const int e = 2 * threadIdx.x;
    bool differ = false;
    segment.references[e] = e;
    segment.references[e + 1] = e + 1;
    if (segment.joined[e]) {
        const Index one = segment.labels[e], other = segment.labels[e + 1];
        differ = one != other;
        segment.labels[e] = segment.labels[e + 1] = min(one, other);
        segment.references[e + 1] = e;
    }
    return differ;
}

// Algorithm 4: groups of `half` elements two by two, where they meet. Each thread has groups of its own.
__device__ inline bool unify_groups(Segment& segment, int half, int size)
{
    const int e = (2 * threadIdx.x + 1) * half - 1;
    if (e >= size || !segment.joined[e]) return false;
    const Index one = segment.labels[e], other = segment.labels[e + 1];
    const int reference = segment.references[e];
    segment.references[e + 1] = reference;
    segment.labels[reference] = segment.labels[e + 1] = min(one, other);
    return one != other;
}

// Algorithm 5: copy label and reference of the element that each one refers to. Elements that others refer to
// have both already: nothing is written that another thread reads.
__device__ inline void update(Segment& segment)
{
#pragma unroll
    for (int e = 2 * threadIdx.x; e < 2 * static_cast<int>(threadIdx.x) + 2; ++e) {
        const int reference = segment.references[e];
        const Index label = segment.labels[reference];
        const unsigned short beyond = segment.references[reference];
        if (segment.labels[e] != label) segment.labels[e] = label;
        if (segment.references[e] != beyond) segment.references[e] = beyond;
    }
}

// Algorithm 2 for elements `begin` to `begin + size` of a line. Neighboring threads load neighboring elements,
// which along rows are neighbors in memory.
template <typename Pixel>
__device__ inline bool unify_segment(Segment& segment, const Pixel* __restrict__ values, Index* labels,
                                     Index first, Index length, Index offset, Index begin)
{
    const int size = 2 * blockDim.x;
    for (int e = threadIdx.x; e < size; e += blockDim.x) {
        const Index n = begin + e, i = first + n * offset;
        const Index label = n < length ? labels[i] : -1;
        segment.labels[e] = label;
        segment.joined[e] =
            label >= 0 && e + 1 < size && n + 1 < length && values[i] == values[i + offset];
    }
    __syncthreads();
    bool differ = unify_pairs(segment);
    __syncthreads();
    for (int half = 2; half < size; half *= 2) {
        differ = unify_groups(segment, half, size) || differ;
        __syncthreads();
        update(segment);
        __syncthreads();
    }
    for (int e = threadIdx.x; e < size && begin + e < length; e += blockDim.x)
        labels[first + (begin + e) * offset] = segment.labels[e];
    __syncthreads();  // the next segment shares an element with this one
    return differ;
}

// Unify all lines along the step `k`: segment by segment to the end of a line, and back. Neighboring segments
// share an element, which carries the lowest label so far to the next segment, and on the way back to the one
// before. Lines of one direction have no element in common, and all threads of a block visit segments in the
// same order: the result is the same in every run.
template <typename Pixel, int rank>
__global__ void unify(const Pixel* __restrict__ values, Index size, const Index* __restrict__ shape,
                      const Index* __restrict__ steps, const Index* __restrict__ offsets, Index k,
                      Index lines, Index* labels, int* changed)
{
    __shared__ Segment segment;
    const Index offset = offsets[k], span = 2 * blockDim.x - 1;
    bool differ = false;
    for (Index number = blockIdx.x; number < lines; number += gridDim.x) {
        const Line<rank> line(number, size, shape, steps + k * rank);
        if (line.length < 2) continue;
        const Index last = (line.length - 2) / span;
        for (Index turn = 0; turn <= 2 * last; ++turn) {
            const Index begin = min(turn, 2 * last - turn) * span;
            differ = unify_segment(segment, values, labels, line.first, line.length, offset, begin) || differ;
        }
    }
    if (differ && *changed == 0) *changed = 1;  // all threads write the same value
}
