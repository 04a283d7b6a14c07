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
    int segments, strips;  // side by side, and one below the other in a slab
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
