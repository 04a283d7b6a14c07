"""The hash XXH64 of an array of bytes, while other threads of Python run on.

The specification: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
"""

import numpy as np

from .caching import njit

P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


@njit(nogil=True, cache=True)
def rotated(word, bits):
    """Return a word of 64 bits, rotated to the left by 1 to 63 bits."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@njit(nogil=True, cache=True)
def mixed(lane, word):
    """Return a lane with one more word."""
    return rotated(lane + word * P2, 31) * P1


@njit(nogil=True, cache=True)
def folded(found, lane):
    """Return the hash with one more lane."""
    return (found ^ mixed(np.uint64(0), lane)) * P1 + P4


@njit(nogil=True, cache=True)
def xxh64(words, rest):
    """Return the XXH64, with seed 0, of words of 64 bits and the bytes that follow them.

    Parameters
    ----------
    words : (N,) array of uint64
        Little-endian, aligned.
    rest : (R,) array of uint8
        Less than 8.

    Returns
    -------
    uint64
    """
    stripes = words.size // 4
    if stripes:
        one, two, three, four = P1 + P2, P2, np.uint64(0), np.uint64(0) - P1
        for k in range(0, 4 * stripes, 4):
            one = mixed(one, words[k])
            two = mixed(two, words[k + 1])
            three = mixed(three, words[k + 2])
            four = mixed(four, words[k + 3])
        found = rotated(one, 1) + rotated(two, 7) + rotated(three, 12) + rotated(four, 18)
        for lane in (one, two, three, four):
            found = folded(found, lane)
    else:
        found = P5
    found += np.uint64(8 * words.size + rest.size)
    for k in range(4 * stripes, words.size):
        found = rotated(found ^ mixed(np.uint64(0), words[k]), 27) * P1 + P4
    at = 0
    if rest.size >= 4:
        word = np.uint64(0)
        for k in range(4):
            word |= np.uint64(rest[k]) << np.uint64(8 * k)
        found = rotated(found ^ (word * P1), 23) * P2 + P3
        at = 4
    for k in range(at, rest.size):
        found = rotated(found ^ (np.uint64(rest[k]) * P5), 11) * P1
    found = (found ^ (found >> np.uint64(33))) * P2
    found = (found ^ (found >> np.uint64(29))) * P3
    return found ^ (found >> np.uint64(32))
