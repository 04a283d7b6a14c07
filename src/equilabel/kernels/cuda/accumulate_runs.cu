// Counts and values of every component, from the runs of the method `runs` once their nodes have labels.
//
// Neighbors with the same label are told by bits alone, which holds for runs of one value: across faces
// always, across edges and corners where these connect.
#include "bits.cuh"
#include "counts.cuh"
#include "small_values.cuh"
#include "resolve.cuh"

template <int Words, int Rows, int Halo>
__device__ inline void read_bits(Plane<Words, Rows, Halo>& plane, const Job& job, const Strip& strip,
                                 Index line, Index rows, bool exists)
{
    const Index across = static_cast<Index>(job.plan.segments) * Words;
    for (int at = threadIdx.x; at < (strip.rows + 2 * Halo) * plane.Pitch; at += MEASURERS) {
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
    // As rows.py has them.
    static constexpr int Rows = MEASURERS / WORDS * (Deep || (Halo == 2 && WORDS < 16) ? 4 : 8);
    Plane<WORDS, Rows, Halo> set;
    Plane<WORDS, Deep ? Rows : 0, Halo> above;  // of the slab before
    Plane<WORDS, Kinds::Outline ? Rows : 0, 1> border;

    // All threads of a block call this, and wait for each other.
    __device__ void read(const Job& job, const ImageLayout& layout, const Strip& strip)
    {
        const Index rows = layout.sides[4];
        read_bits(set, job, strip, strip.first_row, rows, true);
        if (Deep)
            read_bits(above, job, strip, strip.first_row - rows, rows, strip.slab % layout.sides[3] > 0);
        __syncthreads();
        if constexpr (Kinds::Outline) {
            for (int at = threadIdx.x; at < (strip.rows + 2) * border.Pitch; at += MEASURERS) {
                const int row = at / border.Pitch - 1, word = at % border.Pitch - 1;
                const unsigned own = set.at(row, word);  // beyond the outer words nobody looks
                const unsigned before = word >= 0 ? set.at(row, word - 1) : 0;
                const unsigned after = word < WORDS ? set.at(row, word + 1) : 0;
                border.word[at] = own & ~(__funnelshift_l(before, own, 1) & __funnelshift_r(own, after, 1) &
                                          set.at(row - 1, word) & set.at(row + 1, word));
            }
            __syncthreads();
        }
    }

    // All threads of a warp call this together.
    __device__ NeighborBits<Kinds> look(int row, int word, unsigned own) const
    {
        NeighborBits<Kinds> near_bits = {};
        if constexpr (Kinds::Steps || Kinds::Euler) {
            Same<Kinds::Rank> same;
            constexpr int First = Kinds::Rank == 2 ? 0 : 9;
            if constexpr (Deep)
#pragma unroll
                for (int k = 0; k < 3; ++k) {
                    same.of[3 * k] = own & above.left(row + k - 1, word);
                    same.of[3 * k + 1] = own & above.at(row + k - 1, word);
                    same.of[3 * k + 2] = own & above.right(row + k - 1, word);
                }
            same.of[First] = own & set.left(row - 1, word);
            same.of[First + 1] = own & set.at(row - 1, word);
            same.of[First + 2] = own & set.right(row - 1, word);
            same.of[First + 3] = own & set.left(row, word);
            near_bits.compare(own, same);
        }
        if constexpr (Kinds::Outline) {
            const unsigned edge = border.at(row, word) & own;
            if (__any_sync(ALL, edge))
                near_bits.sort(edge, {border.at(row - 1, word), border.at(row + 1, word),
                                  border.left(row, word), border.right(row, word),
                                  border.left(row - 1, word), border.right(row - 1, word),
                                  border.left(row + 1, word), border.right(row + 1, word)});
        }
        return near_bits;
    }
};

// The runs of a strip, for `walk`.
template <typename Id, int WORDS, bool MANY, class Planes>
struct Runs {
    // Labels of the first runs of every row, in shared memory.
    static constexpr int Near = 4 * WORDS / sizeof(Id), Rows = Planes::Rows;
    struct Labels {
        Id of[Rows][Near + 1];  // a word more, so that rows begin in different banks
    };

    const Planes& planes;
    Labels& labels;
    Id *entries, *last;       // those of the first row; of the last run that has no room there
    const unsigned* begins;   // of many values, likewise
    Index columns;
    int segments, room;

    // Where runs begin in a word, and how many do before it.
    struct Found {
        unsigned start, run;
    };

    __device__ Runs(const Job& job, const Strip& strip, const Planes& planes, Labels& labels)
        : planes(planes), labels(labels), columns(job.plan.columns), segments(job.plan.segments)
    {
        const RunTable<Id> table = run_table<MANY>(
            job.plan, static_cast<Id*>(job.nodes), static_cast<Id*>(job.tables), strip.first_row, strip.segment);
        entries = table.entries;
        last = table.last;
        room = table.room;
        begins = job.begins + (strip.first_row * segments + strip.segment) * WORDS;
    }

    __device__ Id& entry(int row, unsigned run) const
    {
        if (MANY || static_cast<int>(run) < room) return entries[row * columns + run];
        return last[static_cast<Index>(row) * segments];
    }

    // Put labels in place of nodes in the run tables, if they are not there yet, and keep the first. All
    // threads of a block call this; each group of neighbors sees what it did once it has waited.
    __device__ void resolve_rows(const Job& job, const Strip& strip, bool resolved, int each) const
    {
        const int first = threadIdx.x / WORDS * each, end = min(first + each, strip.rows);
        for (int row = first; row < end; row += SETTLED)
            resolve<Id, WORDS, MANY>(
                job, strip.first_row + row, strip.segment, min(end - row, SETTLED),
                [&](int k, unsigned run, Id label) {
                    if (run < Near) labels.of[row + k][run] = label;
                },
                resolved);
        __syncwarp();
    }

    __device__ unsigned set(int row, int word) const { return planes.set.at(row, word); }

    // All threads of a warp call this together.
    __device__ Found find(int row, int word, unsigned own) const
    {
        Found found;
        found.start = own & ~from_left<WORDS>(own);
        if (MANY) found.start = own ? begins[static_cast<Index>(row) * segments * WORDS + word] : 0;
        unsigned total;
        found.run = runs_before<WORDS>(found.start, total);
        return found;
    }

    __device__ Id label(const Found& found, int row, int, int bit) const
    {
        const unsigned run = run_at(found.run, found.start, bit);
        return run < Near ? labels.of[row][run] : entry(row, run);
    }
};

// One block per strip. `layout.tall` is a multiple of the rows that a block walks through at once.
template <typename Id, int WORDS, bool MANY, int Rank, int Steps, int Euler, int Outline, bool Seconds>
__global__ void __launch_bounds__(MEASURERS, HELD<EntryOf<Rank, Steps, Euler, Outline, Seconds>>)
    tally_runs(const __grid_constant__ Job job, const __grid_constant__ ImageLayout layout, bool resolved,
               u8 most, u8* table)
{
    typedef Kinds<Rank, Steps, Euler, Outline, Seconds> Asked;
    typedef Planes<WORDS, Asked> Words;
    __shared__ BlockTable<Id, typename At<Asked>::Entry> block_table;
    __shared__ Origin origin;
    __shared__ Words planes;
    typedef Runs<Id, WORDS, MANY, Words> Entries;
    __shared__ typename Entries::Labels labels;
    const Strip strip = find_strip(layout, job.plan.width);
    const int each = layout.tall * WORDS / MEASURERS;
    const Entries runs(job, strip, planes, labels);
    block_table.clear();
    if (threadIdx.x == 0) origin.find(strip, layout);
    runs.resolve_rows(job, strip, resolved, each);
    planes.read(job, layout, strip);
    const auto write = [&](Id label, const typename At<Asked>::Entry& entry) {
        if (has_row(label, most, table))
            write_counts<Asked>(entry, origin, layout, table + static_cast<Index>(label) * layout.width);
    };
    walk<WORDS, false>(
        strip, each, runs, block_table,
        [&](int row, int word, unsigned own) { return planes.look(row, word, own); },
        count_stretch<Asked>, write);
    __syncthreads();
    block_table.close(write);
}

// The values under every component.
template <typename Id, int WORDS, bool MANY, typename Gray>
__global__ void __launch_bounds__(MEASURERS, HELD<Values>)
    value_runs(const __grid_constant__ Job job, const __grid_constant__ ImageLayout layout,
             bool resolved, u8 most, const Gray* __restrict__ values, bool aligned, u8* table)
{
    typedef Planes<WORDS, Kinds<2, 0, 0, 0, false>> Words;
    __shared__ BlockTable<Id, Values> block_table;
    __shared__ Words planes;
    typedef Runs<Id, WORDS, MANY, Words> Entries;
    __shared__ typename Entries::Labels labels;
    const Strip strip = find_strip(layout, job.plan.width);
    const int each = layout.tall * WORDS / MEASURERS;
    const Entries runs(job, strip, planes, labels);
    block_table.clear();
    runs.resolve_rows(job, strip, resolved, each);
    planes.read(job, layout, strip);
    const auto write = [&](Id label, const Values& entry) {
        if (label <= most) write_values<Gray>(entry, table + VALUE_COLUMNS * static_cast<Index>(label));
    };
    walk<WORDS, true>(
        strip, each, runs, block_table,
        [&](int row, int word, unsigned own) {
            return read_numbers(values, strip, row, word, own, layout.sides[5], aligned);
        },
        count_values<Gray>, write);
    __syncthreads();
    block_table.close(write);
}
