// Kernels that begin while the one before them ends, as `start_following` starts them.
//
// Only `number_nodes`, `paint` and `fill_columns` do. Before they wait, the first two read only what the first
// pass, which finds tiles, has written and no kernel in between writes: `bits`, `begins`, `counts`, and in
// `number_nodes` `states`. The first pass had ended before the pass that unites began; where there is no such
// pass, `number_nodes` is started after the first one. All else they read and write after they have waited. By
// then all earlier kernels have ended: the kernel that they follow was started after those, or waited for them.
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
