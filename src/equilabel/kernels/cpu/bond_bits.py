"""One bit of each of 64 sites at a time, as a word of 64 bits: which of their bonds are open."""

import numpy as np
from llvmlite import ir
from numba import types

from .bits import ALL, NONE, ONE
from .caching import njit
from .twins import twin
from .vectors import load, splat, word_of


def holds(sites, start, mask):
    """Set bits for those of 64 sites that have a bit of `mask`, a number of their type."""
    word = 0
    for k in range(64):
        if sites[start + k] & mask:
            word |= 1 << k
    return np.uint64(word)


@njit(nogil=True, cache=True)
def holds_within(sites, start, mask, width):
    """Do so for `width` sites, 64 at once where these exist; later bits are 0."""
    if start + 64 <= sites.size:
        return holds(sites, start, mask) & (ALL >> np.uint64(64 - width))
    word = NONE
    for k in range(width):
        if sites[start + k] & mask:
            word |= ONE << np.uint64(k)
    return word


@twin(holds, lambda sites, start, mask: types.uint64(sites, types.intp, sites.dtype))
def _holds(context, builder, signature, arguments):
    array, index, scalar = arguments
    vector = load(context, builder, signature.args[0], array, index)
    found = builder.and_(vector, splat(builder, scalar, vector.type))
    none = ir.Constant(vector.type, [0] * 64)
    return word_of(builder, builder.icmp_unsigned("!=", found, none))
