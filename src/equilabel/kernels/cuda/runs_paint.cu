// Last pass of `runs`: every label is written once.
#include "bits.cuh"

template <bool First, typename One, typename Two>
struct Choice {
    using type = One;
};

template <typename One, typename Two>
struct Choice<false, One, Two> {
    using type = Two;
};

template <typename Label>
struct Four {
    Label value[4];
};

// Past the caches: nobody reads labels soon.
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

// One block per tile. `nodes` may be `labels`: a block reads its own segments only, and all of them
// before it writes. `aligned` says that rows of labels begin at multiples of 16 bytes.
template <typename Id, typename Label, typename Tile>
__global__ void __launch_bounds__(THREADS)
    paint(const Plan plan, const unsigned* __restrict__ bits, const unsigned* __restrict__ begins,
          Id* nodes, u2* tables, bool aligned, Label* labels)
{
    constexpr int Words = Tile::Words;
    constexpr bool Many = Tile::Many;
    using Kept = typename Choice<Many, u4, Label>::type;  // shared memory is small: 2^32 components
    __shared__ Kept label_of[Tile::Rows * Tile::Capacity];

    unsigned index = blockIdx.x;
    const int segment = index % plan.segments;
    index /= plan.segments;
    const int y0 = index % plan.tiles[4] * Tile::Tall;
    index /= plan.tiles[4];
    const int z0 = index % plan.tiles[3] * Tile::Deep;
    const Index slab = index / plan.tiles[3];
    const Index corner = (slab * plan.shape[3] + z0) * plan.shape[4] + y0;
    const int thread = threadIdx.x, row = thread / Words, word = thread % Words, lane = thread % 32;
    const int z = row / Tile::Tall, y = row % Tile::Tall;
    const bool inside = z0 + z < plan.shape[3] && y0 + y < plan.shape[4];
    const Index line = corner + static_cast<Index>(z) * plan.shape[4] + y;
    const Index begin = first_pixel(plan, line, segment) + 32 * word;
    const int count = inside ? word_size(plan, segment, word) : 0;

    const Index place = (line * plan.segments + segment) * Words + word;
    const unsigned set = inside ? bits[place] : 0;
    unsigned start = set & ~from_left<Words>(set);
    if (Many) start = inside ? begins[place] : 0;
    unsigned total;
    // The run that comes in from the left; where there is none, it is not looked up.
    const unsigned run = row * Tile::Capacity + runs_before<Words>(start, total) - 1;
    constexpr int Each = 32 / Words;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
        const unsigned runs = __shfl_sync(ALL, total, k * Words);
        const int r = thread / 32 * Each + k;
        const Index there = corner + static_cast<Index>(r / Tile::Tall) * plan.shape[4] + r % Tile::Tall;
        if (runs == 0) continue;
        const u2* table = run_table<Tile>(plan, nodes, tables, there, segment);
        for (unsigned j = lane; j < runs; j += 32) {
            const Id label = nodes[node_index<Tile>(plan, corner, segment, table[j])];
            label_of[r * Tile::Capacity + j] = static_cast<Kept>(label & ~(Id(1) << (8 * sizeof(Id) - 1)));
        }
    }
    __syncthreads();

    if (aligned) {
        // Four words at once, four pixels a thread.
        const int shift = 4 * (lane % 8);
#pragma unroll
        for (int k = 0; k < 32; k += 4) {
            const int from = k + lane / 8;
            const Index pixel = __shfl_sync(ALL, begin, from) + shift;
            const bool exists = shift < __shfl_sync(ALL, count, from);
            const unsigned set4 = __shfl_sync(ALL, set, from) >> shift & 15;
            const unsigned starts = __shfl_sync(ALL, start, from);
            unsigned at = __shfl_sync(ALL, run, from) + __popc(starts & ((1u << shift) - 1));
            const unsigned start4 = starts >> shift & 15;
            Four<Label> four = {{0, 0, 0, 0}};
            if (set4) {
                Label label = 0;
                if (set4 & 1 & ~start4) label = label_of[at];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    if (start4 >> j & 1) label = label_of[++at];
                    four.value[j] = set4 >> j & 1 ? label : 0;
                }
            }
            if (exists) store(labels + pixel, four);
        }
    } else {
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
}
