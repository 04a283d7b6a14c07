"""Comparisons of 64 pixels at a time, which give a word of 64 bits.

Bit ``k`` of a word stands for pixel ``start + k``. Each function is plain Python, for reading and
for runs without a compiler, with a twin of a few machine instructions that numba puts in its
place. Nothing is checked: arrays are flat and C-contiguous, and 64 pixels from every start must
exist, but for functions named `..._within`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .bits import ALL, NONE, ONE
from .caching import njit
from .twins import twin
from .vectors import load, splat, word_of

ABOVE, UP_TO, BELOW = range(3)


def differs(pixels, start, value):
    """Compare 64 pixels with a value of their own type; bits are set where they differ."""
    word = 0
    for k in range(64):
        if pixels[start + k] != value:
            word |= 1 << k
    return np.uint64(word)


def exceeds(pixels, start, level):
    """Compare 64 pixels with a level of their own type; bits are set where they are greater."""
    word = 0
    for k in range(64):
        if pixels[start + k] > level:
            word |= 1 << k
    return np.uint64(word)


def precedes(pixels, start, level):
    """Compare 64 pixels with a level of their own type; bits are set where they are less."""
    word = 0
    for k in range(64):
        if pixels[start + k] < level:
            word |= 1 << k
    return np.uint64(word)


def fractional(pixels, start):
    """Set bits where one of 64 floats is no whole number: it has a fraction, is infinite or NaN."""
    word = 0
    for k in range(64):
        if not is_whole(pixels[start + k]):
            word |= 1 << k
    return np.uint64(word)


def is_whole(value):
    """Return whether a number is whole; integers always are."""
    return bool(np.isfinite(value)) and value == np.trunc(value)


def agrees(pixels, start, other):
    """Compare 64 pixels with 64 others of the same array; bits are set where they agree."""
    word = 0
    for k in range(64):
        if pixels[start + k] == pixels[other + k]:
            word |= 1 << k
    return np.uint64(word)


@njit(nogil=True, cache=True)
def agrees_within(pixels, start, other, width):
    """Compare `width` pixels with others, 64 at once where these exist; none outside the array.

    Bits from `width` on are undefined.
    """
    if 0 <= other and start + 64 <= pixels.size and other + 64 <= pixels.size:
        return agrees(pixels, start, other)
    word = NONE
    for k in range(width):
        if 0 <= other + k < pixels.size and pixels[start + k] == pixels[other + k]:
            word |= ONE << np.uint64(k)
    return word


@njit(nogil=True, cache=True)
def differs_within(pixels, start, value, width):
    """Compare `width` pixels with a value, 64 at once where these exist; later bits are 0."""
    if start + 64 <= pixels.size:
        return differs(pixels, start, value) & (ALL >> np.uint64(64 - width))
    word = NONE
    for k in range(width):
        if pixels[start + k] != value:
            word |= ONE << np.uint64(k)
    return word


@njit(nogil=True, cache=True)
def compares_within(pixels, start, level, compare, width):
    """Compare `width` pixels with a level, 64 at once where these exist; later bits are 0.

    Parameters
    ----------
    compare : int
        `ABOVE`, `UP_TO` or `BELOW`: whether pixels are greater than the level, not greater, or
        less. NaN never compares.
    """
    if start + 64 <= pixels.size:
        if compare == ABOVE:
            word = exceeds(pixels, start, level)
        else:
            word = precedes(pixels, start, level)
            if compare == UP_TO:
                word |= ~differs(pixels, start, level)
        return word & (ALL >> np.uint64(64 - width))
    word = NONE
    for k in range(width):
        value = pixels[start + k]
        found = value > level if compare == ABOVE else value < level
        if found or (compare == UP_TO and value == level):
            word |= ONE << np.uint64(k)
    return word


@njit(nogil=True, cache=True)
def fractional_within(pixels, start, width):
    """Set bits where one of `width` numbers is not whole; later bits are 0."""
    if start + 64 <= pixels.size:
        return fractional(pixels, start) & (ALL >> np.uint64(64 - width))
    word = NONE
    for k in range(width):
        if not is_whole(pixels[start + k]):
            word |= ONE << np.uint64(k)
    return word


# -------------------------------------------------------------- compiled twins


def _compare(builder, dtype, sign, left, right):
    """Compare two vectors; NaN differs from everything, and is neither greater nor less."""
    if isinstance(dtype, types.Float):
        if sign == "!=":
            return builder.fcmp_unordered(sign, left, right)
        return builder.fcmp_ordered(sign, left, right)
    if dtype.signed:
        return builder.icmp_signed(sign, left, right)
    return builder.icmp_unsigned(sign, left, right)


def _comparing(function, sign):
    """Make the twin that compares 64 pixels with a value."""

    @twin(function, lambda pixels, start, value: types.uint64(pixels, types.intp, pixels.dtype))
    def code(context, builder, signature, arguments):
        array, index, scalar = arguments
        vector = load(context, builder, signature.args[0], array, index)
        other = splat(builder, scalar, vector.type)
        return word_of(builder, _compare(builder, signature.args[0].dtype, sign, vector, other))


_comparing(differs, "!=")
_comparing(exceeds, ">")
_comparing(precedes, "<")


@twin(agrees, lambda pixels, start, other: types.uint64(pixels, types.intp, types.intp))
def _agrees(context, builder, signature, arguments):
    array, index, second = arguments
    left = load(context, builder, signature.args[0], array, index)
    right = load(context, builder, signature.args[0], array, second)
    return word_of(builder, _compare(builder, signature.args[0].dtype, "==", left, right))


@twin(is_whole, lambda value: types.boolean(value))
def _is_whole(context, builder, signature, arguments):
    if not isinstance(signature.args[0], types.Float):
        return cgutils.true_bit
    return _whole(builder, arguments[0], f"f{signature.args[0].bitwidth}")


@twin(fractional, lambda pixels, start: types.uint64(pixels, types.intp))
def _fractional(context, builder, signature, arguments):
    kind = signature.args[0].dtype
    if not isinstance(kind, types.Float):
        return ir.IntType(64)(0)
    vector = load(context, builder, signature.args[0], *arguments)
    return word_of(builder, builder.not_(_whole(builder, vector, f"v64f{kind.bitwidth}")))


def _whole(builder, value, kind):
    """Compare a float, or each of a vector, with itself without its fraction."""
    truncate = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(value.type, [value.type]), f"llvm.trunc.{kind}"
    )
    whole = builder.fcmp_ordered("==", builder.call(truncate, [value]), value)
    difference = builder.fsub(value, value)  # NaN for what is infinite
    return builder.and_(whole, builder.fcmp_ordered("ord", difference, difference))
