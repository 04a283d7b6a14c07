// Labels of an image of two or three axes in one launch. A block takes a band of whole rows or planes, whose
// components it finds in shared memory; those that reach other bands are united with theirs.
#include "band_nodes.cuh"
#include "band_pixels.cuh"

// What a thread does for its band: it has a chunk, and a bit of `roots` and `marked` for each entry of that.
template <typename Pixel, bool Deep>
struct Band {
    const Bands& job;
    const Memory memory;
    const int number, top, tall, row, at;  // of the band; its rows; where the chunk is
    const unsigned first;                  // entry
    unsigned set, touch, roots = 0, marked = 0;
    unsigned before;  // components of the band, and border components in the upper half, before the thread's

    __device__ Band(const Bands& job, void* shared)
        : job(job), memory(shared, job), number(blockIdx.x), top(number * job.rows),
          tall(min(job.rows, job.height - top)), row(threadIdx.x / job.across),
          at(threadIdx.x - row * job.across), first(ENTRIES * threadIdx.x)
    {
    }

    __device__ bool in_first_plane() const { return number > 0 && row < job.lines; }

    __device__ bool in_last_plane() const
    {
        return number + 1 < job.bands && row < tall && row >= tall - job.lines;
    }

    // The first pixel of a chunk, and how many there are.
    __device__ Index begin_of(int row, int at) const
    {
        return static_cast<Index>(top + row) * job.width + CHUNK * at;
    }

    __device__ int count_of(int row, int at) const
    {
        return row < tall ? min(CHUNK, job.width - CHUNK * at) : 0;
    }

    // An edge of the chunk's row, and the chunk with that where the edge leads.
    __device__ Edge edge_at(int edge) const
    {
        const int z = Deep ? row / job.lines : row;
        return Edge(job, edge, row - z * job.lines, z == 0);
    }

    __device__ Chunk chunk_at(const Edge& edge) const
    {
        const u1* const here = memory.pixels + row * job.across;
        return Chunk(here, edge.exists ? here - edge.back * job.across : nullptr, at, job.across);
    }

    // Read the pixels of the band, and of the plane before it.
    __device__ void read()
    {
        const Test<Pixel> test(job.background, job.compare);
        const Pixel* const image = static_cast<const Pixel*>(job.image);
        const int plane = number ? job.lines * job.across : 0;
        set = read_chunk(image + begin_of(row, at), count_of(row, at), job.compare, job.wide, test);
        for (int chunk = threadIdx.x; chunk < plane; chunk += blockDim.x) {
            const int y = chunk / job.across, x = chunk - y * job.across;
            memory.pixels[chunk - plane] = read_chunk(image + begin_of(y - job.lines, x), count_of(0, x),
                                                      job.compare, job.wide, test);
        }
        memory.pixels[threadIdx.x] = set;
        if (threadIdx.x < blockDim.x / CHUNK) memory.marks[threadIdx.x] = 0;
        if (threadIdx.x == 0) *memory.queue.count = 0;
    }

    // Point every entry at one before it, where there is one; `touch` is what remains to be united.
    __device__ void adopt_runs()
    {
        unsigned parent[ENTRIES] = {first, first + 1, first + 2, first + 3};
        touch = 0;
#pragma unroll
        for (int step = 0; step < (Deep ? 2 : 1); ++step) {
            const Edge edge = edge_at(step);
            const Chunk chunk = row < tall ? chunk_at(edge) : Chunk();
            const unsigned last = entry_before(chunk, first);
            unsigned rest = touching(chunk, edge.corners);
            adopt(chunk, first, last, first - ENTRIES * edge.back * job.across, rest, parent);
            if (step == 0) touch = rest;
        }
        reinterpret_cast<uint4*>(memory.parents)[threadIdx.x] =
            make_uint4(parent[0], parent[1], parent[2], parent[3]);
    }

    // Let the entries of the thread climb to their roots.
    __device__ void climb() const
    {
        const unsigned own[ENTRIES] = {first, first + 1, first + 2, first + 3};
        unsigned parent[ENTRIES];
#pragma unroll
        for (int j = 0; j < ENTRIES; ++j) parent[j] = parent_in(memory.parents, own[j]);
        climb_all(memory.parents, own, parent);
    }

    __device__ void unite_runs()
    {
        for (int step = 0; step < (Deep ? 4 : 1); ++step) {
            const Edge edge = edge_at(step);
            Chunk chunk;
            if (set && edge.exists) chunk = chunk_at(edge);
            if (step) touch = set && edge.exists ? touching(chunk, edge.corners) : 0;
            if (!__any_sync(ALL, touch)) continue;
            const unsigned above = first - ENTRIES * edge.back * job.across;
            for (unsigned place = memory.queue.reserve(__popc(touch)); touch; ++place) {
                int pixel;
                const int there = take(touch, chunk, pixel);
                memory.queue.put(place, first + entry_at(chunk.own, pixel), above + there);
            }
        }
        __syncthreads();
        climb();
        memory.queue.unite();
    }

    // Find out which entries are roots, and mark those of border components.
    __device__ void find_roots()
    {
        climb();
        const bool edge = in_first_plane() || in_last_plane();
        const unsigned heads = heads_of(set);
#pragma unroll
        for (int j = 0; j < ENTRIES; ++j) {
            if (!(heads >> 2 * j & 3)) continue;
            const unsigned parent = parent_in(memory.parents, first + j);
            if (parent == first + j) roots |= 1u << j;
            if (edge) atomicOr(memory.marks + parent / 32, 1u << parent % 32);
        }
    }

    // Components, or border components, of the band before that of a bit.
    __device__ unsigned roots_before(unsigned bit) const
    {
        return (before & 0xffff) + __popc(roots & (bit - 1));
    }

    __device__ unsigned borders_before(unsigned bit) const
    {
        return (before >> 16) + __popc(marked & (bit - 1));
    }

    // Count components, and border components in the upper half. The latter become nodes, their own parents.
    __device__ unsigned count_roots()
    {
        __shared__ unsigned of_warp[32];
        marked = memory.marks[first / 32] >> first % 32 & roots;
        unsigned total;
        const unsigned both = __popc(roots) | static_cast<unsigned>(__popc(marked)) << 16;
        before = sum_before_thread(both, of_warp, total);
        for (unsigned rest = marked; rest; rest &= rest - 1) {
            const unsigned bit = rest & -rest, border = borders_before(bit);
            const unsigned node = number * room_for_borders(job) + border;
            memory.parents[first + __ffs(rest) - 1] = TOLD | border;
            memory.labels[border] = roots_before(bit);
            __stcg(job.nodes + node, node);
        }
        return total;
    }

    // The border component of an entry of the chunk.
    __device__ unsigned border_of(int entry) const
    {
        const unsigned parent = memory.parents[first + entry];
        return (parent & TOLD ? parent : memory.parents[parent]) & 0xffff;
    }

    // Tell the next block what it needs to know of the last plane.
    __device__ void tell_last_plane() const
    {
        if (threadIdx.x == 0) *memory.queue.count = job.counts[number] = 0;
        if (!in_last_plane() || set == 0) return;
        unsigned border[ENTRIES];
#pragma unroll
        for (int j = 0; j < ENTRIES; ++j) border[j] = heads_of(set) >> 2 * j & 3 ? border_of(j) : 0;
        const int there = number * job.lines + row - (tall - job.lines);
        reinterpret_cast<uint2*>(job.tables)[there * job.across + at] =
            make_uint2(border[0] | border[1] << 16, border[2] | border[3] << 16);
    }

    // Unite border components, `all` in number, with those of the band before.
    __device__ void unite_nodes(unsigned all)
    {
        Queue queue = memory.queue;
        queue.parents = job.nodes;
        queue.first = number * room_for_borders(job);
        queue.second = queue.first - room_for_borders(job);
        for (int step = 0; step < (Deep ? 4 : 1); step += step ? 1 : 2) {
            const Edge edge(job, step, row, false);
            Chunk chunk;
            touch = 0;
            if (in_first_plane() && set && edge.exists) {
                chunk = chunk_at(edge);
                touch = touching(chunk, edge.corners);
            }
            if (!__any_sync(ALL, touch)) continue;
            const int there = (number * job.lines + row - edge.back) * job.across + at;
            const u2* const table = job.tables + ENTRIES * there;
            for (unsigned place = queue.reserve(__popc(touch)); touch; ++place) {
                int pixel;
                const int other = take(touch, chunk, pixel);
                queue.put(place, border_of(entry_at(chunk.own, pixel)), table[other]);
            }
        }
        __syncthreads();
        for (unsigned node = threadIdx.x; node < all; node += blockDim.x) {
            const unsigned own[1] = {queue.first + node};
            unsigned parent[1] = {parent_in(job.nodes, own[0])};
            climb_all(job.nodes, own, parent);
        }
        queue.unite();
    }

    // Give roots their labels; there are `base` in the bands before.
    __device__ void label_roots(unsigned base) const
    {
        for (unsigned rest = roots; rest; rest &= rest - 1) {
            const unsigned bit = rest & -rest, border = borders_before(bit);
            unsigned label = base + roots_before(bit) + 1;
            if (job.bands > 1)
                label = marked & bit ? memory.labels[border] : label - memory.merged_before(border);
            memory.parents[first + __ffs(rest) - 1] = TOLD | label;
        }
    }

    __device__ void paint() const
    {
        const int count = count_of(row, at);
        if (count <= 0) return;
        const uint4 held = reinterpret_cast<const uint4*>(memory.parents)[threadIdx.x];
        unsigned label[ENTRIES] = {held.x, held.y, held.z, held.w};
#pragma unroll
        for (int j = 0; j < ENTRIES; ++j) {
            if (!(heads_of(set) >> 2 * j & 3)) continue;
            if (!(label[j] & TOLD)) label[j] = memory.parents[label[j]];
            label[j] &= ~TOLD;
        }
        paint_chunk(job.labels + begin_of(row, at), set, label, count, job.quads);
    }
};

template <typename Pixel, bool Deep, typename Blocks>
__device__ __forceinline__ void
label_band(const Bands& job)
{
    extern __shared__ uint4 shared[];
    if (blockIdx.x >= job.bands) {  // a cluster may have more blocks
        for (int phase = 0; phase < 2; ++phase) Blocks::wait();
        return;
    }
    Band<Pixel, Deep> band(job, shared);
    band.read();
    __syncthreads();
    band.adopt_runs();
    __syncthreads();
    band.unite_runs();
    __syncthreads();
    band.find_roots();
    __syncthreads();
    const unsigned total = band.count_roots();
    unsigned base = 0;
    if (job.bands > 1) {
        __syncthreads();
        band.tell_last_plane();
        Blocks::wait();
        band.unite_nodes(total >> 16);
        Blocks::wait();
        base = label_nodes(job, band.memory, band.number, total);
    } else if (threadIdx.x == 0) {
        *job.found = total;
    }
    band.label_roots(base);
    __syncthreads();
    band.paint();
}

// A thread for each chunk of a band.
template <typename Pixel, bool Deep>
__global__ void __launch_bounds__(1024, 1) label_bands(const __grid_constant__ Bands job)
{
    label_band<Pixel, Deep, WholeGrid>(job);
}

// The same by the blocks of a cluster.
template <typename Pixel, bool Deep>
__global__ void CLUSTERS __launch_bounds__(1024, 1) label_bands_in_cluster(const __grid_constant__ Bands job)
{
    label_band<Pixel, Deep, WholeCluster>(job);
}
