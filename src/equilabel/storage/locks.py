"""Locks on open files, which end with the process that holds them."""

from __future__ import annotations

import sys


def lock(descriptor: int) -> bool:
    """Lock an open file for this process; return False if another process has locked it.

    A disk that knows no locks is used without.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     lock(file.fileno())
    True
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
