"""What a method is asked and what it answers: the contract between recipes, passes and domains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equilabel.array_types import Array


class Domain(Protocol):
    """What is connected to what: a grid of pixels, a lattice of bonds, a graph.

    Recipes hand it from pass to pass; passes read from it the description that suits them.
    """

    @property
    def kind(self) -> str:
        """Word for it in `Method.domains`: "grid"."""
        ...


class Roots(NamedTuple):
    """What the recipe of a published method returns.

    Attributes
    ----------
    roots : (N,) array of int64
        For each element the smallest index of its component; -1 for background. On a GPU it may be
        of int32, for up to 2^31 elements.
    rounds : int
        How often the recipe repeated its passes; 1 for methods without iteration.
    counts : (size, 1 + axes) array of int, or None
        What the method accumulated for each component while labeling, see `equilabel.papers.
        kalentev.recipe`; rows of zeros in between.
    """

    roots: Array
    rounds: int = 1
    counts: Array = None


class Recipe(Protocol):
    """The loop of a method on the host, once for all devices and all domains that it knows."""

    def __call__(self, passes: Any, domain: Any, **options: Any) -> Any:
        """Return `Roots`, or the table of runs of the method `runs`."""
        ...


@dataclass(frozen=True)
class Option:
    """A keyword argument of `label` that one method understands.

    Attributes
    ----------
    type : type
        Of its value.
    default : object
    meaning : str
        What it changes, in one sentence.
    choices : tuple
        The values allowed; empty for any of the type.
    limits : mapping of int to (int, int)
        For each number of axes, the least and the greatest value; empty for any.
    """

    type: type
    default: Any
    meaning: str
    choices: tuple[Any, ...] = ()
    limits: Mapping[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """One way to label connected components.

    Attributes
    ----------
    name : str
        The word to pass as ``method=``.
    summary : str
        The idea in one sentence.
    paper : str
        Where it was published; empty for our own.
    answer : {"runs", "roots"}
        What its recipe returns: "roots" for each element the smallest index of its component, or
        "runs", a table of runs, which are numbered and painted without an array of roots.
    aliases : tuple of str
        Other words for it.
    domains : tuple of str
        Kinds of domains that it labels.
    ranks : tuple of int
        Numbers of axes that it knows, axes of length 1 and the one that counts the images of a
        stack aside.
    devices : tuple of str
        Devices that have its passes.
    options : mapping of str to Option
        Keyword arguments of its recipe that a caller can choose.
    propagates : bool
        Whether labels move by an element, a tile or a line in a round, so that rounds grow with the
        extent of components: such a method may be hopelessly slow on large ones.
    accumulates : bool
        Whether its recipe counts elements and exposed faces if called with ``accumulate=True``.
    recipe : str
        Where its recipe is, as "papers.komura2016.recipe:recipe".
    passes : str
        The module of its passes, with "{}" for the kind of device.
    """

    name: str
    summary: str
    paper: str
    answer: Literal["runs", "roots"]
    aliases: tuple[str, ...] = ()
    domains: tuple[str, ...] = ("grid",)
    ranks: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    devices: tuple[str, ...] = ("cpu", "cuda")
    options: Mapping[str, Option] = field(default_factory=dict)
    propagates: bool = False
    accumulates: bool = False
    recipe: str = ""
    passes: str = ""
