// The multi-grid labeler (Apostolakis, Coddington and Marinari 1991): one thread for each element, as on
// the Connection Machine. Bit k of connections[i] says that i is connected with the element that is
// `distance` times step k away; each level has such an array, for the distance 2^level.

#include "papers/meshes/lattice.cuh"

// Switch on connections that follow from shorter ones (both halves of the way), or from equal labels.
// A thread writes only the bits of its own element, and reads labels and the bits of another array.
__global__ void improve(const __grid_constant__ Lattice lattice, Index size, const u2* __restrict__ shorter,
                        const Index* __restrict__ labels, Index distance, u2* __restrict__ connections)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    if (label < 0) return;
    const unsigned known = connections[i];
    unsigned bits = known;
    const unsigned halves = distance > 1 ? shorter[i] : 0;
    const Site site = site_of(lattice, i);
    for (int k = 0; k < lattice.count; ++k) {
        if (bits >> k & 1) continue;
        const Index j = neighbor(lattice, site, k, distance);
        if (j < 0) continue;
        bool found = labels[j] == label;
        if (!found && halves >> k & 1)
            found = shorter[neighbor(lattice, site, k, distance / 2)] >> k & 1;
        if (found) bits |= 1u << k;
    }
    if (bits != known) connections[i] = bits;
}

// Write the smallest of an element's label and those that it is connected with along step k, forward and
// backward. The kernel does not read what it writes, so that the number of cycles is the same on every device.
__global__ void propagate(const __grid_constant__ Lattice lattice, Index size,
                          const u2* __restrict__ connections, int k, Index distance,
                          const Index* __restrict__ labels, Index* __restrict__ lowered, int* changed)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index label = labels[i];
    Index lowest = label;
    if (label >= 0) {
        const Site site = site_of(lattice, i);
        if (connections[i] >> k & 1) lowest = min(lowest, labels[neighbor(lattice, site, k, distance)]);
        const Index before = neighbor(lattice, site, k, -distance);
        if (before >= 0 && connections[before] >> k & 1) lowest = min(lowest, labels[before]);
        if (lowest != label && *changed == 0) *changed = 1;  // all write the same
    }
    lowered[i] = lowest;
}
