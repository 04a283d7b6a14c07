// Kernel 3 (Hawick et al. 2010, Section 4.3.3): one thread per vertex, for each round of a search.
//
// Races are harmless: all threads write the same color, or set flags of the next call. A vertex that
// is colored in this call may become active once more; then it changes nothing.

#include "devices/cuda/index.cuh"

template <typename Offset, typename Node>
__global__ void spread(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                       Index size, Index* colors, Index source, unsigned char* frontier,
                       unsigned char* following, unsigned char* spreading)
{
    const Index i = thread_index();
    bool found = false;
    if (i < size && frontier[i]) {
        frontier[i] = 0;
        colors[i] = source;
        const Index end = offsets[i + 1];
        for (Index k = offsets[i]; k < end; ++k) {
            const Index j = neighbors[k];
            if (colors[j] < 0) {
                following[j] = 1;
                found = true;
            }
        }
    }
    if (__syncthreads_or(found) && threadIdx.x == 0) *spreading = 1;
}

// The first vertex without a color from `start` on; `first` holds the number of vertices at first. One
// block reads one stretch after the other and stops after the first one with such a vertex.
__global__ void next_source(const Index* __restrict__ colors, Index start, Index size,
                            unsigned long long* first)
{
    for (Index begin = start; begin < size; begin += blockDim.x) {
        const Index i = begin + threadIdx.x;
        const bool bare = i < size && colors[i] < 0;
        if (bare) atomicMin(first, static_cast<unsigned long long>(i));
        if (__syncthreads_or(bare)) return;
    }
}
