"""Kernels called by other kernels through their addresses: nothing of them is compiled again.

numba compiles a kernel anew into each one that calls it, all that it calls included. A function
that only calls large kernels in turn would take as long to compile as all of them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba import types
from numba.core import cgutils, config

from equilabel.devices.jit import generalized

from .bits import twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.devices.jit import Kernel


def address(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Compile a kernel made by `njit`, or load it, and return what `caller` needs to call it.

    `arguments` are some of the types that it will be called with. Returns where its code is in this
    process; without a compiler, the kernel itself.
    """
    if config.DISABLE_JIT:
        return kernel
    known = tuple(generalized(numba.typeof(each)) for each in arguments)
    if known not in kernel.overloads:
        kernel.compile(known)
    compiled = kernel.overloads[known]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def caller(returned: Any) -> Callable[..., Any]:
    """Make a function, for kernels, that calls a kernel at an address with a tuple of arguments.

    `returned` is the type that the kernel returns; neither it nor those of arguments are checked.
    """

    def call(kernel: Any, arguments: Any) -> Any:
        return kernel(*arguments)

    def typed(_: Any, arguments: Any) -> Any:
        return returned(types.uintp, arguments)

    @twin(call, typed)
    def _call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, given = arguments
        kinds = tuple(map(generalized, signature.args[1].types))
        convention = context.call_conv
        kind = convention.get_function_type(returned, kinds)
        kernel = builder.inttoptr(place, kind.as_pointer())
        values = cgutils.unpack_tuple(builder, given, len(kinds))
        status, result = convention.call_function(builder, kernel, returned, kinds, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return call
