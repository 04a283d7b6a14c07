// Unites components across periodic boundaries, after all other neighbors are united.
//
// One thread for each element that lies last along an axis visits its neighbors that lie first. So all
// pairs across a boundary are visited, once for each axis that they go around.

#include "devices/cuda/image_layout.cuh"
#include "devices/cuda/union_find.cuh"
#include "runs/cuda/tiling.cuh"

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
