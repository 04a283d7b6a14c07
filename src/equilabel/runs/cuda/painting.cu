// Last pass of `runs`: every label is written once.

#include "runs/cuda/pixels.cuh"

// ---- Painting: a warp writes the labels of its 32 words.

// Labels of a warp's runs, in 4 or 5 bytes: no image has 2^40 components. Entry 0 is that of no run; the last
// entries are only there because some threads read more than they use.
template <typename Label, int Runs>
struct LabelTable {
    static constexpr bool Wide = sizeof(Label) > 4;
    u4 low[Runs + 3];
    u1 high[Wide ? Runs + 3 : 1];

    __device__ void set(unsigned run, u8 label)
    {
        low[run + 1] = static_cast<u4>(label);
        if (Wide) high[run + 1] = static_cast<u1>(label >> 32);
    }

    // The label of run `run - 1`.
    __device__ Label operator[](unsigned run) const
    {
        return Wide ? static_cast<Label>(low[run] | static_cast<u8>(high[run]) << 32) : low[run];
    }
};

template <typename Label>
struct Four {
    Label value[4];
};

// Streaming stores: labels are not read soon.
__device__ inline void store(u1* labels, const Four<u1>& four)
{
    __stcs(reinterpret_cast<uchar4*>(labels),
           make_uchar4(four.value[0], four.value[1], four.value[2], four.value[3]));
}

__device__ inline void store(u4* labels, const Four<u4>& four)
{
    __stcs(reinterpret_cast<uint4*>(labels),
           make_uint4(four.value[0], four.value[1], four.value[2], four.value[3]));
}

__device__ inline void store(u8* labels, const Four<u8>& four)
{
    ulonglong2* pairs = reinterpret_cast<ulonglong2*>(labels);
    __stcs(pairs, make_ulonglong2(four.value[0], four.value[1]));
    __stcs(pairs + 1, make_ulonglong2(four.value[2], four.value[3]));
}

// The labels of four pixels. `set` and `start` say in bits 0 to 3 which are foreground and where runs begin;
// `run` is the number of runs that begin before them.
template <bool Many, typename Label, typename Table>
__device__ inline Four<Label> four_labels(const Table& label_of, unsigned set, unsigned start, unsigned run)
{
    Four<Label> four;
    Label label[4];
    if (Many) {
#pragma unroll
        for (int j = 0; j < 4; ++j) label[j] = label_of[run += start >> j & 1];
    } else {  // runs do not begin in neighboring pixels
        const Label old = label_of[run], first = label_of[run + 1], second = label_of[run + 2];
        const Label next = start & 3 ? second : first;
        label[0] = start & 1 ? first : old;
        label[1] = start & 2 ? first : label[0];
        label[2] = start & 4 ? next : label[1];
        label[3] = start & 8 ? next : label[2];
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) four.value[j] = set >> j & 1 ? label[j] : 0;
    return four;
}

// Paint the warp's 32 words, four at once, with four pixels for each thread.
template <bool Many, typename Table, typename Label>
__device__ inline void paint_quads(const Table& label_of, unsigned set, unsigned start, unsigned run,
                                   Index begin, int count, Label* labels)
{
    const int lane = threadIdx.x % 32, shift = 4 * (lane % 8);
#pragma unroll
    for (int k = 0; k < 32; k += 4) {
        const int from = k + lane / 8;
        const unsigned word = __shfl_sync(ALL, set, from);
        Four<Label> four = {{0, 0, 0, 0}};
        if (__any_sync(ALL, word)) {
            const unsigned starts = __shfl_sync(ALL, start, from);
            const unsigned before = __shfl_sync(ALL, run, from);
            four = four_labels<Many, Label>(label_of, word >> shift & 15, starts >> shift & 15,
                                            before + __popc(starts & ((1u << shift) - 1)));
        }
        const Index pixel = __shfl_sync(ALL, begin, k) + 4 * lane;
        if (shift < __shfl_sync(ALL, count, from)) store(labels + pixel, four);
    }
}

// Paint the warp's 32 words, one by one, with one pixel for each thread.
template <typename Table, typename Label>
__device__ inline void paint_pixels(const Table& label_of, unsigned set, unsigned start, unsigned run,
                                    Index begin, int count, Label* labels)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int k = 0; k < 32; ++k) {
        const Index pixel = __shfl_sync(ALL, begin, k) + lane;
        const bool exists = lane < __shfl_sync(ALL, count, k);
        const unsigned starts = __shfl_sync(ALL, start, k);
        const unsigned at = __shfl_sync(ALL, run, k) + __popc(starts & ((2u << lane) - 1));
        const bool foreground = __shfl_sync(ALL, set, k) >> lane & 1;
        if (exists) __stcs(labels + pixel, foreground ? static_cast<Label>(label_of[at]) : Label(0));
    }
}

// One block per tile, one thread per word. Nodes and tables of a tile may be in the memory of its labels, but
// of no other tile. A warp reads the nodes that its runs refer to; it overwrites nodes only after all warps have
// read theirs.
template <typename Id, typename Painted, typename Tile>
__global__ void __launch_bounds__(Tile::Rows * Tile::Words)
    paint(const __grid_constant__ Job job)
{
    constexpr int Words = Tile::Words, Beside = 32 / Words, Capacity = Tile::Capacity;
    constexpr bool Many = Tile::Many;
    __shared__ LabelTable<Painted, Beside * Capacity> label_of_warp[Tile::Rows / Beside];
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    Painted* const labels = static_cast<Painted*>(job.labels);
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
    const Painted* const numbers = static_cast<const Painted*>(job.numbers);
    const auto look_up = [&](unsigned entry) -> Id {
        const Id label = nodes[node_of<Tile>(plan, base, entry)] & ~LABEL<Id>;
        return numbers ? numbers[label] : label;
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
