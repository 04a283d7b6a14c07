// Second pass of `runs`: unite nodes where tiles meet, and across periodic boundaries.

#include "devices/cuda/image_layout.cuh"
#include "runs/cuda/pixels.cuh"

// ---- Unites runs that touch where tiles meet; many pairs at once where there are many.

// Places in the queue for each word; most steps up after a root was linked.
enum { QUEUE = 16, CLIMBED = 12 };

// Number of words with pairs, of 32, from which pairs are queued.
template <typename Tile>
constexpr int CROWDED = Tile::Deep > 1 ? 8 : 20;

// Threads of a block that unites tiles: half as many if tiles span two axes.
template <typename Tile>
constexpr int JOINERS = Tile::Deep > 1 ? THREADS / 2 : THREADS;

// Least number of such blocks on a multiprocessor: as many as registers allow with hardly a spill, and no more
// than it has threads for.
template <typename Id, typename Tile>
constexpr int JOINED = Tile::Deep == 1 ? 4 : (sizeof(Id) == 4 && !Tile::Many && BLOCKS > 4 ? 10 : 8);

// Unite the nodes of many pairs of runs in the queue of `Words` threads: neighboring threads take neighboring
// pairs, whose nodes are neighbors too. `nodes_of` returns the nodes of a pair.
//
// Chains grow with every row of tiles. Roots are linked first; then they climb together, each to its parent's
// parent, so that chains are halved at each step. Pairs with longer chains come last.
template <unsigned Words, typename Id, class NodesOf>
__device__ inline void unite_queue(Id* nodes, unsigned* queue, unsigned all, const NodesOf& nodes_of)
{
    const unsigned word = threadIdx.x % Words;
    for (unsigned at = word; at < all; at += Words) {
        Id high, low;
        nodes_of(queue[at], high, low);
        Id parent = parent_of(nodes, high), other = parent_of(nodes, low);
        if (parent < other) {
            high = low;
            low = parent;
            parent = other;
            other = low;
        }
        const bool linked = parent == high && parent != other && atomicCAS(nodes + high, high, other) == high;
        if (linked || parent == other) queue[at] = UNITED;
        for (int step = 0; step < CLIMBED && linked; ++step) {
            low = parent_of(nodes, other);
            if (low == other) break;
            __stcg(nodes + high, low);
            other = low;
        }
    }
    for (unsigned at = word; at < all; at += Words)
        if (const unsigned pair = queue[at]; pair != UNITED) {
            Id one, two;
            nodes_of(pair, one, two);
            unite(nodes, one, two);
        }
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
        if (queued && exists)
            unite_queue<Words>(nodes, queue, all, [&](unsigned pair, Id& one, Id& two) {
                one = node_of<Tile>(plan, base, own[pair >> 16]);
                two = node_of<Tile>(plan, other_base, table[pair & 0xffff]);
            });
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

// The first blocks take rows, the others a seam per thread. Rows come first because most chains from one side of a seam
// to the other lead through many rows.
template <typename Pixel, typename Id, typename Tile, typename Edges>
__global__ void __launch_bounds__(JOINERS<Tile>, JOINED<Id, Tile>)
    join_tiles(const __grid_constant__ Job job, const __grid_constant__ Edges edges)
{
    constexpr int Words = Tile::Words, Threads = JOINERS<Tile>;
    __shared__ unsigned queues[QUEUE * Threads];
    const Plan& plan = job.plan;
    const Pixel* const image = static_cast<const Pixel*>(job.image);
    Id* const nodes = static_cast<Id*>(job.nodes);
    const Index block = blockIdx.x, row_blocks = (job.groups * Words + Threads - 1) / Threads;
    if (block < row_blocks) {
        const int group = threadIdx.x / Words;
        join_rows<Pixel, Id, Tile>(image, plan, edges, job.bits, job.begins, nodes, job.tables,
                                   block * (Threads / Words) + group, job.groups, queues + group * (QUEUE * Words));
    } else {
        const Index seam = (block - row_blocks) * Threads + threadIdx.x;
        if (seam < job.seams)
            join_seam<Pixel, Id, Tile>(image, plan, edges, job.bits, job.counts, nodes, job.tables, seam);
    }
}

// ------------------------------------------------------------------------------------------
// Unites components across periodic boundaries, after all other neighbors are united.
//
// One thread for each element that lies last along an axis visits its neighbors that lie first. So all
// pairs across a boundary are visited, once for each axis that they go around.

constexpr int MOST_AROUND = 243;  // 3^5

// The elements that lie last along an axis, and the steps from them to neighbors that lie first; the straight
// step comes first.
struct Boundary {
    Index sides[SIDES];  // of the image, padded with ones in front
    Index faces;         // elements that lie last
    int axis, steps;
    signed char periodic[SIDES];
    signed char step[MOST_AROUND][SIDES];
};

// Compute the coordinates of one of the elements that lie last; returns its flat index.
__device__ inline Index locate_last(const Boundary& boundary, Index number, Index (&at)[SIDES])
{
#pragma unroll
    for (int axis = SIDES - 1; axis >= 0; --axis) {
        const Index side = boundary.sides[axis];
        const Index rest = number / side;
        at[axis] = axis == boundary.axis ? side - 1 : number - rest * side;
        number = axis == boundary.axis ? number : rest;
    }
    Index index = 0;
#pragma unroll
    for (int axis = 0; axis < SIDES; ++axis) index = index * boundary.sides[axis] + at[axis];
    return index;
}

// Flat index of a neighbor, around periodic axes, without the step along `left_out`; -1 outside.
__device__ inline Index beyond(const Boundary& boundary, const Index (&at)[SIDES], int step, int left_out)
{
    Index index = 0;
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < SIDES; ++axis) {
        const Index side = boundary.sides[axis];
        Index there = at[axis] + (axis == left_out ? 0 : boundary.step[step][axis]);
        if (there < 0 || there >= side) {
            inside = inside && boundary.periodic[axis];
            there += there < 0 ? side : -side;
        }
        index = index * side + there;
    }
    return inside ? index : -1;
}

// Roots become a forest; `unite_roots` says why its races are safe. Background stays background.
template <typename Pixel>
__global__ void join_faces(const Pixel* __restrict__ values, bool many, const Boundary boundary,
                           Index* roots)
{
    const Index number = thread_index();
    if (number >= boundary.faces) return;
    Index at[SIDES];
    const Index here = locate_last(boundary, number, at);
    if (roots[here] < 0) return;
    for (int k = 0; k < boundary.steps; ++k) {
        const Index other = beyond(boundary, at, k, -1);
        if (other < 0 || roots[other] < 0) continue;
        if (!many || values[here] == values[other]) unite_roots(roots, here, other);
    }
}

// A thread writes the root of its own element, which does not change; others that read it find a shorter
// chain to the same root.
__global__ void settle(Index size, Index* roots)
{
    const Index i = thread_index();
    if (i < size && roots[i] >= 0) roots[i] = root_of(roots, i);
}

// Access to the tables of the method `runs` by pixel; slow, but few pixels need it.
template <typename Pixel, typename Id, typename Tile>
struct Pixels {
    const Job& job;

    // Position of a pixel: the words of its segment, and its column there.
    struct Spot {
        Index row, words;
        int segment, x;
    };

    __device__ Spot find(Index pixel) const
    {
        const Plan& plan = job.plan;
        Spot spot;
        spot.row = pixel / plan.columns;
        const Index x = pixel - spot.row * plan.columns;
        spot.segment = static_cast<int>(x / plan.width);
        spot.x = static_cast<int>(x - static_cast<Index>(spot.segment) * plan.width);
        spot.words = (spot.row * plan.segments + spot.segment) * Tile::Words;
        return spot;
    }

    __device__ bool is_set(Index pixel) const
    {
        const Spot spot = find(pixel);
        return job.bits[spot.words + spot.x / 32] >> spot.x % 32 & 1;
    }

    // Whether a foreground pixel is connected with a neighbor.
    __device__ bool alike(Index pixel, Index other) const
    {
        const Pixel* const image = static_cast<const Pixel*>(job.image);
        return Tile::Many ? image[pixel] == image[other] : is_set(other);
    }

    // The node of a foreground pixel. Entries of run tables do not change while nodes are united.
    __device__ Id node(Index pixel) const
    {
        const Spot spot = find(pixel);
        unsigned run = 0, last = 0;
        for (int word = 0; word <= spot.x / 32; ++word) {
            unsigned start;
            if (Tile::Many) {
                start = job.begins[spot.words + word];
            } else {
                const unsigned set = job.bits[spot.words + word];
                start = set & ~(set << 1 | last);
                last = set >> 31;
            }
            if (word == spot.x / 32) start &= (2u << spot.x % 32) - 1;
            run += __popc(start);
        }
        const Plan& plan = job.plan;
        const int y = static_cast<int>(spot.row % plan.shape[4]);
        const int z = static_cast<int>(spot.row / plan.shape[4] % plan.shape[3]);
        const Id base = tile_base<Tile>(plan, Place<Index>{spot.row, spot.segment, z, y});
        const unsigned total = Tile::Many ? 0 : job.counts[spot.row * plan.segments + spot.segment] >> 16;
        const u2* const table = run_table<Tile::Many>(plan, static_cast<Id*>(job.nodes), job.tables,
                                                      spot.row, spot.segment, total);
        return node_of<Tile>(plan, base, table[run - 1]);
    }
};

// Unite nodes of pixels that touch; `unite` says why this is safe. Redundant pairs are skipped: those where
// both pixels continue from the column before, and for steps that are not straight, those with a pixel of
// the same component at either corner between the two. Each rule relies on pairs of fewer steps, or of an
// earlier column in the same row, so the argument is not circular.
template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS)
    join_nodes(const __grid_constant__ Job job, const __grid_constant__ Boundary boundary)
{
    const Index number = thread_index();
    if (number >= boundary.faces) return;
    const Pixels<Pixel, Id, Tile> pixels = {job};
    Index at[SIDES];
    const Index here = locate_last(boundary, number, at);
    if (!pixels.is_set(here)) return;
    const Index columns = boundary.sides[SIDES - 1], x = at[SIDES - 1];
    const bool along_rows = boundary.axis != SIDES - 1;
    const bool goes_on = along_rows && x > 0 && pixels.alike(here, here - 1);
    for (int k = 0; k < boundary.steps; ++k) {
        const Index other = beyond(boundary, at, k, -1);
        if (other < 0) continue;
        const bool touches = pixels.alike(here, other);
        if (touches) {
            const Index there = x + boundary.step[k][SIDES - 1];
            const bool known = goes_on && there > 0 && there < columns && pixels.alike(here, other - 1);
            const bool around = k > 0 && pixels.alike(here, beyond(boundary, at, k, boundary.axis));
            if (!known && !around)
                unite(static_cast<Id*>(job.nodes), pixels.node(here), pixels.node(other));
        }
        if (k == 0 && touches) return;
    }
}
