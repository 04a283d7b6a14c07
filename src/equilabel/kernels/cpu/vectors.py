"""Sixty-four pixels as a vector of LLVM, for the compiled twins of `vector_compare` and others."""

from llvmlite import ir
from numba import types


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
