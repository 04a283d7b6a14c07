"""The methods there are, what each one can do, and where its recipe is."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .contract import Method, Option, Recipe, Roots

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AUTO",
    "METHODS",
    "Method",
    "Option",
    "Roots",
    "check_ability",
    "find_method",
    "load_recipe",
]

HAWICK = (
    "K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA, "
    "Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002"
)
KALENTEV = (
    "O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid "
    "using CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012"
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="runs",
            summary="Unite maximal runs of equal pixels, 64 at a time, then write each label once.",
            paper="",
            answer="runs",
        ),
        Method(
            name="kalentev",
            summary="Lower every label to the lowest nearby and shorten the chains, until stable.",
            paper=KALENTEV,
            answer="roots",
            aliases=("label_equivalence",),
            accumulates=True,
        ),
        Method(
            name="komura",
            summary="Point at the lowest neighbor, then unite with the others: no iteration.",
            paper=(
                "Y. Komura, A generalized GPU-based connected component labeling algorithm, "
                "arXiv:1603.08357 (2016), pp. 1-17, doi:10.48550/arXiv.1603.08357"
            ),
            answer="roots",
            aliases=("generalized",),
        ),
        Method(
            name="kalentev_rowcol",
            summary="Unify rows, then columns, by reduction in shared memory, until stable.",
            paper=KALENTEV,
            answer="roots",
            propagates=True,
            options={
                "segment": Option(
                    int,
                    1024,
                    "Elements of a line that a block of threads unifies at once.",
                    choices=(64, 128, 256, 512, 1024),
                )
            },
        ),
        Method(
            name="hawick_a",
            summary="Take the lowest label among the neighbors, until stable (Kernel A).",
            paper=HAWICK,
            answer="roots",
            propagates=True,
        ),
        Method(
            name="hawick_b",
            summary="Take the lowest label nearby and propagate it in tiles (Kernel B).",
            paper=HAWICK,
            answer="roots",
            propagates=True,
            options={
                "tile_size": Option(
                    int,
                    256,
                    "Elements of a tile, which a block of threads labels in shared memory.",
                    choices=(64, 128, 256, 512, 1024),
                )
            },
        ),
        Method(
            name="hawick_c",
            summary="Carry the lowest label along every line, forth and back (Kernel C).",
            paper=HAWICK,
            answer="roots",
            propagates=True,
        ),
        Method(
            name="hawick_d",
            summary="Refer each label to the lowest one it touches, resolve, relabel (Kernel D).",
            paper=HAWICK,
            answer="roots",
        ),
    )
}
AUTO = METHODS["runs"]


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
    if name == "auto":
        return AUTO
    words = METHODS | {alias: row for row in METHODS.values() for alias in row.aliases}
    if isinstance(name, str) and name in words:
        return words[name]
    near = get_close_matches(name.lower(), words, n=1) if isinstance(name, str) else []
    remedy = f" Did you mean {near[0]!r}?" if near else ""
    message = f"method must be one of {['auto', *METHODS]}; got {name!r}.{remedy}"
    raise ValueError(message)


def check_ability(
    method: Method, domain: str, rank: int, device: str, options: Mapping[str, Any]
) -> None:
    """Raise an error unless a method can label such a domain there, with these options.

    Parameters
    ----------
    domain : str
        Kind of the domain, such as "grid".
    rank : int
        Number of its axes.
    device : str
        Kind of device, "cpu" or "cuda".
    options : mapping
        Keyword arguments for the recipe.

    Raises
    ------
    ValueError
        If it does not know the domain, the number of axes, the device, or the value of an option.
        The message lists the methods that do.
    TypeError
        If it has no such option, or the value is of another type.

    Examples
    --------
    >>> check_ability(METHODS["komura"], "grid", 3, "cpu", {})
    """
    if not (domain in method.domains and rank in method.ranks and device in method.devices):
        able = [
            row.name
            for row in METHODS.values()
            if domain in row.domains and rank in row.ranks and device in row.devices
        ]
        message = (
            f"method must be one of {able} for a {rank}-dimensional {domain} on "
            f"{device!r}; got {method.name!r}."
        )
        raise ValueError(message)
    for name, value in options.items():
        _check_option(method, name, value)


def _check_option(method: Method, name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a method has an option that takes a value."""
    if name not in method.options:
        owners = [row.name for row in METHODS.values() if name in row.options]
        remedy = f" {name!r} belongs to {owners}." if owners else ""
        known = list(method.options) or "no options"
        message = f"method {method.name!r} takes {known}; got {name!r}.{remedy}"
        raise TypeError(message)
    option = method.options[name]
    if not isinstance(value, option.type):
        message = f"{name} must be of type {option.type.__name__}; got {value!r}."
        raise TypeError(message)
    if option.choices and value not in option.choices:
        message = f"{name} must be one of {list(option.choices)}; got {value!r}."
        raise ValueError(message)


@cache
def load_recipe(name: str) -> Recipe:
    """Load the recipe of a method: ``recipe(passes, domain, **options)``.

    Parameters
    ----------
    name : str
        As for `find_method`.

    Raises
    ------
    ValueError
        If no method has this name.

    Examples
    --------
    >>> load_recipe("generalized").__module__
    'equilabel.methods.komura'
    """
    recipe: Recipe = import_module(f"{__name__}.{find_method(name).name}").recipe
    return recipe
