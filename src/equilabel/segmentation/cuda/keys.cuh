// Floats as whole numbers, so that the greatest of many is found by an atomic operation.
#pragma once

#include "devices/cuda/index.cuh"

// Whole numbers above 0 in the order of floats, and the floats that they stand for.
__device__ u4 key(f4 value)
{
    const u4 bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

__device__ u8 key(f8 value)
{
    const u8 bits = __double_as_longlong(value);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

__device__ f4 value_of(u4 key) { return __uint_as_float(key >> 31 ? key ^ 1u << 31 : ~key); }
__device__ f8 value_of(u8 key) { return __longlong_as_double(key >> 63 ? key ^ 1ull << 63 : ~key); }

template <typename Real>
using KeyOf = decltype(key(Real()));
