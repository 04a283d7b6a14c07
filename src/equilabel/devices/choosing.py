"""From the word of a caller to a device that can be used, and to the passes for it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from equilabel.arguments import shown

from .arrays import index_of, is_on_cuda
from .reports import count_gpus, find_obstacle
from .using import DeviceUnavailableError

if TYPE_CHECKING:
    from types import ModuleType

    from equilabel.array_types import Array

Device = Literal["auto", "cpu", "cuda"] | str
DIGITS = 10  # of the number of a GPU, fewer
DEVICES: tuple[str, ...] = ("auto", "cpu", "cuda")


def resolve(device: str, image: Array = None) -> str:
    """Turn the word of a caller into the name of a device that can be used.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        "auto" is where `image` is; a device asked for by name is never replaced.
    image : array, optional
        What the work is about, of NumPy or CuPy.

    Returns
    -------
    str
        "cpu", "cuda" (the first GPU) or "cuda:<index>".

    Raises
    ------
    ValueError
        If the word is none of these, or names another GPU than the one that holds `image`.
    DeviceUnavailableError
        If the device cannot be used here; the message says why.

    Examples
    --------
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


def passes(name: str, device: str) -> ModuleType:
    """Load the kernels of one room for one device.

    Parameters
    ----------
    name : str
        Room and module: "measuring.accumulate".
    device : str
        A device that `resolve` returned.

    Returns
    -------
    module
        ``equilabel.<room>.<device>.<module>``.
    """
    return _load(name, device.partition(":")[0])


@cache
def _load(name: str, device: str) -> ModuleType:
    room, _, module = name.rpartition(".")
    return import_module(f"equilabel.{room}.{device}.{module}")


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
