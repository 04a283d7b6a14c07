// Labels of a part of an image become those of the whole, by means of a table: four neighbors a thread.
#include "index.cuh"

template <typename Label>
struct alignas(16) Four {
    Label of[4];
};

// `numbers` begins with that of label 1; 0 stays. `aligned` says that labels begin at a multiple of 16 bytes.
template <typename Label>
__global__ void renumber_part(Label* labels, const Label* __restrict__ numbers, Index size, bool aligned)
{
    const Index first = 4 * thread_index();
    if (aligned && first + 4 <= size) {
        Four<Label>* const four = reinterpret_cast<Four<Label>*>(labels + first);
        Four<Label> own = *four;
        bool some = false;
#pragma unroll
        for (int k = 0; k < 4; ++k) some = some || own.of[k] != 0;
        if (!some) return;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (own.of[k]) own.of[k] = numbers[own.of[k] - 1];
        *four = own;
        return;
    }
    for (Index i = first; i < min(first + 4, size); ++i)
        if (labels[i]) labels[i] = numbers[labels[i] - 1];
}
