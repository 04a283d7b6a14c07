"""Images of the papers that `equilabel.samples` does not make: fields of alloys, discs in noise."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from networks import arrays

SOLVER = Path(__file__).parents[2] / "benchmarks" / "cahn_hilliard.py"
_solver = runpy.run_path(str(SOLVER))["cahn_hilliard"]


def discs_in_noise(side: int, radius: int, occupation: float = 0.5, seed: int = 0) -> Any:
    """Draw discs, and noise between them: half of the occupied pixels each (Kalentev, Section 3).

    Returns
    -------
    (side, side) array of bool
    """
    rng = np.random.default_rng(seed)
    covered = occupation / 2
    count = round(-math.log(1 - covered) * side**2 / (math.pi * radius**2))  # discs overlap
    empty = np.ones((side, side), bool)
    empty[tuple(rng.integers(0, side, (2, max(count, 1))))] = False
    discs = ndimage.distance_transform_edt(empty) <= radius
    missing = (occupation - discs.mean()) / (1 - discs.mean())
    return discs | (rng.random((side, side), dtype=np.float32) < missing)


def phases(side: int, steps: int, device: str = "cpu") -> Any:
    """Let a quenched alloy separate, and return its two phases (Hawick et al., Section 6.3.1).

    Returns
    -------
    (side, side) array of uint8
        Of the device: 0 and 1. The boundaries of the solver are periodic.
    """
    return _solver(arrays(device), (side, side), steps).astype(np.uint8)
