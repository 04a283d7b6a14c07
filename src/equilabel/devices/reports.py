"""What can be used here, and for what cannot, why."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from . import cache

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
    """Say why no GPU can be used, and what would help; nothing if one can.

    Returns
    -------
    str
        ``rule; got X. remedy.``, or an empty string.
    """
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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return DeviceReport(
        "cpu", True, f"{platform.machine()}, {cores} cores", note=cache.find_obstacle()
    )


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
