// Kernels A to D for meshes and 1 to 3 for graphs (Hawick et al. 2010).
//
// Labels are flat indices, -1 for background.

#include "devices/cuda/union_find.cuh"
#include "papers/meshes/grid.cuh"

// ---- Kernel A, neighbor propagation: one thread per element

// Algorithm 5, in place as in the paper.
//
// Why the races are safe: a thread writes the label of its own element only, and only a lower one. A
// neighbor that reads it too early reads it in the next round, because a thread that lowers a label sets
// `changed`. A round that changes nothing has read the final labels: all neighbors agree.
template <typename Pixel, int rank>
__global__ void propagate(const Pixel* __restrict__ values, Index size,
                          const Index* __restrict__ shape, const Index* __restrict__ steps,
                          const Index* __restrict__ offsets, Index count, Index* labels, int* changed)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    if (label < 0) return;
    const Place<rank> place(i, shape);
    const Index lowest = lowest_near(values, labels, i, label, place, shape, steps, offsets, count);
    if (lowest < label) {
        labels[i] = lowest;
        if (*changed == 0) *changed = 1;  // all threads write the same value
    }
}

// ---- Kernel B, local neighbor propagation: one block of threads per tile

constexpr int MOST = 1024;  // elements of a tile

// Algorithm 6. The edges of a tile are powers of two, whose `exponents` have four bits for each axis, the first
// axis in the lowest. One thread for each element of a tile. All threads of a block stay until the end: those
// outside the image have label -1, like background, and change nothing.
//
// Why the races are safe: labels of other tiles are read once, before the loop, and may be old; see
// `propagate`. After the first round each tile is stable by itself, so only a lower label from
// outside can start a change, and the loop need not set `changed`. The loop ends because it lowers labels
// of one tile to labels of the same tile: in at most as many turns as the tile has elements.
template <typename Pixel, int rank>
__global__ void __launch_bounds__(MOST)
    propagate_tiles(const Pixel* __restrict__ values, const Index* __restrict__ shape,
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

// ---- Kernel C, directional propagation: one thread per line

// Algorithm 7, for the step `k`. Lines of one direction have no element in common, so no two threads use
// the same label, and the result does not depend on their order.
template <typename Pixel, int rank>
__global__ void sweep(const Pixel* __restrict__ values, Index size, const Index* __restrict__ shape,
                      const Index* __restrict__ steps, const Index* __restrict__ offsets, Index k,
                      Index lines, Index* labels, int* changed)
{
    const Index number = thread_index();
    if (number >= lines) return;
    const Line<rank> line(number, size, shape, steps + k * rank);
    if (line.length < 2) return;
    const Index offset = offsets[k];
    Index i = line.first, label = labels[i];
    Pixel value = values[i];
    bool lowered = false;
    for (Index n = 1; n < line.length; ++n) {
        i += offset;
        const Index own = labels[i];
        const Pixel next = values[i];
        if (0 <= label && label < own && next == value) {
            labels[i] = label;
            lowered = true;
        } else {
            label = own;
        }
        value = next;
    }
    if (lowered && *changed == 0) *changed = 1;  // all threads write the same value
}

// ---- Kernel D, label equivalence with references (Algorithm 8): one thread per element
// A label in use is that of the element whose index it is, its owner; `references[l]` is the lowest label
// that label l is known to be equivalent to.

// Scanning phase. Labels are only read, and a minimum does not depend on the order of its operations: the
// references are the same in every run.
template <typename Pixel, int rank>
__global__ void scan(const Pixel* __restrict__ values, Index size, const Index* __restrict__ shape,
                     const Index* __restrict__ steps, const Index* __restrict__ offsets, Index count,
                     const Index* __restrict__ labels, Index* references, int* changed)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    if (label < 0) return;
    const Place<rank> place(i, shape);
    const Index lowest = lowest_near(values, labels, i, label, place, shape, steps, offsets, count);
    if (lowest < label) {
        atomicMin(references + label, lowest);
        if (*changed == 0) *changed = 1;  // all threads write the same value
    }
}

// Analysis phase: the owner of a label follows its chain. A thread writes the root of its own label, which
// no thread changes; others that read it find a shorter chain to the same root.
__global__ void analyze(Index size, const Index* __restrict__ labels, Index* references)
{
    const Index i = thread_index();
    if (i < size && labels[i] == i) references[i] = root_of(references, i);
}

// Labeling phase. A thread reads and writes the label of its own element only.
__global__ void relabel(Index size, Index* labels, const Index* __restrict__ references)
{
    const Index i = thread_index();
    if (i < size && labels[i] >= 0) labels[i] = references[labels[i]];
}

// ---- Kernel 1 (Algorithm 2): one thread per edge
// Races are harmless: colors are only lowered, by atomicMin, to those of vertices of the same component.
// A color that was read too early is compared again in the next call, because the flag is set.

// As in the paper, a block reduces its flag before one thread sets the common one.
template <typename Node>
__global__ void lower_colors(const Node* __restrict__ sources, const Node* __restrict__ targets,
                             Index count, Index* colors, unsigned char* changed)
{
    const Index edge = thread_index();
    bool lowered = false;
    if (edge < count) {
        const Index i = sources[edge], j = targets[edge];
        const Index one = colors[i], other = colors[j];
        if (one < other) {
            atomicMin(colors + j, one);
            lowered = true;
        } else if (other < one) {
            atomicMin(colors + i, other);
            lowered = true;
        }
    }
    if (__syncthreads_or(lowered) && threadIdx.x == 0) *changed = 1;
}

// ---- Kernel 2 (Algorithm 3): one thread per vertex, with its list of neighbors
// Races are harmless: colors are only lowered, by atomicMin, to those of vertices of the same component.
// A thread that lowers a color then makes that vertex active in the next call: so each color that
// changed is compared with those of all neighbors later. A vertex resets its own flag of this call;
// flags of the next call are only set.

template <typename Offset, typename Node>
__global__ void compare(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                        Index size, Index* colors, unsigned char* frontier,
                        unsigned char* following, unsigned char* changed)
{
    const Index i = thread_index();
    bool lowered = false;
    if (i < size && frontier[i]) {
        frontier[i] = 0;
        const Index end = offsets[i + 1];
        const Index before = colors[i];
        Index color = before;
        for (Index k = offsets[i]; k < end; ++k) {
            const Index j = neighbors[k];
            const Index other = colors[j];
            if (color < other) {
                atomicMin(colors + j, color);
                following[j] = 1;
                lowered = true;
            } else if (other < color) {
                color = other;
            }
        }
        if (color < before) {
            atomicMin(colors + i, color);
            following[i] = 1;
            lowered = true;
        }
    }
    if (__syncthreads_or(lowered) && threadIdx.x == 0) *changed = 1;
}

// ---- Kernel 3 (Section 4.3.3): one thread per vertex, for each round of a search
// Races are harmless: all threads write the same color, or set flags of the next call. A vertex that
// is colored in this call may become active once more; then it changes nothing.

template <typename Offset, typename Node>
__global__ void spread(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                       Index size, Index* colors, Index source, unsigned char* frontier,
                       unsigned char* following, unsigned char* spreading)
{
    const Index i = thread_index();
    bool found = false;
    if (i < size && frontier[i]) {
        frontier[i] = 0;
        colors[i] = source;
        const Index end = offsets[i + 1];
        for (Index k = offsets[i]; k < end; ++k) {
            const Index j = neighbors[k];
            if (colors[j] < 0) {
                following[j] = 1;
                found = true;
            }
        }
    }
    if (__syncthreads_or(found) && threadIdx.x == 0) *spreading = 1;
}

// The first vertex without a color from `start` on; `first` holds the number of vertices at first. One
// block reads one stretch after the other and stops after the first one with such a vertex.
__global__ void next_source(const Index* __restrict__ colors, Index start, Index size,
                            unsigned long long* first)
{
    for (Index begin = start; begin < size; begin += blockDim.x) {
        const Index i = begin + threadIdx.x;
        const bool bare = i < size && colors[i] < 0;
        if (bare) atomicMin(first, static_cast<unsigned long long>(i));
        if (__syncthreads_or(bare)) return;
    }
}
