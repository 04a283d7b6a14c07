"""numba's compiler, less the passes of LLVM that gain nothing, and without collecting garbage.

numba optimizes each function by itself, then with everything that it calls, then again within each
that calls it. What numba does not know by these names any more, it does as ever.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What looks for closures, for overloads to inline, and for expressions of whole arrays: kernels
# have none of them.
NEEDLESS = ("inline_closure_likes", "inline_overloads", "nopython_rewrites")

_lock = Lock()
_busy = 0  # functions that are being compiled, in all threads
_paused = False  # whether garbage was collected before the first of them


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function, and of all that it inlines."""

    def _optimize_functions(self, module: Any) -> None:
        super()._optimize_functions(Definitions(module))


class PartLibrary(KernelLibrary):
    """The code of a function that is inlined outside of inner loops: optimized once, by itself."""

    def _optimize_final_module(self) -> None:
        """Leave the rest to the functions that it is inlined into."""


class Definitions:
    """A module of LLVM without what it declares only: numba takes half a millisecond for each."""

    def __init__(self, module: Any) -> None:
        object.__setattr__(self, "module", module)

    @property
    def functions(self) -> list[Any]:
        """Functions that have a body."""
        return [each for each in self.module.functions if not each.is_declaration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Compiles as `numba.njit` does, into one of these libraries."""

    library = KernelLibrary

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function, and collect garbage later."""
        with without_collecting():
            return super().compile_extra(func)

    def define_pipelines(self) -> Any:
        """Make room for the code before numba does, and leave out what finds nothing in kernels."""
        state = self.state
        if state.library is None:
            state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        managers = super().define_pipelines()
        for manager in managers:
            manager.passes = [each for each in manager.passes if each[0].name() not in NEEDLESS]
            manager.finalize()
        return managers


class PartCompiler(KernelCompiler):
    """Compiles functions that are inlined outside of inner loops."""

    library = PartLibrary


@contextmanager
def without_collecting() -> Iterator[None]:
    """Collect no garbage meanwhile: looking through all that numba holds takes a tenth of the time.

    Examples
    --------
    >>> with without_collecting():
    ...     gc.isenabled()
    False
    """
    global _busy, _paused
    with _lock:
        _busy += 1
        if _busy == 1:
            _paused = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _busy = max(0, _busy - 1)
            if _busy == 0 and _paused:
                gc.enable()


def _after_fork() -> None:
    """Collect garbage in a forked process: the thread that would begin again is not in it."""
    global _lock, _busy, _paused
    _lock = Lock()
    if _busy and _paused:
        gc.enable()
    _busy, _paused = 0, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
