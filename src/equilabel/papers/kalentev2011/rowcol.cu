// Row-Col Unify (Kalentev et al. 2011, Section 2.1, Algorithms 2 to 5): one block of threads per line.
//
// Labels are flat indices, -1 for background.

#include "papers/cuda/lines.cuh"

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
