// Counts and values of every component, from the runs of the method `runs` after their nodes have labels.
//
// Bits alone decide whether neighbors have the same label. That is right for runs of one value: always across
// faces, and across edges and corners if these connect.

#include "measuring/cuda/counts.cuh"
#include "runs/cuda/pixels.cuh"

template <int Words, int Rows, int Halo>
__device__ inline void read_bits(Plane<Words, Rows, Halo>& plane, const Job& job, const Strip& strip,
                                 Index line, Index rows, bool exists)
{
    const Index across = static_cast<Index>(job.plan.segments) * Words;
    for (int at = threadIdx.x; at < (strip.rows + 2 * Halo) * plane.Pitch; at += RUN_MEASURERS) {
        const int row = at / plane.Pitch - Halo;
        const Index y = strip.y + row;
        const Index x = static_cast<Index>(strip.segment) * Words + at % plane.Pitch - plane.Beside;
        const bool real = exists && y >= 0 && y < rows && x >= 0 && x < across;
        plane.word[at] = real ? job.bits[(line + row) * across + x] : 0;
    }
}

// The words of a strip and around it.
template <int WORDS, class Kinds>
struct Planes {
    static constexpr bool Deep = Kinds::Rank == 3 && Kinds::Compares;
    static constexpr int Halo = Kinds::Outline ? 2 : Kinds::Compares ? 1 : 0;
    // As in measuring/cuda/sources.py.
    static constexpr int Rows = RUN_MEASURERS / WORDS * (Deep || (Halo == 2 && WORDS < 16) ? 4 : 8);
    Plane<WORDS, Rows, Halo> own;
    Plane<WORDS, Deep ? Rows : 0, Halo> above;  // of the slab before
    Plane<WORDS, Kinds::Outline ? Rows : 0, 1> border;

    // All threads of a block call this, and wait for each other.
    __device__ void read(const Job& job, const ImageLayout& layout, const Strip& strip)
    {
        const Index rows = layout.sides[4];
        read_bits(own, job, strip, strip.first_row, rows, true);
        if (Deep)
            read_bits(above, job, strip, strip.first_row - rows, rows, strip.slab % layout.sides[3] > 0);
        __syncthreads();
    }

    __device__ unsigned set(int row, int word) const { return own.at(row, word); }

    // The pixels of a word that have the label of a neighbor, numbered as in `Same`.
    __device__ unsigned same(int neighbor, int row, int word) const
    {
        const int line = row + neighbor % 9 / 3 - 1, column = neighbor % 3;
        const unsigned other = neighbor < NORTHWEST ? above.beside(line, word, column) : own.beside(line, word, column);
        return own.at(row, word) & other;
    }
};

// The runs of a strip, for `count_strip`.
template <typename Id, class Tile>
struct Runs {
    static constexpr int Words = Tile::Words;
    const Job& job;
    const Strip& strip;
    const u2 *near, *far;         // short and long tables of the first row
    Index near_pitch, far_pitch;  // distance to those of the next row
    const unsigned* begins;       // starts of runs in the first row, if there are many values
    const unsigned* counts;       // numbers of runs and nodes in the first row

    // Bits where runs begin in a word, and the number of runs before it.
    struct Found {
        unsigned start, run;
    };

    __device__ Runs(const Job& job, const Strip& strip) : job(job), strip(strip)
    {
        Id* const nodes = static_cast<Id*>(job.nodes);
        const Index first = strip.first_row;
        const auto table = [&](Index row, unsigned total) {
            return run_table<Tile::Many>(job.plan, nodes, job.tables, row, strip.segment, total);
        };
        near = table(first, 0);
        near_pitch = table(first + 1, 0) - near;
        far = table(first, ALL);
        far_pitch = table(first + 1, ALL) - far;
        counts = job.counts + first * job.plan.segments + strip.segment;
        begins = job.begins + (first * job.plan.segments + strip.segment) * Words;
    }

    // All threads of a warp call this together.
    __device__ Found find(int row, int word, unsigned own) const
    {
        Found found;
        found.start = own & ~from_left<Words>(own);
        if (Tile::Many)
            found.start = own ? begins[static_cast<Index>(row) * job.plan.segments * Words + word] : 0;
        unsigned total;
        found.run = runs_before<Words>(found.start, total);
        return found;
    }

    // The label of a run, from its node.
    __device__ Id label(const Found& found, int row, int, int bit) const
    {
        const unsigned run = run_at(found.run, found.start, bit);
        const unsigned total = counts[static_cast<Index>(row) * job.plan.segments] >> 16;
        const unsigned entry = total > NEAR ? far[row * far_pitch + run] : near[row * near_pitch + run];
        const int z = static_cast<int>(strip.slab % job.plan.shape[3]);
        const Place<Index> place = {strip.first_row + row, strip.segment, z, static_cast<int>(strip.y) + row};
        const Id base = tile_base<Tile>(job.plan, place);
        return static_cast<const Id*>(job.nodes)[node_of<Tile>(job.plan, base, entry)] & ~LABEL<Id>;
    }
};

// One block per strip. `layout.tall` is a multiple of the rows that a block walks through at once.
template <typename Id, typename Tile, int Rank, int Steps, int Euler, int Outline, bool Seconds, typename Under>
__global__ void
__launch_bounds__(RUN_MEASURERS,
                  HELD<EntryOf<Rank, Steps, Euler, Outline, Seconds, Under>, RUN_MEASURERS>)
    tally_runs(const __grid_constant__ Job job, const __grid_constant__ ImageLayout layout, u8 most,
               u8* table, const __grid_constant__ Grays<Under> grays)
{
    typedef Kinds<Rank, Steps, Euler, Outline, Seconds, Under> Asked;
    __shared__ Planes<Tile::Words, Asked> planes;
    const Strip strip = find_strip(layout, job.plan.width);
    count_strip<Asked, Tile::Words, Id>(job, strip, Runs<Id, Tile>(job, strip), planes, layout, most, table, grays);
}
