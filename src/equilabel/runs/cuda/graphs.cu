// Components of graphs by union-find.

#include "devices/cuda/union_find.cuh"

constexpr int HOPS = 16;       // steps up a chain that a union does not shorten
constexpr int LONG = 32;       // steps up a chain that `compress` and `finish` do not shorten
constexpr int TURNS = 8;       // attempts at a union before chains are shortened
constexpr int BATCH = 4;       // vertices of a thread of `compress` and `finish`

// The root of a vertex whose parent is known, or an ancestor `HOPS` steps up. Old values from a cache are
// ancestors too.
template <typename Id>
__device__ inline Id climb(const Id* parents, Id parent)
{
    Id above = parents[parent];
    for (int hops = 0; above != parent && hops < HOPS; ++hops) {
        parent = above;
        above = parents[parent];
    }
    return parent;
}

// The roots of a few vertices. All climb at the same time, so that their loads overlap. After LONG steps each
// step is stored: every thread on a long chain then halves it for the threads behind, so that the chain takes a
// number of steps logarithmic in its length. Blocks start in order: those of smaller vertices have left short
// chains.
template <typename Id>
struct Ends {
    Id parent[BATCH], root[BATCH];

    __device__ Ends(Id* parents, Index size)
    {
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const Index i = thread_index(b, BATCH);
            root[b] = parent[b] = i < size ? parents[i] : 0;
        }
        bool more = true;
        for (int hops = 0; more && hops < LONG; ++hops) {
            Id above[BATCH];
            more = false;
#pragma unroll
            for (int b = 0; b < BATCH; ++b) above[b] = parents[root[b]];
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                more = more || above[b] != root[b];
                root[b] = above[b];
            }
        }
        while (more) {
            Id above[BATCH];
            more = false;
#pragma unroll
            for (int b = 0; b < BATCH; ++b) above[b] = parent_of(parents, root[b]);
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                if (above[b] == root[b]) continue;
                __stcg(parents + thread_index(b, BATCH), above[b]);
                root[b] = above[b];
                more = true;
            }
        }
    }
};

// `unite` for long chains: not inlined, because it is rare.
template <typename Id>
__device__ __noinline__ void unite_far(Id* parents, Id one, Id two)
{
    unite(parents, one, two);
}

// Give two vertices one root. Most have a common root a few steps up, or roots that few other threads change.
// No step is stored: near the root of a large component, all threads would store to the same entries.
template <typename Id>
__device__ inline void unite_near(Id* parents, Id one, Id two)
{
#pragma unroll 1
    for (int turn = 0; turn < TURNS; ++turn) {
        one = climb(parents, parents[one]);
        two = climb(parents, parents[two]);
        if (one == two) return;
        const Id high = max(one, two), low = min(one, two);
        const Id seen = atomicCAS(parents + high, high, low);
        if (seen == high) return;
        one = seen;
        two = low;
    }
    unite_far(parents, one, two);
}

// ------------------------------------------------------------------------------------------
// Union-find on graphs (after ECL-CC and Afforest): edges are united by compare-and-swap, see `unite`.
//
// `unite` says why its stores are safe. `compress` and `finish` run while nothing is united, and a thread
// writes ancestors to its own entries only. Plain loads may return old values, which are ancestors as well:
// equal ones mean one component.

constexpr Index FIRST = 2;     // neighbors of each vertex that are united before all others
constexpr Index FEW = 16;      // further neighbors up to which one thread unites a vertex
constexpr Index PIECE = 2048;  // neighbors of a longer list that a warp unites together
constexpr int AHEAD = 4;       // neighbors whose parents are read at once
constexpr int SAMPLE = 1024;   // vertices in which the largest component is searched

// Point every vertex at the first smaller one of its first neighbors, or at itself.
template <typename Offset, typename Node, typename Id>
__global__ void initialize(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Id* __restrict__ parents)
{
    const Index i = thread_index();
    if (i >= size) return;
    const Id vertex = static_cast<Id>(i);
    const Index last = offsets[i + 1], end = min(offsets[i] + FEW, last);
    Id parent = vertex;
    for (Index k = offsets[i]; k < end && parent == vertex; ++k) parent = min(vertex, static_cast<Id>(neighbors[k]));
    parents[i] = parent;
}

template <typename Id>
__global__ void compress(Index size, Id* parents)
{
    const Ends<Id> ends(parents, size);
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
        const Index i = thread_index(b, BATCH);
        if (i < size && ends.root[b] != ends.parent[b]) parents[i] = ends.root[b];
    }
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
        unite_near(parents, static_cast<Id>(i), static_cast<Id>(neighbors[k]));
}

// The root that most of a sample of vertices have, or `NONE` if fewer than half of them have it: skipping each
// edge at one of its ends then saves more than skipping those of one component. One block. Parents are roots.
template <typename Id>
constexpr Id NONE = static_cast<Id>(-1);

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
    if (best == score) *largest = 2 * count < SAMPLE ? NONE<Id> : root;
}

// Unite a vertex with every `stride`th neighbor of a list; with `all`, only with smaller ones. Most neighbors
// have the parent of the vertex already: the parents of a few are read at once and compared.
template <typename Node, typename Id>
__device__ inline void unite_list(const Node* __restrict__ neighbors, Index begin, Index end,
                                  int stride, Id vertex, bool all, Id* parents)
{
    if (begin >= end) return;
    Id parent = parents[vertex];
    for (Index k = begin; k < end; k += AHEAD * stride) {
        Id others[AHEAD], above[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const Index at = k + a * stride;
            others[a] = at < end ? static_cast<Id>(neighbors[at]) : vertex;
            if (all && others[a] > vertex) others[a] = vertex;
        }
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) above[a] = others[a] == vertex ? parent : parents[others[a]];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            if (above[a] == parent) continue;
            unite_near(parents, vertex, others[a]);
            parent = parent_of(parents, vertex);
        }
    }
}

// Leave the list of neighbors of a vertex to `unite_pieces`.
template <typename Offset, typename Node>
__device__ inline void leave(Index vertex, Index begin, Index end, Node* __restrict__ vertices,
                             Offset* __restrict__ begins, unsigned long long* count)
{
    const Index pieces = (end - begin + PIECE - 1) / PIECE;
    const Index slot = atomicAdd(count, static_cast<unsigned long long>(pieces));
    for (Index piece = 0; piece < pieces; ++piece) {
        vertices[slot + piece] = static_cast<Node>(vertex);
        begins[slot + piece] = static_cast<Offset>(begin + piece * PIECE);
    }
}

// Unite vertices outside the largest component with their neighbors from the `first` on; or all vertices with their
// smaller ones, if `largest` is NONE or null. One thread takes a short list, a warp a longer one, and `unite_pieces` one that is
// longer than PIECE. A vertex that joins the largest component meanwhile may be skipped as well: an edge from
// it to a vertex outside is seen from there.
template <typename Offset, typename Node, typename Id>
__global__ void unite_rest(const Offset* __restrict__ offsets, const Node* __restrict__ neighbors,
                           Index size, Id* parents, const Id* __restrict__ largest, Index first,
                           Node* __restrict__ vertices, Offset* __restrict__ begins,
                           unsigned long long* count)
{
    const Index i = thread_index();
    const bool all = !largest || *largest == NONE<Id>;
    Index begin = 0, end = 0;
    if (i < size && (all || parents[i] != *largest)) {
        begin = offsets[i] + first;
        end = offsets[i + 1];
    }
    if (end - begin <= FEW)
        unite_list(neighbors, begin, end, 1, static_cast<Id>(i), all, parents);
    else if (end - begin > PIECE)
        leave<Offset, Node>(i, begin, end, vertices, begins, count);
    __syncwarp();
    unsigned longer = __ballot_sync(~0u, end - begin > FEW && end - begin <= PIECE);
    for (; longer; longer &= longer - 1) {
        const int lane = __ffs(longer) - 1;
        const Index vertex = __shfl_sync(~0u, i, lane);
        const Index start = __shfl_sync(~0u, begin, lane), stop = __shfl_sync(~0u, end, lane);
        unite_list(neighbors, start + threadIdx.x % 32, stop, 32, static_cast<Id>(vertex), all,
                   parents);
        __syncwarp();
    }
}

// The pieces of the longest lists: a warp for each, a lane for every 32nd neighbor.
template <typename Offset, typename Node, typename Id>
__global__ void unite_pieces(const Offset* __restrict__ offsets,
                             const Node* __restrict__ neighbors, Id* parents,
                             const Id* __restrict__ largest, const Node* __restrict__ vertices,
                             const Offset* __restrict__ begins,
                             const unsigned long long* __restrict__ count)
{
    const Index warps = static_cast<Index>(gridDim.x) * blockDim.x / 32, pieces = *count;
    const bool all = !largest || *largest == NONE<Id>;
    for (Index piece = thread_index() / 32; piece < pieces; piece += warps) {
        const Index i = vertices[piece], begin = begins[piece], last = offsets[i + 1];
        const Index end = min(begin + PIECE, last);
        unite_list(neighbors, begin + threadIdx.x % 32, end, 32, static_cast<Id>(i), all, parents);
    }
}

// Write the root of every vertex to another array, or to the same one if the types are equally large.
template <typename Id, typename Root>
__global__ void finish(Id* parents, Index size, Root* roots)
{
    const Ends<Id> ends(parents, size);
    const bool same = static_cast<void*>(parents) == static_cast<void*>(roots);
#pragma unroll
    for (int b = 0; b < BATCH; ++b) {
        const Index i = thread_index(b, BATCH);
        if (i < size && (!same || ends.root[b] != ends.parent[b]))
            roots[i] = static_cast<Root>(ends.root[b]);
    }
}
