"""Sixty-four pixels at a time: comparisons that give a 64-bit word, and words that are painted.

Bit ``k`` of a word stands for pixel ``start + k``. Each function below is plain Python, for
reading and for runs without a compiler, with a twin of a few machine instructions that numba
puts in its place. Nothing is checked: arrays are flat and C-contiguous, and 64 pixels from every
start must exist.
"""

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .caching import njit

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LAST = np.uint64(63)
ABOVE, UP_TO, BELOW = range(3)


def popcount(word):
    """Count the bits of a word."""
    return int(word).bit_count()


def lowest(word):
    """Return the position of the lowest bit of a word that has one."""
    return (int(word) & -int(word)).bit_length() - 1


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
    """Tell whether a number is whole; integers always are."""
    return bool(np.isfinite(value)) and value == np.trunc(value)


def agrees(pixels, start, other):
    """Compare 64 pixels with 64 others of the same array; bits are set where they agree."""
    word = 0
    for k in range(64):
        if pixels[start + k] == pixels[other + k]:
            word |= 1 << k
    return np.uint64(word)


def paint(labels, start, word, label):
    """Write `label` where a bit is set, 0 where none is, to 64 pixels."""
    for k in range(64):
        labels[start + k] = label if (int(word) >> k) & 1 else 0


def blend(labels, start, word, label):
    """Write `label` where a bit is set; leave the other pixels of 64 as they are."""
    for k in range(64):
        if (int(word) >> k) & 1:
            labels[start + k] = label


def spread(labels, start, word, begins, run, table):
    """Write eight pixels: that of the latest run begun where a bit is set, 0 where none is.

    Parameters
    ----------
    word, begins : int
        Eight bits each: foreground, and where runs begin.
    run : int
        The run that comes in from the left.
    table : (>= run + 9,) array
        Label of each run.
    """
    for k in range(8):
        run += (int(begins) >> k) & 1
        labels[start + k] = table[run] if (int(word) >> k) & 1 else 0


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


def _vector(pixels):
    if isinstance(pixels.dtype, types.Float):
        element = ir.FloatType() if pixels.dtype.bitwidth == 32 else ir.DoubleType()
        return ir.VectorType(element, 64)
    return ir.VectorType(ir.IntType(pixels.dtype.bitwidth), 64)


def _compare(builder, dtype, sign, left, right):
    """Compare two vectors; NaN differs from everything, and is neither greater nor less."""
    if isinstance(dtype, types.Float):
        if sign == "!=":
            return builder.fcmp_unordered(sign, left, right)
        return builder.fcmp_ordered(sign, left, right)
    if dtype.signed:
        return builder.icmp_signed(sign, left, right)
    return builder.icmp_unsigned(sign, left, right)


def _address(context, builder, array_type, array, start):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [start], inbounds=True)


def _load(context, builder, array_type, array, start):
    vector = _vector(array_type)
    address = _address(context, builder, array_type, array, start)
    pointer = builder.bitcast(address, vector.as_pointer())
    value = builder.load(pointer, typ=vector)
    value.align = array_type.dtype.bitwidth // 8
    return value


def _store(context, builder, array_type, array, start, value):
    address = _address(context, builder, array_type, array, start)
    pointer = builder.bitcast(address, value.type.as_pointer())
    builder.store(value, pointer, align=array_type.dtype.bitwidth // 8)


def _splat(builder, scalar, vector):
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)


def _lanes(builder, word):
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))


def _word(builder, lanes):
    return builder.bitcast(lanes, ir.IntType(64))


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


@intrinsic
def _differs(typingctx, pixels, start, value):
    def code(context, builder, signature, arguments):
        array, index, scalar = arguments
        vector = _load(context, builder, signature.args[0], array, index)
        other = _splat(builder, scalar, vector.type)
        return _word(builder, _compare(builder, signature.args[0].dtype, "!=", vector, other))

    return types.uint64(pixels, types.intp, pixels.dtype), code


def _comparing(sign):
    """Make the intrinsic that compares 64 pixels with a level."""

    @intrinsic
    def compare(typingctx, pixels, start, level):
        def code(context, builder, signature, arguments):
            array, index, scalar = arguments
            vector = _load(context, builder, signature.args[0], array, index)
            other = _splat(builder, scalar, vector.type)
            return _word(builder, _compare(builder, signature.args[0].dtype, sign, vector, other))

        return types.uint64(pixels, types.intp, pixels.dtype), code

    return compare


_exceeds, _precedes = _comparing(">"), _comparing("<")


@intrinsic
def _fractional(typingctx, pixels, start):
    def code(context, builder, signature, arguments):
        array, index = arguments
        vector = _load(context, builder, signature.args[0], array, index)
        name = f"llvm.trunc.v64f{signature.args[0].dtype.bitwidth}"
        truncate = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector.type, [vector.type]), name
        )
        whole = builder.call(truncate, [vector])
        zero = builder.fsub(vector, vector)  # NaN for what is infinite
        torn = builder.fcmp_unordered("!=", whole, vector)
        return _word(builder, builder.or_(torn, builder.fcmp_unordered("uno", zero, zero)))

    return types.uint64(pixels, types.intp), code


@intrinsic
def _agrees(typingctx, pixels, start, other):
    def code(context, builder, signature, arguments):
        array, index, second = arguments
        left = _load(context, builder, signature.args[0], array, index)
        right = _load(context, builder, signature.args[0], array, second)
        return _word(builder, _compare(builder, signature.args[0].dtype, "==", left, right))

    return types.uint64(pixels, types.intp, types.intp), code


@intrinsic
def _paint(typingctx, labels, start, word, label):
    def code(context, builder, signature, arguments):
        array, index, bits, scalar = arguments
        vector = _vector(signature.args[0])
        painted = builder.select(
            _lanes(builder, bits), _splat(builder, scalar, vector), ir.Constant(vector, None)
        )
        _store(context, builder, signature.args[0], array, index, painted)
        return context.get_dummy_value()

    return types.void(labels, types.intp, types.uint64, labels.dtype), code


@intrinsic
def _blend(typingctx, labels, start, word, label):
    def code(context, builder, signature, arguments):
        array, index, bits, scalar = arguments
        before = _load(context, builder, signature.args[0], array, index)
        painted = builder.select(
            _lanes(builder, bits), _splat(builder, scalar, before.type), before
        )
        _store(context, builder, signature.args[0], array, index, painted)
        return context.get_dummy_value()

    return types.void(labels, types.intp, types.uint64, labels.dtype), code


PERMUTES = bool(get_host_cpu_features().get("avx2"))  # picks eight 32-bit numbers at once
RANKS = np.array(
    [
        [int(byte & ((2 << k) - 1)).bit_count() - (byte & 1) for k in range(8)]
        for byte in range(256)
    ],
    dtype=np.uint8,
).reshape(-1)


@intrinsic
def _spread8(typingctx, labels, start, word, table, origin, ranks, row):
    """Pick ``table[origin + ranks[row + k]]``, or 0, for eight pixels ``k``."""

    def code(context, builder, signature, arguments):
        array, index, bits, source, begin, lookup, place = arguments
        labels_type, _, _, table_type, _, ranks_type, _ = signature.args
        i32 = ir.VectorType(ir.IntType(32), 8)
        i8 = ir.VectorType(ir.IntType(8), 8)

        def load(array_type, value, offset, vector):
            address = _address(context, builder, array_type, value, offset)
            loaded = builder.load(builder.bitcast(address, vector.as_pointer()), typ=vector)
            loaded.align = array_type.dtype.bitwidth // 8
            return loaded

        values = load(table_type, source, begin, i32)
        order = builder.zext(load(ranks_type, lookup, place, i8), i32)
        permute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(i32, [i32, i32]), "llvm.x86.avx2.permd"
        )
        picked = builder.call(permute, [values, order])
        lanes = builder.bitcast(builder.trunc(bits, ir.IntType(8)), ir.VectorType(ir.IntType(1), 8))
        painted = builder.select(lanes, picked, ir.Constant(i32, None))
        width = labels_type.dtype.bitwidth
        if width != 32:
            vector = ir.VectorType(ir.IntType(width), 8)
            change = builder.sext if width > 32 else builder.trunc
            painted = change(painted, vector)
        address = _address(context, builder, labels_type, array, index)
        pointer = builder.bitcast(address, painted.type.as_pointer())
        builder.store(painted, pointer, align=width // 8)
        return context.get_dummy_value()

    return types.void(labels, types.intp, types.uint64, table, types.intp, ranks, types.intp), code


@overload(spread)
def _compiled_spread(labels, start, word, begins, run, table):
    if table.dtype == types.int32 and PERMUTES:
        # Ranks count from the first run begun if that is at bit 0, and from `run` otherwise.
        def code(labels, start, word, begins, run, table):
            _spread8(
                labels,
                start,
                word,
                table,
                run + np.int64(begins & ONE),
                RANKS,
                8 * np.int64(begins),
            )
    else:

        def code(labels, start, word, begins, run, table):
            for k in range(8):
                shift = np.uint64(k)
                run += np.int64((begins >> shift) & ONE)
                labels[start + k] = table[run] * np.int64((word >> shift) & ONE)

    return code


@overload(popcount)
def _compiled_popcount(word):
    return lambda word: _popcount(word)


@overload(lowest)
def _compiled_lowest(word):
    return lambda word: _lowest(word)


@overload(differs)
def _compiled_differs(pixels, start, value):
    return lambda pixels, start, value: _differs(pixels, start, value)


@overload(exceeds)
def _compiled_exceeds(pixels, start, level):
    return lambda pixels, start, level: _exceeds(pixels, start, level)


@overload(precedes)
def _compiled_precedes(pixels, start, level):
    return lambda pixels, start, level: _precedes(pixels, start, level)


@overload(fractional)
def _compiled_fractional(pixels, start):
    if isinstance(pixels.dtype, types.Float):
        return lambda pixels, start: _fractional(pixels, start)
    return lambda pixels, start: NONE


@overload(is_whole)
def _compiled_is_whole(value):
    if isinstance(value, types.Float):
        return lambda value: np.isfinite(value) and value == np.trunc(value)
    return lambda value: True


@overload(agrees)
def _compiled_agrees(pixels, start, other):
    return lambda pixels, start, other: _agrees(pixels, start, other)


@overload(paint)
def _compiled_paint(labels, start, word, label):
    return lambda labels, start, word, label: _paint(labels, start, word, label)


@overload(blend)
def _compiled_blend(labels, start, word, label):
    return lambda labels, start, word, label: _blend(labels, start, word, label)
