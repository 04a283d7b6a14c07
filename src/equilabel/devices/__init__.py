"""Which devices can be used here, where an array is, and the passes that run there."""

from .arrays import fetch, filters, is_on_cuda, library, place, shares_memory, take
from .choosing import DEVICES, Device, passes, resolve
from .errors import DeviceMemoryError, DeviceUnavailableError
from .reports import DeviceReport, devices
from .using import check_memory, using
from .workers import own_gpu, set_worker

__all__ = [
    "DEVICES",
    "Device",
    "DeviceMemoryError",
    "DeviceReport",
    "DeviceUnavailableError",
    "check_memory",
    "devices",
    "fetch",
    "filters",
    "is_on_cuda",
    "library",
    "own_gpu",
    "passes",
    "place",
    "resolve",
    "set_worker",
    "shares_memory",
    "take",
    "using",
]
