// Run tables get labels in place of nodes, once nodes have labels.
#pragma once
#include "tiling.cuh"

constexpr int SETTLED = 4;  // rows that a thread takes at once: memory is far

// The highest bit of what a node holds says that it is a label, no parent.
template <typename Id>
constexpr Id LABEL = Id(1) << (8 * sizeof(Id) - 1);

// `WORDS` neighboring threads take the runs of a segment in up to `SETTLED` rows, and show every label to
// `keep`, with its row and run. Nodes are not stored to. `resolved` says that the tables hold labels already.
template <typename Id, int WORDS, bool MANY, class Keep>
__device__ inline void resolve(const Job& job, Index line, int segment, int rows, const Keep& keep,
                              bool resolved = false)
{
    const Plan& plan = job.plan;
    const Id* const nodes = static_cast<const Id*>(job.nodes);
    const unsigned* const counts = job.counts + line * plan.segments + segment;
    const RunTable<Id> table = run_table<MANY>(plan, static_cast<Id*>(job.nodes),
                                               static_cast<Id*>(job.tables), line, segment);
    unsigned runs[SETTLED], most = 0;
#pragma unroll
    for (int k = 0; k < SETTLED; ++k) {
        runs[k] = k < rows ? counts[static_cast<Index>(k) * plan.segments] >> 16 : 0;
        most = max(most, runs[k]);
    }
    for (unsigned run = threadIdx.x % WORDS; run < most; run += WORDS) {
        Id* at[SETTLED];
        Id label[SETTLED];
#pragma unroll
        for (int k = 0; k < SETTLED; ++k) {
            at[k] = MANY || static_cast<int>(run) < table.room
                        ? table.entries + k * plan.columns + run
                        : table.last + static_cast<Index>(k) * plan.segments;
            if (run < runs[k]) label[k] = *at[k];
        }
        if (!resolved) {
#pragma unroll
            for (int k = 0; k < SETTLED; ++k)
                if (run < runs[k]) label[k] = nodes[label[k]] & ~LABEL<Id>;
#pragma unroll
            for (int k = 0; k < SETTLED; ++k)
                if (run < runs[k]) *at[k] = label[k];
        }
#pragma unroll
        for (int k = 0; k < SETTLED; ++k)
            if (run < runs[k]) keep(k, run, label[k]);
    }
}
