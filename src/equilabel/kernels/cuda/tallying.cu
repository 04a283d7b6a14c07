// Sizes, places and second moments of labels, from the runs of the method `runs` once these have labels.
#include "bits.cuh"
#include "scene.cuh"

// What a lane has counted of the label it holds: x from the first pixel of its word.
struct Held {
    unsigned pixels, x, y, low_x, high_x, low_y, high_y, xx, xy, yy;
};

template <int WORDS>
__device__ inline void add_to_table(const Held& held, unsigned lanes, u8 label, Index slab, Index x0,
                                    Index y0, const Scene& scene, u8* table)
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
        write_places(sums, slab, x0, y0, 32 * WORDS, scene.tall, scene, table + label * scene.width);
}

// A warp goes down a column of segments, a word to each lane; where segments are shorter than 32 words,
// it takes several rows at once. Stretches of ones in a word are counted in closed form.
template <typename Id, int WORDS, bool MANY>
__global__ void __launch_bounds__(THREADS)
    tally_runs(const Job job, const Scene scene, u8* table)
{
    constexpr int Beside = 32 / WORDS;
    const Plan& plan = job.plan;
    const int lane = threadIdx.x % 32, word = lane % WORDS;
    const Index rows = scene.sides[4], strips = (rows + scene.tall - 1) / scene.tall;
    Index warp = thread_index() / 32;
    const int segment = static_cast<int>(warp % plan.segments);
    warp /= plan.segments;
    const Index first = warp % strips * scene.tall, slab = warp / strips;
    if (slab * rows >= plan.rows) return;  // the same for all of a warp
    const Index last = min(first + scene.tall, rows), x0 = static_cast<Index>(segment) * plan.width;

    Held held = {};
    u8 held_label = 0;
    const auto leave = [&](bool full) {
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held_label);
            add_to_table<WORDS>(held, lanes, held_label, slab, x0, first, scene, table);
            held = {};
            held.low_x = 32;
        }
    };
    held.low_x = 32;
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
            leave(some && held_label != 0 && label != held_label);
            if (some) {
                held_label = label;
                const unsigned along = length * (length - 1) / 2;  // of 0 to length - 1
                const unsigned x = length * bit + along;
                if (held.pixels == 0) held.low_y = row;
                held.pixels += length;
                held.x += x;
                held.y += length * row;
                held.low_x = min(held.low_x, bit);
                held.high_x = max(held.high_x, bit + length);
                held.high_y = row + 1;
                held.xx += length * bit * bit + 2 * bit * along +
                           (length - 1) * length * (2 * length - 1) / 6;
                held.xy += x * row;
                held.yy += length * row * row;
            }
        }
    }
    leave(held_label != 0);
}
