"""Write files that are complete once they have their name, and open files safely."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


PIECE = 2**20  # bytes of a file that are read at once
URL = re.compile(r"[A-Za-z][\w+.-]+:/")  # how one begins; a drive of Windows has one letter


class _Names(threading.local):
    """Whether the names of new files pass away, and who flushes them, in each thread."""

    passing = False
    flushing = True


_names = _Names()


@contextmanager
def replacing(path: Path | str, *, flush: bool = True) -> Iterator[Path]:
    """Write a file under a temporary name, and rename it when it is complete.

    The temporary file lies in the same folder. When the block ends without an exception the
    file reaches the disk and replaces whatever had the name; on any exception, an interrupt
    from the keyboard too, it is removed and an earlier file stays as it was. Readers see the
    old file or the new one, never a part.

    Parameters
    ----------
    path : path
        The final name. A symbolic link is replaced, not followed.
    flush : bool
        Whether the file reaches the disk before it gets its name. Without, a loss of power can
        leave a part of it: for files that whoever reads them can tell from whole ones.

    Yields
    ------
    Path
        The temporary name, of an empty file, to be written inside the ``with`` block.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to, the disk is full, or `path` is a
        folder. The error carries `path`, not the temporary name.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "notes.txt") as unfinished:
    ...     written = unfinished.write_text("complete")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('notes.txt', 'complete')]
    """
    path, passing = Path(path), _names.passing
    if not passing and path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    unfinished = path if passing else path.with_name(f".equilabel-{secrets.token_hex(8)}.part")
    try:
        if not passing:
            # Not `tempfile`: its files are private to the user, results follow the umask.
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield unfinished
        if flush and _names.flushing:
            flush_file(unfinished)
        if not passing:
            unfinished.replace(path)
    except OSError as error:
        _remove(unfinished)
        nameless = error.filename is None and error.errno is not None
        if nameless or error.filename in (str(unfinished), unfinished):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    except BaseException:
        _remove(unfinished)
        raise
    if flush and not passing:
        flush_folder(path.parent)


@contextmanager
def passing_names(*, flush: bool = True) -> Iterator[None]:
    """Let `replacing` write files under their own names at once, in this thread.

    For a new folder that is lost with its process, and whose files get their names elsewhere.

    Parameters
    ----------
    flush : bool
        Whether what is in the files still reaches the disk. Else whoever gives them their names
        calls `flush_file` before. Folders are not flushed in either case.
    """
    before = _names.passing, _names.flushing
    _names.passing, _names.flushing = True, flush
    try:
        yield
    finally:
        _names.passing, _names.flushing = before


def folder_for(out: Path) -> Path:
    """Return the folder in which a folder is made that will be `out`.

    Examples
    --------
    >>> folder_for(Path("labels.zarr")).name
    '.labels.zarr.unfinished'
    """
    return out.with_name(f".{out.name}.unfinished")


def sha256(path: Path | str) -> str:
    """Return the SHA-256 checksum of a file.

    Damage inside uncompressed pixels cannot be seen; a hash kept beside a result tells later
    whether the input is still the one it was made from.

    Parameters
    ----------
    path : path
        File to read, in pieces, so that its size does not matter.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "empty"
    >>> file.touch()
    >>> sha256(file)[:16]
    'e3b0c44298fc1c14'
    """
    digest = hashlib.sha256()
    with Path(path).open("rb", buffering=0) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def refuse_url(name: str, path: Path | str) -> None:
    """Raise ValueError if a path is an address such as ``s3://bucket/image.zarr``.

    Parameters
    ----------
    name : str
        Of the parameter or option.
    path : path
        As it was typed. Of an address, `Path` has left one slash.

    Examples
    --------
    >>> refuse_url("out", "labels.zarr")
    >>> refuse_url("out", Path("s3://bucket/labels.zarr"))
    Traceback (most recent call last):
    ValueError: out must be a path on this machine, not a URL; got 's3:/bucket/labels.zarr'. \
Download or mount the data, and pass its path.
    """
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
    """Open a regular file; links, pipes and devices are refused without waiting.

    A name in a folder that others can write to may have become a link that leads away, a pipe
    that blocks whoever opens it, or a device that does something when it is opened.

    Parameters
    ----------
    path : path
        File to open.
    flags : int
        As for `os.open`.

    Returns
    -------
    int
        A file descriptor, to be closed by the caller.

    Raises
    ------
    OSError
        If there is none, it cannot be opened, or it is a link, folder, pipe, socket or device.

    Examples
    --------
    >>> import tempfile
    >>> try:
    ...     open_regular(tempfile.mkdtemp())
    ... except OSError as error:
    ...     print(error.strerror)
    a folder in place of a file
    """
    with contextlib.suppress(FileNotFoundError):
        _check_regular(os.lstat(path), path)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _check_regular(os.fstat(descriptor), path)  # in case it was exchanged just now
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def kind_of_file(mode: int) -> str:
    """Name what `os.stat` found: "file", "folder", "link", "pipe", or "socket or device"."""
    kinds = {stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "pipe"}
    return {stat.S_IFREG: "file", **kinds}.get(stat.S_IFMT(mode), "socket or device")


def _check_regular(found: os.stat_result, path: Path | str) -> None:
    kind = kind_of_file(found.st_mode)
    if kind != "file":
        raise OSError(errno.EINVAL, f"a {kind} in place of a file", str(path))


def flush_file(path: Path | str) -> None:
    """Bring what is in a file to the disk; a name that it gets later is then that of all of it."""
    try:
        _flush(path, os.O_RDWR)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def flush_folder(folder: Path | str) -> None:
    """Flush a folder to disk, so that new names in it survive a loss of power."""
    with contextlib.suppress(OSError):  # Windows cannot, and some network folders cannot
        _flush(folder, os.O_RDONLY)


def flush_tree(folder: Path) -> None:
    """Flush all files in a folder and in those below it, and then the folders."""
    for inside, _, names in os.walk(folder, topdown=False):
        for name in names:
            flush_file(os.path.join(inside, name))  # noqa: PTH118 - as `os.walk` says it
        flush_folder(inside)


def flush_new(folder: Path) -> None:
    """Flush a new folder as `flush_tree` does, unless whoever names it will: `passing_names`."""
    if _names.flushing:
        flush_tree(folder)


def _flush(path: Path | str, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # the error that led here says more
        path.unlink()
