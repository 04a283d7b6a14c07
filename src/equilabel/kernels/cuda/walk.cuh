// How measuring walks: a block takes a strip of some rows and columns, and neighboring threads the words
// of a row, one row after the other.
#pragma once
#include "block_table.cuh"
#include "image_layout.cuh"

constexpr int MEASURERS = 256;      // threads of a block that measures labels
constexpr int RUN_MEASURERS = 128;  // and of one that measures runs

// Blocks of so many threads that a multiprocessor should hold at least: lines of many columns take registers.
template <class Entry, int Threads>
constexpr int HELD = (Entry::N + 2 * Entry::Wide <= 8    ? 1024
                      : Entry::N + 2 * Entry::Wide <= 15 ? 768
                      : Threads > RUN_MEASURERS          ? 512
                                                         : 640) /
                     Threads;

// A strip: its first row, counted through all slabs, and where that is.
struct Strip {
    Index slab, first_row, y, x;  // first row in all, and in the slab; first column
    int segment, rows;       // which one of those side by side; how many rows of it are in the slab
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

// Words of a strip in shared memory, with `Halo` rows above and below and, if there are any, a word to the
// left and right.
template <int Words, int Rows, int Halo>
struct Plane {
    static constexpr int Pitch = Words + 2 * (Halo > 0), Beside = Halo > 0;
    static constexpr int Size = Rows + Halo ? (Rows + 2 * Halo) * Pitch : 1;
    unsigned word[Size];

    __device__ unsigned at(int row, int place) const { return word[(row + Halo) * Pitch + place + Beside]; }

    // The pixels before, or after, those of a word.
    __device__ unsigned left(int row, int place) const
    {
        return __funnelshift_l(at(row, place - 1), at(row, place), 1);
    }

    __device__ unsigned right(int row, int place) const
    {
        return __funnelshift_r(at(row, place), at(row, place + 1), 1);
    }

    // The same of pixels that are in another plane, too.
    __device__ unsigned left(const Plane& other, int row, int place) const
    {
        return __funnelshift_l(at(row, place - 1) & other.at(row, place - 1),
                               at(row, place) & other.at(row, place), 1);
    }

    __device__ unsigned right(const Plane& other, int row, int place) const
    {
        return __funnelshift_r(at(row, place) & other.at(row, place),
                               at(row, place + 1) & other.at(row, place + 1), 1);
    }
};

// A stretch of ones in a word, all of one label.
struct Stretch {
    int row, word;  // in the strip
    unsigned bit, length, mask;
};

// Go through a strip. `pixels` tells the words of a row, where labels begin in them, and whose they are;
// `ask` is shown a word a row early, and `look` in its turn, with what `ask` returned; `count` is shown a
// stretch and what `look` returned, and returns an entry for the block_table; `write` takes entries that it
// has no room for.
template <int Words, class Pixels, class Label, class Entry, class Ask, class Look, class Count, class Write>
__device__ inline void walk(const Strip& strip, int each, const Pixels& pixels,
                            BlockTable<Label, Entry>& block_table, const Ask& ask, const Look& look,
                            const Count& count, const Write& write)
{
    const int word = threadIdx.x % Words, first = threadIdx.x / Words * each;
    const int end = min(first + each, strip.rows);
    Held<Label, Entry> held;
    const auto word_of = [&](int row) { return row < end ? pixels.set(row, word) : 0; };
    unsigned following = word_of(first);
    auto ahead = ask(first, word, following);
    for (int row = first; row < first + each; ++row) {
        const unsigned set = following;
        const auto asked = ahead;
        following = word_of(row + 1);
        ahead = ask(row + 1, word, following);
        if (!__any_sync(ALL, set)) continue;
        const auto seen = look(row, word, set, asked);
        const auto found = pixels.find(row, word, set);
        Label label = set ? pixels.label(found, row, word, __ffs(set) - 1) : Label(0);
        for (unsigned rest = set; rest;) {
            Stretch stretch;
            stretch.row = row;
            stretch.word = word;
            stretch.bit = __ffs(rest) - 1;
            const unsigned after = ~(rest >> stretch.bit) | (found.start >> stretch.bit & ~1u);
            stretch.length = after ? __ffs(after) - 1 : 32;
            stretch.mask = ALL >> (32 - stretch.length) << stretch.bit;
            rest &= ~stretch.mask;
            // Asked for before it is needed: memory may be far.
            const Label next = rest ? pixels.label(found, row, word, __ffs(rest) - 1) : Label(0);
            held.take(label, row, count(stretch, seen), block_table, write);
            label = next;
        }
        __syncwarp();
    }
    block_table.add_all(held.label, held.entry, write);
}
