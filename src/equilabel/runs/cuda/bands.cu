// Labels an image of two or three axes in one launch. A block finds the components of a band of whole rows or planes
// in shared memory; components that touch other bands are united in global memory.

#include "runs/cuda/band_runs.cuh"

// Unites border components of all bands as nodes, labels them, and paints pixels.
template <typename Pixel, bool Deep, int Slots>
struct Band : BandRuns<Pixel, Deep, Slots> {
    using Runs = BandRuns<Pixel, Deep, Slots>;
    using Runs::job;
    using Runs::memory;
    using Runs::number;
    using Runs::top;
    using Runs::tall;
    using Runs::at;
    using Runs::set;
    using Runs::roots;
    using Runs::marked;
    using Runs::late;
    using Runs::row_of;
    using Runs::number_of;
    using Runs::first_of;
    using Runs::in_last_plane;
    using Runs::begin_of;
    using Runs::count_of;
    using Runs::with_touches;
    using Runs::entries_of;
    using Runs::item_of;
    using Runs::put;

    unsigned before[Slots];  // components before the chunk; in the upper half, border components

    __device__ Band(const Bands& job, void* shared) : Runs(job, shared) {}

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
        const unsigned total = sum_before_slots(before);
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
        with_touches(true, [&](int slot, int step, unsigned touch) { put(slot, step, touch); });
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
        const Queue queue{job.nodes, memory.queue.pairs, memory.queue.count, base, other_base, memory.queue.room};
        const unsigned touches = min(*queue.count, queue.room), lane = threadIdx.x % 32;
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
        if (late)
            with_touches(true, [&](int slot, int step, unsigned touch) {
                for (; touch; touch &= touch - 1) {
                    const int2 pair = entries_of(item_of(slot, step, touch));
                    unite_entries(job.nodes, queue.first + border_of(pair.x), queue.second + border_before(pair.y));
                }
            });
        __syncthreads();
        for (unsigned node = threadIdx.x; node < all; node += blockDim.x) {
            const unsigned own[1] = {base + node};
            unsigned parent[1] = {parent_in(job.nodes, own[0])};
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
            const unsigned parent = parent_in(job.nodes, base + node);
            if (parent == base + node) continue;
            const unsigned above = parent_in(job.nodes, parent);
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
