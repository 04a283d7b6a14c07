// Last pass of `runs`: every label is written once.
//
// A warp paints the segments of 32 words. Their tables may lie in what it overwrites, but in nobody else's
// part: it reads them, then it writes.
#include "paint_words.cuh"

// One word a thread.
template <typename Id, typename Label, int WORDS, bool MANY>
__global__ void __launch_bounds__(THREADS)
    paint(const Job job)
{
    const Plan& plan = job.plan;
    Label* const labels = static_cast<Label*>(job.labels);
    constexpr int Beside = 32 / WORDS, Capacity = (MANY ? 32 : 16) * WORDS;
    __shared__ LabelTable<Label, Beside * Capacity> label_of_warp[THREADS / 32];
    auto& label_of = label_of_warp[threadIdx.x / 32];
    const int word = threadIdx.x % WORDS, lane = threadIdx.x % 32;
    const Index place = thread_index(), segments = plan.rows * plan.segments;
    const bool real = place / WORDS < segments;
    const Index mine = real ? place / WORDS : segments - 1;
    int segment;
    const Index line = line_of(plan, mine, segment);
    const Index begin = first_pixel(plan, line, segment) + 32 * word;
    const int count = real ? word_size(plan, segment, word) : 0;
    const unsigned set = real ? job.bits[place] : 0, runs = real ? job.counts[mine] >> 16 : 0;
    unsigned start = MANY && real ? job.begins[place] : 0;
    if (!MANY) start = set & ~from_left<WORDS>(set);
    unsigned total;
    const unsigned run = runs_before<WORDS>(start, total) + lane / WORDS * Capacity;
    const RunTable<Id> table = run_table<MANY>(plan, static_cast<Id*>(job.nodes),
                                                 static_cast<Id*>(job.tables), line, segment);
    for (unsigned j = word; j < runs; j += WORDS)
        label_of.set(lane / WORDS * Capacity + j, table[j]);
    __syncwarp();
    if (job.quads)
        paint_quads<MANY>(label_of, set, start, run, begin, count, labels);
    else
        paint_pixels(label_of, set, start, run, begin, count, labels);
}
