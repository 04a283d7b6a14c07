"""Locks on open files, which end with the process that holds them."""

from __future__ import annotations

import sys


def lock(descriptor: int) -> bool:
    """Lock an open file for this process; return False if another process has locked it.

    Returns True without a lock if the disk does not support locks.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     lock(file.fileno())
    True
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # PermissionError: Windows
        return False
    except OSError:
        return True
    return True
