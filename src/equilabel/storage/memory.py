"""Free memory, sizes in words, and arrays in slabs that fit."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from equilabel.arguments import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CGROUPS = Path("/sys/fs/cgroup")  # limits of containers and batch jobs on Linux
OWN_GROUPS, MEMINFO = Path("/proc/self/cgroup"), Path("/proc/meminfo")
UNKNOWN = 2**35  # used if the free memory is unknown
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
LARGEST_KEPT, MOST_KEPT = 2**25, 2**26  # bytes: of a block (the limit of glibc), of all blocks
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
LITTLE = 2**28  # bytes below which free memory is not checked
SLAB = 2**26  # bytes of an array that is not in memory, read at once


def free() -> int:
    """Return the bytes that the system, and the control groups of this process, still give."""
    if sys.platform == "win32":
        known = _of_windows()
    else:
        known = _left_by_groups()
        with suppress(OSError, ValueError):
            lines = (line.split() for line in MEMINFO.read_text().splitlines())
            known += [int(line[1]) * 1024 for line in lines if line[:1] == ["MemAvailable:"]]
        if not known:
            with suppress(ValueError, OSError):
                known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(known, default=UNKNOWN)


def check_room(name: str, value: object, needed: int) -> None:
    """Raise ValueError if an argument needs more than is free: Linux would kill the process."""
    if needed > LITTLE and needed > (left := free()):
        message = (
            f"{name} must fit into the free memory, {readable(left)}; got {shown(value)}, which "
            f"takes about {readable(needed)}. Pass less."
        )
        raise ValueError(message)


def keep_freed() -> None:
    """Let glibc keep some of the memory that it frees, for images of similar sizes.

    Memory that was returned to the system is cleared again, which takes as long as labeling.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError, ValueError):
            library = ctypes.CDLL(None)
            if hasattr(library, "gnu_get_libc_version"):
                library.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
                library.mallopt(M_TRIM_THRESHOLD, MOST_KEPT)


def readable(size: int) -> str:
    """Return a number of bytes in words, such as "1.23 MB"."""
    size = min(size, 10**99)  # Python refuses to print integers of many digits
    power = min(len(UNITS) - 1, max(0, (len(str(size)) - 1) // 3))
    return f"{size / 1000**power:.3g} {UNITS[power]}"


def slabs(shape: Sequence[int], itemsize: int) -> Iterator[tuple[slice, ...]]:
    """Yield slabs of an array along its first axis, each with as many planes as fit in `SLAB`."""
    if not shape:
        yield ()
    elif 0 not in shape:
        count = max(1, SLAB // (math.prod(shape[1:]) * itemsize))
        for start in range(0, shape[0], count):
            yield (slice(start, start + count),)


def _left_by_groups() -> list[int]:
    """List the free bytes of each control group (version 1 or 2) of this process."""
    left: list[int] = []
    with suppress(OSError):
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if not controllers:
                left += _left(CGROUPS, name, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                files = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
                left += _left(CGROUPS / "memory", name, *files)
    return left


def _left(root: Path, name: str, limit: str, usage: str, cached: str) -> list[int]:
    """List the free bytes of a group and its parents; in a container its own group is the root."""
    own = root / name.lstrip("/")
    left: list[int] = []
    for group in {root, *(each for each in (own, *own.parents) if each.is_relative_to(root))}:
        with suppress(OSError, ValueError):  # no limit, or none for this group
            most = int((group / limit).read_text())
            lines = (group / "memory.stat").read_text().split("\n")
            files = sum(int(line.split()[1]) for line in lines if line.startswith(f"{cached} "))
            left.append(max(0, most - int((group / usage).read_text()) + files))
    return left


def _of_windows() -> list[int]:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "c", "d", "e", "f", "g")),
        )

    status = Status(length=ctypes.sizeof(Status))
    known = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined, unused-ignore]
    return [int(status.free)] if known else []
