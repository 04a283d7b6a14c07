// Labels of a block of a larger image: where each begins, and what it is in the whole image. Four neighbors a thread.
#include "index.cuh"

constexpr int WIDTH = 4;

template <typename Label>
struct alignas(WIDTH * sizeof(Label)) Four {
    Label of[WIDTH];
};

// `firsts` holds what is larger than all indices.
template <typename Label>
__global__ void list_firsts(const Label* __restrict__ labels, u8* firsts, Index size)
{
    const Index first = WIDTH * thread_index();
    if (first >= size) return;
    Four<Label> own = {};
    if (first + WIDTH <= size) {
        own = *reinterpret_cast<const Four<Label>*>(labels + first);
    } else {
        for (int k = 0; first + k < size; ++k) own.of[k] = labels[first + k];
    }
    Label before = first ? labels[first - 1] : 0;
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
        const Label label = own.of[k];
        const u8 index = static_cast<u8>(first) + k;
        // An old value is never too small: at worst it asks for a minimum that changes nothing.
        if (label && label != before && firsts[label - 1] > index) atomicMin(firsts + label - 1, index);
        before = label;
    }
}

// `numbers` begins with that of label 0.
template <typename Small, typename Label>
__global__ void renumber_block(
    const Small* __restrict__ labels, const Label* __restrict__ numbers, Label* out, Index size)
{
    const Index first = WIDTH * thread_index();
    if (first + WIDTH <= size) {
        const Four<Small> own = *reinterpret_cast<const Four<Small>*>(labels + first);
        Four<Label> last;
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) last.of[k] = own.of[k] ? numbers[own.of[k]] : 0;
        *reinterpret_cast<Four<Label>*>(out + first) = last;
        return;
    }
    for (Index i = first; i < size; ++i) out[i] = labels[i] ? numbers[labels[i]] : 0;
}
