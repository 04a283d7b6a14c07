// Second pass of `runs`: unite nodes where tiles meet.

#include "devices/cuda/union_find.cuh"
#include "runs/cuda/pixels.cuh"
#include "runs/cuda/tiling.cuh"

// ---- Unites runs that touch where tiles meet; many pairs at once where there are many.

constexpr int QUEUE = 16;    // places in the queue for each word
constexpr int ABREAST = 2;   // pairs that a thread unites at once
constexpr int CLIMBED = 12;  // most steps up after a root was linked
constexpr unsigned UNITED = ~0u;

// Number of words with pairs, of 32, from which pairs are queued.
template <typename Tile>
constexpr int CROWDED = Tile::Deep > 1 ? 8 : 20;

// The queues of the threads of a block.
template <int Threads>
struct JoinMemory {
    unsigned queue[QUEUE * Threads];
};

// Threads of a block that unites tiles: half as many if tiles span two axes.
template <typename Tile>
constexpr int JOINERS = Tile::Deep > 1 ? THREADS / 2 : THREADS;

// Least number of such blocks on a multiprocessor: as many as registers allow with hardly a spill, and no more
// than it has threads for.
template <typename Id, typename Tile>
constexpr int JOINED = Tile::Deep == 1 ? 4 : (sizeof(Id) == 4 && !Tile::Many && BLOCKS > 4 ? 10 : 8);

// Unite the nodes of many pairs of runs in the queue of `Words` threads: neighboring threads take neighboring
// pairs, whose nodes are neighbors too.
//
// Chains grow with every row of tiles. Roots are linked first; then they climb together, each to its parent's
// parent, so that chains are halved at each step. Pairs with longer chains come last.
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

// ------------------------------------------------------------------------------------------
// Unites nodes of neighboring rows and segments where tiles meet.

// Find the row that an edge leads to; false if there is no such row.
template <int Most, typename Row>
__device__ inline bool follow(const Plan& plan, const Edges<Most>& edges, const Place<Row>& from, int edge,
                              Place<Row>& to)
{
    const signed char* step = edges.step[edge];
    to = {from.row - static_cast<Row>(edges.back[edge]), from.segment, from.z + step[3], from.y + step[4]};
    if (to.z < 0 || to.z >= plan.shape[3] || to.y < 0 || to.y >= plan.shape[4]) return false;
    if (edge < plan.inner) return true;
    Row slab = from.row / plan.shape[4] / plan.shape[3];
    for (int axis = 2; axis >= 0; --axis) {
        const int there = static_cast<int>(slab % plan.shape[axis]) + step[axis];
        if (there < 0 || there >= plan.shape[axis]) return false;
        slab /= plan.shape[axis];
    }
    return true;
}

template <typename Tile, typename Row>
__device__ inline bool same_tile(const Plan& plan, const Place<Row>& one, const Place<Row>& two, int edge)
{
    return edge < plan.inner && one.z / Tile::Deep == two.z / Tile::Deep &&
           one.y / Tile::Tall == two.y / Tile::Tall;
}

// The row of an item; items count the rows with edges that leave their tile. If tiles span two axes, these are
// the rows of whole layers first, then the first row of each tile in the other layers, and also the last row if
// rows are joined diagonally. False if there is no such row.
template <typename Tile, typename Row>
__device__ inline bool border_row(const Plan& plan, Row item, Place<Row>& place)
{
    Row slab = 0;
    if (plan.border == FIRST_ROWS) {
        place.y = static_cast<int>(item % plan.tiles[4]) * Tile::Tall;
        slab = item / plan.tiles[4];
        place.z = static_cast<int>(slab % plan.shape[3]);
        slab /= plan.shape[3];
    } else if (plan.border == FACES) {
        const int sides = plan.inner > 2 ? 2 : 1;
        const int layers = plan.tiles[3] * plan.shape[4];
        const int others = plan.shape[3] - plan.tiles[3], lines = plan.tiles[4] * sides;
        const Row each = layers + static_cast<Row>(others) * lines;
        slab = item / each;
        int rest = static_cast<int>(item - slab * each);
        if (rest < layers) {
            place.z = rest / plan.shape[4] * Tile::Deep;
            place.y = rest % plan.shape[4];
        } else {
            rest -= layers;
            const int layer = rest / lines;
            place.z = layer + layer / max(Tile::Deep - 1, 1) + 1;
            rest %= lines;
            place.y = rest / sides * Tile::Tall + rest % sides * (Tile::Tall - 1);
        }
    } else {
        place.y = static_cast<int>(item % plan.shape[4]);
        slab = item / plan.shape[4];
        place.z = static_cast<int>(slab % plan.shape[3]);
        slab /= plan.shape[3];
    }
    place.row = (slab * plan.shape[3] + place.z) * plan.shape[4] + place.y;
    return place.y < plan.shape[4];
}

// Unite along rows: a group of `Words` threads follows the edges of a segment that leave its tile.
template <typename Pixel, typename Id, typename Tile, typename Edges>
__device__ inline void join_rows(const Pixel* __restrict__ image, const Plan& plan, const Edges& edges,
                                 const unsigned* __restrict__ bits,
                                 const unsigned* __restrict__ begins, Id* nodes, u2* tables,
                                 Index group, Index groups, unsigned* queue)
{
    typedef typename RowOf<Id>::type Row;
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    const int word = threadIdx.x % Words;
    bool real = group < groups;
    if (!real) group = 0;
    Place<Row> here;
    const Row number = static_cast<Row>(group), item = number / plan.segments;
    here.segment = static_cast<int>(number - item * plan.segments);
    real = border_row<Tile>(plan, item, here) && real;

    const auto place_of = [&](Row row) {
        return static_cast<Index>(row * plan.segments + here.segment) * Words + word;
    };
    const unsigned set = real ? bits[place_of(here.row)] : 0;
    unsigned start, total;
    if (Many)
        start = real ? begins[place_of(here.row)] : 0;
    else
        start = set & ~from_left<Words>(set);
    const unsigned run = runs_before<Words>(start, total);
    if (!__any_sync(ALL, set)) return;
    const Index begin = first_pixel(plan, here.row, here.segment) + 32 * word;
    const u2* const own = run_table<Many>(plan, nodes, tables, here.row, here.segment, total);
    const Id base = tile_base<Tile>(plan, here);
    for (int edge = 0; edge < plan.edges; ++edge) {
        Place<Row> there;
        const bool exists = real && follow(plan, edges, here, edge, there) &&
                            !same_tile<Tile>(plan, here, there, edge);
        if (!__any_sync(ALL, exists)) continue;
        const Index place = exists ? place_of(there.row) : 0;
        const unsigned other_set = exists ? bits[place] : 0;
        unsigned other_start = 0;
        Touch touch;
        if constexpr (Many) {
            other_start = exists ? begins[place] : 0;
            const Index back = -static_cast<Index>(edges.back[edge]) * plan.columns;
            touch = touching<Words>(image, begin, back, set, start, other_set, other_start,
                                    edges.diagonal[edge]);
        } else {
            other_start = other_set & ~from_left<Words>(other_set);
            // As in tiles: a fourth side of a square is redundant, and a way around a corner.
            unsigned known = 0;
            if (edge > 0 && edge < plan.inner && exists) {
                const int dy = edges.step[edge][4];
                if (dy == 0 && here.y > 0)
                    known = set & other_set & bits[place_of(here.row - 1)] & bits[place_of(there.row - 1)];
                if (dy) known = bits[place_of(here.row + dy)] | bits[place_of(there.row - dy)];
            }
            touch = touching<Words>(set, other_set, edges.diagonal[edge], known);
        }
        unsigned other_total;
        const unsigned other_run = runs_before<Words>(other_start, other_total);
        const unsigned touches = __popc(touch.straight) + __popc(touch.left) + __popc(touch.right);
        unsigned all = 0, at = 0;
        const bool crowded = __popc(__ballot_sync(ALL, touches)) >= CROWDED<Tile>;
        if (crowded) at = sum_before<Words>(touches, all);
        const bool queued = crowded && all <= QUEUE * Words;
        const u2* table = nullptr;
        Id other_base = 0;
        if (exists) {
            table = run_table<Many>(plan, nodes, tables, there.row, there.segment, other_total);
            other_base = tile_base<Tile>(plan, there);
        }
        while (touch.straight | touch.left | touch.right) {
            unsigned touched;
            const unsigned mine = run_at(run, start, take(touch, other_run, other_start, touched));
            if (queued)
                queue[at++] = mine << 16 | touched;
            else
                unite(nodes, node_of<Tile>(plan, base, own[mine]),
                      node_of<Tile>(plan, other_base, table[touched]));
        }
        if (!crowded) continue;
        __syncwarp();
        if (queued && exists) unite_queue<Tile>(plan, nodes, own, base, table, other_base, queue, all);
        __syncwarp();
    }
}

// Unite between the last pixel of a segment and the first of the next, in a row and its neighboring rows.
template <typename Pixel, typename Id, typename Tile, typename Edges>
__device__ inline void join_seam(const Pixel* __restrict__ image, const Plan& plan, const Edges& edges,
                                 const unsigned* __restrict__ bits,
                                 const unsigned* __restrict__ counts, Id* nodes, u2* tables, Index seam)
{
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    const int segment = static_cast<int>(seam % (plan.segments - 1));
    const Index row = seam / (plan.segments - 1);
    const Place<Index> left = {row, segment, static_cast<int>(row / plan.shape[4] % plan.shape[3]),
                               static_cast<int>(row % plan.shape[4])};
    Place<Index> right = left;
    ++right.segment;
    const int last = plan.width / 32 - 1;
    const auto pair = [&](Index line, bool& before, bool& after) {
        const Index place = (line * plan.segments + segment) * Words;
        before = bits[place + last] >> 31;
        after = bits[place + Words] & 1;
    };
    const auto runs_of = [&](Index line, int place) { return counts[line * plan.segments + place] >> 16; };
    const auto same = [&](Index one, int back_one, Index two, int back_two) {
        return !Many || image[first_pixel(plan, one, segment + 1) - back_one] ==
                            image[first_pixel(plan, two, segment + 1) - back_two];
    };
    // The node of the last run, or of the first.
    const auto node_at = [&](const Place<Index>& place, bool at_end) {
        const unsigned runs = Many && !at_end ? 1 : runs_of(place.row, place.segment);
        const unsigned entry =
            run_table<Many>(plan, nodes, tables, place.row, place.segment, runs)[at_end ? runs - 1 : 0];
        return node_of<Tile>(plan, static_cast<Id>(tile_base<Tile>(plan, place)), entry);
    };
    bool before, after;
    pair(row, before, after);
    if (!before && !after) return;
    if (before && after && same(row, 1, row, 0)) {
        // Redundant if the row above joins the same two.
        bool known = false;
        if (plan.inner && left.y) {
            bool above, beside;
            pair(row - 1, above, beside);
            known = above && beside && same(row - 1, 1, row, 1) && same(row - 1, 0, row, 0);
        }
        if (!known)
            unite(nodes, node_at(left, true), node_at(right, false));
    }
    for (int edge = 0; edge < plan.edges; ++edge) {
        Place<Index> there;
        if (!edges.diagonal[edge] || !follow(plan, edges, left, edge, there)) continue;
        bool other_before, other_after;
        pair(there.row, other_before, other_after);
        // With one value, a third pixel of the square joins the two as well.
        if (after && other_before && (Many || (!before && !other_after)) &&
            same(row, 0, there.row, 1))
            unite(nodes, node_at(right, false), node_at(there, true));
        if (before && other_after && (Many || (!after && !other_before)) &&
            same(row, 1, there.row, 0)) {
            ++there.segment;
            unite(nodes, node_at(left, true), node_at(there, false));
        }
    }
}

// The work of a block: the first blocks take rows, the others a seam per thread. Rows come first because most
// chains from one side of a seam to the other lead through many rows.
template <typename Pixel, typename Id, typename Tile, typename Edges, int Threads>
__device__ __forceinline__ void
join_block(const Job& job, const Edges& edges, const Index block, JoinMemory<Threads>& memory)
{
    const Plan& plan = job.plan;
    const Pixel* const image = static_cast<const Pixel*>(job.image);
    Id* const nodes = static_cast<Id*>(job.nodes);
    const Index row_blocks = (job.groups * Tile::Words + Threads - 1) / Threads;
    if (block < row_blocks) {
        const Index group = (block * Threads + threadIdx.x) / Tile::Words;
        unsigned* const queue = memory.queue + threadIdx.x / Tile::Words * (QUEUE * Tile::Words);
        join_rows<Pixel, Id, Tile>(image, plan, edges, job.bits, job.begins, nodes, job.tables, group,
                                   job.groups, queue);
    } else {
        const Index seam = (block - row_blocks) * Threads + threadIdx.x;
        if (seam < job.seams)
            join_seam<Pixel, Id, Tile>(image, plan, edges, job.bits, job.counts, nodes, job.tables, seam);
    }
}

template <typename Pixel, typename Id, typename Tile, typename Edges>
__global__ void __launch_bounds__(JOINERS<Tile>, JOINED<Id, Tile>)
    join_tiles(const __grid_constant__ Job job, const __grid_constant__ Edges edges)
{
    __shared__ JoinMemory<JOINERS<Tile>> memory;
    join_block<Pixel, Id, Tile>(job, edges, static_cast<Index>(blockIdx.x), memory);
}
