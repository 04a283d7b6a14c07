// Formulas of one label, from a row of counts, with the operations of `equilabel.measuring` in the same order:
// results have the same bits where the operations are correctly rounded.
#pragma once
#include "devices/cuda/image_layout.cuh"

constexpr int STEPS = 64;     // columns that a kernel fills
constexpr int WEIGHTS = 128;  // of all columns that are sums

// Formulas, numbered as in measuring/counts.py.
enum {
    LABEL, COUNT, FIRST, WEIGHED, INTERCEPTS, BOX_SIZE, EXTENT, CENTROID, LOCAL, DIAMETER, TOUCHES, CIRCULARITY,
    SPHERICITY, TENSOR, EIGENVALUE, AXIS, ECCENTRICITY, ORIENTATION, AXES_RATIO, VALUE_SUM, VALUE_MEAN, VALUE_LOW,
    VALUE_HIGH, VALUE_STD
};

constexpr double THIN = 1e-6;  // of the longest axis, as in moments.py

// A column: its formula, and numbers whose meaning depends on the formula.
struct Step {
    int formula, one, other, weight;
};

struct Formulas {
    double spacing[SIDES];    // of the axes of `ImageLayout::sides`
    double weights[WEIGHTS];  // of sums
    double pixel_size;
    int count, torn;  // number of steps; whether labels in several images of a stack are reported
    Step steps[STEPS];
};

// Operations that the compiler must not fuse.
__device__ inline double times(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double plus(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double minus(double a, double b) { return __dsub_rn(a, b); }
__device__ inline double not_negative(double a) { return a < 0 ? 0.0 : a; }

// A symmetric matrix of two or three rows.
struct Tensor {
    double of[3][3];
};

// Eigenvalues, greatest first; NaN if an entry is not finite.
__device__ inline void eigenvalues(Tensor tensor, int rank, double (&found)[3])
{
    double (&a)[3][3] = tensor.of;
    double sum = 0;
    for (int i = 0; i < rank; ++i)
        for (int j = 0; j < rank; ++j) sum += a[i][j];
    if (!isfinite(sum)) {
        found[0] = found[1] = found[2] = nan("");
        return;
    }
    if (rank == 2) {
        const double mean = plus(a[0][0], a[1][1]) / 2;
        const double apart = hypot(minus(a[0][0], a[1][1]) / 2, a[0][1]);
        found[0] = plus(mean, apart);
        found[1] = minus(mean, apart);
        found[2] = 0;
        return;
    }
    // Jacobi's rotations: each sets an entry beside the diagonal to zero, until all are zero.
    for (int sweep = 0; sweep < 12; ++sweep) {
        if (a[0][1] == 0 && a[0][2] == 0 && a[1][2] == 0) break;
        for (int k = 0; k < 3; ++k) {
            const int p = k == 2, q = k == 0 ? 1 : 2, r = 3 - p - q;
            const double off = a[p][q];
            if (off == 0) continue;
            const double ratio = (a[q][q] - a[p][p]) / (2 * off);
            const double t = (ratio < 0 ? -1 : 1) / (fabs(ratio) + sqrt(1 + ratio * ratio));
            const double c = 1 / sqrt(1 + t * t), s = t * c, one = a[p][r], other = a[q][r];
            a[p][p] -= t * off;
            a[q][q] += t * off;
            a[p][q] = a[q][p] = 0;
            a[p][r] = a[r][p] = c * one - s * other;
            a[q][r] = a[r][q] = s * one + c * other;
        }
    }
    const double x = a[0][0], y = a[1][1], z = a[2][2];
    found[0] = fmax(x, fmax(y, z));
    found[2] = fmin(x, fmin(y, z));
    found[1] = fmax(fmin(x, y), fmin(fmax(x, y), z));
}

// The counts of one label.
struct Row {
    const u8* counts;
    const u8* values;  // sum, ~least, greatest and sum of squares; or null
    const ImageLayout& layout;
    const Formulas& formulas;
    i8 label, pixels;

    __device__ int skip() const { return SIDES - layout.axes; }
    __device__ i8 count(int column) const { return static_cast<i8>(counts[column]); }
    __device__ i8 first(int axis) const { return layout.sides[axis] - count(layout.lows - skip() + axis); }
    __device__ i8 last(int axis) const { return count(layout.highs - skip() + axis); }
    __device__ i8 sum(int axis) const { return count(layout.sums - skip() + axis); }

    // Whether a pixel is at an end of an axis; those of length 1 have none.
    __device__ bool touches() const
    {
        bool found = false;
        for (int axis = SIDES - layout.rank; axis < SIDES; ++axis)
            if (layout.sides[axis] > 1) found = found || first(axis) == 0 || last(axis) == layout.sides[axis];
        return found;
    }

    __device__ double local(int axis) const
    {
        const u8 rest = static_cast<u8>(sum(axis)) - static_cast<u8>(first(axis)) * static_cast<u8>(pixels);
        return static_cast<double>(static_cast<i8>(rest)) / static_cast<double>(pixels);
    }

    __device__ double box() const
    {
        i8 size = 1;
        for (int axis = SIDES - layout.rank; axis < SIDES; ++axis) size *= last(axis) - first(axis);
        return static_cast<double>(size);
    }

    __device__ double weighed(const Step& step, bool intercepts) const
    {
        double total = 0;
        for (int k = 0; k < step.other; ++k) {
            const i8 n = intercepts ? pixels - count(step.one + k) : count(step.one + k);
            const double part = times(static_cast<double>(n), formulas.weights[step.weight + k]);
            total = k ? plus(total, part) : part;
        }
        return total;
    }

    // Mean products of two distances from the centroid; sums wrap around, their differences are exact.
    __device__ Tensor covariance() const
    {
        Tensor tensor;
        const int rank = layout.rank, base = SIDES - rank;
        u8 near[3], rest[3];
        for (int i = 0; i < rank; ++i) {
            near[i] = static_cast<u8>(first(base + i)) + static_cast<u8>(static_cast<i8>(rint(local(base + i))));
            rest[i] = static_cast<u8>(sum(base + i)) - near[i] * static_cast<u8>(pixels);
        }
        int column = layout.seconds;
        for (int i = 0; i < rank; ++i)
            for (int j = i; j < rank; ++j, ++column) {
                const u8 sums = static_cast<u8>(sum(base + j));
                const u8 shifted = static_cast<u8>(count(column)) - near[i] * sums - near[j] * rest[i];
                const double mean = static_cast<double>(static_cast<i8>(rest[j])) / static_cast<double>(pixels);
                const double apart = minus(static_cast<double>(static_cast<i8>(shifted)),
                                           times(static_cast<double>(static_cast<i8>(rest[i])), mean));
                const double unit = times(formulas.spacing[base + i], formulas.spacing[base + j]);
                tensor.of[i][j] = tensor.of[j][i] = times(apart / static_cast<double>(pixels), unit);
            }
        return tensor;
    }

    __device__ Tensor inertia() const
    {
        Tensor tensor = covariance();
        const int rank = layout.rank;
        double squares[3] = {}, sum = 0;
        for (int i = 0; i < rank; ++i) {
            squares[i] = tensor.of[i][i];
            sum = i ? plus(sum, squares[i]) : squares[i];
        }
        for (int i = 0; i < rank; ++i)
            for (int j = 0; j < rank; ++j) tensor.of[i][j] = i == j ? minus(sum, squares[i]) : -tensor.of[i][j];
        return tensor;
    }

    // Lengths of the axes of the ellipse (ellipsoid) of equal second moments, longest first.
    __device__ void axes(double (&found)[3]) const
    {
        const int rank = layout.rank;
        eigenvalues(rank == 2 ? inertia() : covariance(), rank, found);
        for (int k = 0; k < rank; ++k) {
            const double value = not_negative(found[k]);
            found[k] = rank == 2 ? times(4, sqrt(value)) : sqrt(times(20, value));
        }
    }

    __device__ double deviation() const
    {
        const double count = static_cast<double>(pixels);
        const u8 n = static_cast<u8>(pixels);
        const u8 near = static_cast<u8>(static_cast<i8>(rint(static_cast<double>(static_cast<i8>(values[0])) / count)));
        const u8 rest = values[0] - near * n, around = values[3] - near * (values[0] + rest);
        const double apart = static_cast<double>(static_cast<i8>(rest));
        return minus(static_cast<double>(static_cast<i8>(around)), times(apart, apart / count));
    }
};

// Return the integer, or the bits of the float, that a formula gives.
__device__ inline u8 compute(const Row& row, const Step& step)
{
    const ImageLayout& layout = row.layout;
    const Formulas& formulas = row.formulas;
    constexpr double PI = 3.141592653589793;
    double result = 0, three[3];
    switch (step.formula) {
    case LABEL: return static_cast<u8>(row.label);
    case COUNT: return static_cast<u8>(row.count(step.one));
    case FIRST: return static_cast<u8>(row.first(step.one));
    case VALUE_SUM: return row.values[0];
    case TOUCHES: return row.touches();
    case WEIGHED:
    case INTERCEPTS: result = row.weighed(step, step.formula == INTERCEPTS); break;
    case BOX_SIZE: result = times(row.box(), formulas.pixel_size); break;
    case EXTENT: result = static_cast<double>(row.pixels) / row.box(); break;
    case CENTROID:
        result = times(plus(static_cast<double>(row.first(step.one)), row.local(step.one)), formulas.spacing[step.one]);
        break;
    case LOCAL: result = times(row.local(step.one), formulas.spacing[step.one]); break;
    case DIAMETER: {
        const double size = times(static_cast<double>(row.pixels), formulas.pixel_size);
        const double power = times(2 * layout.rank, size) / PI;
        result = layout.rank == 2 ? sqrt(power) : pow(power, 1.0 / layout.rank);
        break;
    }
    case CIRCULARITY: {
        const double length = row.weighed(step, true), size = times(static_cast<double>(row.pixels), formulas.pixel_size);
        result = times(4 * PI, size) / times(length, length);
        break;
    }
    case SPHERICITY: {
        const double side = cbrt(times(static_cast<double>(row.pixels), formulas.pixel_size));
        result = times(cbrt(36 * PI), times(side, side)) / row.weighed(step, true);
        break;
    }
    case TENSOR: result = row.inertia().of[step.one][step.other]; break;
    case EIGENVALUE:
        eigenvalues(row.inertia(), layout.rank, three);
        result = not_negative(three[step.one]);
        break;
    case AXIS:
        row.axes(three);
        result = three[step.one];
        break;
    case AXES_RATIO:
        row.axes(three);
        // An axis of 0 is the root of what rounding left of it.
        result = three[step.other] > times(THIN, three[0]) ? three[step.one] / three[step.other] : 1.0;
        break;
    case ECCENTRICITY: {
        eigenvalues(row.inertia(), 2, three);
        const double major = not_negative(three[0]), minor = not_negative(three[1]);
        result = sqrt(minus(1, major > 0 ? minor / major : 1.0));
        break;
    }
    case ORIENTATION: {
        const Tensor tensor = row.inertia();
        const double a = tensor.of[0][0], b = tensor.of[0][1], c = tensor.of[1][1];
        result = a == c ? (b < 0 ? PI / 4 : -PI / 4) : times(0.5, atan2(times(-2, b), minus(c, a)));
        break;
    }
    case VALUE_MEAN: result = static_cast<double>(static_cast<i8>(row.values[0])) / static_cast<double>(row.pixels); break;
    case VALUE_LOW: result = static_cast<double>(~row.values[1]); break;
    case VALUE_HIGH: result = static_cast<double>(row.values[2]); break;
    case VALUE_STD: result = sqrt(row.deviation() / static_cast<double>(row.pixels)); break;
    }
    return static_cast<u8>(__double_as_longlong(result));
}
