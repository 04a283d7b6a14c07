// Sums over the pixels of labels: values, and powers of coordinates.
//
// A warp goes down a strip of rows, a column for each lane. A lane keeps one label and its sums in registers.
// When another label comes, or the strip ends, the lanes that hold the same label add up their sums, and one of
// them adds the result to the table.
//
// Sums of integers of up to 32 bits are exact. Others are added as integer multiples of 2^-scale, chosen so that
// all sums fit into 63 bits: their order does not matter, and they have the same bits every time. NaN and
// infinities are kept as flags.

#include "devices/cuda/image_layout.cuh"
#include "devices/cuda/warp.cuh"

constexpr int WIDE = 32;
constexpr int BATCH = 4;  // rows that a warp reads at once
constexpr u8 NAN_SEEN = 1, HIGH_SEEN = 2, LOW_SEEN = 4;

// Go down a strip of rows: a warp takes 32 columns, a lane one of them. It holds sums of one label: `open` takes a
// label that begins, `add` a value, 1 without `Valued`, and its row; `close` adds the sums of the lanes that hold a
// label to its row of a table, and clears them. Labels beyond `most`, the last row of the table, count as that:
// another stream may change labels meanwhile.
template <bool Valued, typename Label, typename Value, class Open, class Add, class Close>
__device__ inline void sum_columns(const Label* __restrict__ labels, const Value* __restrict__ pixels, int channels,
                                   const ImageLayout& layout, u8 most, const Open& open, const Add& add,
                                   const Close& close)
{
    const Index columns = layout.sides[5], rows = layout.sides[4];
    const Index across = (columns + WIDE - 1) / WIDE, strips = (rows + layout.tall - 1) / layout.tall;
    const Index warp = thread_index() / 32, x = warp % across * WIDE + threadIdx.x % 32;
    const Index slab = warp / across / strips, first = warp / across % strips * layout.tall;
    if (slab >= layout.sides[0] * layout.sides[1] * layout.sides[2] * layout.sides[3]) return;  // a whole warp
    const Index last = min(first + layout.tall, rows), begin = slab * rows * columns + x;
    Label held = 0, labels_read[BATCH];
    Value values_read[BATCH];
    for (Index y = first; y <= last; ++y) {
        const int place = static_cast<int>(y - first) % BATCH;
        if (place == 0) {  // rows are read together to hide the latency of memory
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const bool exists = y + k < last && x < columns;
                const Index pixel = exists ? begin + (y + k) * columns : 0;
                labels_read[k] = exists ? static_cast<Label>(min(static_cast<u8>(labels[pixel]), most)) : Label(0);
                values_read[k] = !Valued ? Value(1) : exists ? pixels[pixel * channels] : Value(0);
            }
        }
        Label label = labels_read[0];
        Value value = values_read[0];
#pragma unroll
        for (int k = 1; k < BATCH; ++k) {
            label = place == k ? labels_read[k] : label;
            value = place == k ? values_read[k] : value;
        }
        const bool full = held != 0 && (y == last || (label != 0 && label != held));
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held);
            close(static_cast<Index>(held), lanes, threadIdx.x % 32 == __ffs(lanes) - 1, x, slab);
        }
        if (label == 0) continue;
        if (label != held) open(static_cast<Index>(label));
        held = label;
        add(value, y);
    }
}

// Return the position of a number in the order of its type.
template <typename Value>
__device__ inline u8 key_of(Value value)
{
    if constexpr (Value(0.5) != Value(0)) {
        const Index bits = __double_as_longlong(static_cast<double>(value));
        return bits < 0 ? ~static_cast<u8>(bits) : static_cast<u8>(bits) | 1ull << 63;
    } else if constexpr (Value(-1) < Value(0)) {
        return static_cast<u8>(static_cast<Index>(value)) ^ 1ull << 63;
    } else {
        return static_cast<u8>(value);
    }
}

// Whether values are added as integers.
template <typename Value>
constexpr bool EXACT = Value(0.5) == Value(0) && sizeof(Value) <= 4;

__device__ inline u8 multiples(double value, int scale)
{
    return static_cast<u8>(__double2ll_rn(scalbn(value, scale)));
}

// The number of bits of a number of pixels, rounded up.
__device__ inline int bits_of(u8 pixels)
{
    return 64 - __clzll(static_cast<Index>(pixels - 1));
}

// Four columns for each label: the sum, the greatest of ~key and of key, and flags. Values that are not exact are
// added as multiples of 2^-scale of their label; without `scales`, it leaves `bits` for the greatest value times the
// pixels of the label, which a table of so many columns counts in its first.
template <typename Label, typename Value>
__global__ void __launch_bounds__(256)
    add_values(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
               const ImageLayout layout, u8 most, const int* __restrict__ scales, const u8* __restrict__ counts,
               Index columns, int bits, u8* table)
{
    u8 sum = 0, low = 0, high = 0;
    unsigned flags = 0;
    int scale = 0;
    const auto add = [&](Value value, Index) {
        if constexpr (EXACT<Value>) {
            sum += static_cast<u8>(static_cast<Index>(value));
        } else {
            const double real = static_cast<double>(value);
            if (isfinite(real))
                sum += multiples(real, scale);
            else
                flags |= isnan(real) ? NAN_SEEN : real > 0 ? HIGH_SEEN : LOW_SEEN;
        }
        if (flags & NAN_SEEN) return;
        const u8 key = key_of(value);
        low = max(low, ~key);
        high = max(high, key);
    };
    const auto close = [&](Index label, unsigned lanes, bool leader, Index, Index) {
        const u8 total = sum_over(lanes, sum), lowest = most_of(lanes, low), highest = most_of(lanes, high);
        unsigned seen = 0;
        for (unsigned rest = lanes; rest; rest &= rest - 1) seen |= __shfl_sync(lanes, flags, __ffs(rest) - 1);
        if (leader) {
            u8* line = table + 4 * label;
            atomicAdd(line, total);
            atomicMax(line + 1, lowest);
            atomicMax(line + 2, highest);
            if (seen) atomicOr(line + 3, static_cast<u8>(seen));
        }
        sum = low = high = 0;
        flags = 0;
    };
    const auto open = [&](Index label) {
        if constexpr (!EXACT<Value>) scale = scales ? scales[label] : bits - bits_of(counts[label * columns]);
    };
    sum_columns<true>(labels, values, channels, layout, most, open, add, close);
}

// Squared distances of values from the center of their label, as multiples of 2^-scale, which depends on the label.
template <typename Label, typename Value>
__global__ void __launch_bounds__(256)
    add_squares(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
                const ImageLayout layout, u8 most, const double* __restrict__ centers,
                const int* __restrict__ scales, u8* table)
{
    u8 sum = 0;
    double center = 0;
    int scale = 0;
    const auto add = [&](Value value, Index) {
        const double distance = static_cast<double>(value) - center;
        if (isfinite(distance)) sum += multiples(distance * distance, scale);
    };
    const auto close = [&](Index label, unsigned lanes, bool leader, Index, Index) {
        const u8 total = sum_over(lanes, sum);
        if (leader) atomicAdd(table + label, total);
        sum = 0;
    };
    const auto open = [&](Index label) {
        center = centers[label];
        scale = scales[label];
    };
    sum_columns<true>(labels, values, channels, layout, most, open, add, close);
}

// Products of powers 0 to 3 of the distances from a center along two or three axes, each pixel weighted by its
// value if there are values; as multiples of 2^-scale, which depends on label and product.
template <typename Label, typename Value, int Rank, bool Weighted>
__global__ void __launch_bounds__(256)
    add_powers(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
               const ImageLayout layout, u8 most, const double* __restrict__ centers,
               const int* __restrict__ scales, u8* table)
{
    constexpr int Products = Rank == 2 ? 16 : 64;
    double along[4] = {}, middle = 0;  // sums of powers of y; the center of y
    const auto add = [&](Value value, Index y) {
        const double dy = static_cast<double>(y) - middle;
        double product = static_cast<double>(value);
        if (!isfinite(product)) return;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            along[j] += product;
            product *= dy;
        }
    };
    const auto close = [&](Index label, unsigned lanes, bool leader, Index x, Index slab) {
        const double* center = centers + Rank * label;
        const double dx = static_cast<double>(x) - center[Rank - 1];
        const double dz = Rank == 3 ? static_cast<double>(slab % layout.sides[3]) - center[0] : 0;
        double deep = 1;
        for (int i = 0; i < Products / 16; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                double product = deep * along[j];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const Index to = Products * label + 16 * i + 4 * j + k;
                    const double total = sum_over(lanes, product);
                    if (leader) atomicAdd(table + to, multiples(total, scales[to]));
                    product *= dx;
                }
            }
            deep *= dz;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) along[j] = 0;
    };
    const auto open = [&](Index label) { middle = centers[Rank * label + Rank - 2]; };
    sum_columns<Weighted>(labels, values, channels, layout, most, open, add, close);
}
