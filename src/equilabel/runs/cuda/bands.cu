// Labels an image of two or three axes in one launch. A block finds the components of a band of whole rows or planes
// in shared memory; components that touch other bands are united in global memory.

#include "runs/cuda/band_nodes.cuh"

// ---- Reads the pixels of chunks, finds the components of a band, and writes the labels of chunks.

// A chunk of bytes that begins at a multiple of 8, and its foreground.
template <typename Pixel>
__device__ inline uint2 read_wide(const Pixel* pixels)
{
    return __ldg(reinterpret_cast<const uint2*>(pixels));
}

template <typename Pixel>
__device__ inline unsigned test_wide(uint2 eight, const Test<Pixel>& test)
{
    if constexpr (sizeof(Pixel) == 1) return test.four(eight.x) >> 28 | test.four(eight.y) >> 28 << 4;
    return 0;
}

// Foreground of `count` pixels; `wide` says that they are bytes which can be read at once.
template <typename Pixel>
__device__ inline unsigned read_chunk(const Pixel* pixels, int count, int compare, bool wide,
                                      const Test<Pixel>& test)
{
    if (count <= 0) return 0;
    if (compare == EVERY) return 255 >> (CHUNK - count);
    if constexpr (sizeof(Pixel) == 1)
        if (wide) return test_wide(read_wide(pixels), test);
    unsigned set = 0;
#pragma unroll
    for (int j = 0; j < CHUNK; ++j)
        if (j < count) set |= static_cast<unsigned>(test(pixels[j])) << j;
    return set;
}

// Write the labels of a chunk from those of its entries, four at once. With `pairs`, two neighboring threads, whose
// chunks are in the same row, write eight together.
__device__ inline void paint_chunk(u4* labels, unsigned set, const unsigned (&label)[ENTRIES], int count,
                                   bool pairs)
{
    u4 value[CHUNK], last = 0;
    const unsigned heads = heads_of(set);
#pragma unroll
    for (int j = 0; j < CHUNK; ++j) {
        last = heads >> j & 1 ? label[j / 2] : last;
        value[j] = set >> j & 1 ? last : 0;
    }
    if (pairs) {  // whole sectors of 32 bytes at a time
        const bool odd = threadIdx.x & 1;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const u4 other = __shfl_xor_sync(ALL, odd ? value[j] : value[4 + j], 1);
            (odd ? value[j] : value[4 + j]) = other;
        }
        if (count <= 0) return;
        uint4* const fours = reinterpret_cast<uint4*>(labels);
        __stcs(fours - odd, make_uint4(value[0], value[1], value[2], value[3]));
        __stcs(fours + 2 - odd, make_uint4(value[4], value[5], value[6], value[7]));
        return;
    }
    if (count <= 0) return;
    uint4* const fours = reinterpret_cast<uint4*>(labels);
    __stcs(fours, make_uint4(value[0], value[1], value[2], value[3]));
    if (count > 4) __stcs(fours + 1, make_uint4(value[4], value[5], value[6], value[7]));
}

// ------------------------------------------------------------------------------------------
// Components of one band, in shared memory.

// A thread has a chunk in each of its slots, and a bit of `roots` and `marked` for each entry of these. Neighboring
// threads have neighboring chunks.
template <typename Pixel, bool Deep, int Slots>
struct Band {
    const Bands& job;
    const Memory memory;
    const int number, top, tall;  // of the band; its first row and its rows
    const int row, at;            // of the chunk in slot 0; beyond all rows if the thread has none
    unsigned set[Slots], roots = 0, marked = 0;
    unsigned before[Slots];  // components before the chunk; in the upper half, border components

    __device__ Band(const Bands& job, void* shared)
        : job(job), memory(shared, job, Slots * blockDim.x), number(blockIdx.x), top(number * job.rows),
          tall(min(job.rows, job.height - top)),
          row(Slots == 1 || threadIdx.x < job.stride ? threadIdx.x / job.across : job.height),
          at(threadIdx.x % job.across)
    {
    }

    __device__ bool exists() const { return Slots == 1 || threadIdx.x < job.stride; }

    __device__ int row_of(int slot) const { return Slots == 1 ? row : row + slot * job.step; }

    // The chunk in a slot, and its first entry.
    __device__ int number_of(int slot) const { return Slots == 1 ? threadIdx.x : threadIdx.x + slot * job.stride; }

    __device__ unsigned first_of(int slot) const { return ENTRIES * number_of(slot); }

    __device__ bool in_first_plane(int slot) const { return number > 0 && row_of(slot) < job.lines; }

    __device__ bool in_last_plane(int slot) const
    {
        const int row = row_of(slot);
        return number + 1 < job.bands && row < tall && row >= tall - job.lines;
    }

    // The first pixel of a chunk, and its number of pixels.
    __device__ Index begin_of(int row, int at) const
    {
        return static_cast<Index>(top + row) * job.width + CHUNK * at;
    }

    __device__ int count_of(int row, int at) const
    {
        return row < tall ? min(CHUNK, job.width - CHUNK * at) : 0;
    }

    // An edge of the chunk's row, and the chunk together with the row that the edge leads to.
    __device__ Edge edge_at(int edge, int row) const
    {
        const int z = Deep ? row / job.lines : row;
        return Edge(job, edge, row - z * job.lines, z == 0);
    }

    __device__ Chunk chunk_at(const Edge& edge, int row) const
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
        int chunk = threadIdx.x;  // of the plane before
        if (sizeof(Pixel) == 1 && job.wide && job.compare != EVERY) {  // all loads are issued before the first is used
            uint2 eight[Slots], before = make_uint2(0, 0);
#pragma unroll
            for (int slot = 0; slot < Slots; ++slot) {
                eight[slot] = make_uint2(0, 0);
                if (row_of(slot) < tall) eight[slot] = read_wide(image + begin_of(row_of(slot), at));
            }
            if (chunk < plane)
                before = read_wide(image + begin_of(chunk / job.across - job.lines, chunk % job.across));
#pragma unroll
            for (int slot = 0; slot < Slots; ++slot)
                set[slot] = row_of(slot) < tall ? test_wide(eight[slot], test) : 0;
            if (chunk < plane) memory.pixels[chunk - plane] = test_wide(before, test);
            chunk += blockDim.x;
        } else {
#pragma unroll
            for (int slot = 0; slot < Slots; ++slot)
                set[slot] = read_chunk(image + begin_of(row_of(slot), at), count_of(row_of(slot), at), job.compare,
                                       job.wide, test);
        }
        for (; chunk < plane; chunk += blockDim.x) {
            const int y = chunk / job.across, x = chunk - y * job.across;
            memory.pixels[chunk - plane] = read_chunk(image + begin_of(y - job.lines, x), count_of(0, x),
                                                      job.compare, job.wide, test);
        }
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot)
            if (exists()) memory.pixels[number_of(slot)] = set[slot];
        for (int word = threadIdx.x; word < Slots * blockDim.x / CHUNK; word += blockDim.x) memory.marks[word] = 0;
        if (threadIdx.x == 0) *memory.queue.count = 0;
    }

    // Put touches along an edge into the queue, as items that say where they are: all threads then get equally many
    // to unite.
    __device__ void put(int slot, int step, unsigned touch)
    {
        if (!__any_sync(ALL, touch)) return;
        unsigned place = memory.queue.reserve(__popc(touch));
        for (; touch; touch &= touch - 1, ++place)
            memory.queue.pairs[place] = number_of(slot) << 7 | step << 5 | (__ffs(touch) - 1);
    }

    // The two entries that touch; entries in the plane before the band are negative.
    __device__ int2 entries_of(unsigned item) const
    {
        const int pixel = item & 7, kind = item >> 3 & 3, step = item >> 5 & 3, chunk = item >> 7;
        const int back = Deep ? Edge(job, step, 0, false).back : 1, at = pixel + (kind == 2) - (kind == 1);
        const int other = chunk - back * job.across + (at >> 3);
        return make_int2(ENTRIES * chunk + entry_at(memory.pixels[chunk], pixel),
                         ENTRIES * other + entry_at(memory.pixels[other], at & 7));
    }

    // Point every entry at an earlier one that it touches, if any; other touches go into the queue.
    __device__ void adopt_runs()
    {
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot) {
            if (!__any_sync(ALL, set[slot])) continue;
            const unsigned first = first_of(slot);
            const int row = row_of(slot);
            if (exists())
                reinterpret_cast<uint4*>(memory.parents)[number_of(slot)] =
                    make_uint4(first, first + 1, first + 2, first + 3);
            unsigned orphans = heads_of(set[slot]);
#pragma unroll
            for (int step = 0; step < (Deep ? 4 : 1); ++step) {
                const Edge edge = edge_at(step, row);
                const Chunk chunk = row < tall ? chunk_at(edge, row) : Chunk();
                unsigned touch = touching(chunk, edge.corners);
                if (step < 2) {
                    const unsigned last = entry_before(chunk, first);
                    adopt(chunk, last, first - ENTRIES * edge.back * job.across, touch, orphans,
                          [&](unsigned entry, unsigned parent) { memory.parents[first + entry] = parent; });
                }
                put(slot, step, touch);
            }
        }
    }

    // Let all entries climb to their roots, and call `work` with each and its root: all entries of a chunk at once, or
    // if a thread has several chunks, one entry of each.
    template <typename Do>
    __device__ void climb(const Do& work) const
    {
        if constexpr (Slots == 1) {
            const unsigned heads = heads_of(set[0]), first = first_of(0);
            if (heads == 0) return;
            const unsigned own[ENTRIES] = {first, first + 1, first + 2, first + 3};
            unsigned parent[ENTRIES];
#pragma unroll
            for (int j = 0; j < ENTRIES; ++j) parent[j] = parent_of(memory.parents, own[j]);
            climb_all(memory.parents, own, parent);
#pragma unroll
            for (int j = 0; j < ENTRIES; ++j)
                if (heads >> 2 * j & 3) work(0, j, parent[j]);
        } else {
            unsigned rest[Slots], any = 0;
#pragma unroll
            for (int slot = 0; slot < Slots; ++slot) any |= rest[slot] = heads_of(set[slot]);
            while (any) {
                unsigned own[Slots], parent[Slots];
#pragma unroll
                for (int slot = 0; slot < Slots; ++slot) {
                    own[slot] = rest[slot] ? first_of(slot) + (__ffs(rest[slot]) - 1) / 2 : NONE;
                    parent[slot] = rest[slot] ? parent_of(memory.parents, own[slot]) : NONE;
                }
                climb_all(memory.parents, own, parent);
                any = 0;
#pragma unroll
                for (int slot = 0; slot < Slots; ++slot) {
                    if (rest[slot]) work(slot, own[slot] - first_of(slot), parent[slot]);
                    any |= rest[slot] &= rest[slot] - 1;
                }
            }
        }
    }

    __device__ void unite_runs()
    {
        const auto& queue = memory.queue;
        for (unsigned at = threadIdx.x; at < *queue.count; at += blockDim.x) {
            const int2 pair = entries_of(queue.pairs[at]);
            queue.pairs[at] = queue.unite_soon(pair.x, pair.y) ? UNITED : pair.x << 16 | pair.y;
        }
        __syncthreads();
        climb([](int, int, unsigned) {});
        queue.unite();
    }

    // Find the entries that are roots, and mark those of border components.
    __device__ void find_roots()
    {
        if (threadIdx.x == 0) *memory.queue.count = 0;
        climb([&](int slot, int entry, unsigned root) {
            if (root == first_of(slot) + entry) roots |= 1u << (ENTRIES * slot + entry);
            if ((in_first_plane(slot) || in_last_plane(slot)) && !(parent_of(memory.marks, root / 32) >> root % 32 & 1))
                atomicOr(memory.marks + root / 32, 1u << root % 32);
        });
    }

    // -------------------------------------------------------------------------------------
    // Unites border components of all bands as nodes, labels them, and paints pixels.

    // Components, or border components, of the band before the one of a bit of a slot.
    __device__ unsigned roots_before(int slot, unsigned bit) const
    {
        return (before[slot] & 0xffff) + __popc(roots >> ENTRIES * slot & (bit - 1));
    }

    __device__ unsigned borders_before(int slot, unsigned bit) const
    {
        return (before[slot] >> 16) + __popc(marked >> ENTRIES * slot & (bit - 1));
    }

    __device__ unsigned bits_of(unsigned bits, int slot) const { return bits >> ENTRIES * slot & 15; }

    // Count components, and border components in the upper half; the latter become nodes that are their own parents.
    __device__ unsigned count_roots()
    {
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot) {
            const unsigned own = bits_of(roots, slot), first = first_of(slot);
            const unsigned mark = own ? memory.marks[first / 32] >> first % 32 & own : 0;
            marked |= mark << ENTRIES * slot;
            before[slot] = __popc(own) | static_cast<unsigned>(__popc(mark)) << 16;
        }
        __shared__ unsigned of_warp[Slots][32];
        unsigned total = 0, all;
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot) {
            before[slot] = total + sum_before_thread(before[slot], of_warp[slot], all);
            total += all;
        }
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot)
            for (unsigned rest = bits_of(marked, slot); rest; rest &= rest - 1) {
                const unsigned bit = rest & -rest, border = borders_before(slot, bit);
                const unsigned node = number * room_for_borders(job) + border;
                memory.parents[first_of(slot) + __ffs(rest) - 1] = TOLD | border;
                memory.labels[border] = roots_before(slot, bit);
                __stcg(job.nodes + node, node);
            }
        return total;
    }

    // The border component of an entry.
    __device__ unsigned border_of(unsigned entry) const
    {
        const unsigned parent = memory.parents[entry];
        return (parent & TOLD ? parent : memory.parents[parent]) & 0xffff;
    }

    // Write the border components of the last plane for the next block; queue touches with the plane before the band.
    __device__ void tell_last_plane()
    {
        if (threadIdx.x == 0) memory.marks[0] = job.counts[number] = 0;
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot) {
            if (!in_last_plane(slot) || set[slot] == 0) continue;
            unsigned border[ENTRIES];
#pragma unroll
            for (int j = 0; j < ENTRIES; ++j)
                border[j] = heads_of(set[slot]) >> 2 * j & 3 ? border_of(first_of(slot) + j) : 0;
            const int there = number * job.lines + row_of(slot) - (tall - job.lines);
            reinterpret_cast<uint2*>(job.tables)[there * job.across + at] =
                make_uint2(border[0] | border[1] << 16, border[2] | border[3] << 16);
        }
#pragma unroll
        for (int slot = 0; slot < (Deep ? Slots : 1); ++slot) {
            const int row = row_of(slot);
            for (int step = 0; step < (Deep ? 4 : 1); ++step) {
                if (step == 1) continue;
                const Edge edge(job, step, row, false);
                const bool some = set[slot] && edge.exists && in_first_plane(slot);
                put(slot, step, some ? touching(chunk_at(edge, row), edge.corners) : 0);
            }
        }
    }

    // The border component of an entry in the plane before the band.
    __device__ unsigned border_before(int entry) const
    {
        return __ldcg(job.tables + (ENTRIES * number * job.lines * job.across + entry));
    }

    // Unite border components, `all` in number, with those of the band before.
    __device__ void unite_nodes(unsigned all)
    {
        const unsigned base = number * room_for_borders(job);
        const unsigned other_base = base - room_for_borders(job);
        const Queue queue{job.nodes, memory.queue.pairs, memory.queue.count, base, other_base};
        const unsigned touches = *queue.count, lane = threadIdx.x % 32;
        for (unsigned from = threadIdx.x - lane; from < touches; from += blockDim.x) {
            const unsigned at = from + lane;
            unsigned one = 0, two = 0, pair = UNITED;
            if (at < touches) {
                const int2 entries = entries_of(queue.pairs[at]);
                two = border_before(entries.y);
                one = border_of(entries.x);
                pair = one << 16 | two;
            }
            const unsigned other = __shfl_up_sync(ALL, pair, 1);
            if (at < touches) {
                const bool seen = lane && other == pair;
                queue.pairs[at] = seen || queue.unite_soon(one, two) ? UNITED : pair;
            }
        }
        __syncthreads();
        for (unsigned node = threadIdx.x; node < all; node += blockDim.x) {
            const unsigned own[1] = {base + node};
            unsigned parent[1] = {parent_of(job.nodes, own[0])};
            climb_all(job.nodes, own, parent);
        }
        queue.unite();
    }

    // Shorten the chains of border components by a step, by all warps but the first, while other blocks unite. Threads
    // that climbed before their ancestors were linked stopped too early; chains through them are still long.
    __device__ void shorten_ways(unsigned all) const
    {
        const unsigned base = number * room_for_borders(job);
        for (unsigned node = threadIdx.x - 32; node < all; node += blockDim.x - 32) {
            const unsigned parent = parent_of(job.nodes, base + node);
            if (parent == base + node) continue;
            const unsigned above = parent_of(job.nodes, parent);
            if (above != parent && !(above & TOLD)) atomicMin(job.nodes + base + node, above);
        }
    }

    // Give roots their labels; `base` labels are in the bands before.
    __device__ void label_roots(unsigned base) const
    {
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot)
            for (unsigned rest = bits_of(roots, slot); rest; rest &= rest - 1) {
                const unsigned bit = rest & -rest, border = borders_before(slot, bit);
                unsigned label = base + roots_before(slot, bit) + 1;
                if (job.bands > 1)
                    label = bits_of(marked, slot) & bit ? memory.labels[border]
                                                        : label - memory.merged_before(border);
                memory.parents[first_of(slot) + __ffs(rest) - 1] = TOLD | label;
            }
    }

    // Paint pixel by pixel, if rows do not begin at multiples of four: neighboring threads write neighboring pixels.
    __device__ void paint_pixels() const
    {
        const int all = tall * job.width;
        const float rows_of_pixel = 1.0f / job.width;
        u4* const labels = job.labels + static_cast<Index>(top) * job.width;
        for (int pixel = threadIdx.x; pixel < all; pixel += blockDim.x) {
            const int row = static_cast<int>((pixel + 0.5f) * rows_of_pixel), x = pixel - row * job.width;
            const int chunk = row * job.across + x / CHUNK;
            const unsigned set = memory.pixels[chunk];
            unsigned label = TOLD;
            if (set >> x % CHUNK & 1) {
                label = memory.parents[ENTRIES * chunk + entry_at(set, x % CHUNK)];
                if (!(label & TOLD)) label = memory.parents[label];
            }
            __stcs(labels + pixel, label & ~TOLD);
        }
    }

    __device__ void paint() const
    {
        if (!job.quads) {
            paint_pixels();
            return;
        }
#pragma unroll
        for (int slot = 0; slot < Slots; ++slot) {
            const int count = count_of(row_of(slot), at);
            unsigned label[ENTRIES] = {};
            if (set[slot]) {
                const uint4 held = reinterpret_cast<const uint4*>(memory.parents)[number_of(slot)];
                label[0] = held.x, label[1] = held.y, label[2] = held.z, label[3] = held.w;
#pragma unroll
                for (int j = 0; j < ENTRIES; ++j) {
                    if (!(heads_of(set[slot]) >> 2 * j & 3)) continue;
                    if (!(label[j] & TOLD)) label[j] = memory.parents[label[j]];
                    label[j] &= ~TOLD;
                }
            }
            paint_chunk(job.labels + begin_of(row_of(slot), at), set[slot], label, count, job.quads > 1);
        }
    }
};

// A thread for each chunk of a band, or for a chunk in each of its slots.
template <typename Pixel, bool Deep, int Slots>
__global__ void __launch_bounds__(1024, 1) label_bands(const __grid_constant__ Bands job)
{
    extern __shared__ uint4 shared[];
    Band<Pixel, Deep, Slots> band(job, shared);
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
        wait_for_blocks();
        band.unite_nodes(total >> 16);
        wait_for_blocks_and(band.memory.marks, [&] { band.shorten_ways(total >> 16); });
        base = label_nodes(job, band.memory, band.number, total);
    } else if (threadIdx.x == 0) {
        *job.found = total;
    }
    band.label_roots(base);
    __syncthreads();
    band.paint();
}
