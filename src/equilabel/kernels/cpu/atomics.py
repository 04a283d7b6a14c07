"""Compare and swap: an entry of an array is changed only if no other thread was first.

The function is plain Python, for reading and for runs without a compiler, with a twin of a machine
instruction that numba puts in its place.
"""

from threading import Lock

from numba import types

from .twins import twin
from .vectors import address_of

LOCK = Lock()


def compare_and_swap(array, index, expected, value):
    """Replace an entry if it is `expected`; return what it was."""
    with LOCK:
        before = array[index]
        if before == expected:
            array[index] = value
    return before


# -------------------------------------------------------------- compiled twin


def _typed(array, index, expected, value):
    return array.dtype(array, types.intp, array.dtype, array.dtype)


@twin(compare_and_swap, _typed)
def _compare_and_swap(context, builder, signature, arguments):
    address = address_of(context, builder, signature.args[0], *arguments[:2])
    pair = builder.cmpxchg(address, arguments[2], arguments[3], "acq_rel", "acquire")
    return builder.extract_value(pair, 0)
