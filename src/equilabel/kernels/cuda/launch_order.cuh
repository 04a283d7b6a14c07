// Kernels that begin while the one before them ends, as `start_following` starts them.
//
// Only `number_nodes`, `paint` and `fill_columns` do, and they wait before they read or write what kernels
// before them know of. So whatever came before the kernel that they follow has ended too: that kernel was
// started after it, or waited for it. Of the tables of runs, `number_nodes` and `paint` use some before they
// wait: those that the first pass, which finds tiles, wrote and nobody writes since. It had ended when the
// pass that unites began, and where there is no such pass, `number_nodes` is started after it.
#pragma once

// Blocks of the next kernel may take the places that this one leaves, once all of its own have begun.
__device__ inline void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Wait until the kernel before this one has ended, and what it wrote can be seen.
__device__ inline void wait_for_last()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
