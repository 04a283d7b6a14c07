"""Compare and swap: an entry of an array is changed only if no other thread was first.

The function is plain Python, for reading and for runs without a compiler, with a twin of a machine
instruction that numba puts in its place.
"""

from threading import Lock

from numba import types
from numba.extending import intrinsic, overload

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


@intrinsic
def _compare_and_swap(typingctx, array, index, expected, value):
    element = array.dtype

    def code(context, builder, signature, arguments):
        address = address_of(context, builder, signature.args[0], *arguments[:2])
        pair = builder.cmpxchg(address, arguments[2], arguments[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return element(array, types.intp, element, element), code


@overload(compare_and_swap)
def _compiled_compare_and_swap(array, index, expected, value):
    return lambda array, index, expected, value: _compare_and_swap(array, index, expected, value)
