"""Kernels are compiled with fewer passes of LLVM than numba has, collecting no garbage."""

import gc
import os
import threading

import numba
import numpy as np
import pytest

from equilabel.devices import jit
from equilabel.devices.jit import KernelLibrary, PartLibrary, without_collecting
from equilabel.runs.cpu import packing as vector_compare

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def test_functions_are_compiled_into_the_libraries_meant_for_them():
    @jit.inlined_part
    def half(x):
        return x // 2

    @jit.njit(nogil=True)
    def quarter(x):
        return half(half(x))

    assert quarter(21) == 5
    (inner,) = half.overloads.values()
    (outer,) = quarter.overloads.values()
    assert type(inner.library) is PartLibrary
    assert type(outer.library) is KernelLibrary


def test_numba_still_calls_what_the_libraries_leave_out():
    """Else kernels would be optimized twice again: nothing fails, first calls take longer."""
    for name in ("_optimize_functions", "_optimize_final_module"):
        assert callable(getattr(numba.core.codegen.JITCodeLibrary, name))
    called = []

    class Watched(KernelLibrary):
        def _optimize_functions(self, module):
            called.append("functions")
            super()._optimize_functions(module)

        def _optimize_final_module(self):
            called.append("module")
            super()._optimize_final_module()

    class WatchedCompiler(numba.core.compiler.Compiler):
        def define_pipelines(self):
            self.state.library = Watched(self.state.targetctx.codegen(), "watched")
            self.state.library.enable_object_caching()
            return super().define_pipelines()

    @numba.njit(pipeline_class=WatchedCompiler)
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert called.count("module") == 1
    assert called.count("functions") >= 1


def test_a_call_of_a_twin_compiles_no_function_of_its_own():
    @jit.njit(nogil=True)
    def compare(pixels):
        return vector_compare.differs(pixels, 0, np.uint8(0))

    assert compare(np.arange(64, dtype=np.uint8)) == 2**64 - 2
    (entry,) = compare.overloads.values()
    defined = [each.name for each in entry.library.get_defined_functions()]
    assert not any("differs" in name for name in defined), defined


def test_no_garbage_is_collected_while_a_function_is_compiled(monkeypatch):
    seen = []
    begin = jit.KernelCompiler.define_pipelines

    def watched(self):
        seen.append(gc.isenabled())
        return begin(self)

    monkeypatch.setattr(jit.KernelCompiler, "define_pipelines", watched)
    assert gc.isenabled()
    assert jit.njit(nogil=True)(lambda x: x + 1)(1) == 2
    assert seen == [False]
    assert gc.isenabled()


def test_garbage_is_collected_again_after_the_last_of_several_threads_and_after_errors():
    inside, go_on = threading.Event(), threading.Event()

    def hold():
        with without_collecting():
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    with pytest.raises(ZeroDivisionError), without_collecting():
        raise ZeroDivisionError
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled()


def test_a_process_that_is_split_off_meanwhile_collects_garbage():
    with without_collecting():
        jit._after_fork()  # what the child does first
        assert gc.isenabled()
    assert gc.isenabled()


def test_who_switched_the_collector_off_finds_it_off():
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
