"""Which devices can be used, where arrays are, and how they get to a device and back."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.arguments import as_host_array, shown

from . import compiling
from .threads import cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from equilabel.array_types import Array

# ---- What can be used here, and for what cannot, why

INSTALL = "Install it with `pip install 'equilabel[cuda13]'`, or [cuda12] for an older driver"


@dataclass(frozen=True)
class DeviceReport:
    """What one device is, and why it cannot be used where it cannot.

    Attributes
    ----------
    name : str
        The word to pass as ``device=``.
    available : bool
        Whether it can be used now.
    description : str
        Hardware and software behind it.
    reason : str
        Why it cannot be used and what would help; empty where it can.
    note : str
        What to know where it can be used; mostly empty.
    """

    name: str
    available: bool
    description: str
    reason: str = ""
    note: str = ""


def devices() -> tuple[DeviceReport, ...]:
    """Report every device this version knows of.

    Returns
    -------
    tuple of DeviceReport
        The CPU first; it is always available. Then "cuda", the first GPU, and "cuda:1" and so on
        where there are more.

    Examples
    --------
    >>> [report.name for report in devices()][:2]
    ['cpu', 'cuda']
    >>> devices()[0].available
    True
    """
    reason = find_obstacle()
    if reason:
        return (_cpu(), DeviceReport("cuda", False, "NVIDIA GPU", reason))
    return (_cpu(), *(_gpu(index) for index in range(count_gpus())))


def find_obstacle() -> str:
    """Say why no GPU can be used, as ``rule; got X. remedy.``; nothing if one can."""
    otherwise = "Pass device='cpu' to work without."
    try:
        cupy = import_module("cupy")
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            return f"device='cuda' needs a CuPy that loads; got {error}. {INSTALL}. {otherwise}"
        return f"device='cuda' needs CuPy; got none installed. {INSTALL}. {otherwise}"
    except ImportError as error:
        return f"device='cuda' needs a CuPy that loads; got {error}. {INSTALL}. {otherwise}"
    except OSError as error:  # it makes a folder while it loads
        return (
            f"device='cuda' needs a folder for what CuPy compiles; got {error.strerror} for "
            f"{error.filename!r}. Name one in CUPY_CACHE_DIR. {otherwise}"
        )
    runtime = cupy.cuda.runtime
    try:
        if runtime.getDeviceCount():
            cupy.cuda.nvrtc.getVersion()
            return ""
        found = "no GPU that this process may use"
    except runtime.CUDARuntimeError as error:
        found = str(error)
    except (ImportError, RuntimeError, OSError) as error:
        return f"device='cuda' needs NVRTC to compile; got {error}. {INSTALL}. {otherwise}"
    return f"{_explain(runtime, found)} {otherwise}"


def count_gpus() -> int:
    """Count the GPUs that CuPy sees; there has to be a CuPy."""
    return int(import_module("cupy").cuda.runtime.getDeviceCount())


def _explain(runtime: Any, found: str) -> str:
    """Compare CuPy's CUDA with that of the driver."""
    driver, built = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if driver == 0:
        return f"device='cuda' needs an NVIDIA driver; got none ({found}). Install one."
    if driver // 1000 < built // 1000:
        return (
            f"device='cuda' needs a CuPy for CUDA {_version(driver)}, which the driver supports; "
            f"got one for CUDA {_version(built)}. "
            f"Install `equilabel[cuda{driver // 1000}]` instead, or a newer driver."
        )
    return f"device='cuda' needs an NVIDIA GPU; got {found}. Check it with `nvidia-smi`."


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _cpu() -> DeviceReport:
    description = f"{platform.machine()}, {cores()} cores"
    return DeviceReport("cpu", True, description, note=compiling.find_obstacle())


def _gpu(index: int) -> DeviceReport:
    cupy = import_module("cupy")
    runtime = cupy.cuda.runtime
    facts = runtime.getDeviceProperties(index)
    description = (
        f"{facts['name'].decode()}, {facts['totalGlobalMem'] / 2**30:.0f} GiB, driver for CUDA "
        f"{_version(runtime.driverGetVersion())}, CuPy {cupy.__version__} for CUDA "
        f"{_version(runtime.runtimeGetVersion())}"
    )
    return DeviceReport(f"cuda:{index}" if index else "cuda", True, description)


# ---- What goes wrong with devices


class DeviceUnavailableError(RuntimeError):
    """A device was asked for by name, or holds an array, and cannot be used."""


class DeviceMemoryError(DeviceUnavailableError, MemoryError):
    """A device has too little memory for the work."""


# ---- Work on a device, with its errors put into words


class using:
    """Make a device that `resolve` returned the current one, and put its errors into words.

    `needed` returns how many bytes the work needs; it is asked only if there are too few: this
    raises DeviceMemoryError, and what was taken is given back. DeviceUnavailableError is raised if
    the device fails, or its current stream is gone.
    """

    def __init__(self, device: str, needed: Callable[[], int] | None = None) -> None:
        self._device, self._needed = device, needed
        self._other: Any = None

    def __enter__(self) -> None:
        if self._device == "cpu":
            return
        cupy = sys.modules.get("cupy") or import_module("cupy")
        index = 0 if self._device == "cuda" else int(self._device.partition(":")[2])
        if cupy.cuda.runtime.getDevice() != index:
            self._other = cupy.cuda.Device(index)
            self._other.__enter__()
        if not cupy.cuda.driver.ctxGetCurrent():  # a thread that has not called the runtime yet,
            cupy.cuda.runtime.free(0)  # which makes the context of the device its own

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and self._device != "cpu":
                self._explain(error)
        finally:
            if self._other is not None:
                self._other.__exit__(None, None, None)

    def _explain(self, error: BaseException) -> None:
        """Raise what says in words that memory ran out or that the device fails."""
        cuda = import_module("cupy").cuda
        if isinstance(error, cuda.memory.OutOfMemoryError):
            # The frames that failed hold arrays, for as long as somebody looks at the error.
            traceback.clear_frames(error.__traceback__)
            needed = self._needed() if self._needed else 0
            raise DeviceMemoryError(_memory_message(self._device, needed)) from None
        if isinstance(error, (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError)):
            message = (
                f"device {self._device!r} must run what it is given; got {error}. If a stream was "
                "destroyed or an earlier kernel failed, leave the stream or start a new process; "
                "device='cpu' works without the GPU."
            )
            raise DeviceUnavailableError(message) from error


def check_memory(device: str, needed: int) -> None:
    """Raise DeviceMemoryError, before anything starts, if work needs more bytes than are free.

    `device` is the current one.
    """
    if needed > free_memory():
        raise DeviceMemoryError(_memory_message(device, needed))


def free_memory() -> int:
    """Return how many bytes CuPy can get on the current device."""
    cupy = import_module("cupy")
    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, limit - int(pool.used_bytes())) if limit else free


def _memory_message(device: str, needed: int) -> str:
    free = free_memory()
    asked = f"{needed / 2**20:,.0f} MiB of memory" if needed else "more memory"
    return (
        f"device {device!r} must have {asked} for this; got {free / 2**20:,.0f} MiB free. "
        "Pass `out=` with an array that exists, label the images of a stack a few at a time, "
        "free other arrays (`cupy.get_default_memory_pool().free_all_blocks()`), label block by "
        "block with `label_chunked`, or pass device='cpu'."
    )


CUDA_MEMORY = (2, 13)  # kDLCUDA and kDLCUDAManaged of DLPack


def take(array: Array, name: str = "image") -> Array:
    """Take anything like an array as one of NumPy or, if a GPU holds it, of CuPy.

    What has ``__cuda_array_interface__`` or DLPack, as arrays of PyTorch and JAX, is not copied.
    Subclasses of ``numpy.ndarray`` are taken as plain arrays, as scikit-image does: the mask of a
    masked array is ignored. `name` is that of the parameter, for errors: TypeError or ValueError if
    it is a path, or NumPy makes no array of it; DeviceUnavailableError if CuPy cannot be used.
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
    """Bring an array to a device that `resolve` returned and `using` has made current.

    One that is there is returned as it is. Raise ValueError if it is on another GPU.
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
    """Bring an array to the host: to `out`, of the same shape and any type that can hold it.

    Without `out`, an array that is there is returned as it is.
    """
    if is_on_cuda(array):
        with array.device:
            return import_module("equilabel.devices.cuda.transfers").download(array, out)
    if out is None:
        return array
    out[...] = array
    return out


def finish(device: str) -> None:
    """Wait until a device has done the work of this thread."""
    if device != "cpu":
        import_module("cupy").cuda.get_current_stream().synchronize()


def shares_memory(one: Array, other: Array) -> bool:
    """Return whether two arrays of one library may overlap."""
    return bool(library(one).may_share_memory(one, other))


def _held_by_gpu(array: Array) -> bool:
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in CUDA_MEMORY
    return hasattr(array, "__cuda_array_interface__")


Device = Literal["auto", "cpu", "cuda"] | str
DIGITS = 10  # of the number of a GPU, fewer
DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda")


def resolve(device: str, image: Array = None) -> str:
    """Turn the word of a caller into a device that can be used: "cpu", "cuda" or "cuda:<index>".

    "auto" is where `image` is; a device asked for by name is never replaced. Raise ValueError if
    the word is none of these, or names another GPU than the one that holds `image`; and
    DeviceUnavailableError, which says why, if the device cannot be used here.

    >>> resolve("auto")
    'cpu'
    """
    inside = is_on_cuda(image)
    device = device if isinstance(device, str) else str(_index(device))  # which refuses it
    if device == "auto":
        return _name(index_of(image)) if inside else "cpu"
    if device == "cpu":
        return device
    index = _index(device)
    if inside:
        if index not in (None, index_of(image)):
            message = (
                f"device must be the one that holds the image, {_name(index_of(image))!r}; "
                f"got {device!r}. Move the image first, or pass device='auto'."
            )
            raise ValueError(message)
        return _name(index_of(image))
    return _name(_check_available(index))


@cache
def passes(name: str, device: str) -> ModuleType:
    """Load the kernels of a room for a device that `resolve` returned.

    "measuring.accumulate" is ``equilabel.measuring.<device>.accumulate``.
    """
    room, _, module = name.rpartition(".")
    return import_module(f"equilabel.{room}.{device.partition(':')[0]}.{module}")


def _index(device: str) -> int | None:
    """Return the number of the GPU that a word names; None for any."""
    if isinstance(device, str) and device == "cuda":
        return None
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind == "cuda" and number.isdecimal() and len(number) < DIGITS:
        return int(number)
    message = f"device must be one of {[*DEVICES, 'cuda:<index>']}; got {shown(device)}."
    raise ValueError(message)


def _check_available(index: int | None) -> int:
    """Return the number of a GPU that can be used, or say why it cannot."""
    reason = find_obstacle()
    if reason:
        raise DeviceUnavailableError(reason)
    if index is None:
        return int(import_module("cupy").cuda.runtime.getDevice())
    count = count_gpus()
    if index >= count:
        message = (
            f"device='cuda:{index}' needs {index + 1} GPUs; got {count}. "
            f"Pass one of {[_name(k) for k in range(count)]}."
        )
        raise DeviceUnavailableError(message)
    return index


def _name(index: int) -> str:
    return f"cuda:{index}" if index else "cuda"
