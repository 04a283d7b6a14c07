"""Clusters of bonds get numbers, by whichever method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.devices import passes
from equilabel.labeling.bonds import label_bonds_by_runs
from equilabel.methods import METHODS, check_ability, find_method, load_recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equilabel.array_types import Array
    from equilabel.bonds import Bonds


def find_bond_method(name: str, rank: int, device: str, options: Mapping[str, Any]) -> str:
    """Return the name of a method that can label a lattice of bonds.

    Parameters
    ----------
    name : str
        As for `label`; "auto" is the first that can.
    rank : int
        Number of axes.
    device : str
        A device that `equilabel.devices.resolve` returned.
    options : mapping
        Keyword arguments for its recipe.
    """
    method = find_method(name, "bonds")
    check_ability(method, "bonds", rank, device.partition(":")[0], options)
    return method.name


def label_clusters(
    bonds: Bonds, method: str, device: str, labels: Array, options: Mapping[str, Any]
) -> int:
    """Give the clusters of a lattice of bonds numbers, in raster order of their first sites.

    Parameters
    ----------
    bonds : Bonds
        On the device, which is the current one.
    method : str
        Its name.
    device : str
    labels : (N,) array of int32 or int64
        Overwritten.
    options : mapping
        Keyword arguments for the recipe of a method that finds roots.

    Returns
    -------
    int
        The label of the first cluster: 0, or 1 where roots were numbered.
    """
    if METHODS[method].answer == "runs":
        label_bonds_by_runs(bonds, labels)
        return 0
    roots = load_recipe(method)(passes(method, device), bonds, **options).roots
    passes("roots", device).number(roots, labels)
    return 1
