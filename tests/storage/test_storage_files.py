"""Files are whole or absent, whatever happens while they are written."""

import errno
import hashlib
import os
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from equilabel.storage import files
from equilabel.storage.files import replacing, sha256
from equilabel.storage.table import write_table
from equilabel.storage.tiff import write_labels

resource = pytest.importorskip("resource", reason="limits on file sizes are POSIX")


def write_text(path):
    with replacing(path) as unfinished:
        unfinished.write_text("new " * 20_000)


def write_tiff(path):
    write_labels(path, np.random.default_rng(0).integers(0, 1000, (200, 200)), axes="YX")


def write_csv(path):
    write_table(path, {"area": np.random.default_rng(0).random(10_000)})


def write_parquet(path):
    write_table(path, {"area": np.random.default_rng(0).random(10_000)})


WRITERS = {"a.txt": write_text, "a.tif": write_tiff, "a.csv": write_csv, "a.parquet": write_parquet}


@pytest.fixture(params=WRITERS)
def earlier(request, tmp_path):
    """An earlier result, and the writer that is to replace it."""
    path = tmp_path / request.param
    path.write_text("earlier")
    return path, WRITERS[request.param]


@contextmanager
def full_disk():
    """Let no file grow past 4 KiB: the system itself fails in the middle of a write.

    Within the block only, as the limit holds for a file that takes pytest's output, too.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def assert_untouched(path):
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_text() == "earlier"


def test_a_complete_file_replaces_an_earlier_one(earlier):
    path, write = earlier
    write(path)
    assert path.read_bytes() != b"earlier"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_temporary_file_lies_in_the_same_folder_under_another_name(tmp_path):
    with replacing(tmp_path / "a") as unfinished:
        assert unfinished.parent == tmp_path
        assert unfinished.name != "a"
        assert not (tmp_path / "a").exists()


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path):
    write_text(tmp_path / ("n" * 255))


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_an_exception_in_the_middle_leaves_the_earlier_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("earlier")

    def write_half():
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert_untouched(path)


def test_a_write_that_fails_in_the_middle_leaves_the_earlier_file(earlier):
    path, write = earlier
    with pytest.raises(OSError, match=r"."), full_disk():
        write(path)
    assert_untouched(path)


def test_a_write_that_fails_in_the_middle_names_the_file(tmp_path):
    path = tmp_path / "a.tif"
    with pytest.raises(OSError, match="File too large") as caught, full_disk():
        write_tiff(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))


def test_a_full_disk_surfaces_as_the_system_says_it_with_the_path(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(OSError, match="No space left") as caught, replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "a"):
        (tmp_path / "input").read_text()
    assert Path(caught.value.filename) == tmp_path / "input"


def test_a_failure_to_flush_leaves_the_earlier_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("earlier")

    def fail(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output") as caught:
        write_text(path)
    assert caught.value.filename == str(path)
    assert_untouched(path)


def test_the_file_is_flushed_to_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    path = tmp_path / "a"
    seen = []

    def record(descriptor):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", record)
    write_text(path)
    assert seen == [(False, False), (True, True)]


def test_an_interrupt_while_labels_are_compressed_leaves_the_earlier_file(tmp_path, monkeypatch):
    import tifffile

    path = tmp_path / "a.tif"
    path.write_text("earlier")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(tifffile.FileHandle, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_tiff(path)
    assert_untouched(path)


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError, IsADirectoryError])
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, error):
    path = tmp_path / "folder" / "a"
    if error is PermissionError:  # the tests may run as root, who may write anywhere

        def refuse(*args):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), args[0])

        monkeypatch.setattr(os, "open", refuse)
    if error is IsADirectoryError:
        path.mkdir(parents=True)
    with pytest.raises(error) as caught:
        write_text(path)
    assert caught.value.filename == str(path)


def test_a_folder_in_the_place_of_the_file_is_noticed_before_the_work(tmp_path):
    work = []
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        work.append(1)
    assert work == []


def test_a_name_that_cannot_be_given_leaves_the_earlier_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("earlier")

    def fail(self, target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(PermissionError) as caught:
        write_text(path)
    assert caught.value.filename == str(path)
    assert_untouched(path)


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path):
    (tmp_path / "target").write_text("target")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "target").read_text() == "target"
    assert not (tmp_path / "link").is_symlink()


def test_others_may_read_what_the_umask_lets_them_read(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_the_hash_is_sha256_of_all_bytes(tmp_path):
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)
    assert sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()


def test_the_hash_of_a_missing_file_is_an_error_with_its_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        sha256(tmp_path / "missing")


@pytest.mark.parametrize("error", [errno.EACCES, errno.EINVAL], ids=errno.errorcode.get)
def test_a_file_of_windows_is_taken_for_locked_only_where_another_process_has_locked_it(
    monkeypatch, error
):
    def locking(descriptor, mode, size):
        raise OSError(error, os.strerror(error))

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    monkeypatch.setattr(files, "sys", SimpleNamespace(platform="win32"))
    assert files.lock(0) == (error != errno.EACCES)
