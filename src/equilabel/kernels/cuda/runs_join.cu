// Second pass of `runs`: unite nodes where tiles meet.
#include "bits.cuh"
#include "forest.cuh"

// The node of a run of a segment.
template <typename Tile, typename Id>
__device__ inline Id node_of(const Plan& plan, Id* nodes, u2* tables, const Place& place, unsigned run)
{
    const unsigned number = run_table<Tile>(plan, nodes, tables, place.row, place.segment)[run];
    const Index corner = place.row - static_cast<Index>(place.z % Tile::Deep) * plan.shape[4] -
                         place.y % Tile::Tall;
    return static_cast<Id>(node_index<Tile>(plan, corner, place.segment, number));
}

// Where an edge leads from a row; false if there is no such row.
__device__ inline bool follow(const Plan& plan, const Place& from, int edge, Place& to)
{
    to = {from.row - plan.back[edge], from.segment, from.z + plan.step[edge][3],
          from.y + plan.step[edge][4]};
    if (to.z < 0 || to.z >= plan.shape[3] || to.y < 0 || to.y >= plan.shape[4]) return false;
    if (edge < plan.inner) return true;
    Index slab = from.row / plan.shape[4] / plan.shape[3];
    for (int axis = 2; axis >= 0; --axis) {
        const int there = static_cast<int>(slab % plan.shape[axis]) + plan.step[edge][axis];
        if (there < 0 || there >= plan.shape[axis]) return false;
        slab /= plan.shape[axis];
    }
    return true;
}

template <typename Tile>
__device__ inline bool same_tile(const Plan& plan, const Place& one, const Place& two, int edge)
{
    return edge < plan.inner && one.z / Tile::Deep == two.z / Tile::Deep &&
           one.y / Tile::Tall == two.y / Tile::Tall;
}

// Row by row: a group of `Words` threads follows the edges of a segment that leave its tile.
template <typename Pixel, typename Id, typename Tile>
__device__ inline void join_rows(const Pixel* __restrict__ image, const Plan& plan,
                                 const unsigned* __restrict__ bits,
                                 const unsigned* __restrict__ begins, Id* nodes, u2* tables, Index group,
                                 Index groups)
{
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    const int word = threadIdx.x % Words;
    const bool real = group < groups;
    if (!real) group = 0;
    Place here;
    here.segment = static_cast<int>(group % plan.segments);
    Index item = group / plan.segments;
    if (plan.planar) {  // only the first rows of tiles have edges that leave them
        here.y = static_cast<int>(item % plan.tiles[4]) * Tile::Tall;
        item /= plan.tiles[4];
    } else {
        here.y = static_cast<int>(item % plan.shape[4]);
        item /= plan.shape[4];
    }
    here.z = static_cast<int>(item % plan.shape[3]);
    here.row = item * plan.shape[4] + here.y;

    unsigned set = 0, start = 0, run = 0, total;
    bool loaded = false;
    const Index begin = first_pixel(plan, here.row, here.segment) + 32 * word;
    const int count = word_size(plan, here.segment, word);
    for (int edge = 0; edge < plan.edges; ++edge) {
        Place there;
        const bool exists = real && follow(plan, here, edge, there) &&
                            !same_tile<Tile>(plan, here, there, edge);
        if (!__any_sync(ALL, exists)) continue;
        if (!loaded) {
            const Index place = (here.row * plan.segments + here.segment) * Words + word;
            set = real ? bits[place] : 0;
            if (Many)
                start = real ? begins[place] : 0;
            else
                start = set & ~from_left<Words>(set);
            run = runs_before<Words>(start, total);
            loaded = true;
        }
        const Index place = (there.row * plan.segments + there.segment) * Words + word;
        const unsigned other_set = exists ? bits[place] : 0;
        unsigned other_start = 0;
        Touch touch;
        if (Many) {
            other_start = exists ? begins[place] : 0;
            const bool last = word_size(plan, here.segment, word + 1) == 0;
            touch = touching<Words>(image, begin, exists ? count : 0, last,
                                    (there.row - here.row) * plan.columns, set, start, other_set,
                                    other_start, plan.diagonal[edge]);
        } else {
            other_start = other_set & ~from_left<Words>(other_set);
            touch = touching<Words>(set, other_set, plan.diagonal[edge]);
        }
        const unsigned other_run = runs_before<Words>(other_start, total);
        if (!exists) continue;
        while (touch.straight | touch.left | touch.right) {
            unsigned touched;
            const int bit = take(touch, other_run, other_start, touched);
            unite(nodes, node_of<Tile>(plan, nodes, tables, here, run_at(run, start, bit)),
                  node_of<Tile>(plan, nodes, tables, there, touched));
        }
    }
}

// Between the last pixel of a segment and the first of the next, in a row and its neighbor rows.
template <typename Pixel, typename Id, typename Tile>
__device__ inline void join_seam(const Pixel* __restrict__ image, const Plan& plan,
                                 const unsigned* __restrict__ bits,
                                 const unsigned* __restrict__ counts, Id* nodes, u2* tables, Index seam)
{
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    const int segment = static_cast<int>(seam % (plan.segments - 1));
    const Index row = seam / (plan.segments - 1);
    const Place left = {row, segment, static_cast<int>(row / plan.shape[4] % plan.shape[3]),
                        static_cast<int>(row % plan.shape[4])};
    Place right = left;
    ++right.segment;
    const int last = plan.width / 32 - 1;
    const auto pair = [&](Index line, bool& before, bool& after) {
        const Index place = (line * plan.segments + segment) * Words;
        before = bits[place + last] >> 31;
        after = bits[place + Words] & 1;
    };
    const auto final_run = [&](Index line) {
        return (counts[line * plan.segments + segment] >> 16) - 1;
    };
    const auto same = [&](Index one, int back_one, Index two, int back_two) {
        return !Many || image[first_pixel(plan, one, segment + 1) - back_one] ==
                            image[first_pixel(plan, two, segment + 1) - back_two];
    };
    bool before, after;
    pair(row, before, after);
    if (!before && !after) return;
    if (before && after && same(row, 1, row, 0)) {
        // Not where the row above in the tile joins the same two.
        bool known = false;
        if (plan.inner && left.y % Tile::Tall) {
            bool above, beside;
            pair(row - 1, above, beside);
            known = above && beside && same(row - 1, 1, row, 1) && same(row - 1, 0, row, 0);
        }
        if (!known)
            unite(nodes, node_of<Tile>(plan, nodes, tables, left, final_run(row)),
                  node_of<Tile>(plan, nodes, tables, right, 0));
    }
    for (int edge = 0; edge < plan.edges; ++edge) {
        Place there;
        if (!plan.diagonal[edge] || !follow(plan, left, edge, there)) continue;
        bool other_before, other_after;
        pair(there.row, other_before, other_after);
        // Of one value, a third pixel of the square joins the two as well.
        if (after && other_before && (Many || (!before && !other_after)) &&
            same(row, 0, there.row, 1))
            unite(nodes, node_of<Tile>(plan, nodes, tables, right, 0),
                  node_of<Tile>(plan, nodes, tables, there, final_run(there.row)));
        if (before && other_after && (Many || (!after && !other_before)) &&
            same(row, 1, there.row, 0)) {
            ++there.segment;
            unite(nodes, node_of<Tile>(plan, nodes, tables, left, final_run(row)),
                  node_of<Tile>(plan, nodes, tables, there, 0));
        }
    }
}

// The first `seam_blocks` blocks take a seam per thread, the others rows.
template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS)
    join_tiles(const Pixel* __restrict__ image, const Plan plan, const unsigned* __restrict__ bits,
               const unsigned* __restrict__ begins, const unsigned* __restrict__ counts, Id* nodes, u2* tables,
               Index seam_blocks, Index seams, Index groups)
{
    if (blockIdx.x < seam_blocks) {
        const Index seam = thread_index();
        if (seam < seams) join_seam<Pixel, Id, Tile>(image, plan, bits, counts, nodes, tables, seam);
    } else {
        const Index group = (thread_index() - seam_blocks * THREADS) / Tile::Words;
        join_rows<Pixel, Id, Tile>(image, plan, bits, begins, nodes, tables, group, groups);
    }
}
