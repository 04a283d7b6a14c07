"""Entries of arrays that several threads change: each function does its part in one step.

They are plain Python, for reading and for runs without a compiler, with twins of machine
instructions that numba puts in their place. What a thread wrote before is seen by a thread that
has seen its change.
"""

from threading import Lock

from numba import types

from .bits import address_of, twin

LOCK = Lock()


def compare_and_swap(array, index, expected, value):
    """Replace an entry if it is `expected`; return what it was."""
    with LOCK:
        before = array[index]
        if before == expected:
            array[index] = value
    return before


def read(array, index):
    """Return an entry of an array of int64."""
    with LOCK:
        return int(array[index])


def write(array, index, value):
    """Set an entry of an array of int64."""
    with LOCK:
        array[index] = value


def add(array, index, value):
    """Add to an entry of an array of int64; return what it was."""
    with LOCK:
        before = int(array[index])
        array[index] += value
    return before


# ------------------------------------------------------------- compiled twins


def _typed(array, index, expected, value):
    return array.dtype(array, types.intp, array.dtype, array.dtype)


@twin(compare_and_swap, _typed)
def _compare_and_swap(context, builder, signature, arguments):
    address = address_of(context, builder, signature.args[0], *arguments[:2])
    pair = builder.cmpxchg(address, arguments[2], arguments[3], "acq_rel", "acquire")
    return builder.extract_value(pair, 0)


@twin(read, lambda array, index: types.int64(array, types.intp))
def _read(context, builder, signature, arguments):
    address = address_of(context, builder, signature.args[0], *arguments)
    return builder.load_atomic(address, "acquire", 8)


@twin(write, lambda array, index, value: types.none(array, types.intp, types.int64))
def _write(context, builder, signature, arguments):
    address = address_of(context, builder, signature.args[0], *arguments[:2])
    builder.store_atomic(arguments[2], address, "release", 8)
    return context.get_dummy_value()


@twin(add, lambda array, index, value: types.int64(array, types.intp, types.int64))
def _add(context, builder, signature, arguments):
    address = address_of(context, builder, signature.args[0], *arguments[:2])
    return builder.atomic_rmw("add", address, arguments[2], "acq_rel")
