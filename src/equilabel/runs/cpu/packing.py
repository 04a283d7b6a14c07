"""Packs pixels into bits: 64 pixels are compared at a time."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from equilabel.devices import threads
from equilabel.devices.cpu.bits import (
    ALL,
    LAST,
    NONE,
    ONE,
    load,
    lowest,
    popcount,
    smaller,
    splat,
    twin,
    word_of,
)
from equilabel.devices.jit import BORROWING, inlined, njit

from .run_table import locate, new_position, row_of

# ---- Comparisons of 64 pixels, which give a word of 64 bits
# Bit ``k`` of a word stands for pixel ``start + k``. Each function is plain Python, for readers and
# for use without a compiler; its twin of a few machine instructions is what numba compiles. Nothing
# is checked: arrays are flat and C-contiguous, and 64 pixels from every start must exist, except
# for functions named `..._within`.


def differs(pixels, start, value):
    """Return a word whose bits are set where 64 pixels differ from a value of their type."""
    word = 0
    for k in range(64):
        if pixels[start + k] != value:
            word |= 1 << k
    return np.uint64(word)


def exceeds(pixels, start, level):
    """Return a word whose bits are set where 64 pixels are greater than a level of their type."""
    word = 0
    for k in range(64):
        if pixels[start + k] > level:
            word |= 1 << k
    return np.uint64(word)


def is_whole(value):
    """Return whether a number is whole; integers always are."""
    return bool(np.isfinite(value)) and value == np.trunc(value)


def agrees(pixels, start, other):
    """Return a word whose bits are set where 64 pixels equal 64 others of the same array."""
    word = 0
    for k in range(64):
        if pixels[start + k] == pixels[other + k]:
            word |= 1 << k
    return np.uint64(word)


@njit(nogil=True, cache=True)
def agrees_within(pixels, start, other, width):
    """Return the same for `width` pixels; pixels outside the array never agree.

    Bits from `width` on are undefined.
    """
    if other >= 0 and start + 64 <= pixels.size and other + 64 <= pixels.size:
        return agrees(pixels, start, other)
    word = NONE
    for k in range(width):
        if 0 <= other + k < pixels.size and pixels[start + k] == pixels[other + k]:
            word |= ONE << np.uint64(k)
    return word


@inlined
def differs_within(pixels, start, value, width):
    """Return a word whose bits are set where `width` pixels differ from a value, and 0 after."""
    if start + 64 <= pixels.size:
        return differs(pixels, start, value) & (ALL >> np.uint64(64 - width))
    word = NONE
    for k in range(width):
        if pixels[start + k] != value:
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
    """Make the twin of a function that compares 64 pixels with a value."""

    @twin(function, lambda pixels, start, value: types.uint64(pixels, types.intp, pixels.dtype))
    def code(context, builder, signature, arguments):
        array, index, scalar = arguments
        vector = load(context, builder, signature.args[0], array, index)
        other = splat(builder, scalar, vector.type)
        return word_of(builder, _compare(builder, signature.args[0].dtype, sign, vector, other))


_comparing(differs, "!=")
_comparing(exceeds, ">")


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
    value, kind = arguments[0], f"f{signature.args[0].bitwidth}"
    truncate = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(value.type, [value.type]), f"llvm.trunc.{kind}"
    )
    rest = builder.fsub(value, builder.call(truncate, [value]))  # NaN if infinite
    return builder.fcmp_ordered("==", rest, ir.Constant(value.type, 0))


# ---- Passes that set bits where pixels are foreground and where runs begin

NOTHING, ONE_VALUE, SEVERAL = range(3)  # what `pack` found


@njit(nogil=True, cache=True, **BORROWING)
def pack(pixels, columns, background, bounded, binary, bits):
    """Set a bit for every pixel that is not background, as long as these share one value.

    `pixels` is (R * columns,), `bits` (R, words). `background` counts if `bounded`; if `binary`,
    all foreground is one value. Return `NOTHING`, `ONE_VALUE` or `SEVERAL` (unfinished), and the
    value.
    """
    found = NOTHING
    value = background
    for row in range(bits.shape[0]):
        for word in range(bits.shape[1]):
            start = row * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            foreground = ALL >> np.uint64(64 - width)
            if bounded:
                foreground = differs_within(pixels, start, background, width)
            if foreground != NONE:
                if found == NOTHING:
                    found = ONE_VALUE
                    value = pixels[start + lowest(foreground)]
                if not binary and differs_within(pixels, start, value, width) & foreground != NONE:
                    return SEVERAL, value
            bits[row, word] = foreground
    return found, value


CACHED = 2**17  # pixels that one thread compares, and packs while they are in the cache
PART = 2**14  # pixels that NumPy looks at while in the cache


def has_fractions(pixels, background, bounded):
    """Return whether some of (P,) pixels are not whole numbers, and not background if `bounded`."""
    if pixels.dtype.kind != "f":
        return False
    for first in range(0, len(pixels), PART):
        part = pixels[first : first + PART]
        with np.errstate(invalid="ignore"):
            odd = part - np.trunc(part) != 0  # NaN if infinite
        if odd.any() and not (bounded and (part[odd] == background).all()):
            return True
    return False


def pack_compared(pixels, columns, compare, level, bits):
    """Set a bit for every pixel for which `compare(pixel, level)` is not 0; see `pack`."""
    # Python starts each comparison, and threads wait for each other there: many take large pieces.
    rows, found = max(1, CACHED * threads.available() // columns), NOTHING
    for first in range(0, len(bits), rows):
        last = first + rows
        mask = compare(pixels[first * columns : last * columns], level)
        mask = mask.view(f"u{mask.itemsize}")
        met, _ = pack(mask, columns, mask.dtype.type(0), True, True, bits[first:last])
        found = max(found, met)
    return found, None


@njit(nogil=True, cache=True, **BORROWING)
def pack_values(pixels, columns, background, bounded, runs, first_row, last_row, counts):
    """Set bits where pixels are foreground and where runs of equal value begin, in a range of rows.

    `pixels` is (R * columns,), of all rows; blocks are single rows; ``counts[row + 1]`` is set to
    the number of runs of a row.
    """
    for row in range(first_row, last_row):
        total = 0
        for word in range(runs.bits.shape[1]):
            start = row * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            valid = ALL >> np.uint64(64 - width)
            foreground = differs_within(pixels, start, background, width) if bounded else valid
            equal = agrees_within(pixels, start, start - 1, width)
            if word == 0:
                equal &= ~ONE
            begins = foreground & ~equal
            runs.bits[row, word] = foreground
            runs.starts[row, word] = begins
            total += popcount(begins)
        counts[row + 1] = total


@njit(nogil=True, cache=True, **BORROWING)
def begin(runs, first_block, last_block, counts):
    """Set a bit where a run begins in the union of the rows of each block of a range.

    ``counts[block + 1]`` is set to the number of runs of a block.
    """
    grid, tall, empty = runs.grid, runs.tall, runs.bits.shape[0] - 1
    position = new_position()
    block = first_block
    while block < last_block:
        locate(block, grid, position)
        along = position[4]
        end = smaller(along + last_block - block, grid[4])
        position[4] = 0
        line0 = row_of(runs, position, 0, 0)
        line1 = row_of(runs, position, 1, 0) if runs.deep > 1 else empty
        for y in range(along * tall, end * tall, tall):
            below = y + 1 < runs.shape[4] and tall > 1
            row2 = row3 = empty
            if line1 != empty:
                row2 = line1 + y
                row3 = row2 + 1 if below else empty
            rows = line0 + y, line0 + y + 1 if below else empty, row2, row3
            counts[block + 1] = begin_block(runs, block, rows)
            block += 1


@inlined
def begin_block(runs, block, rows):
    """Set the bits of `starts` for one block, and return how many are set.

    `rows` are the four rows of the block; if it has fewer, the empty last row takes their place.
    """
    bits, starts = runs.bits, runs.starts
    row0, row1, row2, row3 = rows
    members = runs.deep * runs.tall
    total = 0
    carry = NONE
    for word in range(bits.shape[1]):
        union = bits[row0, word]
        if members > 1:
            union |= bits[row1, word]
        if members > 2:
            union |= bits[row2, word] | bits[row3, word]
        begins = union & ~((union << ONE) | carry)
        carry = union >> LAST
        starts[block, word] = begins
        total += popcount(begins)
    return total
