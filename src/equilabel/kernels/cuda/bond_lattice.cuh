// A lattice of bonds: its steps, and the bonds of 32 sites at a time as bits.
#pragma once
#include "bits.cuh"

constexpr int MOST_STEPS = 64;  // bits of a site

struct Lattice {
    int count, along, down;  // steps; which leads along rows, which to the row below; -1 for none
    signed char step[MOST_STEPS][AXES + 1];
    signed char periodic[AXES + 1];
};

// Up to 32 sites of a row. Bytes are kept in registers, others are read again for every step.
template <typename Word>
struct Sites {
    const Word* first;
    int count;
    unsigned quads[sizeof(Word) == 1 ? 8 : 1];

    // `aligned` says that words of 32 sites begin at multiples of 16 bytes.
    __device__ Sites(const Word* sites, int count, bool aligned) : first(sites), count(count)
    {
        if constexpr (sizeof(Word) == 1) {
            if (aligned && count == 32) {
                const uint4* pair = reinterpret_cast<const uint4*>(sites);
                const uint4 low = __ldg(pair), high = __ldg(pair + 1);
                quads[0] = low.x, quads[1] = low.y, quads[2] = low.z, quads[3] = low.w;
                quads[4] = high.x, quads[5] = high.y, quads[6] = high.z, quads[7] = high.w;
                return;
            }
#pragma unroll
            for (int k = 0; k < 32; ++k) {
                const unsigned site = k < count ? sites[k] : 0;
                quads[k / 4] = k % 4 ? quads[k / 4] | site << 8 * (k % 4) : site;
            }
        }
    }

    // Bit c is the bond of site c along a step.
    __device__ unsigned plane(int step) const
    {
        unsigned word = 0;
        if constexpr (sizeof(Word) == 1) {
#pragma unroll
            for (int j = 7; j >= 0; --j)  // the product brings four bits side by side to the top
                word = __funnelshift_l((quads[j] >> step & 0x01010101u) * 0x10204080u, word, 4);
        } else {
            for (int k = 0; k < count; ++k) word |= static_cast<unsigned>(first[k] >> step & 1) << k;
        }
        return word;
    }
};

// Where bonds join runs that bonds before them do not: not where the bond beside one is open too and both
// sites at either end are in one run, as the four make a square of which three sides are open.
// `ours` and `theirs` say where runs begin among the sites, and among those that bonds lead to.
template <int Words>
__device__ inline unsigned new_joins(unsigned bonds, unsigned ours, unsigned theirs)
{
    return bonds & (~from_left<Words>(bonds) | ours | theirs);
}
