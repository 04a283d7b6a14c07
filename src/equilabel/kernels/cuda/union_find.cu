// Union-find on graphs (after ECL-CC and Afforest): edges are united by compare-and-swap, see `unite`.
//
// Parents are written by three kinds of stores: `unite` says why its own are safe; `compress` and
// `finish` run while nothing is united, and a thread writes its own entry alone, with an ancestor.
#include "union_find.cuh"

constexpr Index FIRST = 2;     // neighbors of each vertex that are looked at before all others
constexpr Index FEW = 16;      // further neighbors that a thread looks at alone
constexpr Index PIECE = 2048;  // neighbors that a warp looks at together, of a longer list
constexpr int SAMPLE = 1024;   // vertices among which the largest component is looked for

// Point every vertex at the first smaller one of its first neighbors, or at itself.
template <typename Offset, typename Node, typename Id>
__global__ void initialize(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Id* __restrict__ parents)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index begin = offsets[i], last = offsets[i + 1];
    const Index end = min(begin + FIRST, last);
    Index parent = i;
    for (Index k = begin; k < end && parent == i; ++k) {
        const Index j = neighbors[k];
        if (j < i) parent = j;
    }
    parents[i] = static_cast<Id>(parent);
}

// Point a vertex at its root. Each hop is stored for others to see: of all the threads at work on one
// long chain, each halves what is left to those behind it, so that the chain takes the logarithm of
// its length.
template <typename Id>
__device__ inline Id jump(Id* parents, Index i)
{
    Id parent = parent_of(parents, static_cast<Id>(i));
    for (Id above = parent_of(parents, parent); above != parent;
         above = parent_of(parents, parent)) {
        __stcg(parents + i, above);
        parent = above;
    }
    return parent;
}

template <typename Id>
__global__ void compress(Index size, Id* parents)
{
    const Index i = thread_index();
    if (i < size) jump(parents, i);
}

template <typename Offset, typename Node, typename Id>
__global__ void unite_first(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                            Index size, Id* parents)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Index begin = offsets[i], last = offsets[i + 1];
    const Index end = min(begin + FIRST, last);
    for (Index k = begin; k < end; ++k)
        unite(parents, static_cast<Id>(i), static_cast<Id>(neighbors[k]));
}

// The root that most of a sample of vertices have; one block. Parents are roots.
template <typename Id>
__global__ void find_largest(const Id* __restrict__ parents, Index size, Id* largest)
{
    __shared__ Id roots[SAMPLE];
    __shared__ unsigned best;
    const unsigned mine = threadIdx.x;
    const unsigned long long spread = mine * 0x9E3779B97F4A7C15ull;
    const Id root = parents[spread % static_cast<unsigned long long>(size)];
    roots[mine] = root;
    if (mine == 0) best = 0;
    __syncthreads();
    unsigned count = 0;
    for (int other = 0; other < SAMPLE; ++other) count += roots[other] == root;
    const unsigned score = count * SAMPLE + mine;  // unlike those of all others
    atomicMax(&best, score);
    __syncthreads();
    if (best == score) *largest = root;
}

// Unite vertices outside the largest component with their other neighbors; or, if `all` is true, all
// vertices with their smaller neighbors. One that has many of them is left to warps, in pieces. A
// vertex that was joined to the largest component meanwhile may be left out as well: an edge from it to
// a vertex outside is seen from there.
template <typename Offset, typename Node, typename Id, bool all>
__global__ void unite_lists(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Id* parents, const Id* __restrict__ largest,
                           Node* __restrict__ vertices, Offset* __restrict__ begins,
                           unsigned long long* count)
{
    const Index i = thread_index();
    if (i >= size || (!all && parent_of(parents, static_cast<Id>(i)) == *largest)) return;
    const Index begin = offsets[i] + (all ? 0 : FIRST), end = offsets[i + 1];
    if (end - begin <= FEW) {
        for (Index k = begin; k < end; ++k) {
            const Index j = neighbors[k];
            if (!all || j < i) unite(parents, static_cast<Id>(i), static_cast<Id>(j));
        }
        return;
    }
    const Index pieces = (end - begin + PIECE - 1) / PIECE;
    const Index slot = atomicAdd(count, static_cast<unsigned long long>(pieces));
    for (Index piece = 0; piece < pieces; ++piece) {
        vertices[slot + piece] = static_cast<Node>(i);
        begins[slot + piece] = static_cast<Offset>(begin + piece * PIECE);
    }
}

// The pieces of long lists: a warp for each, a lane for every 32nd neighbor.
template <typename Offset, typename Node, typename Id>
__global__ void unite_pieces(const Offset* __restrict__ offsets,
                             const Node* __restrict__ neighbors, Id* parents,
                             const Node* __restrict__ vertices, const Offset* __restrict__ begins,
                             const unsigned long long* __restrict__ count)
{
    const Index warps = static_cast<Index>(gridDim.x) * blockDim.x / 32, pieces = *count;
    for (Index piece = thread_index() / 32; piece < pieces; piece += warps) {
        const Index i = vertices[piece], begin = begins[piece], last = offsets[i + 1];
        const Index end = min(begin + PIECE, last);
        for (Index k = begin + threadIdx.x % 32; k < end; k += 32)
            unite(parents, static_cast<Id>(i), static_cast<Id>(neighbors[k]));
    }
}

template <typename Id, typename Root>
__global__ void finish(Id* parents, Index size, Root* __restrict__ roots)
{
    const Index i = thread_index();
    if (i < size) roots[i] = static_cast<Root>(jump(parents, i));
}
