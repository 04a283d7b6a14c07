"""Which devices can be used here, and the passes that run on them."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import ModuleType

Device = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda")


class DeviceUnavailableError(RuntimeError):
    """A device was asked for by name and cannot be used here."""


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
    """

    name: str
    available: bool
    description: str
    reason: str = ""


def devices() -> tuple[DeviceReport, ...]:
    """Report every device this version knows of.

    Returns
    -------
    tuple of DeviceReport
        The CPU first; it is always available.

    Examples
    --------
    >>> [report.name for report in devices()]
    ['cpu', 'cuda']
    >>> devices()[0].available
    True
    """
    return (_cpu(), _cuda())


def resolve(device: str) -> str:
    """Turn the word of a caller into the name of a device that can be used.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        "auto" is the fastest available; a device asked for by name is never replaced.

    Returns
    -------
    str
        "cpu" or "cuda".

    Raises
    ------
    ValueError
        If the word is none of the three.
    DeviceUnavailableError
        If the device cannot be used here; the message says why.

    Examples
    --------
    >>> resolve("auto")
    'cpu'
    """
    if device not in DEVICES:
        message = f"device must be one of {list(DEVICES)}; got {device!r}."
        raise ValueError(message)
    if device == "auto":
        return "cpu"
    for report in devices():
        if report.name == device and not report.available:
            raise DeviceUnavailableError(report.reason)
    return device


def passes(name: str, device: str) -> ModuleType:
    """Load the passes of one method for one device.

    Parameters
    ----------
    name : str
        Name of the method's module of passes, such as "kalentev".
    device : str
        A device that `resolve` returned.

    Returns
    -------
    module
        ``equilabel.kernels.<device>.<name>``.
    """
    return import_module(f"equilabel.kernels.{device}.{name}")


def _cpu() -> DeviceReport:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return DeviceReport("cpu", True, f"{platform.machine()}, {cores} cores")


def _cuda() -> DeviceReport:
    reason = (
        "device='cuda' needs a `label` that reaches the CUDA kernels, which this one does not "
        "yet; got 'cuda'. Pass device='cpu' or device='auto'."
    )
    return DeviceReport("cuda", False, "NVIDIA GPU", reason)
