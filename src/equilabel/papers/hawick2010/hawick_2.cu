// Kernel 2 (Hawick et al. 2010, Algorithm 3): one thread per vertex, with its list of neighbors.
//
// Races are harmless: colors are only lowered, by atomicMin, to those of vertices of the same component.
// A thread that lowers a color then makes that vertex active in the next call: so each color that
// changed is compared with those of all neighbors later. A vertex resets its own flag of this call;
// flags of the next call are only set.

#include "devices/cuda/index.cuh"

template <typename Offset, typename Node>
__global__ void compare(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                        Index size, Index* colors, unsigned char* frontier,
                        unsigned char* following, unsigned char* changed)
{
    const Index i = thread_index();
    bool lowered = false;
    if (i < size && frontier[i]) {
        frontier[i] = 0;
        const Index end = offsets[i + 1];
        const Index before = colors[i];
        Index color = before;
        for (Index k = offsets[i]; k < end; ++k) {
            const Index j = neighbors[k];
            const Index other = colors[j];
            if (color < other) {
                atomicMin(colors + j, color);
                following[j] = 1;
                lowered = true;
            } else if (other < color) {
                color = other;
            }
        }
        if (color < before) {
            atomicMin(colors + i, color);
            following[i] = 1;
            lowered = true;
        }
    }
    if (__syncthreads_or(lowered) && threadIdx.x == 0) *changed = 1;
}
