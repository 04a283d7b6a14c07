// Counts of each label in a block: in registers while a lane meets one label, then in shared memory, then in a
// table.
//
// A giant component costs a block some operations in shared memory, and one update of the table; small ones cost
// an update each. Integers are added, so that their order does not matter.
#pragma once

#include "devices/cuda/image_layout.cuh"
#include "devices/cuda/warp.cuh"

// The type of labels in a block table.
template <bool Short>
struct KeyOf {
    typedef u4 Type;
};

template <>
struct KeyOf<false> {
    typedef u8 Type;
};

template <typename Label>
using Key = typename KeyOf<sizeof(Label) <= 4>::Type;

// Counts of one label: N of 32 bits, which add up, or of which the greatest is kept where a bit of GREATEST is
// set; and WIDE of 64 bits, which add up. Zeros are neutral.
template <int COUNT, int WIDE, unsigned GREATEST>
struct Entry {
    static constexpr int N = COUNT, Wide = WIDE;
    static constexpr unsigned Greatest = GREATEST;
    unsigned of[N];
    u8 wide[Wide ? Wide : 1];

    __device__ void merge(const Entry& other)
    {
#pragma unroll
        for (int k = 0; k < N; ++k)
            of[k] = Greatest >> k & 1 ? max(of[k], other.of[k]) : of[k] + other.of[k];
#pragma unroll
        for (int k = 0; k < Wide; ++k) wide[k] += other.wide[k];
    }
};

// The number of such entries that a block table has room for, in 20 kB.
template <class Entry>
constexpr int SLOTS = 4 * Entry::N + 8 * Entry::Wide <= 32   ? 512
                      : 4 * Entry::N + 8 * Entry::Wide <= 72 ? 256
                                                           : 128;

template <typename Label, class Entry>
struct BlockTable {
    static constexpr int Slots = SLOTS<Entry>, Tries = 8;
    Label labels[Slots];  // 0 where nothing is held
    unsigned counts[Entry::N][Slots];
    u8 wide[Entry::Wide ? Entry::Wide : 1][Entry::Wide ? Slots : 1];

    // All threads of a block call this, and wait for each other before they add.
    __device__ void clear()
    {
        for (int slot = threadIdx.x; slot < Slots; slot += blockDim.x) {
            labels[slot] = 0;
            for (int k = 0; k < Entry::N; ++k) counts[k][slot] = 0;
            for (int k = 0; k < Entry::Wide; ++k) wide[k][slot] = 0;
        }
    }

    // Return the slot of a label, which it gets if it has none; -1 if there is no room.
    __device__ int find(Label label)
    {
        int slot = static_cast<int>(label) & (Slots - 1);
        for (int k = 0; k < Tries; ++k, slot = (slot + 1) & (Slots - 1)) {
            const Label held = *static_cast<volatile Label*>(labels + slot);
            if (held == label) return slot;
            if (held != 0) continue;
            const Label seen = atomicCAS(labels + slot, Label(0), label);
            if (seen == 0 || seen == label) return slot;
        }
        return -1;
    }

    // Add the entry of one lane; `write` takes a label and its entry if there is no room.
    template <class Write>
    __device__ void add(Label label, const Entry& entry, const Write& write)
    {
        const int slot = find(label);
        if (slot < 0) {
            write(label, entry);
            return;
        }
#pragma unroll
        for (int k = 0; k < Entry::N; ++k)
            if (Entry::Greatest >> k & 1)
                atomicMax(&counts[k][slot], entry.of[k]);
            else if (k == 0 || entry.of[k])
                atomicAdd(&counts[k][slot], entry.of[k]);
#pragma unroll
        for (int k = 0; k < Entry::Wide; ++k) atomicAdd(&wide[k][slot], entry.wide[k]);
    }

    // Add the entries of all lanes of a warp, which call this together; a lane without one has label 0. If many
    // have the same label, they add up first.
    template <class Write>
    __device__ void add_all(Label label, Entry entry, const Write& write)
    {
        static_assert(Entry::N <= 32, "a lane for each column");
        const unsigned some = __ballot_sync(ALL, label != 0);
        if (some == 0) return;
        const int lane = threadIdx.x % 32;
        const unsigned alike = label ? __popc(lanes_alike(some, label)) : 0;
        const unsigned most = most_of(ALL, alike << 5 | lane);
        if (most >> 5 >= CROWD) {
            const Label common = __shfl_sync(ALL, label, most & 31);
            const bool joins = label == common;
            Entry sum;
            unsigned mine = 0;
            u8 mine_wide = 0;
#pragma unroll
            for (int k = 0; k < Entry::N; ++k) {
                const unsigned value = joins ? entry.of[k] : 0;
                sum.of[k] = Entry::Greatest >> k & 1 ? most_of(ALL, value) : sum_over(ALL, value);
                if (lane == k) mine = sum.of[k];
            }
#pragma unroll
            for (int k = 0; k < Entry::Wide; ++k) {
                sum.wide[k] = sum_of_all(joins ? entry.wide[k] : 0);
                if (lane == k) mine_wide = sum.wide[k];
            }
            int slot = lane == 0 ? find(common) : 0;
            slot = __shfl_sync(ALL, slot, 0);
            if (joins) label = 0;
            if (slot < 0) {
                if (lane == (most & 31)) {  // one of the lanes whose label was cleared
                    label = common;
                    entry = sum;
                }
            } else {
                if (lane < Entry::N) {
                    unsigned* to = &counts[lane < Entry::N ? lane : 0][slot];
                    if (Entry::Greatest >> lane & 1)
                        atomicMax(to, mine);
                    else
                        atomicAdd(to, mine);
                }
                if (lane < Entry::Wide) atomicAdd(&wide[lane < Entry::Wide ? lane : 0][slot], mine_wide);
            }
        }
        if (label) add(label, entry, write);
    }

    // Pass every entry to `write`. All threads of a block call this, after they have waited for each other.
    template <class Write>
    __device__ void close(const Write& write) const
    {
        for (int slot = threadIdx.x; slot < Slots; slot += blockDim.x) {
            if (labels[slot] == 0) continue;
            Entry entry;
            for (int k = 0; k < Entry::N; ++k) entry.of[k] = counts[k][slot];
            for (int k = 0; k < Entry::Wide; ++k) entry.wide[k] = wide[k][slot];
            write(labels[slot], entry);
        }
    }

    static constexpr unsigned CROWD = 8;  // lanes from which it pays to add up first
};

// The counts of one label in a lane.
template <typename Label, class Entry>
struct Held {
    Label label = 0;
    Entry entry = {};

    template <class Write>
    __device__ void take(Label fresh, const Entry& one, BlockTable<Label, Entry>& block_table, const Write& write)
    {
        if (fresh == label) {
            entry.merge(one);
            return;
        }
        if (label) block_table.add(label, entry, write);
        label = fresh;
        entry = one;
    }
};

// ------------------------------------------------------------------------------------------
// The order of measuring: a block takes a strip of some rows and columns, and neighboring threads take the words
// of a row, one row after the other.

constexpr int MEASURERS = 256;      // threads of a block that measures labels
constexpr int RUN_MEASURERS = 128;  // threads of a block that measures runs

// Blocks of so many threads that a multiprocessor should hold at least: long entries take registers.
template <class Entry, int Threads>
constexpr int HELD = (Entry::N + 2 * Entry::Wide <= 8    ? 1024
                      : Entry::N + 2 * Entry::Wide <= 15 ? 768
                      : Threads > RUN_MEASURERS          ? 512
                                                         : 640) /
                     Threads;

struct Strip {
    Index slab, first_row, y, x;  // first row among all, and in the slab; first column
    int segment, rows;       // index among strips side by side; rows that lie in the slab
};

__device__ inline Strip find_strip(const ImageLayout& layout, int width)
{
    unsigned block = blockIdx.x;
    Strip strip;
    strip.segment = block % layout.segments;
    block /= layout.segments;
    strip.y = static_cast<Index>(block % layout.strips) * layout.tall;
    strip.slab = block / layout.strips;
    strip.first_row = strip.slab * layout.sides[4] + strip.y;
    strip.x = static_cast<Index>(strip.segment) * width;
    strip.rows = static_cast<int>(min(static_cast<Index>(layout.tall), layout.sides[4] - strip.y));
    return strip;
}

// Words of a strip in shared memory, with `Halo` rows above and below and, if Halo > 0, a word to the left and
// to the right.
template <int Words, int Rows, int Halo>
struct Plane {
    static constexpr int Pitch = Words + 2 * (Halo > 0), Beside = Halo > 0;
    static constexpr int Size = Rows + Halo ? (Rows + 2 * Halo) * Pitch : 1;
    unsigned word[Size];

    __device__ unsigned at(int row, int place) const { return word[(row + Halo) * Pitch + place + Beside]; }

    // The pixels to the left of those of a word, at column 0, these themselves, or, at 2, those to the right.
    __device__ unsigned beside(int row, int place, int column) const
    {
        if (column == 1) return at(row, place);
        return column ? __funnelshift_r(at(row, place), at(row, place + 1), 1)
                      : __funnelshift_l(at(row, place - 1), at(row, place), 1);
    }
};

// A stretch of ones in a word, with one label.
struct Stretch {
    int row, word;  // in the strip
    unsigned bit, length, mask;
};
