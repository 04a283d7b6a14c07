"""Arrays of the host and of a GPU: which is which, and the way from one to the other."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import as_host_array, shown

from .reports import find_obstacle
from .using import DeviceUnavailableError

if TYPE_CHECKING:
    from types import ModuleType

    from equilabel.array_types import Array

CUDA_MEMORY = (2, 13)  # kDLCUDA and kDLCUDAManaged of DLPack


def take(array: Array, name: str = "image") -> Array:
    """Take anything like an array as one of NumPy or, if a GPU holds it, of CuPy.

    Parameters
    ----------
    array : array_like
        With ``__cuda_array_interface__`` or DLPack, as arrays of PyTorch and JAX have them, it is
        not copied. Subclasses of ``numpy.ndarray`` are taken as plain arrays, as scikit-image does:
        the mask of a masked array is ignored.
    name : str
        Of the parameter, for errors.

    Returns
    -------
    numpy.ndarray or cupy.ndarray

    Raises
    ------
    TypeError, ValueError
        If it is a path, or NumPy makes no array of it.
    DeviceUnavailableError
        If a GPU holds it and CuPy cannot be used.
    """
    if isinstance(array, (str, bytes, os.PathLike)):
        message = (
            f"{name} must be an array, not a path; got {shown(array)}. Read it first, as in "
            "`tifffile.imread(path)`, or call `segment_chunked` or `label_chunked`, which take the "
            "path of a TIFF or a Zarr."
        )
        raise TypeError(message)
    if type(array) is np.ndarray or is_on_cuda(array):
        return array
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray)
    if not _held_by_gpu(array):
        return as_host_array(name, array)
    reason = find_obstacle()
    if reason:
        message = f"an array that a GPU holds needs CuPy; got {type(array).__name__}. {reason}"
        raise DeviceUnavailableError(message)
    cupy = import_module("cupy")
    if hasattr(array, "__dlpack__"):  # tells the two libraries' streams to wait for each other
        try:
            return cupy.from_dlpack(array)
        except (BufferError, TypeError, ValueError, RuntimeError):
            if not hasattr(array, "__cuda_array_interface__"):
                raise
    return cupy.asarray(array)


def is_on_cuda(array: Array) -> bool:
    """Return whether an array is one of CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def index_of(array: Array) -> int:
    """Return the number of the GPU that holds an array of CuPy."""
    return int(array.device.id)


def library(array: Array) -> ModuleType:
    """Return the library that computes with an array: NumPy or CuPy."""
    return sys.modules["cupy"] if is_on_cuda(array) else np


def filters(array: Array) -> ModuleType:
    """Return the library of filters for an array: `scipy.ndimage`, or CuPy's twin of it."""
    return import_module("cupyx.scipy.ndimage" if is_on_cuda(array) else "scipy.ndimage")


def place(array: Array, device: str) -> Array:
    """Bring an array to a device; one that is there is returned as it is.

    Parameters
    ----------
    array : numpy.ndarray or cupy.ndarray
    device : str
        A device that `resolve` returned and that `using` has made current.

    Raises
    ------
    ValueError
        If the array is on another GPU.
    """
    if device == "cpu":
        return fetch(array)
    if is_on_cuda(array):
        if index_of(array) != int(device.partition(":")[2] or 0):
            message = (
                f"arrays must be on one device, here {device!r}; got one on GPU "
                f"{index_of(array)}. Move one of them."
            )
            raise ValueError(message)
        return array
    return import_module("equilabel.devices.cuda.transfers").upload(array)


def fetch(array: Array, out: Array = None) -> Array:
    """Bring an array to the host.

    Parameters
    ----------
    array : numpy.ndarray or cupy.ndarray
    out : numpy.ndarray, optional
        Receives it: same shape, any type that can hold it.

    Returns
    -------
    numpy.ndarray
        `array` itself where it is there, and `out` is not given.
    """
    if is_on_cuda(array):
        with array.device:
            return import_module("equilabel.devices.cuda.transfers").download(array, out)
    if out is None:
        return array
    out[...] = array
    return out


def shares_memory(one: Array, other: Array) -> bool:
    """Return whether two arrays of one library may overlap."""
    return bool(library(one).may_share_memory(one, other))


def _held_by_gpu(array: Array) -> bool:
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in CUDA_MEMORY
    return hasattr(array, "__cuda_array_interface__")
