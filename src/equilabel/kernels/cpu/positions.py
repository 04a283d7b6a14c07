"""Coordinates of a row, in memory that a kernel need not ask for.

An array of `numpy.empty` would bring numba's allocator, and counting references, into each kernel.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array

from .run_table import AXES
from .twins import twin


def new_position():
    """Make room for the coordinates of a row or a block, for as long as the kernel runs."""
    return np.empty(AXES, np.int64)


# -------------------------------------------------------------- compiled twin


@twin(new_position, lambda: types.Array(types.int64, 1, "C")())
def _new_position(context, builder, signature, arguments):
    i64 = ir.IntType(64)
    array = context.make_array(signature.return_type)(context, builder)
    populate_array(
        array,
        data=cgutils.alloca_once(builder, i64, AXES),
        shape=[context.get_constant(types.intp, AXES)],
        strides=[context.get_constant(types.intp, 8)],
        itemsize=context.get_constant(types.intp, 8),
        meminfo=None,
    )
    return array._getvalue()
