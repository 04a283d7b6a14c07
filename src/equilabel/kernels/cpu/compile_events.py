"""numba's events: what it compiles of ours is told, and can be called off before it begins."""

from __future__ import annotations

from typing import Any

from numba.core import event

from equilabel import compiling, threads

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
