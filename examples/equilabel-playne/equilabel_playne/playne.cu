// Passes of direct labelling (Playne and Hawick 2018): one thread for each element.
//
// Labels are flat indices, labels[i] <= i, -1 for background. `shape` has `axes` entries, `steps` is
// (count, axes) and `offsets` the same as distances of flat indices; see window.py.

typedef long long Index;

// Return which of the elements `among` the window of i have its value, as bits.
template <typename Value>
__device__ Index window_of(const Value* values, Index i, Index among, const Index* shape,
                           const Index* steps, const Index* offsets, int axes, int count)
{
    Index rest = i;
    for (int axis = axes - 1; axis >= 0; --axis) {
        const Index coordinate = rest % shape[axis];
        rest /= shape[axis];
        for (int k = 0; k < count; ++k) {
            const Index there = coordinate + steps[k * axes + axis];
            if (there < 0 || there >= shape[axis])
                among &= ~(1LL << k);
        }
    }
    for (int k = 0; k < count; ++k)
        if ((among >> k & 1) && values[i + offsets[k]] != values[i])
            among &= ~(1LL << k);
    return among;
}

// Return the elements `around` that are connected with k through these, and k itself.
__device__ Index connected_with(int k, Index around, const Index* links)
{
    Index found = 1LL << k;
    for (Index added = found; added;) {
        Index reached = 0;
        for (; added; added &= added - 1)
            reached |= links[__ffsll(added) - 1];
        added = reached & around & ~found;
        found |= added;
    }
    return found;
}

// Return the end of a chain. Other threads shorten chains meanwhile: each label that is read was in it.
__device__ Index root_of(const volatile Index* labels, Index i)
{
    for (Index label = labels[i]; label != i; label = labels[i])
        i = label;
    return i;
}

// Give two elements one root. If another thread has lowered the larger root in between, what it was
// lowered to has to be united with the smaller one as well.
__device__ void unite(Index* labels, Index one, Index other)
{
    one = root_of(labels, one);
    other = root_of(labels, other);
    while (one != other) {
        const Index high = one > other ? one : other;
        const Index low = one > other ? other : one;
        const Index before = atomicMin(&labels[high], low);
        if (before == high)
            return;
        one = root_of(labels, before);
        other = root_of(labels, low);
    }
}

template <typename Value>
__global__ void point_at_lowest(Index* labels, const Value* values, Index size, const Index* shape,
                                const Index* steps, const Index* offsets, Index neighbors,
                                const Index* links, int axes, int count)
{
    const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size || labels[i] < 0)
        return;
    const Index around = window_of(values, i, neighbors, shape, steps, offsets, axes, count);
    if (around)
        labels[i] = i + offsets[__ffsll(around) - 1];
}

template <typename Value>
__global__ void unite_parts(Index* labels, const Value* values, Index size, const Index* shape,
                            const Index* steps, const Index* offsets, Index neighbors,
                            const Index* links, int axes, int count)
{
    const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size || labels[i] < 0)
        return;
    const Index around = window_of(values, i, (1LL << count) - 1, shape, steps, offsets, axes, count);
    bool first = true; // the part of the lowest neighbor is done
    for (Index left = around & neighbors; left; first = false) {
        const int k = __ffsll(left) - 1;
        left &= ~connected_with(k, around, links);
        if (!first)
            unite(labels, i, i + offsets[k]);
    }
}

// Chains get shorter only, so it does not matter which of them other threads have resolved.
template <typename Value>
__global__ void resolve_chains(Value* labels, Index size)
{
    const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size && labels[i] >= 0)
        labels[i] = root_of(labels, i);
}
