// Pairs of runs that touch where tiles meet, united many at once where there are many.
#pragma once
#include "tiling.cuh"
#include "union_find.cuh"

constexpr int QUEUE = 16;    // pairs of a word that there is room for
constexpr int ABREAST = 2;   // pairs that a thread takes from there at once
constexpr int CLIMBED = 12;  // steps up after a root was linked
constexpr unsigned UNITED = ~0u;

// Of 32 words, those with pairs from which on they are queued.
template <typename Tile>
constexpr int CROWDED = Tile::Deep > 1 ? 8 : 20;

// What the threads of a block have in their queues.
template <int Threads>
struct JoinMemory {
    unsigned queue[QUEUE * Threads];
};

// Threads of a block that unites tiles: of images whose tiles span two axes, half as many.
template <typename Tile>
constexpr int JOINERS = Tile::Deep > 1 ? THREADS / 2 : THREADS;

// Blocks that unite tiles and that a multiprocessor should hold at least: as many as registers allow with
// hardly a spill, and no more than it has threads for.
template <typename Id, typename Tile>
constexpr int JOINED = Tile::Deep == 1 ? 4 : (sizeof(Id) == 4 && !Tile::Many && BLOCKS > 4 ? 10 : 8);

// Unite the nodes of many pairs of runs, which `Words` threads have in a queue: neighbors take neighboring
// pairs, whose nodes are neighbors too.
//
// Where rows of many tiles lie one below the other, chains grow with every row. Roots are linked first, and
// climb together, each to its parent's parent, so that chains are halved at each step. The other pairs, which
// have longer ways, come last.
template <typename Tile, typename Id>
__device__ inline void unite_queue(const Plan& plan, Id* nodes, const u2* table, Id base,
                                   const u2* other_table, Id other_base, unsigned* queue, unsigned all)
{
    constexpr unsigned Words = Tile::Words;
    const unsigned word = threadIdx.x % Words;
    for (unsigned from = word; from < all; from += ABREAST * Words) {
        Id high[ABREAST], low[ABREAST], other[ABREAST];
        unsigned linked = 0, apart = 0;  // a bit for each pair
#pragma unroll
        for (int j = 0; j < ABREAST; ++j) {
            const unsigned at = from + j * Words, pair = at < all ? queue[at] : 0;
            high[j] = at < all ? table[pair >> 16] : 0;
            other[j] = at < all ? other_table[pair & 0xffff] : 0;
        }
#pragma unroll
        for (int j = 0; j < ABREAST; ++j) {
            const bool real = from + j * Words < all;
            Id one = node_of<Tile>(plan, base, high[j]), two = node_of<Tile>(plan, other_base, other[j]);
            high[j] = one;
            low[j] = real ? parent_of(nodes, one) : 0;
            other[j] = real ? parent_of(nodes, two) : 0;
            if (real && low[j] < other[j]) {
                high[j] = two;
                const Id swap = low[j];
                low[j] = other[j];
                other[j] = swap;
            }
        }
#pragma unroll
        for (int j = 0; j < ABREAST; ++j) {
            if (low[j] == other[j]) continue;
            apart |= 1u << j;
            if (low[j] != high[j]) continue;
            low[j] = atomicCAS(nodes + high[j], high[j], other[j]);
            if (low[j] == high[j]) linked |= 1u << j;
        }
#pragma unroll
        for (int j = 0; j < ABREAST; ++j)
            if (from + j * Words < all && !((apart & ~linked) >> j & 1)) queue[from + j * Words] = UNITED;
        for (int step = 0; step < CLIMBED && linked; ++step) {
#pragma unroll
            for (int j = 0; j < ABREAST; ++j)
                low[j] = linked >> j & 1 ? parent_of(nodes, other[j]) : other[j];
#pragma unroll
            for (int j = 0; j < ABREAST; ++j) {
                if (low[j] == other[j]) {
                    linked &= ~(1u << j);
                } else {
                    __stcg(nodes + high[j], low[j]);
                    other[j] = low[j];
                }
            }
        }
    }
    for (unsigned at = word; at < all; at += Words)
        if (const unsigned pair = queue[at]; pair != UNITED)
            unite(nodes, node_of<Tile>(plan, base, table[pair >> 16]),
                  node_of<Tile>(plan, other_base, other_table[pair & 0xffff]));
}
