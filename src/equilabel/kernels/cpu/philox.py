"""Random numbers that are computed from where and when they are needed: Philox 4x32-10.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
Proc. SC11 (2011), doi:10.1145/2063384.2063405. A generator has no state: four words of 32 bits are
a function of a counter and a key, so every site has its own numbers in every sweep, whichever
thread or device asks for them. The counter is (site, low word of the sweep, high word of the
sweep, purpose); the key is the seed.
"""

from __future__ import annotations

import numpy as np

from .caching import inlined

# What numbers are drawn for: the last word of the counter. Axes 4 and 5 take the purpose after.
SPINS, BONDS, STATES, POINTS, FLIPS = 0, 1, 3, 4, 6

ROUNDS = 10
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@inlined
def philox(site, sweep, purpose, seed):
    """Return the four words that a site draws in a sweep for one purpose.

    Parameters
    ----------
    site : int
        Below 2**32; not checked.
    sweep : uint64
    purpose : int
        `SPINS`, `BONDS`, ...
    seed : uint64

    Returns
    -------
    tuple of four uint64
        Each below 2**32.
    """
    zero, one = np.uint64(site), sweep & LOW
    two, three = sweep >> HALF, np.uint64(purpose)
    key, other = seed & LOW, seed >> HALF
    for turn in range(ROUNDS):
        if turn > 0:
            key = (key + WEYL[0]) & LOW
            other = (other + WEYL[1]) & LOW
        first = MULTIPLIERS[0] * zero
        second = MULTIPLIERS[1] * two
        zero = (second >> HALF) ^ one ^ key
        one = second & LOW
        two = (first >> HALF) ^ three ^ other
        three = first & LOW
    return zero, one, two, three


@inlined
def below(limit, word):
    """Turn a word into a number of 0 to `limit` - 1; each comes up as often as any to 2**-32."""
    return (word * np.uint64(limit)) >> HALF
