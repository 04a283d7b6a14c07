// Kernel 1 (Hawick et al. 2010, Algorithm 2): one thread per edge.
//
// Races are harmless: colors only get lower, by atomicMin, and are those of vertices of one component.
// A color that was read too early is compared again in the next call, as the flag is set.

#include "devices/cuda/index.cuh"

// As in the paper, a block gathers its flag before one thread sets that of all.
template <typename Node>
__global__ void lower_colors(const Node* __restrict__ sources, const Node* __restrict__ targets,
                             Index count, Index* colors, unsigned char* changed)
{
    const Index edge = thread_index();
    bool lowered = false;
    if (edge < count) {
        const Index i = sources[edge], j = targets[edge];
        const Index one = colors[i], other = colors[j];
        if (one < other) {
            atomicMin(colors + j, one);
            lowered = true;
        } else if (other < one) {
            atomicMin(colors + i, other);
            lowered = true;
        }
    }
    if (__syncthreads_or(lowered) && threadIdx.x == 0) *changed = 1;
}
