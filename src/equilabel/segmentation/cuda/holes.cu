// Background at the border of an image, from the runs of the method `runs` after their nodes have labels.

#include "runs/cuda/tiling.cuh"

// Mark the labels of runs with a pixel at an end of an axis, of leading ones from `first` on. One thread for each
// segment; threads that mark one label all write 1.
template <typename Id, typename Tile>
__global__ void mark_border(const __grid_constant__ Job job, int first, u1* marks)
{
    const Plan& plan = job.plan;
    const Index i = thread_index();
    if (i >= plan.rows * plan.segments) return;
    const unsigned runs = job.counts[i] >> 16;
    if (!runs) return;
    Place<Index> place = {};
    place.row = line_of(plan, i, place.segment);
    bool outer = false;  // whether the whole row is at the border
    Index rest = place.row;
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; --axis) {
        const int side = plan.shape[axis], at = static_cast<int>(rest % side);
        rest /= side;
        if (axis == 3) place.z = at;
        if (axis == 4) place.y = at;
        outer |= axis >= first && (at == 0 || at == side - 1);
    }
    const Id* const nodes = static_cast<const Id*>(job.nodes);
    const u2* const table =
        run_table<Tile::Many>(plan, static_cast<Id*>(job.nodes), job.tables, place.row, place.segment, runs);
    const Id base = tile_base<Tile>(plan, place);
    const auto mark = [&](unsigned run) { marks[nodes[node_of<Tile>(plan, base, table[run])] & ~LABEL<Id>] = 1; };
    const unsigned* const bits = job.bits + i * Tile::Words;
    const int last = static_cast<int>(plan.columns - 1 - static_cast<Index>(place.segment) * plan.width);
    if (outer) {
        for (unsigned run = 0; run < runs; ++run) mark(run);
        return;
    }
    if (place.segment == 0 && bits[0] & 1) mark(0);
    if (last < plan.width && bits[last / 32] >> last % 32 & 1) mark(runs - 1);
}
