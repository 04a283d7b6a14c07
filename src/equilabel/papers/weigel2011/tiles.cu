// Labels of each tile on its own (Weigel 2011, Section II.B), in three ways: one block for each tile, in
// shared memory. Labels are flat indices in the tile. Their order is the raster order of the lattice, so the
// smallest label of a component is its smallest index in both.

#include "devices/cuda/union_find.cuh"
#include "papers/meshes/lattice.cuh"

struct Tile {
    Index first[4];  // coordinates
    int side[4];
    int size;
    int *labels, *more, *offsets;  // `offsets`: steps as distances of flat indices in the tile
    u2* inside;                    // links that stay in the tile

    // `room`: elements of the largest tile, for which there is shared memory.
    __device__ Tile(const Lattice& lattice, int* shared, int room)
        : size(1), labels(shared), more(shared + room), offsets(shared + 2 * room),
          inside(reinterpret_cast<u2*>(shared + 2 * room + 16))
    {
        Index tile = blockIdx.x;
#pragma unroll
        for (int axis = 3; axis >= 0; --axis) {
            const Index edge = lattice.edge[axis], tiles = divide(lattice.shape[axis] + edge - 1, edge);
            const Index rest = divide(tile, tiles);
            first[axis] = (tile - rest * tiles) * edge;
            side[axis] = static_cast<int>(min(edge, lattice.shape[axis] - first[axis]));
            size *= side[axis];
            tile = rest;
        }
    }

    __device__ void coordinates(int element, int* at) const
    {
#pragma unroll
        for (int axis = 3; axis > 0; --axis) {
            at[axis] = element % side[axis];
            element /= side[axis];
        }
        at[0] = element;
    }

    // Flat index in the lattice of an element of the tile.
    __device__ Index place(const Lattice& lattice, int element) const
    {
        int at[4];
        coordinates(element, at);
        Index found = 0;
#pragma unroll
        for (int axis = 0; axis < 4; ++axis) found = found * lattice.shape[axis] + first[axis] + at[axis];
        return found;
    }

    // Copy the links of the tile, without those that leave it. All threads call this.
    __device__ void load(const Lattice& lattice, const u2* __restrict__ links)
    {
        if (threadIdx.x < lattice.count) {
            int offset = 0;
            for (int axis = 0; axis < 4; ++axis)
                offset = offset * side[axis] + lattice.steps[4 * threadIdx.x + axis];
            offsets[threadIdx.x] = offset;
        }
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            int at[4];
            coordinates(i, at);
            const unsigned bits = links[place(lattice, i)];
            unsigned kept = bits & FOREGROUND;
            for (int k = 0; k < lattice.count; ++k) {
                bool stays = bits >> k & 1;
#pragma unroll
                for (int axis = 0; axis < 4; ++axis) {
                    const int there = at[axis] + lattice.steps[4 * k + axis];
                    stays = stays && 0 <= there && there < side[axis];
                }
                if (stays) kept |= 1u << k;
            }
            inside[i] = kept;
            labels[i] = i;
        }
        __syncthreads();
    }
};

extern __shared__ int shared[];

// Figure 4: every linked pair gets the smaller of its labels, until a pass of the block changes nothing. Why
// the races are safe: a label is only lowered, by atomicMin, and `changed` is set only by a thread that found
// two labels that differ, of which one is lower after the pass. So the passes end. The last found no pair that
// differs: labels are equal in components, and the first element of each has kept its own.
__global__ void self_label(const __grid_constant__ Lattice lattice, const u2* __restrict__ links, int room,
                           Index* roots)
{
    Tile tile(lattice, shared, room);
    tile.load(lattice, links);
    int changed;
    do {
        changed = 0;
        for (int i = threadIdx.x; i < tile.size; i += blockDim.x) {
            for (unsigned bits = tile.inside[i] & ~FOREGROUND; bits; bits &= bits - 1) {
                const int j = i + tile.offsets[__ffs(bits) - 1];
                const int one = parent_of(tile.labels, i), other = parent_of(tile.labels, j);
                if (one != other) {
                    atomicMin(tile.labels + (one > other ? i : j), min(one, other));
                    changed = 1;
                }
            }
        }
    } while (__syncthreads_or(changed));
    for (int i = threadIdx.x; i < tile.size; i += blockDim.x)
        roots[tile.place(lattice, i)] =
            tile.inside[i] & FOREGROUND ? tile.place(lattice, tile.labels[i]) : -1;
}

// Figure 3: a single thread inserts one link after the other; the smaller tree becomes a child of the larger.
// `more` holds the size of a tree at its root, and later its first element.
__global__ void unite_tile(const __grid_constant__ Lattice lattice, const u2* __restrict__ links, int room,
                           Index* roots)
{
    Tile tile(lattice, shared, room);
    tile.load(lattice, links);
    for (int i = threadIdx.x; i < tile.size; i += blockDim.x) tile.more[i] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < tile.size; ++i) {
            for (unsigned bits = tile.inside[i] & ~FOREGROUND; bits; bits &= bits - 1) {
                int one = root_of(tile.labels, i);
                int other = root_of(tile.labels, i + tile.offsets[__ffs(bits) - 1]);
                if (one == other) continue;
                if (tile.more[one] < tile.more[other]) {
                    const int smaller = one;
                    one = other;
                    other = smaller;
                }
                tile.labels[other] = one;
                tile.more[one] += tile.more[other];
            }
        }
        for (int i = 0; i < tile.size; ++i) {
            const int root = root_of(tile.labels, i);
            if (tile.more[root] > 0) tile.more[root] = -1 - i;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < tile.size; i += blockDim.x)
        roots[tile.place(lattice, i)] =
            tile.inside[i] & FOREGROUND ? tile.place(lattice, -1 - tile.more[root_of(tile.labels, i)]) : -1;
}

// Figure 1: a single thread grows one component after the other from its first element, layer by
// layer; `more` is the queue. An element without a label has -1.
__global__ void search_breadth_first(const __grid_constant__ Lattice lattice, const u2* __restrict__ links,
                                     int room, Index* roots)
{
    Tile tile(lattice, shared, room);
    tile.load(lattice, links);
    for (int i = threadIdx.x; i < tile.size; i += blockDim.x) tile.labels[i] = -1;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int seed = 0; seed < tile.size; ++seed) {
            if (tile.labels[seed] >= 0) continue;
            tile.labels[seed] = seed;
            tile.more[0] = seed;
            for (int head = 0, tail = 1; head < tail; ++head) {
                const int i = tile.more[head];
                for (int k = 0; k < lattice.count; ++k) {
                    const int later = i + tile.offsets[k], earlier = i - tile.offsets[k];
                    if (tile.inside[i] >> k & 1 && tile.labels[later] < 0) {
                        tile.labels[later] = seed;
                        tile.more[tail++] = later;
                    }
                    if (0 <= earlier && earlier < tile.size && tile.inside[earlier] >> k & 1 &&
                        tile.labels[earlier] < 0) {
                        tile.labels[earlier] = seed;
                        tile.more[tail++] = earlier;
                    }
                }
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < tile.size; i += blockDim.x)
        roots[tile.place(lattice, i)] =
            tile.inside[i] & FOREGROUND ? tile.place(lattice, tile.labels[i]) : -1;
}
