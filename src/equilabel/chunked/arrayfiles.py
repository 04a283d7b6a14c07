"""Files of arrays that are complete or missing, with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equilabel.array_types import HostArray

MAGIC = b"equilabel-1\n"
DIGEST = 32  # bytes


class DamagedFileError(OSError):
    """A file of arrays is missing, truncated or changed."""


def save_arrays(path: Path, arrays: Sequence[HostArray]) -> int:
    """Write arrays to a compressed file, which is renamed when it is complete; return its size.

    The file is not flushed to the disk: damage after a loss of power is found by the checksum.
    """
    from numcodecs import Zstd

    described = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
    data = [np.ascontiguousarray(array).tobytes() for array in arrays]
    packed = Zstd(level=1).encode(b"".join([described, b"\n", *data]))
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(MAGIC + hashlib.sha256(packed).digest())
            file.write(packed)
        os.replace(unfinished, path)  # noqa: PTH105 - atomic, and says so
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    return len(packed)


def load_arrays(path: Path) -> list[HostArray]:
    """Read the arrays of a file; raise DamagedFileError if it is missing, truncated or changed."""
    from numcodecs import Zstd

    data = Zstd().decode(_checked(path))
    described, start = data[: data.index(b"\n")], data.index(b"\n") + 1
    arrays = []
    for name, shape in json.loads(described):
        dtype, count = np.dtype(name), prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize
    return arrays


def is_whole(path: Path) -> bool:
    """Return whether a file of arrays exists and is undamaged."""
    try:
        _checked(path)
    except DamagedFileError:
        return False
    return True


def _checked(path: Path) -> bytes:
    """Return the content of a file; raise DamagedFileError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"checkpoint must be readable; got {error}. Run again with resume=True."
        raise DamagedFileError(message) from error
    head, packed = data[: len(MAGIC) + DIGEST], data[len(MAGIC) + DIGEST :]
    if head != MAGIC + hashlib.sha256(packed).digest():
        message = (
            f"checkpoint must be as it was written; got {str(path)!r}, which has changed. "
            "Run again with resume=True."
        )
        raise DamagedFileError(message)
    return packed


def checksum(array: HostArray) -> int:
    """Return the XXH64 of the elements of an array in C order; other threads can run meanwhile."""
    from xxhash import xxh64_intdigest

    return xxh64_intdigest(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
