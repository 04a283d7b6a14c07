// What the lanes of a warp that hold the same label find out together, before one of them writes.
#pragma once

#include "devices/cuda/index.cuh"

// The lanes of `mask` whose label is that of this lane.
template <typename Label>
__device__ inline unsigned lanes_alike(unsigned mask, Label label)
{
#if __CUDA_ARCH__ >= 700
    return __match_any_sync(mask, label);
#else
    return 1u << threadIdx.x % 32;
#endif
}

// Sums, least and greatest over the lanes of a mask, which call these together.
__device__ inline unsigned sum_over(unsigned lanes, unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(lanes, value);
#else
    unsigned sum = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        sum += __shfl_sync(lanes, value, __ffs(rest) - 1);
    return sum;
#endif
}

__device__ inline unsigned most_of(unsigned lanes, unsigned value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(lanes, value);
#else
    unsigned most = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        most = max(most, __shfl_sync(lanes, value, __ffs(rest) - 1));
    return most;
#endif
}

__device__ inline u8 sum_over(unsigned lanes, u8 value)
{
    u8 sum = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        sum += __shfl_sync(lanes, value, __ffs(rest) - 1);
    return sum;
}

__device__ inline u8 most_of(unsigned lanes, u8 value)
{
    u8 most = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        most = max(most, __shfl_sync(lanes, value, __ffs(rest) - 1));
    return most;
}

// The bits that any lane of a warp has.
__device__ inline unsigned any_bits(unsigned bits)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL, bits);
#else
#pragma unroll
    for (int step = 16; step; step /= 2) bits |= __shfl_xor_sync(ALL, bits, step);
    return bits;
#endif
}

// Over all lanes of a warp, and over the lanes up to this one.
template <typename Value>
__device__ inline Value sum_of_all(Value value)
{
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ inline unsigned sum_up_to_lane(unsigned sum)
{
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step);
        if (threadIdx.x % 32 >= step) sum += other;
    }
    return sum;
}

// In the order of lanes, which is the same every time.
__device__ inline double sum_over(unsigned lanes, double value)
{
    double sum = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        sum += __shfl_sync(lanes, value, __ffs(rest) - 1);
    return sum;
}
