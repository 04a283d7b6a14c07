// How all blocks of a cooperative launch wait for each other.
#pragma once

#include "devices/cuda/index.cuh"

// The driver gives such a launch some memory, and its address in two registers: the highest bit of the second word
// turns once all blocks have come, and the others are 0 again.
__device__ inline void arrive_and_wait()
{
    unsigned high, low, before, now;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    const unsigned long long barrier = (static_cast<unsigned long long>(high) << 32 | low) + 4;
    const unsigned part = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(barrier), "r"(part) : "memory");
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(now) : "l"(barrier) : "memory");
    } while (!((before ^ now) >> 31));
}

__device__ inline void wait_for_blocks()
{
    __syncthreads();
    if (threadIdx.x == 0 && gridDim.x > 1) arrive_and_wait();
    __syncthreads();
}

// The same; until all have come, warps but the first do some work again and again. `done` is 0 in the beginning, in
// shared memory.
template <typename Work>
__device__ void wait_for_blocks_and(unsigned* done, const Work& work)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        if (gridDim.x > 1) arrive_and_wait();
        atomicExch(done, 1);
    } else if (threadIdx.x >= 32) {
        while (*static_cast<volatile unsigned*>(done) == 0) work();
    }
    __syncthreads();
}
