// One thread per element, as in the papers. Indices are numpy.int64: images have no largest size.
#pragma once

typedef long long Index;

constexpr unsigned ALL = 0xffffffffu;  // lanes of a warp

// Types of pixels and numbers, as numpy.dtype.str has them: a launcher asks for scan<u1>.
typedef unsigned char u1;
typedef unsigned short u2;
typedef unsigned int u4;
typedef unsigned long long u8;
typedef signed char i1;
typedef short i2;
typedef int i4;
typedef long long i8;
typedef float f4;
typedef double f8;

__device__ inline Index thread_index()
{
    return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// The same where a thread has `batch` elements, this one the `b`th: a block has a stretch of them, and
// neighbors in a warp are neighbors in memory.
__device__ inline Index thread_index(int b, int batch)
{
    return (static_cast<Index>(blockIdx.x) * batch + b) * blockDim.x + threadIdx.x;
}
