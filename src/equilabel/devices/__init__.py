"""Which devices can be used here, where an array is, and the passes that run there."""

from .arrays import fetch, filters, index_of, is_on_cuda, library, place, shares_memory, take
from .choosing import DEVICES, Device, passes, resolve
from .reports import DeviceReport, devices
from .using import DeviceMemoryError, DeviceUnavailableError, check_memory, using
from .workers import (
    LANES,
    current_event,
    fetch_block,
    fetch_renumbered,
    own_gpu,
    room_on_gpus,
    send_block,
    set_worker,
    stage_block,
)

__all__ = [
    "DEVICES",
    "LANES",
    "Device",
    "DeviceMemoryError",
    "DeviceReport",
    "DeviceUnavailableError",
    "check_memory",
    "current_event",
    "devices",
    "fetch",
    "fetch_block",
    "fetch_renumbered",
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
    "stage_block",
    "take",
    "using",
]
