// Where things are: rows in tiles, segments of rows, and the tables that belong to them.
//
// A row is a line of pixels along the last axis. Rows are cut into segments of `width` pixels, `Words`
// words of 32 bits, and a tile is Deep x Tall segments that lie side by side along the two axes before.
// A tile is worked on by one block of 256 threads, `Each` words a thread: the k-th word of thread t is
// word 256 k + t of the tile.
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
constexpr int INNER = 4;         // (3^2 - 1) / 2
constexpr int MOST_EDGES = 121;  // (3^5 - 1) / 2
constexpr unsigned ALL = 0xffffffffu;

// Which rows have edges that leave their tile: any; the first of a tile; those on its faces.
enum { EVERY_ROW, FIRST_ROWS, FACES };

struct Plan {
    Index columns, pitch, rows;
    Index back[INNER];             // rows back to a neighboring row, along the last two leading axes
    int shape[AXES], tiles[AXES];  // rows, and tiles, along the leading axes
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

template <bool MANY, int WORDS, int TALL, int DEEP>
struct Tile {
    static constexpr bool Many = MANY;  // whether values tell runs apart
    static constexpr int Words = WORDS, Tall = TALL, Deep = DEEP;
    static constexpr int Rows = TALL * DEEP;
    static constexpr int Abreast = THREADS / WORDS;  // rows that a block works on at once
    static constexpr int Each = Rows / Abreast;
    static constexpr int Capacity = (MANY ? 32 : 16) * WORDS;  // runs of a segment at most
    static constexpr int Blocks = MANY ? 1 : Each == 1 ? 8 : 6;  // that a multiprocessor has memory for
    static_assert(Rows % Abreast == 0 && Rows * Capacity <= 1 << 13, "tables have to fit");
};

// A segment and where its row is.
struct Place {
    Index row;
    int segment, z, y;
};

// A tile: the first of its rows, and where that is.
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

// The rows of a tile that a thread works on.
template <typename Tile>
struct Lines {
    static_assert(Tile::Deep == 1 || Tile::Abreast % Tile::Tall == 0, "evenly spaced");
    static constexpr int Layers = Tile::Deep == 1 ? 1 : Tile::Abreast / Tile::Tall;
    Index first;
    int step, below, layers;  // rows from one to the next; what the image has from the first on

    __device__ Lines(const Plan& plan, const Corner& corner, int row = threadIdx.x / Tile::Words)
    {
        const int z = Tile::Deep == 1 ? 0 : row / Tile::Tall, y = row - z * Tile::Tall;
        first = corner.row + static_cast<Index>(z) * plan.shape[4] + y;
        step = Tile::Deep == 1 ? Tile::Abreast : Layers * plan.shape[4];
        below = plan.shape[4] - corner.y - y;
        layers = plan.shape[3] - corner.z - z;
    }

    __device__ Index operator[](int k) const { return first + static_cast<Index>(k) * step; }

    __device__ bool inside(int k) const
    {
        return Tile::Deep == 1 ? k * Tile::Abreast < below : 0 < below && k * Layers < layers;
    }
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
