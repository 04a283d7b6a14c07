"""The contract between recipes, passes and domains, and the description of a method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equilabel.array_types import Array


class Domain(Protocol):
    """What is connected to what: a grid of pixels, a lattice of bonds, a graph.

    Recipes hand a domain from pass to pass; passes read the description that they need from it.
    """

    @property
    def kind(self) -> str:
        """Name of this kind of domain in `Method.domains`, such as "grid"."""
        ...


class Roots(NamedTuple):
    """The result of the recipe of a published method."""

    # (N,) of int64: smallest index of the component of each element, -1 for background. On a GPU it
    # may be of int32, for up to 2^31 elements.
    roots: Array
    rounds: int = 1  # how often the recipe repeated its passes; 1 without iteration
    # (size, 1 + axes) of int, or None: counts for each component at its first element, and zeros
    # elsewhere, see `equilabel.papers.kalentev2011.recipes`.
    counts: Array = None


class Recipe(Protocol):
    """The loop of a method on the host, once for all devices and all domains that it supports.

    Its passes are the functions of a module, one for each device, of the same names and parameters.
    """

    def __call__(self, passes: Any, domain: Any, **options: Any) -> Any:
        """Return `Roots`, or the table of runs of the method `runs`."""
        ...


@dataclass(frozen=True)
class Option:
    """A keyword argument of `label` that belongs to one method."""

    type: type  # of its value
    default: Any
    meaning: str  # one sentence
    choices: tuple[Any, ...] = ()  # allowed values; empty for any of the type
    # Least and greatest value for each number of axes; empty for any.
    limits: Mapping[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A method to label connected components."""

    name: str  # the value of ``method=``
    summary: str  # the idea in one sentence
    paper: str  # citation; empty for methods of this project
    # The recipe returns roots, or a table of runs, from which labels follow without roots.
    answer: Literal["runs", "roots"] = "roots"
    aliases: tuple[str, ...] = ()  # other names
    domains: tuple[str, ...] = ("grid",)  # kinds of domains that it supports
    # Supported numbers of axes, without axes of length 1 and the one that counts images of a stack.
    ranks: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    devices: tuple[str, ...] = ("cpu", "cuda")  # devices that have its passes
    options: Mapping[str, Option] = field(default_factory=dict)  # keyword arguments of its recipe
    # Labels move by an element, a tile or a line in a round, so that rounds grow with the extent of
    # components: such a method may be extremely slow on large ones.
    propagates: bool = False
    accumulates: bool = False  # with ``accumulate=True``, the recipe counts elements and faces
    package: str = "equilabel"  # that has the modules of recipe and passes
    recipe: str = ""  # such as "papers.komura2016.recipe:recipe"
    passes: str = ""  # module of its passes, with "{}" for the kind of device
