"""Other labelers on a GPU, as functions of an image on the device; those missing are left out.

What they return is not what `equilabel.label` returns: BKE leaves sparse numbers in no order,
colorcc takes three bytes a pixel. They are timed with the input they ask for, made beforehand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from scipy.ndimage import generate_binary_structure

if TYPE_CHECKING:
    from collections.abc import Callable


def peers(pixels: Any, connectivity: int) -> dict[str, Callable[[], Any]]:
    """Return the labelers that know images like this one, by name.

    Parameters
    ----------
    pixels : cupy array of bool or int32, 2 or 3 axes
    connectivity : int
    """
    binary, full = pixels.dtype == bool, connectivity == pixels.ndim
    found: dict[str, Callable[[], Any]] = {}
    if binary:
        ndimage = import_module("cupyx.scipy.ndimage")
        structure = generate_binary_structure(pixels.ndim, connectivity)
        found["CuPy"] = lambda: ndimage.label(pixels, structure=structure)
    for name, add in (("cuCIM", _cucim), ("bkeccl", _bkeccl), ("colorcc", _colorcc)):
        try:
            add(found, pixels, connectivity, binary, full)
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found


def versions() -> dict[str, str]:
    """Return the versions of those that are installed."""
    metadata = import_module("importlib.metadata")
    found = {}
    for name in ("cupy-cuda13x", "cupy-cuda12x", "cucim-cu13", "bkeccl", "colorcc", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cucim(found: Any, pixels: Any, connectivity: int, binary: bool, full: bool) -> None:
    measure = import_module("cucim.skimage.measure")
    found["cuCIM"] = lambda: measure.label(pixels, connectivity=connectivity)


def _bkeccl(found: Any, pixels: Any, connectivity: int, binary: bool, full: bool) -> None:
    ccl = import_module("bkeccl").ccl
    if not binary or not full:
        return
    out = cupy.empty(pixels.shape, np.int32)
    rank = f"{pixels.ndim}D"
    raw = "BKE raw" if pixels.ndim == 2 else "BUF raw"
    found[raw] = lambda: ccl(pixels, "bke", rank, "raw", label_output=out)
    found["bkeccl dense"] = lambda: ccl(pixels, "bke", rank, "dense", label_output=out)


def _colorcc(found: Any, pixels: Any, connectivity: int, binary: bool, full: bool) -> None:
    colorcc, torch = import_module("colorcc"), import_module("torch")
    if not binary or pixels.ndim != 2:
        return
    colors = torch.from_dlpack(cupy.repeat(pixels.view(np.uint8)[..., None], 3, axis=2) * 255)
    neighbors = 8 if full else 4
    found["colorcc"] = lambda: colorcc.label(colors, conn=neighbors, ignore=(0, 0, 0))
