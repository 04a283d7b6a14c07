"""Published methods, a folder for each paper; finds a method by its name and loads its parts."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from equilabel.arguments import shown
from equilabel.domains.contract import Method, Option, Recipe, Roots

from .table import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

__all__ = [
    "AUTO",
    "METHODS",
    "Method",
    "Option",
    "Roots",
    "check_ability",
    "find_method",
    "load_passes",
    "load_recipe",
]

AUTO = METHODS["runs"]  # "auto", on grids and lattices of bonds


def find_method(name: str, domain: str = "grid") -> Method:
    """Return the method of a name or alias; "auto" is the fastest one for a kind of domain.

    Raises ValueError, which lists the methods that label such a domain.

    >>> find_method("auto").name, find_method("auto", "graph").name
    ('runs', 'union_find')
    >>> find_method("label_equivalence").name
    'kalentev'
    """
    if isinstance(name, str) and name == "auto":
        return METHODS["union_find"] if domain == "graph" else AUTO
    words: dict[str, Method] = {}
    for rows in (METHODS.built_in, METHODS):  # other packages are loaded for unknown names alone
        words = {alias: row for row in rows.values() for alias in row.aliases} | dict(rows)
        if isinstance(name, str) and name in words:
            return words[name]
    able = [row.name for row in METHODS.values() if domain in row.domains]
    alike = [word for word, row in words.items() if domain in row.domains]
    near = get_close_matches(name.lower(), alike, n=1) if isinstance(name, str) else []
    remedy = f" Did you mean {near[0]!r}?" if near else ""
    message = f"method must be one of {['auto', *able]}; got {shown(name)}.{remedy}"
    raise ValueError(message)


def check_ability(
    method: Method, domain: str, rank: int | None, device: str, options: Mapping[str, Any]
) -> None:
    """Raise ValueError or TypeError unless a method can label such a domain, with these options.

    `rank` is the number of axes without that of a stack; None for a graph.
    """

    def able(row: Method) -> bool:
        known = rank is None or rank in row.ranks
        return domain in row.domains and known and device in row.devices

    if not able(method):
        names = [row.name for row in METHODS.values() if able(row)]
        what = "lattice of bonds" if domain == "bonds" else domain
        if rank is not None:
            what = f"{rank}-dimensional {what}"
        message = f"method must be one of {names} for a {what} on {device!r}; got {method.name!r}."
        raise ValueError(message)
    for name, value in options.items():
        _check_option(method, name, value, rank)


def _check_option(method: Method, name: str, value: Any, rank: int | None) -> None:
    """Raise TypeError or ValueError unless a method has an option that takes a value."""
    if name not in method.options:
        owners = [row.name for row in METHODS.values() if name in row.options]
        remedy = f" {name!r} belongs to {owners}." if owners else ""
        known = list(method.options) or "no options"
        message = f"method {method.name!r} takes {known}; got {name!r}.{remedy}"
        raise TypeError(message)
    option = method.options[name]
    given = value
    if not isinstance(given, option.type):
        message = f"{name} must be of type {option.type.__name__}; got {shown(value)}."
        raise TypeError(message)
    if option.choices and value not in option.choices:
        message = f"{name} must be one of {list(option.choices)}; got {shown(value)}."
        raise ValueError(message)
    if option.limits and rank is not None:
        least, most = option.limits[rank]
        if not least <= value <= most:
            message = f"{name} must be {least} to {most} for {rank} axes; got {shown(value)}."
            raise ValueError(message)


@cache
def load_recipe(name: str) -> Recipe:
    """Return the recipe of a method: ``recipe(passes, domain, **options)``.

    >>> load_recipe("generalized").__module__
    'equilabel.papers.komura2016.recipe'
    """
    row = find_method(name)
    module, _, function = row.recipe.partition(":")
    recipe: Recipe = getattr(import_module(f"{row.package}.{module}"), function)
    return recipe


@cache
def load_passes(name: str, device: str) -> ModuleType:
    """Return the module with the passes of a method for "cpu", "cuda" or "cuda:<index>".

    >>> load_passes("kalentev", "cpu").__name__
    'equilabel.papers.kalentev2011.cpu'
    """
    row = find_method(name)
    module = row.passes.format(device.partition(":")[0])
    return import_module(f"{row.package}.{module}")
