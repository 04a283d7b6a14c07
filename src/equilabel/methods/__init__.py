"""Which methods there are, what each one promises, and where its recipe is."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Method:
    """One way to label connected components.

    Attributes
    ----------
    name : str
        The word to pass as ``method=``; also its module here and in each folder of kernels.
    summary : str
        The idea in one sentence.
    paper : str
        Where it was published; empty for our own.
    contract : {"runs", "roots"}
        What its recipe returns: "roots" is an array that holds, for each foreground element,
        the smallest flat index of its component and -1 elsewhere; "runs" paints the labels
        without building that array.
    aliases : tuple of str
        Other words for it.
    devices : tuple of str
        Devices that have its passes.
    counts : bool
        Whether its recipe shows a visitor what it counted: `runs` the table of runs, the others
        elements and exposed faces of each component.
    """

    name: str
    summary: str
    paper: str
    contract: Literal["runs", "roots"]
    aliases: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu", "cuda")
    counts: bool = False


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="runs",
            summary="Unite maximal stretches of equal value, then paint each label once.",
            paper="",
            contract="runs",
            counts=True,
        ),
        Method(
            name="kalentev",
            summary="Lower every label to the lowest nearby and shorten the chains, until stable.",
            paper=(
                "O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a "
                "2D grid using CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, "
                "doi:10.1016/j.jpdc.2010.10.012"
            ),
            contract="roots",
            aliases=("label_equivalence",),
            counts=True,
        ),
        Method(
            name="komura",
            summary="Point at the lowest neighbor, then unite with the others: no iteration.",
            paper=(
                "Y. Komura, A generalized GPU-based connected component labeling algorithm, "
                "arXiv:1603.08357 (2016), pp. 1-17, doi:10.48550/arXiv.1603.08357"
            ),
            contract="roots",
            aliases=("generalized",),
        ),
    )
}


def find_method(name: str) -> Method:
    """Find a method by its name or by another word for it.

    Parameters
    ----------
    name : str
        A key of `METHODS`, an alias of one, or "auto": the fastest, which is "runs".

    Returns
    -------
    Method
        Its row of the table.

    Raises
    ------
    ValueError
        If no method has this name; the message lists those there are.

    Examples
    --------
    >>> find_method("auto").name
    'runs'
    >>> find_method("label_equivalence").name
    'kalentev'
    """
    if isinstance(name, str) and name in ("auto", *METHODS):
        return METHODS["runs" if name == "auto" else name]
    words = {"auto": METHODS["runs"]} | METHODS
    listed = list(words)
    words |= {alias: method for method in METHODS.values() for alias in method.aliases}
    if isinstance(name, str) and name in words:
        return words[name]
    near = get_close_matches(name.lower(), words, n=1) if isinstance(name, str) else []
    remedy = f" Did you mean {near[0]!r}?" if near else ""
    message = f"method must be one of {listed}; got {name!r}.{remedy}"
    raise ValueError(message)


def load_recipe(name: str) -> Callable[..., Any]:
    """Load the host loop of a method.

    Parameters
    ----------
    name : str
        As for `find_method`.

    Returns
    -------
    callable
        ``recipe`` of the method's module. Under the contract "roots" it is called as
        ``recipe(passes, image, background, steps)``, with a visitor if it counts.

    Raises
    ------
    ValueError
        If no method has this name.

    Examples
    --------
    >>> load_recipe("generalized").__module__
    'equilabel.methods.komura'
    """
    recipe: Callable[..., Any] = import_module(f"{__name__}.{find_method(name).name}").recipe
    return recipe
