"""Writes labels where the bits of a word are set, 64 pixels at a time."""

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

from equilabel.devices.cpu.bits import (
    NONE,
    ONE,
    address_of,
    lanes_of,
    load,
    popcount,
    smaller,
    splat,
    store,
    twin,
    vector_of,
)
from equilabel.devices.jit import BORROWING, called, inlined, njit

from .run_table import AXES, advance, block_at, locate, new_position

# ---- Labels of 64 pixels at a time, or of eight with different labels
# Each function is plain Python, with a twin of a few machine instructions that numba compiles.
# Nothing is checked: arrays are flat and C-contiguous, and all pixels of a word must exist.


def paint(labels, start, word, label):
    """Write `label` to those of 64 pixels whose bit is set, and 0 to the others."""
    for k in range(64):
        labels[start + k] = label if (int(word) >> k) & 1 else 0


def blend(labels, start, word, label):
    """Write `label` to those of 64 pixels whose bit is set, and leave the others as they are."""
    for k in range(64):
        if (int(word) >> k) & 1:
            labels[start + k] = label


def spread(labels, start, word, begins, run, table):
    """Write eight pixels: the label of the latest run where a bit of `word` is set, 0 elsewhere.

    `word` and `begins` hold eight bits each: foreground, and where runs begin. `run` is the run
    that continues from the left; `table`, of at least run + 9 entries, holds the label of each run.
    """
    for k in range(8):
        run += (int(begins) >> k) & 1
        labels[start + k] = table[run] if (int(word) >> k) & 1 else 0


def stream(line, labels, start):
    """Copy 64 labels past the caches; `start` lies at a multiple of 16 bytes."""
    labels[start : start + 64] = line[:64]


def fence():
    """Make streamed labels visible to other threads."""


# -------------------------------------------------------------- compiled twins


PERMUTES = bool(get_host_cpu_features().get("avx2"))  # it can gather eight 32-bit numbers at once
# For every byte of begins, the run of each of eight pixels, relative to the first run: the one that
# begins at bit 0, or else the one that continues from the left.
RANKS = bytearray(
    (byte & ((2 << k) - 1)).bit_count() - (byte & 1) for byte in range(256) for k in range(8)
)


def _typed(labels, start, word, label):
    return types.void(labels, types.intp, types.uint64, labels.dtype)


@twin(paint, _typed)
def _paint(context, builder, signature, arguments):
    array, index, bits, scalar = arguments
    label = splat(builder, scalar, vector_of(signature.args[0]))
    painted = builder.select(lanes_of(builder, bits), label, ir.Constant(label.type, None))
    store(context, builder, signature.args[0], array, index, painted)
    return context.get_dummy_value()


@twin(blend, _typed)
def _blend(context, builder, signature, arguments):
    array, index, bits, scalar = arguments
    before = load(context, builder, signature.args[0], array, index)
    painted = builder.select(lanes_of(builder, bits), splat(builder, scalar, before.type), before)
    store(context, builder, signature.args[0], array, index, painted)
    return context.get_dummy_value()


@twin(stream, lambda line, labels, start: types.void(line, labels, types.intp))
def _stream(context, builder, signature, arguments):
    source, array, index = arguments
    value = load(context, builder, signature.args[0], source, ir.IntType(64)(0))
    address = address_of(context, builder, signature.args[1], array, index)
    stored = builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=16)
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
    return context.get_dummy_value()


@twin(fence, lambda: types.void())
def _fence(context, builder, signature, arguments):
    builder.fence("seq_cst")
    return context.get_dummy_value()


@twin(
    spread,
    lambda labels, start, word, begins, run, table: types.void(
        labels, types.intp, types.uint64, types.uint64, types.intp, table
    ),
)
def _spread(context, builder, signature, arguments):
    labels, _, _, _, _, table = signature.args
    array, index, word, begins, run, source = arguments
    spread_8 = _permute if PERMUTES and table.dtype == types.int32 else _pick
    values = spread_8(context, builder, table, source, begins, run)
    lanes = builder.bitcast(builder.trunc(word, ir.IntType(8)), ir.VectorType(ir.IntType(1), 8))
    painted = builder.select(lanes, values, ir.Constant(values.type, None))
    width, before = labels.dtype.bitwidth, table.dtype.bitwidth
    if width != before:
        change = builder.sext if width > before else builder.trunc
        painted = change(painted, ir.VectorType(ir.IntType(width), 8))
    address = address_of(context, builder, labels, array, index)
    pointer = builder.bitcast(address, painted.type.as_pointer())
    builder.store(painted, pointer, align=width // 8)
    return context.get_dummy_value()


def _permute(context, builder, table_type, table, begins, run):
    """Look up the 32-bit labels of eight pixels with one load."""
    i32, i8 = ir.VectorType(ir.IntType(32), 8), ir.VectorType(ir.IntType(8), 8)

    def load_8(address, vector, align):
        loaded = builder.load(builder.bitcast(address, vector.as_pointer()), typ=vector)
        loaded.align = align
        return loaded

    first = builder.add(run, builder.and_(begins, ir.IntType(64)(1)))
    values = load_8(address_of(context, builder, table_type, table, first), i32, 4)
    ranks = cgutils.global_constant(
        builder, "ranks", ir.Constant(ir.ArrayType(ir.IntType(8), len(RANKS)), RANKS)
    )
    row = builder.shl(begins, ir.IntType(64)(3))
    order = load_8(builder.gep(ranks, [ir.IntType(64)(0), row], inbounds=True), i8, 1)
    permute = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(i32, [i32, i32]), "llvm.x86.avx2.permd"
    )
    return builder.call(permute, [values, builder.zext(order, i32)])


def _pick(context, builder, table_type, table, begins, run):
    """Look up the labels of eight pixels one by one."""
    i64 = ir.IntType(64)
    values = ir.Constant(ir.VectorType(ir.IntType(table_type.dtype.bitwidth), 8), ir.Undefined)
    for k in range(8):
        begun = builder.and_(builder.lshr(begins, i64(k)), i64(1))
        run = builder.add(run, begun)
        label = builder.load(address_of(context, builder, table_type, table, run))
        values = builder.insert_element(values, label, ir.IntType(32)(k))
    return values


# ---- The pass from runs to pixels: every label is written once

NO_LINES = np.empty((0, 2), np.int64)  # rows of an image, one after the other
FEW = 4  # runs in a word up to which painting them one by one is faster
BYTE = np.uint64(255)
EIGHT = 8  # pixels that are written at once


@njit(nogil=True, cache=True, **BORROWING)
def paint_rows(runs, columns, span, lines, blank, out):
    """Write the label of its run to every pixel of some rows to `out`, flat, of int.

    The `parents` of `runs` are labels by now. `span` is the first row and the last + 1 of an image;
    or, if `lines`, (L, 2), is not empty, the first line and the last + 1: a row of the image, and
    where it begins in `out`. If `blank`, `out` holds zeros, and background is skipped.
    """
    first, last = span
    position = new_position()
    before = np.int64(-2)
    for line in range(first, last):
        row = np.int64(line)
        start = row * columns
        limit = last * columns  # up to there, more may be written: the next row follows
        if lines.shape[0] > 0:
            row, start = lines[line, 0], lines[line, 1]
            limit = start + columns
        if row == before + 1:
            advance(runs.shape, position)
        else:
            locate(row, runs.shape, position)
        before = row
        paint_row(runs, columns, row, block_at(runs, position), start, limit, blank, out)


@inlined
def paint_row(runs, columns, row, block, start, limit, blank, out):
    """Write the labels of one row; words may be written as a whole if they end before `limit`."""
    for word in range(runs.bits.shape[1]):
        begin = start + 64 * word
        if begin + 64 <= limit:
            paint_word(runs, row, block, word, begin, blank, out)
        elif runs.bits[row, word] != NONE or not blank:
            begins = runs.starts[block, word]
            run = runs.first[block, word] - 1
            width = smaller(64, columns - 64 * word)
            paint_part(out, begin, width, limit, runs.bits[row, word], begins, run, runs.parents)


@inlined
def paint_word(runs, row, block, word, begin, blank, out):
    """Write the labels of the 64 pixels of a word, the first of them at `begin` in `out`."""
    pixels = runs.bits[row, word]
    if pixels == NONE:
        if not blank:
            paint(out, begin, NONE, out.dtype.type(0))
        return
    begins = runs.starts[block, word]
    run = runs.first[block, word] - 1
    if popcount(begins) <= FEW:
        paint_few(out, begin, pixels, begins, run, runs.parents)
    else:
        paint_many(out, begin, pixels, begins, run, runs.parents)


@called
def paint_few(out, begin, pixels, begins, run, labels):
    """Paint a word of few runs, run by run."""
    covered = pixels
    if begins != NONE:
        covered &= (begins & (~begins + ONE)) - ONE  # pixels before the first start
    painted = covered != NONE
    if painted:
        paint(out, begin, covered, out.dtype.type(labels[run]))
    while begins != NONE:
        bit = begins & (~begins + ONE)
        begins ^= bit
        run += 1
        segment = ~(bit - ONE)
        if begins != NONE:
            segment &= (begins & (~begins + ONE)) - ONE
        covered = pixels & segment
        if covered != NONE:
            if painted:
                blend(out, begin, covered, out.dtype.type(labels[run]))
            else:
                paint(out, begin, covered, out.dtype.type(labels[run]))
                painted = True


@called
def paint_many(out, begin, pixels, begins, run, labels):
    """Paint a word of many runs, eight pixels at a time."""
    for k in range(0, 64, 8):
        shift = np.uint64(k)
        some = (begins >> shift) & BYTE
        spread(out, begin + k, (pixels >> shift) & BYTE, some, run, labels)
        run += popcount(some)


@inlined
def paint_part(out, begin, width, limit, pixels, begins, run, labels):
    """Paint a part of a word, eight pixels at a time while there are as many before `limit`."""
    k = 0
    while k < width and begin + k + EIGHT <= limit:
        shift = np.uint64(k)
        some = (begins >> shift) & BYTE
        spread(out, begin + k, (pixels >> shift) & BYTE, some, run, labels)
        run += popcount(some)
        k += EIGHT
    while k < width:
        shift = np.uint64(k)
        run += np.int64((begins >> shift) & ONE)
        out[begin + k] = labels[run] if (pixels >> shift) & ONE != NONE else labels.dtype.type(0)
        k += 1


# ---- Labels that are written past the caches, where these do not hold them
# A store to a part of a cache line has to read the line first; writing whole lines past the caches
# avoids this. It is slower for fresh memory, which is in the caches since the system cleared it.

LARGE = 2**25  # bytes of labels that do not fit into the caches


def is_streamed(columns, out):
    """Return whether labels are larger than the caches, in rows that begin at 16 bytes."""
    aligned = out.ctypes.data % 16 == 0 and columns * out.itemsize % 16 == 0
    return aligned and out.nbytes >= LARGE


@njit(nogil=True, cache=True)
def stream_rows(runs, columns, span, out):
    """Write the labels of some rows as `paint_rows` does, but past the caches.

    Each row of `out`, (R * columns,) of int, begins at a multiple of 16 bytes.
    """
    first, last = span
    limit = last * columns
    position = np.empty(AXES, np.int64)
    painted = np.empty(64, out.dtype)
    locate(first, runs.shape, position)
    for row in range(first, last):
        block = block_at(runs, position)
        for word in range(runs.bits.shape[1]):
            begin = row * columns + 64 * word
            if begin + 64 <= limit:
                paint_word(runs, row, block, word, 0, False, painted)
                stream(painted, out, begin)
            else:
                begins, run = runs.starts[block, word], runs.first[block, word] - 1
                width = smaller(64, columns - 64 * word)
                pixels = runs.bits[row, word]
                paint_part(out, begin, width, limit, pixels, begins, run, runs.parents)
        advance(runs.shape, position)
    fence()
