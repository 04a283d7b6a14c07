"""Write files atomically, open them safely, and lock them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import tempfile
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


TRIES = 20  # a run that ends may remove its lock file while the next run opens it
URL = re.compile(r"[A-Za-z][\w+.-]+:/")  # beginning of a URL; Windows drives have one letter


_flushing = ContextVar("_flushing", default=True)  # whether new files are flushed to the disk


@contextmanager
def replacing(path: Any, *, flush: bool = True) -> Iterator[Path]:
    """Write a file under a temporary name, yielded as an empty file, and rename it when complete.

    It is flushed to the disk before, unless readers can detect an incomplete file (not `flush`). On
    any exception it is removed, and an earlier file stays. Errors name `path`, not the temporary
    name.
    """
    if is_remote(path):
        with _uploading(path) as unfinished:
            yield unfinished
        return
    path, flush = Path(path), flush and _flushing.get()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    unfinished = path.with_name(f".equilabel-{secrets.token_hex(8)}.part")
    try:
        # Not `tempfile`, whose files only the user can read: results follow the umask.
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield unfinished
        if flush:
            flush_file(unfinished)
        unfinished.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # the original error is more useful
            unfinished.unlink()
        ours = (None, str(unfinished), unfinished)
        if isinstance(error, OSError) and error.errno is not None and error.filename in ours:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    if flush:
        flush_folder(path.parent)


def is_remote(path: Any) -> bool:
    """Return whether a path is that of a store of fsspec (a `UPath`), not of this machine."""
    return hasattr(path, "storage_options") and not isinstance(path, Path)


@contextmanager
def _uploading(path: Any) -> Iterator[Path]:
    """Yield the path of a new local file, which a store takes at once when the block has ended."""
    with tempfile.TemporaryDirectory(prefix="equilabel-") as folder:
        file = Path(folder, path.name)
        file.touch()
        yield file
        path.fs.put_file(str(file), path.path)


@contextmanager
def without_flushing() -> Iterator[None]:
    """Flush no files of this thread: the caller flushes their folder before it is renamed."""
    token = _flushing.set(False)
    try:
        yield
    finally:
        _flushing.reset(token)


def folder_for(out: Path) -> Path:
    """Return the temporary folder in which the folder `out` is made: ``.NAME.unfinished``."""
    return out.with_name(f".{out.name}.unfinished")


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    with Path(path).open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_url(name: str, path: Path | str) -> None:
    """Raise ValueError if a path is a URL, of which `Path` removes a slash."""
    text = os.fspath(path)
    scheme = URL.match(text)
    if "://" in text or (scheme and not Path(scheme[0]).exists()):
        message = (
            f"{name} must be a path on this machine, not a URL; got {text!r}. "
            "Download or mount the data, and pass its path."
        )
        raise ValueError(message)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def open_regular(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor, which the caller closes.

    Others may have put a link, a pipe that blocks or a device that acts in its place: OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        _check_regular(os.lstat(path), path)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _check_regular(os.fstat(descriptor), path)  # it may have been replaced meanwhile
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def locked_file(folder: Path, name: str) -> int | None:
    """Make a folder, lock a file in it and return its descriptor; None if others have it."""
    for _ in range(TRIES):
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "a link", str(folder))
        try:
            descriptor = open_regular(folder / name, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:  # another run has just removed the folder
            continue
        if not lock(descriptor):
            os.close(descriptor)
            break
        with contextlib.suppress(OSError):  # it is no longer there
            if os.path.samestat(os.fstat(descriptor), (folder / name).lstat()):
                return descriptor
        os.close(descriptor)
    return None


def lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has. True if the disk has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, (BlockingIOError, PermissionError))  # the latter on Windows
    return True


def kind_of_file(mode: int) -> str:
    """Return "file", "folder", "link", "pipe", or "socket or device" for a mode from `os.stat`."""
    kinds = {stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "pipe"}
    return {stat.S_IFREG: "file", **kinds}.get(stat.S_IFMT(mode), "socket or device")


def _check_regular(found: os.stat_result, path: Path | str) -> None:
    kind = kind_of_file(found.st_mode)
    if kind != "file":
        raise OSError(errno.EINVAL, f"a {kind} in place of a file", str(path))


def flush_file(path: Path | str, mode: int = os.O_RDWR) -> None:
    """Flush a file to the disk, so that it is complete when it is renamed."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def flush_folder(folder: Path | str) -> None:
    """Flush a folder to the disk, so that new names in it survive a power failure."""
    with contextlib.suppress(OSError):  # not possible on Windows and in some network folders
        flush_file(folder, os.O_RDONLY)


def flush_tree(folder: Path) -> None:
    """Flush all files in a folder and below it, then the folders; not if the caller does."""
    for inside, _, names in os.walk(folder, topdown=False) if _flushing.get() else ():
        for name in names:
            flush_file(os.path.join(inside, name))  # noqa: PTH118 - as `os.walk` says it
        flush_folder(inside)
