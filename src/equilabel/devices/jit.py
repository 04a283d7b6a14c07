"""numba's `njit`, with a cache that never makes a call fail."""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numba
from numba import types
from numba.core import config, event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.options import DefaultOptions
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from . import compiling, threads

if TYPE_CHECKING:
    from collections.abc import Callable


# ---- numba's events: what it compiles of ours is told, and can be called off before it begins

OURS = f"{__name__.partition('.')[0]}."


class _Compilation(event.Listener):  # type: ignore[misc]
    """Hears that numba begins to compile a function, and that it is done."""

    def on_start(self, happened: Any) -> None:
        """Tell of a function of ours, and raise if the calling thread has been called off."""
        if _is_ours(happened) and compiling.begin():
            threads.check()

    def on_end(self, happened: Any) -> None:
        """Tell that it is compiled, or was called off."""
        if _is_ours(happened):
            compiling.end()


def _is_ours(happened: Any) -> bool:
    return str(happened.data["dispatcher"].py_func.__module__).startswith(OURS)


event.register("numba:compile", _Compilation())


# ---- numba's `njit` with a cache that can be damaged, closed or full, and no call fails for it
# numba's own cache raises where no folder can be written, loads what is damaged into the process,
# and does not notice when a function that was inlined from another file has changed. This one has
# a file for each compiled signature, with a checksum; its name stands for all that went into it.

Kernel: TypeAlias = Any
"""What numba makes of a function."""

TOLD: set[str] = set()  # problems that this process has told
BORROWING = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
BARE = {"no_cfunc_wrapper": True}  # C calls no kernel: a tenth less to compile
# Settings of numba's that change what is compiled.
SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")


# All that goes into compiled code, below the package: kernels, and constants that they take.
STAMPED = (
    *("*/cpu/*.py", "papers/*/cpu.py", "measuring/counts.py", "papers/meshes/__init__.py"),
    *("devices/jit.py", "domains/grid.py"),
)


class CacheWarning(UserWarning):
    """Compiled code cannot be kept: every start compiles again."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Compile a function as ``numba.njit`` does; what is cached is kept by `KernelCache`.

    Nothing is read or written before the function is called.
    """

    def compiled(function: Callable[..., Any]) -> Kernel:
        dispatcher = numba.njit(**BARE, **options)(function)
        if cache and not config.DISABLE_JIT:
            dispatcher._cache = KernelCache(function)
        return _general(dispatcher)

    return compiled


def is_kept(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Return whether a call has nothing to compile: this process or an earlier one has done it.

    `kernel` was made by `njit` with a cache; `arguments` are those of the call.
    """
    if config.DISABLE_JIT:
        return True
    known = tuple(generalized(numba.typeof(each)) for each in arguments)
    return known in kernel.overloads or kernel._cache.holds(known, kernel.targetctx)


def inlined(function: Callable[..., Any]) -> Kernel:
    """Compile a function into those that call it; it allocates nothing.

    Called from Python it stays plain Python: no code is made for that. Arrays that it takes out of
    a tuple are borrowed: without counting references, which are locked additions, tuples of arrays
    cost what the arrays cost one by one.
    """
    return _for_kernels(function, forceinline=True)


def called(function: Callable[..., Any]) -> Kernel:
    """Compile a function for kernels alone, into a place of its own; see `inlined`."""
    return _for_kernels(function)


def _for_kernels(function: Callable[..., Any], **options: Any) -> Kernel:
    options = {**BARE, **BORROWING, "no_cpython_wrapper": True, **options}
    dispatcher = _general(numba.njit(nogil=True, **options)(function))
    if not config.DISABLE_JIT:
        dispatcher._insert = lambda *_: None  # Python would find an entry without code
        dispatcher._compile_for_args = lambda *_, **__: function
    return dispatcher


def _general(dispatcher: Kernel) -> Kernel:
    """Compile a function once for all constants, and for arrays that may and may not be written.

    numba takes 0 and 1 for two types, and for others than an integer that is not known yet: the
    first `label` would compile half of the functions two to four times. No kernel writes to what it
    is given to read.
    """
    if config.DISABLE_JIT:
        return dispatcher
    template, compile_types = dispatcher.get_call_template, dispatcher.compile
    met: dict[tuple[int, ...], Any] = {}
    lock = threading.Lock()

    def get_call_template(args: Any, kws: Any) -> Any:
        named = {name: generalized(each) for name, each in kws.items()}
        return template(tuple(map(generalized, args)), named)

    def compile_general(sig: Any) -> Any:
        args, result = normalize_signature(sig)
        known = tuple(map(generalized, args))
        if known == tuple(args) or result is not None:
            return compile_types(sig)
        entry = compile_types(known)
        codes = tuple(each._code for each in args)
        with lock:  # two entries of one type would be found ambiguous, and looked up for each call
            if codes not in met:
                met[codes] = args
                dispatcher._insert(list(codes), entry, False)
        return entry

    dispatcher.get_call_template = get_call_template
    dispatcher.compile = compile_general
    return dispatcher


def generalized(kind: Any) -> Any:
    """Return the type of an argument without its value, and of an array that may be written."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.NamedTuple):
        return types.NamedTuple(tuple(map(generalized, kind.types)), kind.instance_class)
    return kind.copy(readonly=False) if isinstance(kind, types.Array) else kind


class KernelCache(NullCache):  # type: ignore[misc]
    """What a function, in one of the modules of `STAMPED`, has been compiled to, by signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__.removeprefix('equilabel.')}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, None if it has to be compiled."""
        target_context.refresh()
        key, name = self._key(sig, target_context.codegen())
        content = compiling.read(name)
        if content is None:
            return None
        try:
            found, payload = pickle.loads(content)
            return CompileResult._rebuild(target_context, *payload) if found == key else None
        except Exception:  # whatever is wrong with it, compiling is right
            return None

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether a compiled function is kept."""
        _, name = self._key(sig, target_context.codegen())
        return compiling.read(name) is not None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, and drop what was compiled from earlier sources."""
        if data.library.has_dynamic_globals or any(not each.can_cache for each in data.lifted):
            return
        key, name = self._key(sig, data.codegen)
        problem = compiling.write(name, dumps((key, data._reduce())))
        if problem and problem not in TOLD:
            # Python itself would warn for each kernel, as numba touches the filters of warnings.
            TOLD.add(problem)
            warnings.warn(problem, CacheWarning, stacklevel=1)
        environment, stamp, _ = name.rsplit("-", 2)
        compiling.forget(f"{environment}-", f"{environment}-{stamp}-")

    def _key(self, sig: Any, codegen: Any) -> tuple[str, str]:
        """Return all that decides what is compiled, and the name of the file for it.

        The name tells the function and what compiles it, the sources, and the signature.
        """
        environment = repr((_environment(), codegen.magic_tuple()))
        signature = str(sig)
        parts = (_short(environment), sources(), _short(signature))
        return f"{environment} {signature}", f"{self._name}-{'-'.join(parts)}.kernel"


@cache
def sources() -> str:
    """Return a stamp of all kernels: any may have been inlined into any other."""
    package = Path(__file__).parents[1]
    files = sorted(file for pattern in STAMPED for file in package.glob(pattern))
    content = hashlib.sha256()
    for file in files or [Path(sys.executable)]:  # as in a program that was frozen
        content.update(file.read_bytes() if files else repr(file.stat()).encode())
    return content.hexdigest()[:16]


def _environment() -> tuple[object, ...]:
    settings = tuple(getattr(config, name, None) for name in SETTINGS)
    return numba.__version__, sys.implementation.cache_tag, getattr(sys, "abiflags", ""), settings


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
