"""Labels written under the bits of a word: 64 pixels at a time, or eight with different labels.

Each function is plain Python, with a twin of a few machine instructions that numba puts in its
place. Nothing is checked: arrays are flat and C-contiguous, and all pixels of a word must exist.
"""

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .bits import ONE
from .vectors import address_of, lanes_of, load, splat, store, vector_of


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


def stream(line, labels, start):
    """Copy 64 labels past the caches; `start` lies at a multiple of 16 bytes."""
    labels[start : start + 64] = line[:64]


def stream_one(labels, start, word, label):
    """Do as `paint`, past the caches; `start` lies at a multiple of 16 bytes."""
    paint(labels, start, word, label)


def fence():
    """Let other threads see what was streamed."""


# -------------------------------------------------------------- compiled twins


def _store_past_caches(context, builder, array_type, array, start, value):
    """Store a vector from an element on that lies at a multiple of 16 bytes."""
    address = address_of(context, builder, array_type, array, start)
    stored = builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=16)
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))


@intrinsic
def _stream(typingctx, line, labels, start):
    def code(context, builder, signature, arguments):
        source, array, index = arguments
        painted = load(context, builder, signature.args[0], source, ir.IntType(64)(0))
        _store_past_caches(context, builder, signature.args[1], array, index, painted)
        return context.get_dummy_value()

    return types.void(line, labels, types.intp), code


@intrinsic
def _stream_one(typingctx, labels, start, word, label):
    def code(context, builder, signature, arguments):
        array, index, bits, scalar = arguments
        vector = vector_of(signature.args[0])
        painted = builder.select(
            lanes_of(builder, bits), splat(builder, scalar, vector), ir.Constant(vector, None)
        )
        _store_past_caches(context, builder, signature.args[0], array, index, painted)
        return context.get_dummy_value()

    return types.void(labels, types.intp, types.uint64, labels.dtype), code


@intrinsic
def _fence(typingctx):
    def code(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), code


@overload(stream)
def _compiled_stream(line, labels, start):
    return lambda line, labels, start: _stream(line, labels, start)


@overload(stream_one)
def _compiled_stream_one(labels, start, word, label):
    return lambda labels, start, word, label: _stream_one(labels, start, word, label)


@overload(fence)
def _compiled_fence():
    return lambda: _fence()


@intrinsic
def _paint(typingctx, labels, start, word, label):
    def code(context, builder, signature, arguments):
        array, index, bits, scalar = arguments
        vector = vector_of(signature.args[0])
        painted = builder.select(
            lanes_of(builder, bits), splat(builder, scalar, vector), ir.Constant(vector, None)
        )
        store(context, builder, signature.args[0], array, index, painted)
        return context.get_dummy_value()

    return types.void(labels, types.intp, types.uint64, labels.dtype), code


@intrinsic
def _blend(typingctx, labels, start, word, label):
    def code(context, builder, signature, arguments):
        array, index, bits, scalar = arguments
        before = load(context, builder, signature.args[0], array, index)
        painted = builder.select(
            lanes_of(builder, bits), splat(builder, scalar, before.type), before
        )
        store(context, builder, signature.args[0], array, index, painted)
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

        def load_8(array_type, value, offset, vector):
            address = address_of(context, builder, array_type, value, offset)
            loaded = builder.load(builder.bitcast(address, vector.as_pointer()), typ=vector)
            loaded.align = array_type.dtype.bitwidth // 8
            return loaded

        values = load_8(table_type, source, begin, i32)
        order = builder.zext(load_8(ranks_type, lookup, place, i8), i32)
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
        address = address_of(context, builder, labels_type, array, index)
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


@overload(paint)
def _compiled_paint(labels, start, word, label):
    return lambda labels, start, word, label: _paint(labels, start, word, label)


@overload(blend)
def _compiled_blend(labels, start, word, label):
    return lambda labels, start, word, label: _blend(labels, start, word, label)
