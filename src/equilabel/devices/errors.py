"""What goes wrong with devices."""

from __future__ import annotations


class DeviceUnavailableError(RuntimeError):
    """A device was asked for by name, or holds an array, and cannot be used."""


class DeviceMemoryError(DeviceUnavailableError, MemoryError):
    """A device has too little memory for the work."""
