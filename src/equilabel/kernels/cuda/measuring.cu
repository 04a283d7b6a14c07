// Counts of every label of an image, as kernels/layout.py lays them out.
#include "scene.cuh"

constexpr int WIDE = 30;  // columns that a warp counts; its outer lanes only look on
constexpr int BATCH = 4;  // rows that a warp reads at once

// What a lane has counted of the label it holds.
template <int Pairs>
struct Counts {
    unsigned pixels, y, yy, low, high;  // y from the first row of the strip
    unsigned pairs[Pairs > 0 ? Pairs : 1];
    int euler_face, euler_full;
};

template <int Pairs>
__device__ inline void add_to_line(const Counts<Pairs>& held, unsigned lanes, const View& view,
                                   const Scene& scene, u8* line)
{
    const unsigned x = threadIdx.x % 32 - 1;  // from view.x
    Sums sums = {sum_over(lanes, held.pixels), sum_over(lanes, held.pixels * x), sum_over(lanes, held.y)};
    sums.low_x = most_of(lanes, WIDE - x);
    sums.low_y = most_of(lanes, scene.tall - held.low);
    sums.high_x = most_of(lanes, x + 1);
    sums.high_y = most_of(lanes, held.high);
    if (scene.seconds >= 0) {
        sums.xx = sum_over(lanes, held.pixels * x * x);
        sums.xy = sum_over(lanes, held.y * x);
        sums.yy = sum_over(lanes, held.yy);
    }
    const bool leader = threadIdx.x % 32 == __ffs(lanes) - 1;
    if (leader) write_places(sums, view.slab, view.x, view.first, WIDE, scene.tall, scene, line);
    if (scene.pairs >= 0)
#pragma unroll
        for (int k = 0; k < Pairs; ++k) {
            const unsigned count = sum_over(lanes, held.pairs[k]);
            if (leader && count) atomicAdd(line + scene.pairs + k, static_cast<u8>(count));
        }
    if (scene.euler_face >= 0) {
        const int sum = sum_over(lanes, static_cast<unsigned>(held.euler_face));
        if (leader && sum) atomicAdd(line + scene.euler_face, static_cast<u8>(static_cast<Index>(sum)));
    }
    if (scene.euler_full >= 0) {
        const int sum = sum_over(lanes, static_cast<unsigned>(held.euler_full));
        if (leader && sum) atomicAdd(line + scene.euler_full, static_cast<u8>(static_cast<Index>(sum)));
    }
}

// `Pairs` earlier neighbors are compared: 0, 2 or 4 in 2D, 3 or 13 in 3D. The configurations that add up
// to Euler numbers are those of kernels/cpu/configuring.py. Labels are from 0 to before the lines of
// the table; not checked.
template <typename Label, int Pairs>
__global__ void __launch_bounds__(256)
    count_labels(const Label* __restrict__ labels, const Scene scene, u8* table)
{
    constexpr bool Deep = Pairs == 3 || Pairs == 13, All = Pairs == 4 || Pairs == 13;
    __shared__ SharedLine<64> shared;
    const View view = find_view<WIDE>(scene);
    const int lane = threadIdx.x % 32;
    const Index columns = scene.sides[5], rows = scene.sides[4], x = view.x + lane - 1;
    const bool exists = x >= 0 && x < columns, mine = exists && lane >= 1 && lane <= WIDE;
    const Label* here = labels + view.slab * rows * columns + x;
    const bool deeper = Deep && view.slab % scene.sides[3] > 0;
    const Label* before = here - rows * columns;
    const auto read = [&](const Label* plane, bool real, Index y) {
        return exists && real && y >= 0 && y < rows ? plane[y * columns] : Label(0);
    };

    Label north = Pairs ? read(here, true, view.first - 1) : Label(0), held_label = 0;
    Label up_north = 0, up = 0;
    if (Deep) {
        up_north = read(before, deeper, view.first - 1);
        up = read(before, deeper, view.first);
    }
    Counts<Pairs> held = {};
    for (Index top = view.first; top < view.last; top += BATCH) {
      // Rows are asked for together: memory is far.
      Label batch[BATCH], next_up[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; ++k) {
          batch[k] = top + k < view.last ? read(here, true, top + k) : Label(0);
          next_up[k] = Deep ? read(before, deeper, top + k + 1) : Label(0);
      }
#pragma unroll
      for (int k = 0; k < BATCH; ++k) {
        const Label label = batch[k], up_south = next_up[k];
        const bool counts = mine && label != 0;
        const bool full = held_label != 0 && counts && label != held_label;
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held_label);
            add_to_line<Pairs>(held, lanes, view, scene,
                               table + static_cast<Index>(held_label) * scene.width);
            held = {};
        }
        bool w = false, n = false, nw = false, ne = false;
        if (Pairs) {
            w = label == __shfl_up_sync(ALL, label, 1);
            n = label == north;
        }
        if (All) {
            nw = label == __shfl_up_sync(ALL, north, 1);
            ne = label == __shfl_down_sync(ALL, north, 1);
        }
        bool u = false, us = false, un = false, uw = false, ue = false;
        bool unw = false, une = false, usw = false, use = false;
        if (Deep) {
            u = label == up;
            if (All) {
                un = label == up_north;
                us = label == up_south;
                uw = label == __shfl_up_sync(ALL, up, 1);
                ue = label == __shfl_down_sync(ALL, up, 1);
                unw = label == __shfl_up_sync(ALL, up_north, 1);
                une = label == __shfl_down_sync(ALL, up_north, 1);
                usw = label == __shfl_up_sync(ALL, up_south, 1);
                use = label == __shfl_down_sync(ALL, up_south, 1);
            }
            up_north = up;
            up = up_south;
        }
        north = label;
        if (!counts) continue;
        const unsigned row = static_cast<unsigned>(top + k - view.first);
        if (held.pixels == 0) held.low = row;
        held_label = label;
        ++held.pixels;
        held.high = row + 1;
        held.y += row;
        held.yy += row * row;
        if (Pairs == 2) {
            held.pairs[0] += n;
            held.pairs[1] += w;
        } else if (Pairs == 4) {
            held.pairs[0] += nw;
            held.pairs[1] += n;
            held.pairs[2] += ne;
            held.pairs[3] += w;
            held.euler_full += !w - (ne && !n) - ((nw || n) && !w);
            held.euler_face += !w - (n && !(w && nw));
        } else if (Pairs == 3) {
            held.pairs[0] += u;
            held.pairs[1] += n;
            held.pairs[2] += w;
        } else if (Pairs == 13) {
            const bool same[13] = {unw, un, une, uw, u, ue, usw, us, use, nw, n, ne, w};
#pragma unroll
            for (int k = 0; k < 13; ++k) held.pairs[k] += same[k];
            held.euler_full += !(unw || un || uw || u || nw || n || w) + (ue && !u) -
                               ((ue || use) && !(u || us)) - ((us || usw) && !(w || uw || u)) -
                               ((ne || ue || une) && !(n || un || u));
            const bool corner = w && nw;
            held.euler_face += !w + (n && u && un && !(corner && uw && unw)) - (n && !corner) -
                               (u && !(w && uw));
        }
      }
    }
    const bool holds = held_label != 0;
    const bool together = share(shared, holds, held_label);
    const unsigned leaving = __ballot_sync(ALL, holds);
    if (holds) {
        const unsigned lanes = lanes_alike(leaving, held_label);
        u8* line = together ? shared.columns : table + static_cast<Index>(held_label) * scene.width;
        add_to_line<Pairs>(held, lanes, view, scene, line);
    }
    add_shared(shared, scene, table);
}

constexpr int INNER = 28;  // columns whose border pixels a warp sorts: it looks two further

// Border pixels of labels in 2D by what they add to the perimeter, as kernels/cpu/outlining.py sorts
// them. Words have a bit for each lane, and all lanes hold the same.
struct Words {
    unsigned some, west, north, northwest, northeast;
};

// Add words bit by bit: the ones, twos and fours of each sum.
__device__ inline void tally(unsigned p, unsigned q, unsigned r, unsigned s, unsigned sum[3])
{
    const unsigned pq = p ^ q, rs = r ^ s;
    sum[0] = pq ^ rs;
    sum[1] = (p & q) ^ (r & s) ^ (pq & rs);
    sum[2] = p & q & r & s;
}

template <typename Label, bool Uneven>
__global__ void __launch_bounds__(256)
    count_outlines(const Label* __restrict__ labels, const Scene scene, u8* table)
{
    const View view = find_view<INNER>(scene);
    if (view.first == view.last) return;  // the same for all of a warp
    const int lane = threadIdx.x % 32;
    const Index columns = scene.sides[5], rows = scene.sides[4], x = view.x + lane - 2;
    const bool exists = x >= 0 && x < columns, mine = exists && lane >= 2 && lane < 2 + INNER;
    const Label* plane = labels + view.slab * rows * columns + x;
    const auto read = [&](Index y) {
        return exists && y >= 0 && y < rows ? plane[y * columns] : Label(0);
    };
    const auto bit = [&](unsigned word) { return word >> lane & 1; };

    // Rows y - 2, y - 1 and y; border pixels of y - 3, y - 2 and y - 1. Row y - 2 is sorted.
    Words sorted = {}, middle = {}, latest = {};
    unsigned border_north = 0, border = 0, border_south = 0;
    Label sorted_label = 0, middle_label = 0, latest_label = read(view.first - 2), held_label = 0;
    unsigned held[3] = {};
    Label batch[BATCH];
    for (Index y = view.first - 1; y <= view.last + 2; ++y) {
        const bool over = y == view.last + 2;
        const int place = static_cast<int>(y - view.first + 1) % BATCH;
        if (place == 0)
#pragma unroll
            for (int k = 0; k < BATCH; ++k) batch[k] = y + k < view.last + 2 ? read(y + k) : Label(0);
        Label label = batch[0];
#pragma unroll
        for (int k = 1; k < BATCH; ++k) label = place == k ? batch[k] : label;
        sorted = middle;
        middle = latest;
        latest.some = __ballot_sync(ALL, label != 0);
        latest.west = latest.some & __ballot_sync(ALL, label == __shfl_up_sync(ALL, label, 1));
        latest.north = latest.some & __ballot_sync(ALL, label == latest_label);
        latest.northwest =
            latest.some & __ballot_sync(ALL, label == __shfl_up_sync(ALL, latest_label, 1));
        latest.northeast =
            latest.some & __ballot_sync(ALL, label == __shfl_down_sync(ALL, latest_label, 1));
        sorted_label = middle_label;
        middle_label = latest_label;
        latest_label = label;
        border_north = border;
        border = border_south;
        border_south = middle.some & ~(middle.west & middle.west >> 1 & middle.north & latest.north);
        if (y < view.first + 2 && !over) continue;

        unsigned one = 0, two = 0, three = 0;  // what is added to the columns of the table
        if (border && !over) {
            const unsigned west = border << 1 & sorted.west;
            const unsigned east = (border & sorted.west) >> 1;
            const unsigned north = border_north & sorted.north;
            const unsigned south = border_south & middle.north;
            unsigned a[3], b[3];
            tally(north, south, west, east, a);
            tally(sorted.northwest & border_north << 1, sorted.northeast & border_north >> 1,
                  (middle.northeast & border_south) << 1, (middle.northwest & border_south) >> 1, b);
            const unsigned straight = border & a[1] & ~(b[0] & b[1]) & ~b[2];
            const unsigned once = border & a[0] & ~a[1];
            const unsigned diagonal =
                (border & ~a[0] & ~a[1] & ~a[2] & b[1] & ~b[0]) | (once & b[0] & b[1]);
            const unsigned mixed = once & (b[0] ^ b[1]);
            if (Uneven) {
                const unsigned some_x = west ^ east, some_y = north ^ south;
                const unsigned both_x = west & east, both_y = north & south;
                const unsigned along_x = straight & both_x & ~north & ~south;
                const unsigned along_y = straight & both_y & ~west & ~east;
                const unsigned bend = straight & some_x & some_y;
                const unsigned more_x = straight & both_x & some_y;
                const unsigned more_y = straight & both_y & some_x;
                one = 6 * bit(along_y) + 3 * bit(bend) + 2 * bit(more_x) + 4 * bit(more_y) +
                      3 * bit(mixed & some_y);
                two = 6 * bit(along_x) + 3 * bit(bend) + 4 * bit(more_x) + 2 * bit(more_y) +
                      3 * bit(mixed & some_x);
                three = 2 * bit(diagonal) + bit(mixed & (some_x | some_y));
            } else {
                one = 6 * bit(straight) + 3 * bit(mixed);
                two = 2 * bit(diagonal) + bit(mixed);
            }
        }
        const bool counts = mine && (one | two | three) != 0;
        const bool full = held_label != 0 && (over || (counts && sorted_label != held_label));
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held_label);
            u8* line = table + static_cast<Index>(held_label) * scene.width + scene.outline;
#pragma unroll
            for (int k = 0; k < (Uneven ? 3 : 2); ++k) {
                const unsigned sum = sum_over(lanes, held[k]);
                if (lane == __ffs(lanes) - 1 && sum) atomicAdd(line + k, static_cast<u8>(sum));
                held[k] = 0;
            }
        }
        if (counts) {
            held_label = sorted_label;
            held[0] += one;
            held[1] += two;
            held[2] += three;
        }
    }
}
