// Local neighbor propagation (Hawick et al. 2010, Kernel B): one block of threads per tile.
//
// Labels are flat indices, -1 for background.

#include "papers/cuda/neighbors.cuh"

constexpr int MOST = 1024;  // elements of a tile

// Algorithm 6. The edges of a tile are powers of two, whose `exponents` have four bits for each axis, the first
// axis in the lowest. One thread for each element of a tile. All threads of a block stay until the end: those
// outside the image have label -1, like background, and change nothing.
//
// Why the races are safe: labels of other tiles are read once, before the loop, and may be old; see
// `hawick_a.cu`. After the first round each tile is stable by itself, so only a lower label from
// outside can start a change, and the loop need not set `changed`. The loop ends because it lowers labels
// of one tile to labels of the same tile: in at most as many turns as the tile has elements.
template <typename Pixel, int rank>
__global__ void __launch_bounds__(MOST)
    propagate(const Pixel* __restrict__ values, const Index* __restrict__ shape,
              const Index* __restrict__ steps, const Index* __restrict__ offsets, Index count,
              unsigned exponents, Index* labels, int* changed)
{
    __shared__ Index near_labels[MOST];
    __shared__ Pixel near_values[MOST];
    Index edges[rank], tiles[rank];
#pragma unroll
    for (int axis = 0; axis < rank; ++axis) {
        edges[axis] = Index(1) << (exponents >> 4 * axis & 15);
        tiles[axis] = (shape[axis] + edges[axis] - 1) / edges[axis];
    }
    const Place<rank> local(threadIdx.x, edges), tile(blockIdx.x, tiles);
    Place<rank> place;
    bool exists = true;
    Index i = 0;
    int strides[rank];  // in the tile
    int stride = 1;
#pragma unroll
    for (int axis = rank - 1; axis >= 0; --axis) {
        strides[axis] = stride;
        stride *= static_cast<int>(edges[axis]);
    }
#pragma unroll
    for (int axis = 0; axis < rank; ++axis) {
        place.coordinates[axis] = tile.coordinates[axis] * edges[axis] + local.coordinates[axis];
        exists = exists && place.coordinates[axis] < shape[axis];
        i = i * shape[axis] + place.coordinates[axis];
    }

    const Index before = exists ? labels[i] : -1;
    Index label = before;
    Pixel value = 0;
    if (before >= 0) {
        value = values[i];
        label = lowest_near(values, labels, i, before, place, shape, steps, offsets, count);
        if (label < before && *changed == 0) *changed = 1;
    }

    near_values[threadIdx.x] = value;
    bool lowered;
    do {
        near_labels[threadIdx.x] = label;
        __syncthreads();
        lowered = false;
        for (Index k = 0; k < count && label >= 0; ++k) {
            const Index* step = steps + k * rank;
            if (!local.inside(step, edges)) continue;
            int there = threadIdx.x;
#pragma unroll
            for (int axis = 0; axis < rank; ++axis) there += static_cast<int>(step[axis]) * strides[axis];
            const Index near = near_labels[there];
            if (0 <= near && near < label && near_values[there] == value) {
                label = near;
                lowered = true;
            }
        }
    } while (__syncthreads_or(lowered));  // all threads have read before any writes again
    if (label < before) labels[i] = label;
}
