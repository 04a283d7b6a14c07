// The first passes of methods: initial labels, and the links of an image.

#include "papers/meshes/lattice.cuh"

// The flat index of each element, -1 for background.
template <typename Pixel>
__global__ void label_by_index(const Pixel* __restrict__ values, bool has_background,
                               Pixel background, Index size, Index* __restrict__ labels)
{
    const Index i = thread_index();
    if (i < size) labels[i] = has_background && values[i] == background ? -1 : i;
}

// One thread for each pixel; neighbors of equal value are linked.
template <typename Pixel>
__global__ void link_pixels(const Pixel* __restrict__ values, bool has_background, Pixel background,
                            Index size, const __grid_constant__ Lattice lattice, u2* __restrict__ links)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Pixel value = values[i];
    unsigned bits = 0;
    if (!has_background || value != background) {
        bits = FOREGROUND;
        const Site site = site_of(lattice, i);
        for (int k = 0; k < lattice.count; ++k) {
            const Index j = neighbor(lattice, site, k, 1);
            if (j >= 0 && values[j] == value) bits |= 1u << k;
        }
    }
    links[i] = bits;
}
