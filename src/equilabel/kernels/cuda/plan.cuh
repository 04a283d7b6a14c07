// Where things are: rows in tiles, segments of rows, and the tables that belong to them.
//
// A row is a line of pixels along the last axis. Rows are cut into segments of `width` pixels, `Words`
// words of 32 bits, and a tile is Deep x Tall segments that lie side by side along the two axes before.
// A tile is worked on by one block of 256 threads, a thread for each word.
//
// A run is a stretch of pixels of one value in a segment; a node is a part of a component in a tile.
// A node belongs to the segment of its first pixel. `nodes` has room for `pitch` nodes in a row, as many
// as pixels or more; those of a segment begin where its pixels do. Node indices grow in raster order of
// the nodes' first pixels.
//
// A run table has 16 bits for every run of a segment: the row in the tile where its node is, times
// `Capacity`, plus the node's place in that row. In images of one value a segment has runs for half its
// pixels at most, and the table lies in the second half of its nodes. In images of many values it has
// as many as pixels: tables have a memory of their own.
#pragma once
#include "grid.cuh"

constexpr int THREADS = 256;
constexpr int AXES = 5;
constexpr int MOST_EDGES = 121;  // (3^5 - 1) / 2
constexpr unsigned ALL = 0xffffffffu;

struct Plan {
    Index columns, pitch, rows;
    Index back[MOST_EDGES];            // rows back to a neighboring row
    int shape[AXES], tiles[AXES];      // rows, and tiles, along the leading axes
    int segments, width;
    int edges, inner, planar;          // edges, those along the last two leading axes, all along one
    signed char step[MOST_EDGES][AXES];
    signed char diagonal[MOST_EDGES];  // whether rows overlap diagonally too
};

template <bool MANY, int WORDS, int TALL, int DEEP>
struct Tile {
    static constexpr bool Many = MANY;  // whether values tell runs apart
    static constexpr int Words = WORDS, Tall = TALL, Deep = DEEP;
    static constexpr int Rows = THREADS / WORDS;
    static constexpr int Capacity = (MANY ? 32 : 16) * WORDS;  // runs of a segment at most
    static_assert(TALL * DEEP == Rows, "a thread for each word");
};

// A segment and where its row is.
struct Place {
    Index row;
    int segment, z, y;
};

__device__ inline Index first_pixel(const Plan& plan, Index row, int segment)
{
    return row * plan.columns + static_cast<Index>(segment) * plan.width;
}

__device__ inline Index first_node(const Plan& plan, Index row, int segment)
{
    return row * plan.pitch + static_cast<Index>(segment) * plan.width;
}

// The run table of a segment. `tables` is used in images of many values only.
template <typename Tile, typename Id>
__device__ inline u2* run_table(const Plan& plan, Id* nodes, u2* tables, Index row, int segment)
{
    if (Tile::Many) return tables + first_pixel(plan, row, segment);
    const Index left = plan.pitch - static_cast<Index>(segment) * plan.width;
    const int room = left < plan.width ? static_cast<int>(left) : plan.width;
    return reinterpret_cast<u2*>(nodes + first_node(plan, row, segment) + (room + 1) / 2);
}

// The index of a node from its number in a tile whose first row is `corner`.
template <typename Tile>
__device__ inline Index node_index(const Plan& plan, Index corner, int segment, unsigned number)
{
    const int row = number / Tile::Capacity, place = number % Tile::Capacity;
    const Index line = corner + static_cast<Index>(row / Tile::Tall) * plan.shape[4] + row % Tile::Tall;
    return first_node(plan, line, segment) + place;
}

// Pixels that a word of a segment holds, 0 to 32.
__device__ inline int word_size(const Plan& plan, int segment, int word)
{
    const Index left = plan.columns - static_cast<Index>(segment) * plan.width;
    const int across = left < plan.width ? static_cast<int>(left) : plan.width;
    return min(max(across - 32 * word, 0), 32);
}
