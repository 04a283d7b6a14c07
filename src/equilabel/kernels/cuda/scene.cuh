// How measuring walks through an image: a warp goes down a strip of rows, a column to each lane.
//
// A lane remembers one label and what it has counted of it in registers. When another label comes, or
// the strip ends, the lanes that hold the same label add up what they have, and one of them adds that
// to the table: a giant component costs some atomic operations a strip, not some a pixel. Whole numbers
// are added, modulo 2^64, so that the order does not matter.
#pragma once
#include "lanes.cuh"

constexpr int SIDES = 6;

struct Scene {
    Index sides[SIDES];  // of the image, padded with ones in front
    int axes, rank;     // of the image; how many of them are spatial
    int tall;           // rows of a strip
    int width;          // columns of the table
    int sums, lows, highs, seconds, pairs, euler_face, euler_full, outline;  // first columns, or -1
};

// What one warp looks at: all rows of a slab from `first` to before `last`, from column `x` on.
struct View {
    Index slab, first, last, x;  // no rows where there is no such strip
};

template <int Wide>
__device__ inline View find_view(const Scene& scene)
{
    const Index columns = scene.sides[5], rows = scene.sides[4];
    const Index across = (columns + Wide - 1) / Wide, strips = (rows + scene.tall - 1) / scene.tall;
    Index warp = thread_index() / 32;
    View view;
    view.x = warp % across * Wide;
    warp /= across;
    view.first = warp % strips * scene.tall;
    view.slab = warp / strips;
    const bool real = view.slab < scene.sides[0] * scene.sides[1] * scene.sides[2] * scene.sides[3];
    view.last = real ? min(view.first + scene.tall, rows) : view.first;
    return view;
}

// What lanes have counted of one label, of pixels whose coordinates are taken from those of a corner.
struct Sums {
    unsigned pixels, x, y;
    unsigned low_x, low_y;  // greatest of `reach - coordinate`
    unsigned high_x, high_y;
    u8 xx, xy, yy;
};

// Add to the line of a label, in a table as kernels/layout.py lays it out.
__device__ inline void write_places(const Sums& sums, Index slab, Index x0, Index y0, Index reach_x,
                                    Index reach_y, const Scene& scene, u8* line)
{
    const int skip = SIDES - scene.axes;
    Index at[SIDES];
    for (int axis = 3; axis >= skip; --axis) {  // divisions take longer than all the rest
        at[axis] = slab % scene.sides[axis];
        slab /= scene.sides[axis];
    }
    const u8 n = sums.pixels, x = x0, y = y0;
    const u8 all_x = n * x + sums.x, all_y = n * y + sums.y;
    atomicAdd(line, n);
    for (int axis = skip; axis < SIDES; ++axis) {
        const u8 sum = axis == 5 ? all_x : axis == 4 ? all_y : n * at[axis];
        const Index first = axis == 5   ? x0 + reach_x - sums.low_x
                            : axis == 4 ? y0 + reach_y - sums.low_y
                                        : at[axis];
        const Index last = axis == 5 ? x0 + sums.high_x : axis == 4 ? y0 + sums.high_y : at[axis] + 1;
        atomicAdd(line + scene.sums + axis - skip, sum);
        atomicMax(line + scene.lows + axis - skip, static_cast<u8>(scene.sides[axis] - first));
        atomicMax(line + scene.highs + axis - skip, static_cast<u8>(last));
    }
    if (scene.seconds < 0) return;
    u8* to = line + scene.seconds;
    for (int one = SIDES - scene.rank; one < SIDES; ++one)
        for (int other = one; other < SIDES; ++other) {
            u8 product;
            if (one == 5)
                product = n * x * x + 2 * x * sums.x + sums.xx;
            else if (one == 4)
                product = other == 5 ? n * x * y + x * sums.y + y * sums.x + sums.xy
                                     : n * y * y + 2 * y * sums.y + sums.yy;
            else
                product = at[one] * (other == 5 ? all_x : other == 4 ? all_y : n * at[other]);
            atomicAdd(to++, product);
        }
}

// A line of the table that the warps of a block share: that of the least label which they hold at the end
// of their strips. Where one component is large, all hold it, and one of them adds to the table.
template <int Most>
struct SharedLine {
    unsigned long long label;
    unsigned long long columns[Most];
};

// Whether the leader of some lanes adds to the shared line. All threads of a block call this together;
// `holds` says whether a lane holds a label.
template <int Most>
__device__ inline bool share(SharedLine<Most>& line, bool holds, u8 label)
{
    if (threadIdx.x == 0) line.label = ~0ull;
    for (int k = threadIdx.x; k < Most; k += blockDim.x) line.columns[k] = 0;
    __syncthreads();
    if (holds) atomicMin(&line.label, label);
    __syncthreads();
    return holds && line.label == label;
}

// Add the shared line to the table. All threads of a block call this together.
template <int Most>
__device__ inline void add_shared(const SharedLine<Most>& line, const Scene& scene, u8* table)
{
    __syncthreads();
    const int k = threadIdx.x;
    if (k >= scene.width || line.label == ~0ull || line.columns[k] == 0) return;
    u8* to = table + line.label * scene.width + k;
    if (k >= scene.lows && k < scene.highs + scene.axes)
        atomicMax(to, line.columns[k]);
    else
        atomicAdd(to, line.columns[k]);
}
