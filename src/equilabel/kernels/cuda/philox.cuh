// Random numbers that are computed from where and when they are needed: Philox 4x32-10 (Salmon, Moraes,
// Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, Proc. SC11, 2011, doi:10.1145/2063384.2063405).
// The same numbers as equilabel/kernels/cpu/philox.py, which says what the counter and the key are.
#pragma once
#include "index.cuh"

// What numbers are drawn for. Axes 4 and 5 take the purpose after.
constexpr unsigned SPINS = 0, BONDS = 1, STATES = 3, POINTS = 4, FLIPS = 6;

constexpr unsigned MULTIPLIERS[] = {0xD2511F53u, 0xCD9E8D57u}, WEYL[] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int ROUNDS = 10;

// The four words that a site draws in a sweep for one purpose.
__device__ inline uint4 philox(unsigned site, u8 sweep, unsigned purpose, u8 seed)
{
    uint4 words = make_uint4(site, static_cast<unsigned>(sweep),
                             static_cast<unsigned>(sweep >> 32), purpose);
    unsigned key = static_cast<unsigned>(seed), other = static_cast<unsigned>(seed >> 32);
#pragma unroll
    for (int turn = 0; turn < ROUNDS; ++turn) {
        if (turn > 0) {
            key += WEYL[0];
            other += WEYL[1];
        }
        const unsigned high = __umulhi(MULTIPLIERS[0], words.x), low = MULTIPLIERS[0] * words.x;
        const unsigned above = __umulhi(MULTIPLIERS[1], words.z), under = MULTIPLIERS[1] * words.z;
        words = make_uint4(above ^ words.y ^ key, under, high ^ words.w ^ other, low);
    }
    return words;
}

// One of four words; `k` is known where loops are unrolled, so that nothing is indexed in memory.
__device__ inline unsigned word_of(uint4 words, int k)
{
    return k == 0 ? words.x : k == 1 ? words.y : k == 2 ? words.z : words.w;
}

// A number of 0 to limit - 1 from a word; each comes up as often as any to 2**-32.
__device__ inline unsigned below(unsigned limit, unsigned word) { return __umulhi(word, limit); }
