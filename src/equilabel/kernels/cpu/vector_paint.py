"""Labels written under the bits of a word: 64 pixels at a time, or eight with different labels.

Each function is plain Python, with a twin of a few machine instructions that numba puts in its
place. Nothing is checked: arrays are flat and C-contiguous, and all pixels of a word must exist.
"""

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

from .twins import twin
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


PERMUTES = bool(get_host_cpu_features().get("avx2"))  # picks eight 32-bit numbers at once
# Which of the runs that begin among eight pixels each of these is of, for every byte of begins;
# counted from the first one if that begins at bit 0, and from the one that comes in otherwise.
RANKS = bytearray(
    (byte & ((2 << k) - 1)).bit_count() - (byte & 1) for byte in range(256) for k in range(8)
)


def _typed(labels, start, word, label):
    return types.void(labels, types.intp, types.uint64, labels.dtype)


def _filled(builder, array_type, bits, scalar):
    """Return a vector of a label where bits are set, and of zeros."""
    vector = vector_of(array_type)
    none = ir.Constant(vector, None)
    return builder.select(lanes_of(builder, bits), splat(builder, scalar, vector), none)


@twin(paint, _typed)
def _paint(context, builder, signature, arguments):
    array, index, bits, scalar = arguments
    painted = _filled(builder, signature.args[0], bits, scalar)
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
    painted = load(context, builder, signature.args[0], source, ir.IntType(64)(0))
    _store_past_caches(context, builder, signature.args[1], array, index, painted)
    return context.get_dummy_value()


@twin(stream_one, _typed)
def _stream_one(context, builder, signature, arguments):
    array, index, bits, scalar = arguments
    painted = _filled(builder, signature.args[0], bits, scalar)
    _store_past_caches(context, builder, signature.args[0], array, index, painted)
    return context.get_dummy_value()


def _store_past_caches(context, builder, array_type, array, start, value):
    """Store a vector from an element on that lies at a multiple of 16 bytes."""
    address = address_of(context, builder, array_type, array, start)
    stored = builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=16)
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))


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
    """Look up the labels of eight pixels of 32 bits each, with one load."""
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
