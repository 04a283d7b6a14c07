"""Which devices can be used here, where an array is, and the passes that run there."""

from .arrays import fetch, filters, index_of, is_on_cuda, library, place, shares_memory, take
from .choosing import DEVICES, Device, passes, resolve
from .errors import DeviceMemoryError, DeviceUnavailableError
from .reports import DeviceReport, devices
from .using import check_memory, using
from .workers import (
    fetch_block,
    fetch_together,
    own_gpu,
    room_on_gpus,
    send_block,
    set_worker,
)

__all__ = [
    "DEVICES",
    "Device",
    "DeviceMemoryError",
    "DeviceReport",
    "DeviceUnavailableError",
    "check_memory",
    "devices",
    "fetch",
    "fetch_block",
    "fetch_together",
    "filters",
    "index_of",
    "is_on_cuda",
    "library",
    "own_gpu",
    "passes",
    "place",
    "resolve",
    "room_on_gpus",
    "send_block",
    "set_worker",
    "shares_memory",
    "take",
    "using",
]
