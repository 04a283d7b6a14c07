// What a block counts of each label: in registers while a lane meets one label, then in shared memory,
// then in a table.
//
// A giant component costs some operations in shared memory a block, and one line of the table; small ones
// cost a line each. Whole numbers are added, so that the order does not matter.
#pragma once
#include "warp.cuh"

// Columns counted of one label: N of 32 bits, which add up, or of which the greatest holds where a bit
// of GREATEST is set; and WIDE of 64 bits, which add up. Zeros say nothing.
template <int COUNT, int WIDE, unsigned GREATEST>
struct Line {
    static constexpr int N = COUNT, Wide = WIDE;
    static constexpr unsigned Greatest = GREATEST;
    unsigned of[N];
    u8 wide[Wide ? Wide : 1];

    __device__ void merge(const Line& other)
    {
#pragma unroll
        for (int k = 0; k < N; ++k)
            of[k] = Greatest >> k & 1 ? max(of[k], other.of[k]) : of[k] + other.of[k];
#pragma unroll
        for (int k = 0; k < Wide; ++k) wide[k] += other.wide[k];
    }
};

// How many labels a ledger of such lines has room for, in 20 kB.
template <class Line>
constexpr int SLOTS = 4 * Line::N + 8 * Line::Wide <= 32   ? 512
                      : 4 * Line::N + 8 * Line::Wide <= 72 ? 256
                                                           : 128;

template <typename Label, class Line>
struct Ledger {
    static constexpr int Slots = SLOTS<Line>, Tries = 8;
    Label labels[Slots];  // 0 where nothing is held
    unsigned counts[Line::N][Slots];
    u8 wide[Line::Wide ? Line::Wide : 1][Line::Wide ? Slots : 1];

    // All threads of a block call this, and wait for each other before they add.
    __device__ void clear()
    {
        for (int slot = threadIdx.x; slot < Slots; slot += blockDim.x) {
            labels[slot] = 0;
            for (int k = 0; k < Line::N; ++k) counts[k][slot] = 0;
            for (int k = 0; k < Line::Wide; ++k) wide[k][slot] = 0;
        }
    }

    // Where a label is held, from now on at least; -1 if there is no room.
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

    // Add what one lane has; `write` takes a label and its line where there is no room.
    template <class Write>
    __device__ void add(Label label, const Line& line, const Write& write)
    {
        const int slot = find(label);
        if (slot < 0) {
            write(label, line);
            return;
        }
#pragma unroll
        for (int k = 0; k < Line::N; ++k)
            if (Line::Greatest >> k & 1)
                atomicMax(&counts[k][slot], line.of[k]);
            else if (k == 0 || line.of[k])
                atomicAdd(&counts[k][slot], line.of[k]);
#pragma unroll
        for (int k = 0; k < Line::Wide; ++k) atomicAdd(&wide[k][slot], line.wide[k]);
    }

    // Add what all lanes of a warp have, which call this together; 0 for those that have nothing. Where
    // many have the same label they add up first.
    template <class Write>
    __device__ void add_all(Label label, Line line, const Write& write)
    {
        static_assert(Line::N <= 32, "a lane for each column");
        const unsigned some = __ballot_sync(ALL, label != 0);
        if (some == 0) return;
        const int lane = threadIdx.x % 32;
        const unsigned alike = label ? __popc(lanes_alike(some, label)) : 0;
        const unsigned most = most_of(ALL, alike << 5 | lane);
        if (most >> 5 >= CROWD) {
            const Label common = __shfl_sync(ALL, label, most & 31);
            const bool joins = label == common;
            Line sum;
            unsigned mine = 0;
            u8 mine_wide = 0;
#pragma unroll
            for (int k = 0; k < Line::N; ++k) {
                const unsigned value = joins ? line.of[k] : 0;
                sum.of[k] = Line::Greatest >> k & 1 ? most_of(ALL, value) : sum_over(ALL, value);
                if (lane == k) mine = sum.of[k];
            }
#pragma unroll
            for (int k = 0; k < Line::Wide; ++k) {
                sum.wide[k] = sum_of_all(joins ? line.wide[k] : 0);
                if (lane == k) mine_wide = sum.wide[k];
            }
            int slot = lane == 0 ? find(common) : 0;
            slot = __shfl_sync(ALL, slot, 0);
            if (joins) label = 0;
            if (slot < 0) {
                if (lane == (most & 31)) {  // one of those that have just let go
                    label = common;
                    line = sum;
                }
            } else {
                if (lane < Line::N) {
                    unsigned* to = &counts[lane < Line::N ? lane : 0][slot];
                    if (Line::Greatest >> lane & 1)
                        atomicMax(to, mine);
                    else
                        atomicAdd(to, mine);
                }
                if (lane < Line::Wide) atomicAdd(&wide[lane < Line::Wide ? lane : 0][slot], mine_wide);
            }
        }
        if (label) add(label, line, write);
    }

    // Hand every line to `write`. All threads of a block call this, after they have waited for each other.
    template <class Write>
    __device__ void close(const Write& write) const
    {
        for (int slot = threadIdx.x; slot < Slots; slot += blockDim.x) {
            if (labels[slot] == 0) continue;
            Line line;
            for (int k = 0; k < Line::N; ++k) line.of[k] = counts[k][slot];
            for (int k = 0; k < Line::Wide; ++k) line.wide[k] = wide[k][slot];
            write(labels[slot], line);
        }
    }

    static constexpr unsigned CROWD = 8;  // lanes for which it pays to add up first
};

// What a lane holds: the counts of one label. Another takes its place if it was not met in this row or the
// one before, or when the other comes for the second time: a large object stays while small ones pass by.
template <typename Label, class Line>
struct Hand {
    Label label = 0, other = 0;
    int met = 0;  // in which row
    Line line = {};

    template <class Write>
    __device__ void take(Label fresh, int row, Line one, Ledger<Label, Line>& ledger, const Write& write)
    {
        if (label == 0) label = fresh;
        if (fresh == label) {
            met = row;
            line.merge(one);
            return;
        }
        if (fresh == other || row - met > 1) {
            const Line gone = line;
            line = one;
            one = gone;
            other = label;
            label = fresh;
            met = row;
        } else {
            other = fresh;
        }
        ledger.add(other, one, write);
    }
};
