"""Checks of what a simulation is asked: errors say what to pass."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.booleans import normalize_bools
from equilabel.devices import library, take

if TYPE_CHECKING:
    from equilabel.array_types import Array

UNIT = 2**32  # of a probability, as kernels compare it with a word
MOST_SITES = 2**32 - 1
RANKS = 6
UPDATES = ("swendsen_wang", "few_clusters")


def check_shape(shape: Any) -> tuple[int, ...]:
    """Return the sides of a lattice."""
    sides = tuple(index(side) for side in (shape if np.iterable(shape) else (shape,)))
    if not 1 <= len(sides) <= RANKS or min(sides) < 2 or math.prod(sides) > MOST_SITES:
        message = (
            f"shape must have 1 to {RANKS} sides of at least 2 and fewer than 2**32 sites in all; "
            f"got {shape!r}. Leave out sides of 1: periodic bonds would lead back to their site."
        )
        raise ValueError(message)
    return sides


def check_whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number of a range."""
    number = index(value)
    if not least <= number <= most:
        message = f"{name} must be a whole number of {least} to {most}; got {value!r}."
        raise ValueError(message)
    return number


def check_beta(beta: float | None, temperature: float | None) -> float:
    """Return the inverse temperature, from one of the two."""
    if (beta is None) == (temperature is None):
        message = (
            f"one of beta and temperature must be given; got beta={beta!r}, "
            f"temperature={temperature!r}. beta=critical_beta(q) is the transition in 2D."
        )
        raise ValueError(message)
    name, value = ("beta", beta) if temperature is None else ("temperature", temperature)
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number) or number < 0 or (name == "temperature" and number == 0):
        message = (
            f"{name} must be a positive number; got {value!r}. Use beta=inf for temperature 0."
        )
        raise ValueError(message)
    return number if temperature is None else 1 / number


def threshold_of(probability: float) -> int:
    """Return a probability in units of 2**-32, as kernels take it."""
    return round(probability * UNIT)


def check_update(update: str, flip_probability: float) -> None:
    """Raise an error unless an update is known and its clusters are flipped often, not always."""
    if update not in UPDATES:
        message = f"update must be one of {list(UPDATES)}; got {update!r}."
        raise ValueError(message)
    if not 0 < flip_probability < 1:
        message = (
            "flip_probability must be between 0 and 1, both left out: at 1 the few-cluster update "
            f"is not ergodic; got {flip_probability!r}. Pass 0.9 if unsure."
        )
        raise ValueError(message)


def check_start(start: Any, shape: tuple[int, ...], q: int) -> Array | None:
    """Return the spins to start from as a copy, of NumPy or CuPy; None for a word."""
    if isinstance(start, str):
        if start in ("cold", "hot"):
            return None
        message = f"start must be 'cold', 'hot' or an array of spins; got {start!r}."
        raise ValueError(message)
    spins = normalize_bools(take(start))
    fits = spins.shape == shape and spins.dtype.kind in "bui"
    if not fits or not 0 <= int(spins.min()) <= int(spins.max()) < q:
        message = (
            f"start must be an array of whole numbers of 0 to {q - 1}, of shape {shape}; got "
            f"{spins.dtype} of shape {spins.shape}. Number the states from 0."
        )
        raise ValueError(message)
    return library(spins).array(spins, np.uint8, order="C")
