"""Words of 64 bits: how many are set, and which is the lowest.

Bit ``k`` of a word stands for pixel ``start + k``. Each function is plain Python, for reading and
for runs without a compiler, with a twin of a machine instruction that numba puts in its place.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LAST = np.uint64(63)


def popcount(word):
    """Count the bits of a word."""
    return int(word).bit_count()


def lowest(word):
    """Return the position of the lowest bit of a word that has one."""
    return (int(word) & -int(word)).bit_length() - 1


# -------------------------------------------------------------- compiled twins


@intrinsic
def _popcount(typingctx, word):
    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), code


@intrinsic
def _lowest(typingctx, word):
    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), code


@overload(popcount)
def _compiled_popcount(word):
    return lambda word: _popcount(word)


@overload(lowest)
def _compiled_lowest(word):
    return lambda word: _lowest(word)
