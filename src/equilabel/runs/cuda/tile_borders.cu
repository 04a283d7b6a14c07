// Second pass of `runs`: unite nodes where tiles meet.

#include "runs/cuda/join_tiles.cuh"

template <typename Pixel, typename Id, typename Tile, typename Edges>
__global__ void __launch_bounds__(JOINERS<Tile>, JOINED<Id, Tile>)
    join_tiles(const __grid_constant__ Job job, const __grid_constant__ Edges edges)
{
    __shared__ JoinMemory<JOINERS<Tile>> memory;
    join_block<Pixel, Id, Tile>(job, edges, static_cast<Index>(blockIdx.x), memory);
}
