// Columns of a table from its counts, for all labels at once, without rows of labels that do not occur. Only
// the number of rows of the table of counts is known before.
#include "devices/cuda/warp.cuh"
#include "measuring/cuda/columns.cuh"

constexpr int ROWS = 256;  // of the table, that a block takes
constexpr u8 PART = 1ull << 62, WHOLE = 2ull << 62, VALUE = PART - 1;

// The numbers that the host receives: the number of rows + 1, when they have been counted; before that, a label
// that has no row in the table; whether a label lies in several images of a stack; whether a label that does
// not occur is followed by one that does; how many labels there are before any is dropped, and two numbers that are
// handed on, see `Kept`; last, that all has been written.
enum { COUNTED, BEYOND, TORN, GAPS, LABELS, NOTES, ENDED = NOTES + 2 };
constexpr int ARRIVED = 40;  // bits of a number of rows, below those of the number of blocks that counted them

// Which labels are kept, by their pixels and, if `inside`, by whether they touch the border. The new number of each, 0
// for those that are dropped, goes to `numbers`; there, `labels` is their number before, and `notes` are two numbers
// for the host. Without `numbers` all are kept as they are.
struct Kept {
    i8 least, most;
    i4* numbers;
    const u8 *labels, *notes;
    bool inside;
};

// Publish `total`, the labels that occur in this block, and return those of all blocks before it, by looking back at
// the states of 32 blocks at once. A warp calls this. Each block that it waits for drew a smaller number, so that it
// runs or has ended; and a block publishes its part before it waits.
__device__ inline u8 count_before(u8 total, Index block, volatile u8* states)
{
    const int lane = threadIdx.x % 32;
    if (lane == 0) states[block] = PART | total;
    u8 sum = 0;
    for (Index last = block - 1; last >= 0; last -= 32) {
        const Index other = last - lane;
        u8 state = other >= 0 ? 0 : WHOLE;
        while (state < PART) state = states[other];
        const unsigned whole = __ballot_sync(ALL, state >= WHOLE);
        const int nearest = whole ? __ffs(whole) - 1 : 31;  // its state includes all blocks before it
        sum += sum_of_all(lane <= nearest ? state & VALUE : 0);
        if (whole) break;
    }
    if (lane == 0) states[block] = WHOLE | (sum + total);
    return sum;
}

// One thread of each block calls this; the last one informs the host, which continues while columns are filled.
__device__ inline void tell_count(u8 total, u8 beyond, u8* states, u8* told)
{
    const u8 others = atomicAdd(states + gridDim.x + 2, 1ull << ARRIVED | total);
    if ((others >> ARRIVED) + 1 < gridDim.x) return;
    if (beyond) {
        told[BEYOND] = beyond;
        __threadfence_system();
    }
    *static_cast<volatile u8*>(told + COUNTED) = 1 + (others & ((1ull << ARRIVED) - 1)) + total;
}

// All threads of a block call this after they have written their results; the last block informs the host.
__device__ inline void tell_end(u8* states, u8* told, bool clean)
{
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(states + gridDim.x + 1, 1ull) + 1 < gridDim.x) return;
    if (clean)
        for (unsigned k = 0; k < gridDim.x + 3; ++k) states[k] = 0;
    __threadfence_system();
    *static_cast<volatile u8*>(told + ENDED) = 1;
}

// Fill rows of a table with zeros. All threads of a block call this.
__device__ inline void clear_rows(u8* table, Index first, Index rows, int width)
{
    for (Index k = threadIdx.x; k < rows * width; k += ROWS) table[first * width + k] = 0;
}

// One thread for each row of the table of counts. Row 0 has no label; its first column is the greatest label that
// has no row in the table, or 0. `states` holds zeros: one for each block, and three to draw numbers of blocks, to
// count blocks that have ended, and blocks that have counted. `out` has room for `stride` rows of 64 bits in every
// column, `told` for eight numbers that are 0; both may be memory of the host. `clean` leaves zeros in both tables
// and `states`, unless a label has no row.
__global__ void __launch_bounds__(ROWS)
    fill_columns(u8* table, u8* values, Index rows, const __grid_constant__ ImageLayout layout,
                 const __grid_constant__ Formulas formulas, u8* states, u8* told, u8* out, Index stride, bool clean,
                 const __grid_constant__ Kept kept)
{
    __shared__ Index drawn;
    __shared__ u8 before;
    __shared__ unsigned counts[ROWS / 32];
    if (threadIdx.x == 0) drawn = atomicAdd(states + gridDim.x, 1ull);
    __syncthreads();
    const Index block = drawn;
    const Index label = 1 + block * ROWS + threadIdx.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u8* const own = table + (label < rows ? label : 0) * layout.width;
    const u8 beyond = table[0], pixels = own[0];
    if (beyond != 0) {
        if (threadIdx.x == 0) tell_count(0, beyond, states, told);
        tell_end(states, told, false);
        return;
    }
    Row row = {own, values ? values + 4 * label : nullptr, layout, formulas, label, static_cast<i8>(pixels)};
    const bool exists = label < rows && pixels != 0;
    const bool occurs = exists && row.pixels >= kept.least && row.pixels <= kept.most && !(kept.inside && row.touches());
    const unsigned set = __ballot_sync(ALL, occurs);
    if (lane == 0) counts[warp] = __popc(set);
    __syncthreads();
    u8 total = 0;
#pragma unroll
    for (int k = 0; k < ROWS / 32; ++k) total += counts[k];
    if (warp == 0) {
        const u8 sum = count_before(total, block, states);
        if (lane == 0) before = sum;
    } else if (threadIdx.x == 32) {
        tell_count(total, 0, states, told);
    }
    __syncthreads();
    if (occurs) {
        Index to = before + __popc(set & ((1u << lane) - 1));
        for (int k = 0; k < warp; ++k) to += counts[k];
        if (kept.numbers)
            kept.numbers[label] = static_cast<i4>(row.label = to + 1);
        else if (to + 1 != label && (set >> lane) == 1)
            told[GAPS] = 1;
        const int frame = SIDES - layout.axes;
        if (formulas.torn && row.last(frame) - row.first(frame) > 1) told[TORN] = 1;
        for (int k = 0; k < formulas.count; ++k) {
            const u8 result = compute(row, formulas.steps[k]);
            u8* const column = out + k * stride;
            if (formulas.steps[k].formula == TOUCHES)
                reinterpret_cast<u1*>(column)[to] = static_cast<u1>(result);
            else
                column[to] = result;
        }
    } else if (exists && kept.numbers) {
        kept.numbers[label] = 0;
    }
    if (kept.numbers && block == 0 && threadIdx.x == 0) {
        told[LABELS] = *kept.labels;
        told[NOTES] = kept.notes[0];
        told[NOTES + 1] = kept.notes[1];
    }
    if (clean) {
        __syncthreads();  // all have read
        const Index first = 1 + block * ROWS, count = min(static_cast<Index>(ROWS), rows - first);
        clear_rows(table, first, count, layout.width);
        if (values) clear_rows(values, first, count, 4);
    }
    tell_end(states, told, clean);
}
