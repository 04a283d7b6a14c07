// First pass of `runs`: pixels to bits, and components of every tile by its runs, in shared memory.
#include "find_tile.cuh"

template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS, Tile::Blocks)
    find_tiles(const Job job)
{
    __shared__ TileMemory<Tile> memory;
    find_tile<Pixel, Id, Tile>(job, blockIdx.x, memory);
}
