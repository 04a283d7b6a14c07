"""Folder of an unfinished run: locked, with a manifest."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equilabel.storage.files import folder_for, is_folder, replacing
from equilabel.storage.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST, LOCK = "manifest.json", "lock"
TRIES = 20  # a run that ends may remove its folder while the next one opens it


class OtherRunError(ValueError):
    """The run to resume had another image or other arguments."""


@contextmanager
def temporary() -> Iterator[Path]:
    """Make a folder for a run that cannot be resumed; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="equilabel-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def unfinished(out: Path, manifest: Mapping[str, Any], *, resume: bool) -> Iterator[Path]:
    """Make or find the folder of a run, and lock it; it is removed when the run is complete.

    `manifest` holds image, arguments and versions as JSON; to resume a run, it must be the same.
    Raises RuntimeError if another run makes the same result now, OtherRunError if an earlier run
    has another manifest, and OSError if the folder cannot be written.
    """
    folder = folder_for(out)
    descriptor = _locked(folder, out)
    try:
        known = read_object(folder / MANIFEST) if resume else None
        if known is None:
            _clear(folder)
            with replacing(folder / MANIFEST) as file:
                file.write_text(json.dumps(manifest, indent=1, sort_keys=True), "utf-8")
        else:
            check_manifest(known, manifest, str(out))
        yield folder
        _clear(folder)
        if os.name != "nt":  # Windows cannot remove open files
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
    if os.name == "nt":
        shutil.rmtree(folder, ignore_errors=True)


def read_object(file: Path) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing or damaged."""
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _locked(folder: Path, out: Path) -> int:
    """Make a folder and lock its lock file; return the descriptor."""
    for _ in range(TRIES):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # another run has just removed the folder
            continue
        if not lock(descriptor):
            os.close(descriptor)
            break
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), (folder / LOCK).lstat()):
                return descriptor
        os.close(descriptor)
    message = (
        f"out must be made by one run at a time; got {str(out)!r}, which another run makes now. "
        "Wait until it ends, or choose another path."
    )
    raise RuntimeError(message)


def check_manifest(known: Mapping[str, Any], manifest: Mapping[str, Any], out: str) -> None:
    """Raise OtherRunError if the manifest of the run to resume is different."""
    manifest = json.loads(json.dumps(manifest))
    other = [key for key in manifest if known.get(key) != manifest[key]]
    if other:
        was = ", ".join(f"{key}={known.get(key)!r}" for key in other)
        now = ", ".join(f"{key}={manifest[key]!r}" for key in other)
        message = (
            f"resume must go on with the image and arguments with which {out!r} was begun; got "
            f"{now}, before {was}. Pass resume=False to begin again."
        )
        raise OtherRunError(message)


def _clear(folder: Path) -> None:
    """Remove everything except the lock; the manifest first, so that remains are not used."""
    with suppress(FileNotFoundError):
        (folder / MANIFEST).unlink()
    for leftover in folder.iterdir():
        if leftover.name == LOCK:
            continue
        if is_folder(leftover):
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def new_token() -> str:
    """Return a unique name for a run."""
    return secrets.token_hex(8)
