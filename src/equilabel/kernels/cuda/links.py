"""Which neighbors are linked: the launcher for links.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.bonds import Bonds
from equilabel.kernels.lattice import FOREGROUND, Lattice, describe

from ._compile import kernel, launch
from .lattice import packed

if TYPE_CHECKING:
    from equilabel.grid import Grid


def connect(domain: Grid | Bonds) -> Lattice:
    """Link neighbors of equal value, or those that an open bond joins."""
    if isinstance(domain, Bonds):
        known = (1 << len(domain.steps)) - 1
        links = (domain.open.reshape(-1) & domain.open.dtype.type(known)).astype(np.uint16)
        return describe(domain, links | np.uint16(FOREGROUND))
    values, background = domain.values
    lattice = describe(domain, cupy.empty(values.size, cupy.uint16))
    pixel = values.dtype
    launch(
        kernel("links", f"link_pixels<{pixel.str[1:]}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        packed(lattice),
        lattice.links,
    )
    return lattice
