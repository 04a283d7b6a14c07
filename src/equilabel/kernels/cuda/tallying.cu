// Sizes, places and second moments of labels, from the runs of the method `runs` once these have labels.
#include "bits.cuh"
#include "scene.cuh"

// What a lane has counted of the label it holds: x from the first pixel of its word.
struct Held {
    unsigned pixels, x, y, low_x, high_x, low_y, high_y, xx, xy, yy;
};

template <int WORDS>
__device__ inline void add_to_line(const Held& held, unsigned lanes, Index slab, Index x0, Index y0,
                                   const Scene& scene, u8* line)
{
    const unsigned shift = threadIdx.x % WORDS * 32;
    Sums sums = {sum_over(lanes, held.pixels), sum_over(lanes, held.x + held.pixels * shift),
                 sum_over(lanes, held.y)};
    sums.low_x = most_of(lanes, 32 * WORDS - shift - held.low_x);
    sums.low_y = most_of(lanes, scene.tall - held.low_y);
    sums.high_x = most_of(lanes, shift + held.high_x);
    sums.high_y = most_of(lanes, held.high_y);
    if (scene.seconds >= 0) {
        const u8 far = shift;
        sums.xx = sum_over(lanes, held.xx + 2 * far * held.x + far * far * held.pixels);
        sums.xy = sum_over(lanes, held.xy + far * held.y);
        sums.yy = sum_over(lanes, static_cast<u8>(held.yy));
    }
    if (threadIdx.x % 32 == __ffs(lanes) - 1)
        write_places(sums, slab, x0, y0, 32 * WORDS, scene.tall, scene, line);
}

// What a lane has counted of one stretch: `length` ones from `bit` on, in a row of the strip.
__device__ inline void add_stretch(Held& held, unsigned bit, unsigned length, unsigned row)
{
    const unsigned along = length * (length - 1) / 2;  // of 0 to length - 1
    const unsigned x = length * bit + along;
    if (held.pixels == 0) {
        held.low_y = row;
        held.low_x = 32;
    }
    held.pixels += length;
    held.x += x;
    held.y += length * row;
    held.low_x = min(held.low_x, bit);
    held.high_x = max(held.high_x, bit + length);
    held.high_y = row + 1;
    held.xx += length * bit * bit + 2 * bit * along + (length - 1) * length * (2 * length - 1) / 6;
    held.xy += x * row;
    held.yy += length * row * row;
}

// A warp goes down a column of segments, a word to each lane; where segments are shorter than 32 words,
// it takes several rows at once. Stretches of ones in a word are counted in closed form. A lane lets go
// of its label when another comes for the second time: a large object keeps its place among small ones.
template <typename Id, int WORDS, bool MANY>
__global__ void __launch_bounds__(THREADS)
    tally_runs(const Job job, const Scene scene, u8* table)
{
    constexpr int Beside = 32 / WORDS;
    __shared__ SharedLine<40> shared;
    const Plan& plan = job.plan;
    const int lane = threadIdx.x % 32, word = lane % WORDS;
    const Index rows = scene.sides[4], strips = (rows + scene.tall - 1) / scene.tall;
    Index warp = thread_index() / 32;  // strips one below the other side by side in a block
    const Index first = warp % strips * scene.tall;
    warp /= strips;
    const int segment = static_cast<int>(warp % plan.segments);
    const Index slab = warp / plan.segments;
    const Index last = slab * rows < plan.rows ? min(first + scene.tall, rows) : first;
    const Index x0 = static_cast<Index>(segment) * plan.width;

    Held held = {};
    u8 held_label = 0, other_label = 0;
    for (Index top = first; top < last; top += Beside) {
        const Index y = top + lane / WORDS;
        const bool real = y < last;
        const Index line = slab * rows + (real ? y : first), mine = line * plan.segments + segment;
        const unsigned set = real ? job.bits[mine * WORDS + word] : 0;
        if (!__any_sync(ALL, set)) continue;
        unsigned start = MANY && real ? job.begins[mine * WORDS + word] : 0;
        if (!MANY) start = set & ~from_left<WORDS>(set);
        unsigned total;
        const unsigned run = runs_before<WORDS>(start, total);
        const RunTable<Id> labels = run_table<MANY>(plan, static_cast<Id*>(job.nodes),
                                                    static_cast<Id*>(job.tables), line, segment);
        const unsigned row = static_cast<unsigned>(y - first);
        for (unsigned rest = set; __any_sync(ALL, rest);) {
            const bool some = rest != 0;
            unsigned bit = 0, length = 0;
            u8 label = 0;
            if (some) {
                bit = __ffs(rest) - 1;
                const unsigned after = ~(rest >> bit) | (MANY ? start >> bit & ~1u : 0);
                length = after ? __ffs(after) - 1 : 32;
                label = labels[run_at(run, start, bit)];
                rest &= bit + length < 32 ? ALL << (bit + length) : 0;
            }
            const bool strange = some && held_label != 0 && label != held_label;
            const unsigned leaving = __ballot_sync(ALL, strange);
            if (strange) {
                // Either what was held goes to the table, or this stretch does.
                Held gone = {};
                u8 gone_label = label;
                if (label == other_label) {
                    gone = held;
                    gone_label = held_label;
                    held = {};
                    held_label = 0;
                } else {
                    add_stretch(gone, bit, length, row);
                    other_label = label;
                }
                const unsigned lanes = lanes_alike(leaving, gone_label);
                add_to_line<WORDS>(gone, lanes, slab, x0, first, scene, table + gone_label * scene.width);
            }
            if (some && (held_label == 0 || label == held_label)) {
                held_label = label;
                add_stretch(held, bit, length, row);
            }
        }
    }
    const bool holds = held_label != 0;
    const bool together = share(shared, holds, held_label);
    const unsigned leaving = __ballot_sync(ALL, holds);
    if (holds) {
        const unsigned lanes = lanes_alike(leaving, held_label);
        u8* line = together ? shared.columns : table + held_label * scene.width;
        add_to_line<WORDS>(held, lanes, slab, x0, first, scene, line);
    }
    add_shared(shared, scene, table);
}
