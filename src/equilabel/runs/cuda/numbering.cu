// Third pass of `runs`: nodes get labels in raster order of their first pixels, 1 to N, or from 0 if there is no
// background.

#include "devices/cuda/index.cuh"
#include "devices/cuda/union_find.cuh"
#include "devices/cuda/warp.cuh"
#include "runs/cuda/tiling.cuh"

// ---- Access to the nodes of a block's segments, and climbing to roots or labels.

constexpr int MANY_THREADS = 1024;  // large blocks: fewer have to wait for each other
constexpr int WARPS = MANY_THREADS / 32;

// Sum over a warp.
template <typename Value>
__device__ inline Value sum_of_warp(Value value)
{
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

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
        unsigned sum = mine;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        if (threadIdx.x < SEGMENTS) before[threadIdx.x] = ~0u;
        if (threadIdx.x < 32) before[SEGMENTS + threadIdx.x] = ~0u;
        __syncthreads();
        sum += sum_of_warp(lane < warp ? sums[lane] : 0) - mine;
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

// Call `visit` for the nodes of a range of items, 64 at once, by all threads of a warp together: with two nodes for
// each thread, whether they exist, and the number of groups of 32 items before them.
template <typename Id, int SEGMENTS, class Visit>
__device__ inline void visit_nodes(const Items<Id, SEGMENTS>& items, unsigned begin, unsigned end,
                                   const Visit& visit)
{
    unsigned segment = items.find(begin);
    for (unsigned from = begin; from < end; from += 64) {
        Id node[2];
        const unsigned item = from + threadIdx.x % 32;
        node[0] = items.first[items.advance(from, segment)] + item;
        node[1] = items.first[items.advance(from + 32, segment)] + item + 32;
        visit(node, item < end, item + 32 < end, from / 32);
    }
}

// Climb from nodes that are not roots to their roots, or to the labels of these. Each step is stored, so that
// chains in which many threads climb are halved at each step. With `Waiting`, climb until labels are found.
template <typename Id, bool Waiting>
__device__ inline void climb(Id* nodes, const Id (&node)[2], const bool (&real)[2])
{
    bool climbs[2];
    Id parent[2], above[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) parent[k] = real[k] ? parent_of(nodes, node[k]) : LABEL<Id>;
#pragma unroll
    for (int k = 0; k < 2; ++k) climbs[k] = !(parent[k] & LABEL<Id>);
    while (climbs[0] || climbs[1]) {
#pragma unroll
        for (int k = 0; k < 2; ++k) above[k] = climbs[k] ? parent_of(nodes, parent[k]) : parent[k];
        bool rises = false;
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
}

// The same for all nodes that a warp has listed.
template <typename Id, bool Waiting>
__device__ inline void climb_listed(Id* nodes, const Id* list, unsigned count)
{
    for (unsigned at = threadIdx.x % 32; at < count; at += 64) {
        const bool real[2] = {true, at + 32 < count};
        const Id node[2] = {list[at], real[1] ? list[at + 32] : 0};
        climb<Id, Waiting>(nodes, node, real);
    }
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
        const unsigned long long part = sum_of_warp(other >= first ? state & VALUE : 0);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = part;
        __syncthreads();
        sum += sum_of_warp(sums[threadIdx.x % 32]);
        if (first) break;
    }
    return sum;
}

// Let all nodes of a range that are not roots climb: from the list of the warp, if they fit into it. Then most
// lanes climb; without the list, only a quarter would in images of noise.
template <typename Id, bool Waiting, typename Items>
__device__ inline void climb_all(Id* nodes, const Items& items, unsigned begin, unsigned end,
                                 const unsigned* roots_of, const Id* others, unsigned listed, unsigned room)
{
    const int lane = threadIdx.x % 32;
    if (listed <= room) {
        climb_listed<Id, Waiting>(nodes, others, listed);
        return;
    }
    visit_nodes(items, begin, end, [&](const Id (&node)[2], bool first, bool second, unsigned place) {
        const bool climbs[2] = {first && !(roots_of[place] >> lane & 1),
                                second && !(roots_of[place + 1] >> lane & 1)};
        climb<Id, Waiting>(nodes, node, climbs);
    });
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
    constexpr unsigned Room = Segments * WORDS + 768;
    __shared__ __align__(8) unsigned roots_of[Room];  // which nodes are roots, and room for lists
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

    // Each warp takes a range of nodes. It lists those that are not roots behind the bits that mark roots.
    const unsigned share = (items.total + 2 * MANY_THREADS - 1) / (2 * MANY_THREADS) * 64;
    const unsigned begin = min(warp * share, items.total), end = min(begin + share, items.total);
    const unsigned used = (items.total + 63) / 64 * 2;
    const unsigned room = (Room - used) / WARPS * sizeof(unsigned) / sizeof(Id);
    Id* const others = reinterpret_cast<Id*>(roots_of + used) + warp * room;
    unsigned roots = 0, listed = 0;
    visit_nodes(items, begin, end, [&](const Id (&node)[2], bool first, bool second, unsigned place) {
        const Id one = first ? parent_of(nodes, node[0]) : ~node[0];
        const Id two = second ? parent_of(nodes, node[1]) : ~node[1];
        const unsigned mask[2] = {__ballot_sync(ALL, one == node[0]), __ballot_sync(ALL, two == node[1])};
        if (lane < 2) roots_of[place + lane] = lane ? mask[1] : mask[0];
        roots += __popc(mask[0]) + __popc(mask[1]);
        const bool other[2] = {first && one != node[0], second && two != node[1]};
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const unsigned all = __ballot_sync(ALL, other[k]), at = listed + __popc(all & ((1u << lane) - 1));
            if (other[k] && at < room) others[at] = node[k];
            listed += __popc(all);
        }
    });
    if (lane == 0) sums[warp] = roots;
    __syncthreads();
    const unsigned part = sums[lane];
    const unsigned total = sum_of_warp(part), here = sum_of_warp(lane < warp ? part : 0);
    if (threadIdx.x == 0) __stcg(job.states + block, PART | total);
    climb_all<Id, false>(nodes, items, begin, end, roots_of, others, listed, room);
    const unsigned long long before = sum_before(job.states, block);
    if (threadIdx.x == 0) {
        __stcg(job.states + block, WHOLE | (before + total));
        if (block == job.blocks - 1) *job.found = before + total;
    }

    if (roots) {
        Id label = before + here + job.first_label - 1;
        visit_nodes(items, begin, end, [&](const Id (&node)[2], bool, bool, unsigned place) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const unsigned mask = roots_of[place + k];
                const Id own = label + __popc(mask & ((2u << lane) - 1));
                if (mask >> lane & 1) __stcg(nodes + node[k], LABEL<Id> | own);
                label += __popc(mask);
            }
        });
    }
    __syncthreads();
    climb_all<Id, true>(nodes, items, begin, end, roots_of, others, listed, room);
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
