// Counts of every label of an image where neighbors are not compared, in the layout of measuring/counts.py;
// accumulate.cu has the rest. A lane takes four pixels of each row, row after row, and a warp 128 pixels side
// by side. Pixels of one label that follow each other in a lane are counted in registers.

#include "devices/cuda/index.cuh"
#include "measuring/cuda/counts.cuh"
#include "runs/cuda/pixels.cuh"

// ---- Copies from memory of the device to shared memory that a thread starts and waits for later: they need no
// registers meanwhile.

// Start to copy 4, 8 or 16 bytes, or to write zeros if they do not exist.
template <int BYTES>
__device__ inline void copy_async(void* to, const void* from, bool exists)
{
#if __CUDA_ARCH__ >= 800
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to)), bytes = exists ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(BYTES),
                     "r"(bytes)
                     : "memory");
#else
    for (int k = 0; k < BYTES / 4; ++k)
        static_cast<u4*>(to)[k] = exists ? static_cast<const u4*>(from)[k] : 0;
#endif
}

// All copies that were started since the last call belong together.
__device__ inline void close_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Wait until copies of a thread have ended, but for the last `LEFT` groups.
template <int LEFT>
__device__ inline void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

constexpr int QUAD = 4, WIDE = 32 * QUAD;  // pixels of a lane, and of a warp
constexpr unsigned ONE_EACH = 0x01010101u, PLACE_EACH = 0x03020100u, SQUARE_EACH = 0x09040100u;

template <typename Label>
constexpr int STAGES = sizeof(Label) == 8 ? 2 : 4;  // rows that are copied at once

template <bool Seconds>
using Counted = Kinds<2, 0, 0, 0, Seconds>;

template <bool Seconds>
constexpr int STAY = Seconds ? 3 : 4;  // blocks that a multiprocessor should hold at least

// Counts of one label in a lane: pixels in each of its four columns, a byte for each, and sums over rows, which
// are relative to the first row of the warp.
template <typename Label, bool Seconds>
struct Column {
    typedef typename At<Counted<Seconds>>::Entry Entry;
    Key<Label> label = ~Key<Label>(0);  // no pixel has this label
    unsigned count = 0, rows = 0;       // rows: their sum over all pixels
    unsigned across = 0, squares = 0;   // sums of row times place, and of row times row
    int first = 0, last = -1;

    // Add the pixels of a row; `places` has a one in the byte of each column that has the label.
    __device__ void add(unsigned places, int row)
    {
        count += places;
        if (places) last = row;
        const unsigned n = __popc(places);
        rows += n * row;
        if (Seconds) {
            across += row * __dp4a(places, PLACE_EACH, 0u);
            squares += n * row * row;
        }
    }

    // Do the same in fewer instructions, without products; `rows` is turned (see `turn`) before and after.
    __device__ void meet(const Quad<Label>& quad, int row)
    {
        bool met = false;
#pragma unroll
        for (int k = 0; k < QUAD; ++k)
            if (quad.value[k] == label) {
                count += 1u << 8 * k;
                met = true;
            }
        if (met) last = row;
        rows = __dp4a(count, ONE_EACH, rows);
    }

    // Convert the sum of rows to the sum, over rows up to this one, of the pixels met so far, or back: a pixel
    // then counts once for each row from its own on.
    __device__ void turn(int row)
    {
        if (!Seconds) rows = (row + 1) * __dp4a(count, ONE_EACH, 0u) - rows;
    }

    // Return the counts in coordinates of a strip in which the lane begins at (x, y).
    __device__ Entry entry(unsigned x, unsigned y) const
    {
        Entry entry = {};
        const unsigned n = __dp4a(count, ONE_EACH, 0u), along = __dp4a(count, PLACE_EACH, 0u);
        entry.of[PIXELS] = n;
        entry.of[X] = n * x + along;
        entry.of[Y] = n * y + rows;
        entry.of[LOW_X] = ~(x + (__ffs(count) - 1) / 8);
        entry.of[LOW_Y] = ~(y + first);
        entry.of[HIGH_X] = x + QUAD - __clz(count) / 8;
        entry.of[HIGH_Y] = y + last + 1;
        if constexpr (Seconds) {
            entry.wide[0] = n * x * x + 2 * x * along + __dp4a(count, SQUARE_EACH, 0u);
            entry.wide[1] = entry.of[X] * y + rows * x + across;
            entry.wide[2] = n * y * y + 2 * y * rows + squares;
        }
        return entry;
    }
};

// Return a one in the byte of each of four pixels that has a label.
template <typename Label>
__device__ inline unsigned places_of(const Quad<Label>& quad, Key<Label> label)
{
    return (quad.value[0] == label ? 1u : 0u) | (quad.value[1] == label ? 1u << 8 : 0u) |
           (quad.value[2] == label ? 1u << 16 : 0u) | (quad.value[3] == label ? 1u << 24 : 0u);
}

// A lane holds two labels: the one that was met last, its rows turned, and another. A third label replaces the
// other.
template <typename Label, bool Seconds>
struct Lane {
    typedef ::Key<Label> Key;
    typedef ::Column<Label, Seconds> Column;
    typedef typename Column::Entry Entry;
    Column held, other;

    __device__ void put_last_first(int row)
    {
        if (other.last <= held.last) return;
        const Column later = other;
        other = held;
        held = later;
        other.turn(row);
        held.turn(row);
    }

    // Take a row; the lane begins at (x, y) of its strip.
    template <class Write>
    __device__ void take(const Quad<Label>& quad, int row, unsigned x, unsigned y,
                         BlockTable<Key, Entry>& block_table, const Write& write)
    {
        if (Seconds)
            held.add(places_of(quad, held.label), row);
        else
            held.meet(quad, row);
        Label rest[QUAD], any = 0;
#pragma unroll
        for (int k = 0; k < QUAD; ++k) {
            rest[k] = quad.value[k] == held.label ? Label(0) : quad.value[k];
            any |= rest[k];
        }
        if (!any) return;
        do {
            const Label label = rest[0] ? rest[0] : rest[1] ? rest[1] : rest[2] ? rest[2] : rest[3];
            if (label != other.label) {
                put_last_first(row);
                if (other.count) block_table.add(other.label, other.entry(x, y), write);
                other = Column();
                other.label = label;
                other.first = row;
            }
            other.add(places_of(quad, label), row);
            any = 0;
#pragma unroll
            for (int k = 0; k < QUAD; ++k) {
                rest[k] = rest[k] == label ? Label(0) : rest[k];
                any |= rest[k];
            }
        } while (any);
        put_last_first(row);
    }
};

// Rows that are copied from memory for a lane: it reads what it copied itself, so that no thread waits for
// others. With `Fours`, the rows are aligned to quads.
template <typename Label, bool Fours>
struct Rows {
    Quad<Label> of[STAGES<Label>][MEASURERS];

    // Start to copy a row, of which `left` pixels exist.
    __device__ void copy(int stage, const Label* at, Index left)
    {
        Quad<Label>& to = of[stage][threadIdx.x];
        constexpr int BYTES = sizeof(Label) == 8 ? 16 : 4 * sizeof(Label);
        if constexpr (Fours) {
#pragma unroll
            for (int k = 0; k < QUAD; k += BYTES / sizeof(Label))
                copy_async<BYTES>(to.value + k, at + k, left > 0);
        } else {
#pragma unroll
            for (int k = 0; k < QUAD; ++k)
                if constexpr (sizeof(Label) >= 4)
                    copy_async<sizeof(Label)>(to.value + k, at + k, k < left);
                else
                    to.value[k] = k < left ? at[k] : Label(0);
        }
        close_copies();
    }
};

// One block for each strip, of `beside` warps side by side and the others below them.
template <typename Label, bool Seconds, bool Fours>
__global__ void __launch_bounds__(MEASURERS, STAY<Seconds>)
    count_quads(const Label* __restrict__ labels, const __grid_constant__ ImageLayout layout, u8 most, u8* table,
                int beside)
{
    typedef typename At<Counted<Seconds>>::Entry Entry;
    typedef Key<Label> Key;
    __shared__ BlockTable<Key, Entry> block_table;
    __shared__ Origin origin;
    __shared__ Rows<Label, Fours> ahead;
    const Strip strip = find_strip(layout, WIDE * beside);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int each = layout.tall / (MEASURERS / 32 / beside), first = warp / beside * each;
    const int rows = min(each, strip.rows - first);
    const unsigned x = WIDE * (warp % beside) + QUAD * lane;
    const Index columns = layout.sides[5], left = columns - strip.x - x;
    const Label* next = labels + (strip.first_row + first) * columns + strip.x + x;
    for (int row = 0; row < STAGES<Label>; ++row, next += columns) ahead.copy(row, next, row < rows ? left : 0);
    block_table.clear();
    if (threadIdx.x == 0) origin.find(strip, layout);
    __syncthreads();
    const auto write = [&](Key label, const Entry& entry) {
        write_counts<Counted<Seconds>>(label, entry, origin, layout, most, table, {});
    };
    Lane<Label, Seconds> held;
    for (int row = 0, stage = 0; row < rows; ++row, next += columns) {
        wait_for_copies<STAGES<Label> - 1>();
        held.take(ahead.of[stage][threadIdx.x], row, x, first, block_table, write);
        __syncwarp();
        ahead.copy(stage, next, row + STAGES<Label> < rows ? left : 0);
        stage = stage + 1 < STAGES<Label> ? stage + 1 : 0;
    }
    const auto end = [&](const Column<Label, Seconds>& column) {
        const Key label = column.count ? column.label : Key(0);
        block_table.add_all(label, column.entry(x, first), write);
    };
    held.held.turn(rows - 1);
    end(held.held);
    end(held.other);
    __syncthreads();
    block_table.close(write);
}
