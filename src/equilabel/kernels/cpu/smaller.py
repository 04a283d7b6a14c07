"""The smaller and the larger of two whole numbers.

They are numba's `min` and `max`, which would be compiled anew for each pair of types that is given.
"""

from numba import types

from .twins import twin


def smaller(a, b):
    """Return the smaller of two integers, as one of 64 bits."""
    return min(a, b)


def larger(a, b):
    """Return the larger of two integers, as one of 64 bits."""
    return max(a, b)


# -------------------------------------------------------------- compiled twins


def _typed(a, b):
    return types.int64(types.int64, types.int64)


@twin(smaller, _typed)
def _smaller(context, builder, signature, arguments):
    return builder.select(builder.icmp_signed("<", *arguments), *arguments)


@twin(larger, _typed)
def _larger(context, builder, signature, arguments):
    return builder.select(builder.icmp_signed(">", *arguments), *arguments)
