// Labels of a block of a larger image: where each begins, what it is in the whole image (four neighbors a
// thread), and those at the ends of the block.

#include "devices/cuda/index.cuh"

constexpr int WIDTH = 4;
constexpr int FACES = 12;

// A block in the memory of a larger array: its elements of one row lie side by side.
constexpr int AXES = 6;
struct Place {
    Index sides[AXES], strides[AXES];  // of the block, in elements; padded with ones in front
};

// Where an element of the block is.
__device__ inline Index locate(const Place& place, Index i)
{
    Index found = 0;
#pragma unroll
    for (int axis = AXES - 1; axis > 0; --axis) {
        const Index side = place.sides[axis];
        if (side == 1) continue;
        const Index rest = i / side;
        found += (i - rest * side) * place.strides[axis];
        i = rest;
    }
    return found + i * place.strides[0];
}

// Layers at the ends of a block, seen as (blocks of layers, `length` layers, `inner` elements).
struct Faces {
    Index begins[FACES + 1];  // in what is copied; of those that are not used, where all ends
    Index inner[FACES], layers[FACES], length[FACES], first[FACES];
};

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

// One thread for each element that is copied.
template <typename Small, typename Label>
__global__ void cut_faces(const Label* __restrict__ labels, const Faces faces, Small* out)
{
    const Index i = thread_index();
    if (i >= faces.begins[FACES]) return;
    int face = 0;
    while (i >= faces.begins[face + 1]) ++face;
    const Index place = i - faces.begins[face], inner = faces.inner[face], layers = faces.layers[face];
    const Index row = place / inner, slab = row / layers;
    const Index layer = slab * faces.length[face] + faces.first[face] + (row - slab * layers);
    out[i] = static_cast<Small>(labels[layer * inner + (place - row * inner)]);
}

// The same as `renumber_block`, but into a larger array, which may be in pinned memory of the host. `whole`
// says whether rows, their starts and `out` are made of stretches of WIDTH.
template <typename Small, typename Label>
__global__ void renumber_into(const Small* __restrict__ labels, const Label* __restrict__ numbers, Label* out,
                              const Place place, Index size, bool whole)
{
    const Index first = WIDTH * thread_index();
    if (first >= size) return;
    if (whole) {
        const Four<Small> own = *reinterpret_cast<const Four<Small>*>(labels + first);
        Four<Label> last;
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) last.of[k] = own.of[k] ? numbers[own.of[k]] : 0;
        *reinterpret_cast<Four<Label>*>(out + locate(place, first)) = last;
        return;
    }
    for (Index i = first; i < first + WIDTH && i < size; ++i) {
        out[locate(place, i)] = labels[i] ? numbers[labels[i]] : 0;
    }
}

// Copies a block out of a larger array, which may be in pinned memory of the host.
template <typename Unit>
__global__ void copy_block(const Unit* __restrict__ source, const Place place, Unit* out, Index size)
{
    const Index i = thread_index();
    if (i < size) out[i] = source[locate(place, i)];
}

// ------------------------------------------------------------------------------------------
// Labels of a part of an image become those of the whole, by means of a table: four neighbors a thread.

template <typename Label>
struct alignas(16) Quad {
    Label of[4];
};

// `numbers` begins with that of label 1; 0 stays. `aligned` says that labels begin at a multiple of 16 bytes.
template <typename Label>
__global__ void renumber_part(Label* labels, const Label* __restrict__ numbers, Index size, bool aligned)
{
    const Index first = 4 * thread_index();
    if (aligned && first + 4 <= size) {
        Quad<Label>* const four = reinterpret_cast<Quad<Label>*>(labels + first);
        Quad<Label> own = *four;
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
