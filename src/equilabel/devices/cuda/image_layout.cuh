// What kernels that measure are told of an image and of their table.
#pragma once

#include "devices/cuda/index.cuh"

constexpr int SIDES = 6;

struct ImageLayout {
    Index sides[SIDES];    // of the image, padded with ones in front
    int axes, rank;        // of the image; how many of them are spatial
    int tall;              // rows of a strip
    int segments, strips;  // side by side, and one below the other in a slab
    int width;             // columns of the table
    int sums, lows, highs, seconds, pairs, euler_face, euler_full, outline;  // first columns, or -1
};
