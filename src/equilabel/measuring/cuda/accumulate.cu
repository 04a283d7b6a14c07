// Counts and values of every label of an image, in the layout of measuring/counts.py. Labels of neighbors are
// compared, one pixel a thread; ballots combine the results into words, and the rest is as with runs.
// Labels up to `most`, the last row of the table, are counted. Greater ones occur if the size of the table was
// guessed, or if another stream changes labels meanwhile; the table keeps the greatest of them.

#include "measuring/cuda/counts.cuh"

// The words of a strip: foreground, and which pixels have the label of each of their earlier neighbors; only
// of the one to the left if no others are compared.
template <int WORDS, class Kinds>
struct Compared {
    static constexpr bool Compares = Kinds::Compares, Deep = Kinds::Rank == 3 && Compares;
    static constexpr int Words = Deep ? 8 : WORDS, Rows = 32, Halo = Kinds::Outline ? 2 : 0;
    static constexpr int Chunk = Halo ? 9 : Rows;  // rows that a warp reads one after the other
    static constexpr int Batch = Deep ? 4 : Halo ? 9 : 8;  // of these, read at once
    static constexpr int Neighbors = Compares ? Kinds::Neighbors : 1;
    typedef Plane<Words, Rows, Halo> Plane;
    Plane some, alike[Neighbors];
    ::Plane<Words, Kinds::Outline ? Rows : 0, 1> border;

    __device__ unsigned set(int row, int word) const { return some.at(row, word); }

    // The pixels of a word that have the label of a neighbor, numbered as in `Same`.
    __device__ unsigned same(int neighbor, int row, int word) const
    {
        return alike[neighbor - (13 - Neighbors)].at(row, word);
    }

    // All threads of a block call this, and wait for each other.
    template <typename Label>
    __device__ void read(const Label* labels, const ImageLayout& layout, const Strip& strip)
    {
        const int tall = strip.rows + 2 * Halo, chunks = (tall + Chunk - 1) / Chunk;
        for (int task = threadIdx.x / 32; task < Plane::Pitch * chunks; task += MEASURERS / 32) {
            const int column = task % Plane::Pitch, from = task / Plane::Pitch * Chunk;
            const Index x = strip.x + 32 * (column - Plane::Beside), y = strip.y + from - Halo;
            const bool inner =
                x >= 1 && x + 33 <= layout.sides[5] && y >= 1 && y + Chunk + 1 <= layout.sides[4];
            if (inner)
                read_column<true>(labels, layout, strip, column, from, tall);
            else
                read_column<false>(labels, layout, strip, column, from, tall);
        }
        __syncthreads();
    }

    // A warp reads 32 columns and writes a word of every plane for each row. With `Inner`, all that it reads
    // lies inside the image.
    template <bool Inner, typename Label>
    __device__ void read_column(const Label* labels, const ImageLayout& layout, const Strip& strip, int column,
                                int from, int tall)
    {
        const int lane = threadIdx.x % 32;
        const Index columns = layout.sides[5], rows = layout.sides[4], up = rows * columns;
        const Index x = strip.x + 32 * (column - Plane::Beside) + lane;
        const bool deeper = Deep && strip.slab % layout.sides[3] > 0;
        const bool here[3] = {x >= 1 && x <= columns, x >= 0 && x < columns, x >= -1 && x + 1 < columns};
        Index y = strip.y + from - Halo;
        const Label* at = labels + (strip.slab * rows + y) * columns + x;
        // A label, and those to its left and right.
        const auto read = [&](Label (&to)[3], const Label* at, bool exists, Index y) {
            exists = exists && (Inner || (y >= 0 && y < rows));
#pragma unroll
            for (int k = 0; k < 3; ++k)
                to[k] = exists && (Inner || here[k]) && (Compares || k < 2) ? at[k - 1] : Label(0);
        };
        Label north[3] = {}, above[3][3] = {};
        if (Compares) read(north, at - columns, true, y - 1);
        if (Deep) {
            read(above[1], at - up - columns, deeper, y - 1);
            read(above[2], at - up, deeper, y);
        }
        unsigned* to = lane <= Neighbors ? (lane ? alike[lane ? lane - 1 : 0] : some).word : some.word;
        to += from * Plane::Pitch + column;
        for (int left = min(tall - from, Chunk); left > 0; left -= Batch) {
            Label own[Batch][3], next[Deep ? Batch : 1][3];
#pragma unroll
            for (int k = 0; k < Batch; ++k) {  // rows are read together to hide the latency of memory
                read(own[k], at, k < left, y);
                at += columns;
                ++y;
                if (Deep) read(next[Deep ? k : 0], at - up, k < left && deeper, y);
            }
#pragma unroll
            for (int k = 0; k < Batch; ++k) {
                const Label label = own[k][1];
                unsigned mine = __ballot_sync(ALL, label != 0);
                const unsigned set = mine;
                int neighbor = 0;
                const auto compare = [&](Label other) {
                    const unsigned word = __ballot_sync(ALL, label == other);
                    if (lane == ++neighbor) mine = word;
                };
                if (Deep) {
#pragma unroll
                    for (int j = 0; j < 3; ++j) {
                        above[0][j] = above[1][j];
                        above[1][j] = above[2][j];
                        above[2][j] = next[Deep ? k : 0][j];
                    }
#pragma unroll
                    for (int j = 0; j < 9; ++j) compare(above[j / 3][j % 3]);
                }
                if (Compares)
#pragma unroll
                    for (int j = 0; j < 3; ++j) compare(north[j]);
                compare(own[k][0]);
                if (lane <= Neighbors && k < left) to[k * Plane::Pitch] = mine & set;
#pragma unroll
                for (int j = 0; j < 3; ++j) north[j] = own[k][j];
            }
            to += Batch * Plane::Pitch;
        }
    }
};

// The labels of a strip, for `count_strip`.
template <typename Label, class Words>
struct Labels {
    const Label* image;  // at the corner of the strip
    const Words& words;
    Index columns;

    struct Found {
        unsigned start;
    };

    __device__ Found find(int row, int word, unsigned own) const
    {
        return {own ? own & ~words.same(WEST, row, word) : 0};
    }

    __device__ Key<Label> label(Found, int row, int word, int bit) const
    {
        return static_cast<Key<Label>>(image[row * columns + (32 * word + bit)]);
    }
};

// One block per strip.
template <typename Label, int ABREAST, int Rank, int Steps, int Euler, int Outline, bool Seconds, typename Under>
__global__ void __launch_bounds__(MEASURERS, HELD<EntryOf<Rank, Steps, Euler, Outline, Seconds, Under>, MEASURERS>)
    count_labels(const Label* __restrict__ labels, const __grid_constant__ ImageLayout layout, u8 most, u8* table,
                 const __grid_constant__ Grays<Under> grays)
{
    typedef Kinds<Rank, Steps, Euler, Outline, Seconds, Under> Asked;
    typedef Compared<ABREAST, Asked> Words;
    __shared__ Words words;
    const Strip strip = find_strip(layout, 32 * Words::Words);
    const Label* const corner = labels + strip.first_row * layout.sides[5] + strip.x;
    count_strip<Asked, Words::Words, Key<Label>>(
        labels, strip, Labels<Label, Words>{corner, words, layout.sides[5]}, words, layout, most, table, grays);
}
