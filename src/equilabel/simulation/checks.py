"""Checks of what a simulation is asked: errors say what to pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_choice, check_number, check_shape, shown
from equilabel.booleans import normalize_bools
from equilabel.devices import is_on_cuda, library, take
from equilabel.storage.memory import check_room

if TYPE_CHECKING:
    from equilabel.array_types import Array

UNIT = 2**32  # of a probability, as kernels compare it with a word
MOST_SITES = 2**32 - 1
RANKS = 6
BYTES = 16  # of a site, of a simulation and its method
UPDATES = ("swendsen_wang", "few_clusters")
STATE = ("sweep", "q", "beta", "seed", "update", "tile", "flip_probability")  # and the spins


def check_sides(shape: Any) -> tuple[int, ...]:
    """Return the sides of a lattice."""
    given = (shape,) if isinstance(shape, Integral) else shape
    sides = check_shape("shape", given, 1, RANKS, least=1)
    if min(sides) < 2 or math.prod(sides) > MOST_SITES:
        message = (
            "shape must have sides of at least 2 and fewer than 2**32 sites in all; got "
            f"{shown(shape)}. Leave out sides of 1: periodic bonds would lead back to their site."
        )
        raise ValueError(message)
    check_room("shape", shape, BYTES * math.prod(sides))
    return sides


def check_beta(beta: float | None, temperature: float | None) -> float:
    """Return the inverse temperature, from one of the two."""
    if (beta is None) == (temperature is None):
        message = (
            f"one of beta and temperature must be given; got beta={shown(beta)}, "
            f"temperature={shown(temperature)}. beta=critical_beta(q) is the transition in 2D."
        )
        raise ValueError(message)
    if temperature is None:
        return check_number("beta", beta, 0)
    number = check_number("temperature", temperature, 0)
    if not number:
        message = f"temperature must be positive; got {shown(temperature)}. Use beta=inf for 0."
        raise ValueError(message)
    return math.inf if number < 1e-308 else 1 / number


def threshold_of(probability: float) -> int:
    """Return a probability in units of 2**-32, as kernels take it."""
    return round(probability * UNIT)


def check_update(update: str, flip_probability: float) -> None:
    """Raise an error unless an update is known and its clusters are flipped often, not always."""
    check_choice("update", update, UPDATES)
    if not 0 < check_number("flip_probability", flip_probability) < 1:
        message = (
            "flip_probability must be between 0 and 1, both left out: at 1 the few-cluster update "
            f"is not ergodic; got {shown(flip_probability)}. Pass 0.9 if unsure."
        )
        raise ValueError(message)


def check_start(start: Any, shape: tuple[int, ...], q: int) -> Array | None:
    """Return the spins to start from as a copy, of NumPy or CuPy; None for a word."""
    if isinstance(start, str):
        if start in ("cold", "hot"):
            return None
        message = f"start must be 'cold', 'hot' or an array of spins; got {shown(start)}."
        raise ValueError(message)
    spins = normalize_bools(take(start, "start"))
    fits = spins.shape == shape and spins.dtype.kind in "bui"
    if not fits or not 0 <= int(spins.min()) <= int(spins.max()) < q:
        message = (
            f"start must be an array of whole numbers of 0 to {q - 1}, of shape {shape}; got "
            f"{spins.dtype} of shape {spins.shape}. Number the states from 0."
        )
        raise ValueError(message)
    return library(spins).array(spins, np.uint8, order="C")


def check_spins(
    spins: Array, shape: tuple[int, ...], device: str, states: int | None = None
) -> None:
    """Raise ValueError if kernels would leave the arrays of spins, which a caller may change."""
    fits = (
        is_on_cuda(spins) == (device != "cpu")
        and getattr(spins, "shape", None) == shape
        and spins.dtype == np.uint8
        and spins.flags.c_contiguous
    )
    if not fits or (states is not None and int(spins.max()) >= states):
        message = (
            f"spins must stay an array of uint8 of shape {shape} on {device!r}, of 0 to q - 1; got "
            f"{shown(spins)}. Pass others as start= of a new simulation."
        )
        raise ValueError(message)


def check_state(state: Any) -> tuple[dict[str, Any], Array]:
    """Return the numbers of a checkpoint by their names, and its spins."""
    names = (*STATE, "spins")
    fits = isinstance(state, Mapping) and set(state) == set(names)
    if not fits or not all(np.ndim(state[name]) == 0 for name in STATE):
        got = list(state) if isinstance(state, Mapping) else state
        message = f"state must be a checkpoint, with a value for each of {names}; got {shown(got)}."
        raise ValueError(message)
    return {name: np.asarray(state[name]).item() for name in STATE}, take(state["spins"], "spins")
