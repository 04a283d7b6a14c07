// Last pass of `runs`: every label is written once.

#include "runs/cuda/paint_words.cuh"

// One block per tile, one thread per word. Nodes and tables of a tile may be in the memory of its labels, but
// of no other tile. A warp reads the nodes that its runs refer to; it overwrites nodes only after all warps have
// read theirs.
template <typename Id, typename Label, typename Tile>
__global__ void __launch_bounds__(Tile::Rows * Tile::Words)
    paint(const __grid_constant__ Job job)
{
    constexpr int Words = Tile::Words, Beside = 32 / Words, Capacity = Tile::Capacity;
    constexpr bool Many = Tile::Many;
    __shared__ LabelTable<Label, Beside * Capacity> label_of_warp[Tile::Rows / Beside];
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    Label* const labels = static_cast<Label*>(job.labels);
    auto& label_of = label_of_warp[threadIdx.x / 32];
    const int word = threadIdx.x % Words, lane = threadIdx.x % 32;
    const int z = threadIdx.x / Words / Tile::Tall, y = threadIdx.x / Words % Tile::Tall;
    const Corner corner = corner_of<Tile>(plan, blockIdx.x);
    const bool real = corner.z + z < plan.shape[3] && corner.y + y < plan.shape[4];
    const Index line = real ? corner.row + z * static_cast<Index>(plan.shape[4]) + y : corner.row;
    const Index place = (line * plan.segments + corner.segment) * Words + word;
    const unsigned set = real ? job.bits[place] : 0;
    const unsigned given = real ? job.counts[line * plan.segments + corner.segment] & 0xffff : 0;
    unsigned start = Many && real ? job.begins[place] : 0;
    if (!Many) start = set & ~from_left<Words>(set);
    unsigned total;
    const unsigned first = lane / Words * Capacity, run = runs_before<Words>(start, total) + first;
    const unsigned* const table = reinterpret_cast<const unsigned*>(
        run_table<Many>(plan, nodes, job.tables, line, corner.segment, total));
    const Id base = first_pixel(plan, corner.row, corner.segment);
    const auto look_up = [&](unsigned entry) {
        return nodes[node_of<Tile>(plan, base, entry)] & ~LABEL<Id>;
    };
    // If a segment has as many nodes as runs, run j is node j of its row: the table is not read.
    const bool alone = Tile::Deep == 1 && given == total;
    const auto entries_from = [&](unsigned j) {
        if (!alone) return table[j];
        const unsigned own = threadIdx.x / Words * Capacity + 2 * j;
        return own + 1 << 16 | own;
    };
    // Four runs at once, so that their loads overlap: first entries, then nodes.
    for (unsigned j = word; 2 * j < total; j += 2 * Words) {
        const unsigned at[2] = {2 * j, 2 * (j + Words)};
        const unsigned pair[2] = {entries_from(j), at[1] < total ? entries_from(j + Words) : 0};
        Id label[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            label[k] = at[k / 2] + k % 2 < total ? look_up(pair[k / 2] >> 16 * (k % 2) & 0xffff) : 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (at[k / 2] + k % 2 < total) label_of.set(first + at[k / 2] + k % 2, label[k]);
    }
    // A warp whose part holds nodes waits until all have read them; other warps only arrive at the barrier.
    constexpr int Threads = Tile::Rows * Words;
    if (__any_sync(ALL, given))
        asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
    else
        asm volatile("bar.arrive 1, %0;" ::"n"(Threads) : "memory");
    __syncwarp();
    const Index begin = first_pixel(plan, line, corner.segment) + 32 * word;
    const int count = real ? word_size(plan, corner.segment, word) : 0;
    if (job.quads)
        paint_quads<Many>(label_of, set, start, run, begin, count, labels);
    else
        paint_pixels(label_of, set, start, run, begin, count, labels);
}
