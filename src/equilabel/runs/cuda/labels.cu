// The last two passes of `runs`: nodes get labels in raster order of their first pixels, 1 to N, or from 0 if there is
// no background; then every label is written once.

#include "devices/cuda/warp.cuh"
#include "runs/cuda/pixels.cuh"

// ---- Numbering: access to the nodes of a block's segments, and climbing to roots or labels.

constexpr int MANY_THREADS = 1024;  // large blocks: fewer have to wait for each other
constexpr int WARPS = MANY_THREADS / 32;

// The nodes of a block's segments as one sequence of items, in shared memory; empty segments are left out.
template <typename Id, int SEGMENTS>
struct Items {
    static constexpr unsigned SOME = 1 << 20;  // sums count segments from this bit on, and nodes below it
    unsigned before[SEGMENTS + 32];            // nodes before a segment; of all after the last
    Id first[SEGMENTS];                        // the first node, less those before
    unsigned total;

    // All threads of the block call this; those beyond the segments have none.
    __device__ void count(unsigned own, Id node, unsigned (&sums)[WARPS])
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned mine = own + (own ? SOME : 0);
        unsigned sum = sum_up_to_lane(mine);
        if (lane == 31) sums[warp] = sum;
        if (threadIdx.x < SEGMENTS) before[threadIdx.x] = ~0u;
        if (threadIdx.x < 32) before[SEGMENTS + threadIdx.x] = ~0u;
        __syncthreads();
        sum += sum_of_all(lane < warp ? sums[lane] : 0) - mine;
        if (own) {
            before[sum / SOME] = sum % SOME;
            first[sum / SOME] = node - sum % SOME;
        }
        if (threadIdx.x == MANY_THREADS - 1) total = (sum + mine) % SOME;
        __syncthreads();
    }

    // The segment of an item.
    __device__ unsigned find(unsigned item) const
    {
        unsigned segment = 0;
#pragma unroll
        for (int step = SEGMENTS / 2; step; step /= 2)
            if (item >= before[segment + step]) segment += step;
        return segment;
    }

    // The segment of this lane's item, of 32 items from `from` on. `segment`, equal in all lanes, is that of the
    // first item or of the item before; it becomes that of the last. All threads of a warp call this.
    __device__ unsigned advance(unsigned from, unsigned& segment) const
    {
        const int lane = threadIdx.x % 32;
        const unsigned begins = before[min(segment + 1 + lane, SEGMENTS + 31u)] - from;
        const unsigned marks = any_bits(begins < 32 ? 1u << begins : 0);
        const unsigned mine = segment + __popc(marks & ((2u << lane) - 1));
        segment += __popc(marks);
        return mine;
    }
};

// Call `visit` for the nodes of a range of items, 64 at once, by all threads of a warp together: with two nodes for each
// thread, whether they exist, and the number of groups of 32 items before them.
template <typename Id, int SEGMENTS, class Visit>
__device__ inline void visit_nodes(const Items<Id, SEGMENTS>& items, unsigned begin, unsigned end,
                                   const Visit& visit)
{
    unsigned segment = items.find(begin);
    for (unsigned from = begin; from < end; from += 64) {
        const unsigned item = from + threadIdx.x % 32;
        Id node[2];
        node[0] = items.first[items.advance(from, segment)] + item;
        node[1] = items.first[items.advance(from + 32, segment)] + item + 32;
        const bool real[2] = {item < end, item + 32 < end};
        visit(node, real, from / 32);
    }
}

// Let the nodes of a range that are not roots climb to their roots, or to the labels of these. Each step is stored, so
// that chains in which many threads climb are halved at each step. With `Waiting`, climb until labels are found.
template <bool Waiting, typename Id, int SEGMENTS>
__device__ inline void climb(Id* nodes, const Items<Id, SEGMENTS>& items, unsigned begin, unsigned end,
                             const unsigned* roots_of)
{
    visit_nodes(items, begin, end, [&](const Id (&node)[2], const bool (&real)[2], unsigned place) {
        bool climbs[2];
        Id parent[2], above[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            climbs[k] = real[k] && !(roots_of[place + k] >> threadIdx.x % 32 & 1);
            parent[k] = climbs[k] ? parent_of(nodes, node[k]) : LABEL<Id>;
            climbs[k] = !(parent[k] & LABEL<Id>);
        }
        while (climbs[0] || climbs[1]) {
            bool rises = false;
#pragma unroll
            for (int k = 0; k < 2; ++k) above[k] = climbs[k] ? parent_of(nodes, parent[k]) : parent[k];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                if (above[k] != parent[k]) {
                    __stcg(nodes + node[k], above[k]);
                    rises = true;
                }
                climbs[k] = climbs[k] && !(above[k] & LABEL<Id>) && (Waiting || above[k] != parent[k]);
                parent[k] = above[k];
            }
#if __CUDA_ARCH__ >= 700
            if (Waiting && !rises) __nanosleep(200);  // let others use the memory until roots have their labels
#endif
        }
    });
}

constexpr unsigned long long PART = 1ull << 62, WHOLE = 2ull << 62, VALUE = PART - 1;

// Sum over all blocks before this one, by a look-back at their states, a thousand at once. It may wait for
// them: these blocks drew smaller numbers, so they run or have run, and they publish their part before they
// wait for anything.
__device__ inline unsigned long long sum_before(const volatile unsigned long long* states, Index block)
{
    __shared__ Index from;
    __shared__ unsigned long long sums[WARPS];
    unsigned long long sum = 0;
    for (Index last = block - 1; last >= 0; last -= MANY_THREADS) {
        if (threadIdx.x == 0) from = 0;
        __syncthreads();
        const Index other = last - threadIdx.x;
        unsigned long long state = other >= 0 ? 0 : PART;
        while (state < PART) state = states[other];
        // The last state that is whole counts, and none before it.
        if (state >= WHOLE) atomicMax(&from, other);
        __syncthreads();
        const Index first = from;
        const unsigned long long part = sum_of_all(other >= first ? state & VALUE : 0);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = part;
        __syncthreads();
        sum += sum_of_all(sums[threadIdx.x % 32]);
        if (first) break;
    }
    return sum;
}

// Label the roots of a forest, then all nodes. `states` holds zeros: one for each block, and one from which blocks
// draw numbers. A block takes 8192 words, in up to 1024 segments; its warps share the nodes of these.
//
// Why the races are safe: a thread stores to its own nodes only: a label to roots, and to others one of their
// ancestors, later a label. Others read a parent or a final label. A thread waits only for labels of roots with
// smaller indices: in its own block, whose roots are all labeled by then, or in one that drew a smaller number,
// which runs and waits only for blocks with still smaller ones.
template <typename Id, int WORDS>
__global__ void __launch_bounds__(MANY_THREADS)
    number_nodes(const __grid_constant__ Job job)
{
    constexpr int Segments = WARPS * (WORDS < 8 ? 32 : 256 / WORDS);
    __shared__ Index drawn;
    __shared__ unsigned sums[WARPS];
    __shared__ Items<Id, Segments> items;
    __shared__ unsigned roots_of[Segments * WORDS];  // which nodes are roots
    const Plan& plan = job.plan;
    Id* const nodes = static_cast<Id*>(job.nodes);
    if (threadIdx.x == 0) drawn = atomicAdd(job.states + job.blocks, 1ull);
    __syncthreads();
    const Index block = drawn;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Index mine = block * Segments + threadIdx.x;
    const bool real = threadIdx.x < Segments && mine < plan.rows * plan.segments;
    int segment;
    const Index line = line_of(plan, mine, segment);
    items.count(real ? job.counts[mine] & 0xffff : 0, first_pixel(plan, line, segment), sums);

    // Each warp takes a range of nodes.
    const unsigned share = (items.total + 2 * MANY_THREADS - 1) / (2 * MANY_THREADS) * 64;
    const unsigned begin = min(warp * share, items.total), end = min(begin + share, items.total);
    unsigned roots = 0;
    visit_nodes(items, begin, end, [&](const Id (&node)[2], const bool (&real)[2], unsigned place) {
        const Id one = real[0] ? parent_of(nodes, node[0]) : ~node[0], two = real[1] ? parent_of(nodes, node[1]) : ~node[1];
        const unsigned mask[2] = {__ballot_sync(ALL, one == node[0]), __ballot_sync(ALL, two == node[1])};
        if (lane < 2) roots_of[place + lane] = lane ? mask[1] : mask[0];
        roots += __popc(mask[0]) + __popc(mask[1]);
    });
    __syncwarp();
    if (lane == 0) sums[warp] = roots;
    __syncthreads();
    const unsigned part = sums[lane];
    const unsigned total = sum_of_all(part), here = sum_of_all(lane < warp ? part : 0);
    if (threadIdx.x == 0) __stcg(job.states + block, PART | total);
    climb<false>(nodes, items, begin, end, roots_of);
    const unsigned long long before = sum_before(job.states, block);
    if (threadIdx.x == 0) {
        __stcg(job.states + block, WHOLE | (before + total));
        if (block == job.blocks - 1) *job.found = before + total;
    }

    if (roots) {
        Id label = before + here + job.first_label - 1;
        visit_nodes(items, begin, end, [&](const Id (&node)[2], const bool (&)[2], unsigned place) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const unsigned mask = roots_of[place + k], own = __popc(mask & ((2u << lane) - 1));
                if (mask >> lane & 1) __stcg(nodes + node[k], LABEL<Id> | (label + own));
                label += __popc(mask);
            }
        });
    }
    __syncthreads();
    climb<true>(nodes, items, begin, end, roots_of);
}

// ------------------------------------------------------------------------------------------
// Painting: a warp writes the labels of its 32 words.

// Labels of a warp's runs, in 4 or 5 bytes: no image has 2^40 components. Entry 0 is that of no run.
template <typename Label, int Runs>
struct LabelTable {
    static constexpr bool Wide = sizeof(Label) > 4;
    u4 low[Runs + 1];
    u1 high[Wide ? Runs + 1 : 1];

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
template <typename Label, typename Table>
__device__ inline Four<Label> four_labels(const Table& label_of, unsigned set, unsigned start, unsigned run)
{
    Four<Label> four;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const Label label = label_of[run += start >> j & 1];
        four.value[j] = set >> j & 1 ? label : 0;
    }
    return four;
}

// Paint the warp's 32 words, four at once, with four pixels for each thread.
template <typename Table, typename Label>
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
            four = four_labels<Label>(label_of, word >> shift & 15, starts >> shift & 15,
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
    // Four runs at once, so that their loads overlap: first entries, then nodes.
    for (unsigned j = word; 2 * j < total; j += 2 * Words) {
        const unsigned at[2] = {2 * j, 2 * (j + Words)};
        const unsigned pair[2] = {table[j], at[1] < total ? table[j + Words] : 0};
        Painted label[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            label[k] = at[k / 2] + k % 2 < total ? look_up(pair[k / 2] >> 16 * (k % 2) & 0xffff) : 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (at[k / 2] + k % 2 < total) label_of.set(first + at[k / 2] + k % 2, label[k]);
    }
    __syncthreads();
    const Index begin = first_pixel(plan, line, corner.segment) + 32 * word;
    const int count = real ? word_size(plan, corner.segment, word) : 0;
    if (job.quads)
        paint_quads(label_of, set, start, run, begin, count, labels);
    else
        paint_pixels(label_of, set, start, run, begin, count, labels);
}

// ------------------------------------------------------------------------------------------
// Labels from roots, in raster order. A root is the first element of its component.

// Write 1 for roots and 0 for others: their inclusive prefix sum is the label at each root.
template <typename Root, typename Sum>
__global__ void flag(const Root* __restrict__ roots, Index size, Sum* __restrict__ sums)
{
    const Index i = thread_index();
    if (i < size) sums[i] = roots[i] == i;
}

// `labels` may be `roots` itself: a thread reads only its own root, before it writes.
template <typename Root, typename Sum, typename Number>
__global__ void gather(const Root* roots, Index size, const Sum* __restrict__ sums,
                       Number* labels)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Root root = roots[i];
    labels[i] = root < 0 ? 0 : static_cast<Number>(sums[root]);
}
