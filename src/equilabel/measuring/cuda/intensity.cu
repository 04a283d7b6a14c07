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

// The strip of one warp: rows of a slab from `first` to before `last`, from column `x` on.
struct View {
    Index slab, first, last, x;  // no rows where there is no such strip
};

template <int Wide>
__device__ inline View find_view(const ImageLayout& layout)
{
    const Index columns = layout.sides[5], rows = layout.sides[4];
    const Index across = (columns + Wide - 1) / Wide, strips = (rows + layout.tall - 1) / layout.tall;
    Index warp = thread_index() / 32;
    View view;
    view.x = warp % across * Wide;
    warp /= across;
    view.first = warp % strips * layout.tall;
    view.slab = warp / strips;
    const bool real = view.slab < layout.sides[0] * layout.sides[1] * layout.sides[2] * layout.sides[3];
    view.last = real ? min(view.first + layout.tall, rows) : view.first;
    return view;
}

// Return a label, but `most`, the last row of the table, at most: another stream may change labels meanwhile.
template <typename Label>
__device__ inline Label known(Label label, u8 most)
{
    return static_cast<Label>(min(static_cast<u8>(label), most));
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

// Four columns for each label: the sum, the greatest of ~key and of key, and flags.
template <typename Label, typename Value>
__global__ void __launch_bounds__(256)
    add_values(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
               const ImageLayout layout, u8 most, int scale, u8* table)
{
    const View view = find_view<WIDE>(layout);
    if (view.first == view.last) return;  // the same for all of a warp
    const Index columns = layout.sides[5], x = view.x + threadIdx.x % 32;
    const Index begin = view.slab * layout.sides[4] * columns + x;
    u8 sum = 0, low = 0, high = 0;
    unsigned flags = 0;
    Label held = 0, batch[BATCH];
    Value batch_values[BATCH];
    for (Index y = view.first; y <= view.last; ++y) {
        const bool over = y == view.last;
        const int place = static_cast<int>(y - view.first) % BATCH;
        if (place == 0) {  // rows are read together to hide the latency of memory
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const bool exists = y + k < view.last && x < columns;
                const Index pixel = exists ? begin + (y + k) * columns : 0;
                batch[k] = exists ? known(labels[pixel], most) : Label(0);
                batch_values[k] = exists ? values[pixel * channels] : Value(0);
            }
        }
        Label label = batch[0];
        Value value = batch_values[0];
#pragma unroll
        for (int k = 1; k < BATCH; ++k) {
            label = place == k ? batch[k] : label;
            value = place == k ? batch_values[k] : value;
        }
        if (over) label = 0;
        const bool full = held != 0 && (over || (label != 0 && label != held));
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held);
            const u8 total = sum_over(lanes, sum);
            const u8 lowest = most_of(lanes, low), highest = most_of(lanes, high);
            unsigned seen = 0;
            for (unsigned rest = lanes; rest; rest &= rest - 1)
                seen |= __shfl_sync(lanes, flags, __ffs(rest) - 1);
            if (threadIdx.x % 32 == __ffs(lanes) - 1) {
                u8* line = table + 4 * static_cast<Index>(held);
                atomicAdd(line, total);
                atomicMax(line + 1, lowest);
                atomicMax(line + 2, highest);
                if (seen) atomicOr(line + 3, static_cast<u8>(seen));
            }
            sum = low = high = 0;
            flags = 0;
        }
        if (label == 0) continue;
        held = label;
        if constexpr (EXACT<Value>) {
            sum += static_cast<u8>(static_cast<Index>(value));
        } else {
            const double real = static_cast<double>(value);
            if (isfinite(real))
                sum += multiples(real, scale);
            else
                flags |= isnan(real) ? NAN_SEEN : real > 0 ? HIGH_SEEN : LOW_SEEN;
        }
        if (!(flags & NAN_SEEN)) {
            const u8 key = key_of(value);
            low = max(low, ~key);
            high = max(high, key);
        }
    }
}

// Squared distances of values from the center of their label, as multiples of 2^-scale.
template <typename Label, typename Value>
__global__ void __launch_bounds__(256)
    add_squares(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
                const ImageLayout layout, u8 most, const double* __restrict__ centers, int scale, u8* table)
{
    const View view = find_view<WIDE>(layout);
    if (view.first == view.last) return;  // the same for all of a warp
    const Index columns = layout.sides[5], x = view.x + threadIdx.x % 32;
    const Index begin = view.slab * layout.sides[4] * columns + x;
    u8 sum = 0;
    double center = 0;
    Label held = 0;
    for (Index y = view.first; y <= view.last; ++y) {
        const bool over = y == view.last;
        const Label label = !over && x < columns ? known(labels[begin + y * columns], most) : Label(0);
        const bool full = held != 0 && (over || (label != 0 && label != held));
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held);
            const u8 total = sum_over(lanes, sum);
            if (threadIdx.x % 32 == __ffs(lanes) - 1)
                atomicAdd(table + static_cast<Index>(held), total);
            sum = 0;
        }
        if (label == 0) continue;
        if (label != held) center = centers[static_cast<Index>(label)];
        held = label;
        const double distance = static_cast<double>(values[(begin + y * columns) * channels]) - center;
        if (isfinite(distance)) sum += multiples(distance * distance, scale);
    }
}

// Products of powers 0 to 3 of the distances from a center along two or three axes, each pixel weighted by its
// value if there are values; as multiples of 2^-scale, which depends on label and product.
template <typename Label, typename Value, int Rank, bool Weighted>
__global__ void __launch_bounds__(256)
    add_powers(const Label* __restrict__ labels, const Value* __restrict__ values, int channels,
               const ImageLayout layout, u8 most, const double* __restrict__ centers,
               const int* __restrict__ scales,
               u8* table)
{
    constexpr int Products = Rank == 2 ? 16 : 64;
    const View view = find_view<WIDE>(layout);
    if (view.first == view.last) return;  // the same for all of a warp
    const Index columns = layout.sides[5], x = view.x + threadIdx.x % 32;
    const Index begin = view.slab * layout.sides[4] * columns + x;
    const double z = static_cast<double>(view.slab % layout.sides[3]);
    double along[4] = {}, middle = 0;  // sums of powers of y; the center of y
    Label held = 0;
    for (Index y = view.first; y <= view.last; ++y) {
        const bool over = y == view.last;
        const Label label = !over && x < columns ? known(labels[begin + y * columns], most) : Label(0);
        const bool full = held != 0 && (over || (label != 0 && label != held));
        const unsigned leaving = __ballot_sync(ALL, full);
        if (full) {
            const unsigned lanes = lanes_alike(leaving, held);
            const double* center = centers + Rank * static_cast<Index>(held);
            const double dx = static_cast<double>(x) - center[Rank - 1];
            const double dz = Rank == 3 ? z - center[0] : 0;
            const bool leader = threadIdx.x % 32 == __ffs(lanes) - 1;
            const Index line = Products * static_cast<Index>(held);
            double deep = 1;
            for (int i = 0; i < Products / 16; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    double product = deep * along[j];
#pragma unroll
                    for (int k = 0; k < 4; ++k) {
                        const Index to = line + 16 * i + 4 * j + k;
                        const double total = sum_over(lanes, product);
                        if (leader) atomicAdd(table + to, multiples(total, scales[to]));
                        product *= dx;
                    }
                }
                deep *= dz;
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) along[j] = 0;
        }
        if (label == 0) continue;
        if (label != held) middle = centers[Rank * static_cast<Index>(label) + Rank - 2];
        held = label;
        const double dy = static_cast<double>(y) - middle;
        double product = 1;
        if (Weighted) product = static_cast<double>(values[(begin + y * columns) * channels]);
        if (!isfinite(product)) continue;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            along[j] += product;
            product *= dy;
        }
    }
}
