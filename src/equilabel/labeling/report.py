"""`Report`: rounds, and how often each pass was called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.devices import threads

if TYPE_CHECKING:
    from types import ModuleType


class Report(NamedTuple):
    """Statistics of a method that labeled an image, a lattice or a graph.

    Attributes
    ----------
    method : str
        Key of `METHODS`.
    device : str
        Device that labeled.
    rounds : int
        How often the recipe repeated its passes: scans, cycles or levels, as described by `METHODS`
        and the page on methods; 1 for methods without iteration.
    passes : dict of str to int
        How often each pass was called, by name. A pass is one kernel on a GPU, in a few cases more.
    path : str
        Path that such an image takes without a report, see the page on the architecture; with one,
        the default method takes pass after pass, so that these can be counted. Empty for graphs.
    """

    method: str
    device: str
    rounds: int
    passes: dict[str, int]
    path: str = ""


class CountedPasses:
    """The passes of a device, with their calls counted, and interruptible between them."""

    def __init__(self, passes: ModuleType) -> None:
        self._passes = passes
        self.calls: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._passes, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            threads.check()
            self.calls[name] = self.calls.get(name, 0) + 1
            return found(*arguments, **options)

        return call


def passes_of(passes: ModuleType, counted: bool) -> Any:
    """Return passes, or `CountedPasses` if they are to be counted or can be interrupted."""
    return CountedPasses(passes) if counted or threads.watch() else passes


def calls_of(passes: Any) -> dict[str, int] | None:
    """Return how often each pass was called, or None if this was not counted."""
    return passes.calls if isinstance(passes, CountedPasses) else None
