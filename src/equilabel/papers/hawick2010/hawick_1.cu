// Kernel 1 (Hawick et al. 2010, Algorithm 2): one thread per edge.
//
// Races are harmless: colors are only lowered, by atomicMin, to those of vertices of the same component.
// A color that was read too early is compared again in the next call, because the flag is set.

#include "devices/cuda/index.cuh"

// As in the paper, a block reduces its flag before one thread sets the common one.
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
