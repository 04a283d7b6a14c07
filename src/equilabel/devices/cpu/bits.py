"""Words of 64 bits, and 64 pixels as a vector of the processor."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

# ---- Plain Python functions with a twin of a few machine instructions, which kernels use instead
# `numba.extending.overload` would do as well, but compiles a function for every such call: a tenth
# of the time that the first `label` takes.


def twin(function, typed):
    """Let numba write machine instructions wherever a kernel calls a plain function.

    `typed` returns the signature of a call, to whose types arguments are converted. Returns a
    decorator of what writes the instructions, as of `numba.extending.intrinsic`.
    """

    def register(code):
        type_callable(function)(lambda context: typed)
        lower_builtin(function, types.VarArg(types.Any))(code)
        return code

    return register


# ---- Words of 64 bits: how many are set, and which is the lowest
# Bit ``k`` of a word stands for pixel ``start + k``. Each function is plain Python, for reading and
# for runs without a compiler, with a twin of a machine instruction that numba puts in its place.

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LAST = np.uint64(63)


def popcount(word):
    """Count the bits of a word."""
    return int(word).bit_count()


def lowest(word):
    """Return the position of the lowest bit of a word that has one."""
    return (int(word) & -int(word)).bit_length() - 1


# -------------------------------------------------------------- compiled twins


@twin(popcount, lambda word: types.int64(types.uint64))
def _popcount(context, builder, signature, arguments):
    return builder.ctpop(arguments[0])


@twin(lowest, lambda word: types.int64(types.uint64))
def _lowest(context, builder, signature, arguments):
    return builder.cttz(arguments[0], ir.IntType(1)(1))


# ---- Sixty-four pixels as a vector of LLVM, for the compiled twins of `vector_compare` and others


def vector_of(pixels):
    """Return the type of a vector of 64 elements of an array."""
    if isinstance(pixels.dtype, types.Float):
        element = ir.FloatType() if pixels.dtype.bitwidth == 32 else ir.DoubleType()
        return ir.VectorType(element, 64)
    return ir.VectorType(ir.IntType(pixels.dtype.bitwidth), 64)


def address_of(context, builder, array_type, array, start):
    """Return the address of an element of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [start], inbounds=True)


def load(context, builder, array_type, array, start):
    """Load 64 elements from one on."""
    vector = vector_of(array_type)
    address = address_of(context, builder, array_type, array, start)
    pointer = builder.bitcast(address, vector.as_pointer())
    value = builder.load(pointer, typ=vector)
    value.align = array_type.dtype.bitwidth // 8
    return value


def store(context, builder, array_type, array, start, value):
    """Store a vector from an element on."""
    address = address_of(context, builder, array_type, array, start)
    pointer = builder.bitcast(address, value.type.as_pointer())
    builder.store(value, pointer, align=array_type.dtype.bitwidth // 8)


def splat(builder, scalar, vector):
    """Make a vector of one number."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)


def lanes_of(builder, word):
    """See the bits of a word as the lanes of a vector."""
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))


def word_of(builder, lanes):
    """See the lanes of a vector of bits as a word."""
    return builder.bitcast(lanes, ir.IntType(64))


# ---- The smaller and the larger of two whole numbers
# They are numba's `min` and `max`, which would be compiled anew for each pair of types that is
# given.


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
