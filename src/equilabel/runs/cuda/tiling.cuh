// Layout of an image: rows, segments of rows, tiles, and their tables.
//
// A row is a line of pixels along the last axis. Rows are cut into segments of `width` pixels, `Words` words of 32
// bits, and a tile is Deep x Tall neighboring segments along the two axes before. One block of 256 threads works on
// a tile; each thread takes the same word of `Each` neighboring rows.
//
// A run is a stretch of pixels of one value in a segment; a node is a part of a component in a tile. A node belongs
// to the segment of its first pixel. `nodes` has room for a node for each pixel; the nodes of a segment begin at the
// index of its first pixel. Node indices grow in raster order of the nodes' first pixels.
//
// A run table has an entry of 16 bits for every run of a segment: its node, numbered through the tile with `Capacity`
// numbers for each segment. In images of one value, a segment has at most half as many runs as pixels: up to `NEAR`
// entries are in `tables`, next to those of other segments, and longer tables in the second half of its nodes. In
// images of several values, there may be as many runs as pixels, and all tables are in `tables`. Tables begin at
// multiples of 4 bytes. Short tables fill whole sectors of memory, because a partly written sector is read before it
// leaves the cache.
#pragma once

#include "devices/cuda/index.cuh"

constexpr int THREADS = 256;
constexpr unsigned NEAR = 16;  // entries of a short run table: a sector of memory
constexpr int AXES = 5;
constexpr int INNER = 4;         // (3^2 - 1) / 2
constexpr int MOST_EDGES = 121;  // (3^5 - 1) / 2
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int BLOCKS = 4;  // a multiprocessor has 1024 threads
#else
constexpr int BLOCKS = 6;
#endif

// The highest bit of a node's value says that it is a label, not a parent.
template <typename Id>
constexpr Id LABEL = Id(1) << (8 * sizeof(Id) - 1);

// Which rows have edges that leave their tile: every row, the first of each tile, or those on its faces.
enum { EVERY_ROW, FIRST_ROWS, FACES };

struct Plan {
    Index columns, rows;
    Index back[INNER];             // rows back to a neighboring row, along the last two leading axes
    int shape[AXES], tiles[AXES];  // numbers of rows and of tiles along the leading axes
    unsigned inverse[3];           // (2^32 - 1) / segments, / tiles[4], / tiles[3]
    int segments, width;
    int edges, inner, border;      // edges in all, and along the last two leading axes
    signed char dz[INNER], dy[INNER];
    signed char diagonal[INNER];   // whether rows overlap diagonally too
};

// Edges along any axes.
template <int Most>
struct Edges {
    Index back[Most];
    signed char step[Most][AXES];
    signed char diagonal[Most];
};

// The argument of every pass. Types behind addresses are those of its template parameters.
struct Job {
    Plan plan;
    const void* image;  // pixels
    unsigned *bits, *begins, *counts;  // foreground; where runs begin, if values differ; runs and nodes
    void* nodes;
    u2* tables;
    void* labels;
    unsigned long long* states;  // exchanged between the blocks that number
    long long* found;
    const void* numbers;  // what is painted in place of each label, of the type of `labels`; or null
    Index blocks, seams, groups;  // of the pass that numbers, of the one that unites
    u8 background;  // bits of a value
    int compare;    // how foreground compares with it, see pixels.cuh
    int aligned;    // whether rows of bytes begin at multiples of 16
    int quads;      // whether rows of labels do
    int fours;      // whether four pixels can be read at once, if values differ
    int first_label;
};

template <bool MANY, int WORDS, int TALL, int DEEP>
struct Tile {
    static constexpr bool Many = MANY;  // whether values tell runs apart
    static constexpr int Words = WORDS, Tall = TALL, Deep = DEEP;
    static constexpr int Rows = TALL * DEEP;
    static constexpr int Abreast = THREADS / WORDS;  // rows that a block works on at once
    static constexpr int Each = Rows / Abreast;
    static constexpr int Capacity = (MANY ? 32 : 16) * WORDS;  // most runs of a segment
    // Entries for the runs of a row in shared memory: one of 33 is left out, to avoid bank conflicts.
    static constexpr int Pitch = Capacity + Capacity / 32;
    static constexpr int Blocks = MANY ? BLOCKS - 1 : BLOCKS;  // least number on a multiprocessor
    static_assert(Rows % Abreast == 0 && Rows * Capacity <= 1 << 13, "tables have to fit");
};

// Type of numbers of rows and segments if nodes are `Id`: there are no more of these than pixels.
template <typename Id>
struct RowOf {
    typedef Index type;
};
template <>
struct RowOf<u4> {
    typedef u4 type;
};

// A segment, with the coordinates of its row.
template <typename Row>
struct Place {
    Row row;
    int segment, z, y;
};

// A tile: the first of its rows, and its coordinates.
struct Corner {
    Index row;
    int segment, z, y;
};

// Divide by `divisor`, in place; returns the rest. `inverse` is (2^32 - 1) / divisor.
__device__ inline unsigned split(unsigned& index, unsigned divisor, unsigned inverse)
{
    unsigned quotient = __umulhi(index, inverse);
    unsigned rest = index - quotient * divisor;
    if (rest >= divisor) {
        rest -= divisor;
        ++quotient;
    }
    index = quotient;
    return rest;
}

// The row of a segment, given the number of the segment in the image; `segment` becomes its number in the row.
__device__ inline Index line_of(const Plan& plan, Index number, int& segment)
{
    if (plan.rows * plan.segments >> 32 == 0) {
        unsigned line = static_cast<unsigned>(number);
        segment = split(line, plan.segments, plan.inverse[0]);
        return line;
    }
    const Index line = number / plan.segments;
    segment = static_cast<int>(number - line * plan.segments);
    return line;
}

template <typename Tile>
__device__ inline Corner corner_of(const Plan& plan, unsigned tile)
{
    Corner corner;
    corner.segment = split(tile, plan.segments, plan.inverse[0]);
    corner.y = split(tile, plan.tiles[4], plan.inverse[1]) * Tile::Tall;
    corner.z = split(tile, plan.tiles[3], plan.inverse[2]) * Tile::Deep;
    corner.row = (static_cast<Index>(tile) * plan.shape[3] + corner.z) * plan.shape[4] + corner.y;
    return corner;
}

// The neighboring rows of a tile that a thread works on.
template <typename Tile>
struct Lines {
    static_assert(Tile::Tall % Tile::Each == 0, "in one layer");
    Index first;
    int below;  // rows from the first on

    __device__ Lines(const Plan& plan, const Corner& corner)
    {
        const int row = threadIdx.x / Tile::Words * Tile::Each;
        const int z = row / Tile::Tall, y = row % Tile::Tall;
        first = corner.row + static_cast<Index>(z) * plan.shape[4] + y;
        below = corner.z + z < plan.shape[3] ? plan.shape[4] - corner.y - y : 0;
    }

    __device__ Index operator[](int k) const { return first + k; }

    __device__ bool inside(int k) const { return k < below; }
};

__device__ inline Index first_pixel(const Plan& plan, Index row, int segment)
{
    return row * plan.columns + static_cast<Index>(segment) * plan.width;
}

// The entries of a segment's runs, `total` of them.
template <bool Many, typename Id>
__device__ inline u2* run_table(const Plan& plan, Id* nodes, u2* tables, Index row, int segment, unsigned total)
{
    const Index first = first_pixel(plan, row, segment);
    if (Many) return tables + first + row * (plan.columns & 1);
    if (total <= NEAR) return tables + NEAR * (row * plan.segments + segment);
    const Index left = plan.columns - static_cast<Index>(segment) * plan.width;
    const int room = left < plan.width ? static_cast<int>(left) : plan.width;
    return reinterpret_cast<u2*>(nodes + first + (room + 1) / 2);
}

// The first node of the tile that holds a segment.
template <typename Tile, typename Row>
__device__ inline Index tile_base(const Plan& plan, const Place<Row>& place)
{
    const Row row = place.row - place.z % Tile::Deep * static_cast<Row>(plan.shape[4]);
    return first_pixel(plan, row - place.y % Tile::Tall, place.segment);
}

// The node of an entry, in the tile whose first node is `base`.
template <typename Tile, typename Id>
__device__ inline Id node_of(const Plan& plan, Id base, unsigned entry)
{
    const unsigned row = entry / Tile::Capacity;
    Id line = row;
    if (Tile::Deep > 1) line = row / Tile::Tall * static_cast<Id>(plan.shape[4]) + row % Tile::Tall;
    return base + line * static_cast<Id>(plan.columns) + entry % Tile::Capacity;
}

// Number of pixels in a word of a segment, 0 to 32.
__device__ inline int word_size(const Plan& plan, int segment, int word)
{
    const Index left = plan.columns - static_cast<Index>(segment) * plan.width;
    const int across = left < plan.width ? static_cast<int>(left) : plan.width;
    return min(max(across - 32 * word, 0), 32);
}
