"""Paths on this machine, and in the stores of fsspec: S3, Google Cloud, a web server, memory."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from equilabel.arguments import check_path

from .files import is_remote, refuse_url

BEAT = 5.0  # seconds after which a run renews its lock in a store
READ_ONLY = ("http", "https")


def locate(name: str, path: Any, *, writes: bool = False) -> Any:
    """Return a path: `Path`, or `UPath` for a URL such as ``s3://bucket/image.zarr``.

    `name` is for messages. Options of a store come from the environment, or from a `UPath`.
    """
    if isinstance(path, str) and "://" in path:
        try:
            from fsspec import get_filesystem_class
            from upath import UPath

            get_filesystem_class(path.partition("://")[0])
        except ImportError as error:
            message = (
                f"{name} is a URL, which needs another library; got {error}. Install "
                "equilabel[cloud] for S3, and what fsspec names for other stores."
            )
            raise ImportError(message) from error
        except ValueError as error:
            message = (
                f"{name} must be a path, or a URL of a kind that fsspec knows, such as s3:// or "
                f"gs://; got {path!r}. Correct it."
            )
            raise ValueError(message) from error
        path = UPath(path)
        if path.protocol in ("", "file", "local"):
            path = Path(path.path)
    if not is_remote(path):
        found = check_path(name, path)
        refuse_url(name, found)
        return found
    if writes and path.protocol in READ_ONLY:
        message = f"{name} must be in a store that can be written; got {str(path)!r}."
        raise ValueError(message)
    return path


def zarr_store(path: Any, *, read_only: bool) -> Any:
    """Return the Zarr store of a path."""
    from zarr.storage import FsspecStore, LocalStore

    if not is_remote(path):
        return LocalStore(Path(path), read_only=read_only)
    options = dict(path.storage_options)
    return FsspecStore.from_url(str(path), storage_options=options, read_only=read_only)


def read_range(path: Any, start: int, stop: int) -> bytes:
    """Return some bytes of a file; fewer if it is shorter."""
    if is_remote(path):
        found: bytes = path.fs.cat_file(path.path, start=start, end=stop)
        return found
    with path.open("rb") as file:
        file.seek(start)
        data: bytes = file.read(stop - start)
        return data


def make_folder(path: Any) -> None:
    """Make a folder if it is missing; stores of objects have none."""
    if not is_remote(path):
        path.mkdir(parents=True, exist_ok=True)


def remove_tree(path: Any) -> None:
    """Remove a folder with all that is in it, if it exists."""
    if not is_remote(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(FileNotFoundError):
        path.fs.rm(path.path, recursive=True)


def copy_tree(source: Any, target: Any, last: tuple[str, ...] = ()) -> None:
    """Copy the files of a folder within a store; those at its top named `last` come last."""
    files, above = source.fs.find(source.path), len(source.path.strip("/"))
    names = [one.strip("/")[above:].strip("/") for one in files]
    for late in (False, True):
        for file, name in zip(files, names, strict=True):
            if (name in last) == late:
                source.fs.copy(file, f"{target.path}/{name}")


def fingerprint(path: Any) -> list[list[Any]]:
    """List names, sizes and versions of the files of an image in a store."""
    path.fs.invalidate_cache()
    found = path.fs.find(path.path, detail=True)
    marks = ("ETag", "etag", "md5Hash", "LastModified", "created", "mtime")
    return [
        [name, one.get("size"), str(next((one[mark] for mark in marks if mark in one), ""))]
        for name, one in sorted(found.items())
    ]


class Lease:
    """A lock in a store: a file that its owner writes again and again, while it works."""

    def __init__(self, file: Any) -> None:
        self._file, self._token, self._ended = file, secrets.token_hex(8), threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="equilabel-lease", daemon=True)

    def take(self) -> bool:
        """Take the lock; return False if another run works: its file has changed meanwhile."""
        known = self._read()
        if known is not None:
            time.sleep(2 * BEAT)
            if self._read() != known:
                return False
        self._write(0)
        time.sleep(BEAT / 5)
        if (self._read() or {}).get("token") != self._token:  # another run was faster
            return False
        self._renewing.start()
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._ended.set()
        if self._renewing.is_alive():  # it could write once more
            self._renewing.join()
        with suppress(OSError):
            self._file.unlink()

    def _renew(self) -> None:
        turn = 0
        while not self._ended.wait(BEAT):
            turn += 1
            with suppress(Exception):  # the run itself reports a store that is gone
                self._write(turn)

    def _write(self, turn: int) -> None:
        self._file.write_text(json.dumps({"token": self._token, "turn": turn}))

    def _read(self) -> dict[str, Any] | None:
        self._file.fs.invalidate_cache()
        try:
            found: dict[str, Any] = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return None
        return found
