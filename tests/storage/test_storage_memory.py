"""Memory that runs out while a file is decoded is told as that, not as damage."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile

from equilabel.storage import memory
from equilabel.storage.tiff import UnreadableImageError, read_tiff


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((64, 64), np.uint8), compression="zlib")
    return path


def failing(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", fail)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 9 TiB"),
        RuntimeError("insufficient memory"),
        ValueError("zstd: Allocation failed"),
    ],
)
def test_a_codec_without_memory_is_no_damaged_file(file, monkeypatch, error):
    failing(monkeypatch, error)
    with pytest.raises(MemoryError, match=str(error)):
        read_tiff(file)


def test_another_failure_of_a_codec_is_damage(file, monkeypatch):
    failing(monkeypatch, RuntimeError("decoder returned NULL"))
    with pytest.raises(UnreadableImageError, match="decoder returned NULL"):
        read_tiff(file)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_memory_is_not_kept_where_there_is_no_glibc(monkeypatch, platform):
    def fail(name):
        raise TypeError(name)  # as on Windows, where CDLL takes no None

    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr(ctypes, "CDLL", fail)
    memory.keep_freed()
