// Copies from memory of the device to shared memory that a thread starts and waits for later: they need no
// registers meanwhile.
#pragma once

#include "devices/cuda/index.cuh"

// Start to copy 4, 8 or 16 bytes, or to write zeros if they do not exist.
template <int BYTES>
__device__ inline void copy_async(void* to, const void* from, bool exists)
{
#if __CUDA_ARCH__ >= 800
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to)), bytes = exists ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(BYTES),
                     "r"(bytes)
                     : "memory");
#else
    for (int k = 0; k < BYTES / 4; ++k)
        static_cast<u4*>(to)[k] = exists ? static_cast<const u4*>(from)[k] : 0;
#endif
}

// All copies that were started since the last call belong together.
__device__ inline void close_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Wait until copies of a thread have ended, but for the last `LEFT` groups.
template <int LEFT>
__device__ inline void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}
