// First pass of `runs`: pixels to bits, and components of every tile by its runs, in shared memory.
#include "find_pairs.cuh"

template <typename Pixel, typename Id, typename Tile>
__global__ void __launch_bounds__(THREADS, Tile::Blocks)
    find_tiles(const __grid_constant__ Job job)
{
    __shared__ TileMemory<Tile> memory;
    find_tile<Pixel, Id, Tile>(job, blockIdx.x, memory);
}

// The same where all pixels that share a corner are neighbors, and foreground is one value.
template <typename Pixel, typename Id, typename PairTile>
__global__ void __launch_bounds__(THREADS, PairTile::Blocks)
    find_tile_pairs(const __grid_constant__ Job job)
{
    __shared__ PairMemory<PairTile> memory;
    find_pairs<Pixel, Id, PairTile>(job, blockIdx.x, memory);
}
