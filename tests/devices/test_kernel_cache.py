"""Compiled code is kept where it can be, checked when it is loaded, and no call fails for it."""

import errno
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

import equilabel
from equilabel.cli import main
from equilabel.devices import compiling, jit
from equilabel.labeling import remembered
from equilabel.runs.cpu import serial as serial_runs
from equilabel.runs.cpu import serial as single_call
from references import expected_labels

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
PACKAGE = Path(equilabel.__file__).parent
compiled = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def double(x):
    return 2 * x


def fresh():
    """The function as a new process has it: nothing of it is in memory."""
    return jit.njit(nogil=True, cache=True)(double)


def was_loaded():
    """Whether a new process finds it compiled."""
    function = fresh()
    assert function(21) == 42
    return sum(function.stats.cache_hits.values()) == 1


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch):
    monkeypatch.setattr(jit, "TOLD", set())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The only folder for compiled code, empty."""
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path / "cache"])
    return tmp_path / "cache"


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """Two folders that cannot be made, for root neither."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path / "file/a", tmp_path / "file/b"])


# --------------------------------------------------------- compiled when it is worth it


@compiled
@pytest.mark.usefixtures("folder")
def test_a_single_call_is_compiled_when_it_would_have_been_made_often(monkeypatch):
    monkeypatch.setattr(serial_runs, "PATIENCE", 2)
    monkeypatch.setattr(serial_runs, "_left", {})
    arguments = (np.arange(3),)
    first, second = fresh(), fresh()
    assert [serial_runs.is_worth_compiling(first, arguments) for _ in range(3)] == [
        False,
        False,
        True,
    ]
    first(*arguments)
    assert serial_runs.is_worth_compiling(
        second, arguments
    )  # kept by the first: nothing to wait for
    assert not serial_runs.is_worth_compiling(second, (np.arange(3.0),))


@compiled
def test_a_function_that_is_compiled_into_others_is_plain_python_to_python():
    inner = jit.inlined(double)
    outer = jit.njit(nogil=True)(lambda x: inner(x) + 1)
    assert (inner("a"), outer(20), inner("a"), inner(x=2)) == ("aa", 41, "aa", 4)


@compiled
def test_small_images_have_the_same_labels_before_and_after_the_single_call(monkeypatch):
    monkeypatch.setattr(serial_runs, "PATIENCE", 1)
    monkeypatch.setattr(serial_runs, "_left", {})
    monkeypatch.setattr(serial_runs, "is_kept", lambda *_: False)
    remembered.forget()
    single_call.single_call.cache_clear()
    one, two = np.eye(40, 70, dtype=np.uint8), np.tri(40, 70, dtype=np.uint8)
    room = np.empty(4 * one.size + 1, np.uint8)[1:]
    displaced = room.view(np.int32).reshape(one.shape)
    displaced[:] = one
    for image in (one, one + two, two, np.eye(400, 170, dtype=np.uint8), displaced):
        expected = expected_labels(image, None, 2)
        for _ in range(3):
            np.testing.assert_array_equal(equilabel.label(image), expected)
            np.testing.assert_array_equal(equilabel.label(image.astype(np.int32)), expected)


# ------------------------------------------------------------- kept and checked


@compiled
def test_what_one_process_compiled_the_next_one_loads(folder):
    assert not was_loaded()
    assert was_loaded()
    assert [path.suffix for path in folder.iterdir()] == [".kernel"]


@compiled
def test_importing_kernels_touches_no_folder(folder):
    fresh()
    assert not folder.exists()


@compiled
@pytest.mark.parametrize("at", [0, 31, 32, 40, 0.3, 0.6, 0.9, -1])
def test_a_flipped_bit_is_noticed_and_compiled_anew(folder, at):
    assert not was_loaded()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    position = int(at * len(whole)) if isinstance(at, float) else at
    damaged = bytearray(whole)
    damaged[position] ^= 8
    file.write_bytes(damaged)
    assert not was_loaded()
    assert was_loaded()


@compiled
@pytest.mark.parametrize("content", ["nothing", "cut", "other code", "no code", "a folder"])
def test_whatever_lies_in_its_place_is_no_reason_to_fail(folder, content):
    assert not was_loaded()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    if content == "a folder":
        file.unlink()
        file.mkdir()
    elif content in ("nothing", "cut"):
        file.write_bytes(whole[: len(whole) // 2] if content == "cut" else b"")
    else:  # with a checksum that is right
        key, payload = pickle.loads(whole[32:])
        other = ("another", payload) if content == "other code" else (key, ())
        assert not compiling.write(file.name, pickle.dumps(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.CacheWarning)
        assert not was_loaded()
    assert was_loaded() == (content != "a folder")


@compiled
def test_changed_sources_are_compiled_anew_and_leave_nothing_behind(folder, monkeypatch):
    assert not was_loaded()
    (first,) = folder.iterdir()
    parts = first.name.split("-")
    elsewhere = folder / "-".join([parts[0], "0" * 16, *parts[2:]])  # of another Python, say
    elsewhere.touch()
    monkeypatch.setattr(jit, "sources", lambda: "f" * 16)
    assert not was_loaded()
    assert not first.exists()
    assert elsewhere.exists()
    assert was_loaded()


@compiled
def test_settings_that_change_the_code_have_code_of_their_own(folder, monkeypatch):
    assert not was_loaded()
    monkeypatch.setattr("numba.core.config.BOUNDSCHECK", 1)
    assert not was_loaded()
    monkeypatch.undo()
    monkeypatch.setattr(compiling, "folders", lambda: [folder])
    assert was_loaded()


def test_readers_see_a_whole_file_or_none_while_others_write_it(folder):
    contents = [bytes([k]) * 300_000 for k in range(4)]
    assert not compiling.write("x.kernel", contents[0])
    done = threading.Event()

    def write(content):
        while not done.is_set():
            assert not compiling.write("x.kernel", content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    try:
        assert all(compiling.read("x.kernel") in contents for _ in range(200))
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert [path.name for path in folder.iterdir()] == ["x.kernel"]


# ---------------------------------------------------------------- one for many

FROZEN = np.arange(3.0)  # numba takes a global array for one that may not be written


def element(values, index):
    return values[index]


@compiled
@pytest.mark.parametrize("make", [jit.njit(nogil=True), jit.inlined])
def test_constants_and_read_only_arrays_are_no_reason_to_compile_again(make):
    inner = make(element)

    @jit.njit(nogil=True)
    def outer(values, last):
        first = inner(values, 0) + inner(values, index=1) + inner(FROZEN, 1)
        return first + inner(values, last)

    values, read_only = np.arange(3.0), np.arange(3.0)
    read_only.flags.writeable = False
    assert outer(read_only, 2) == outer(values, 2) == outer(values, last=2) == 4
    assert len(inner.overloads) == len(outer.overloads) == 1
    assert inner(read_only, 2) == inner(values, 2) == 2
    assert len(inner.overloads) == 1


@compiled
def test_a_first_call_by_two_threads_does_not_make_later_calls_slow():
    function = jit.njit(nogil=True)(element)
    read_only = np.arange(3.0)
    read_only.flags.writeable = False
    signature = tuple(map(numba.typeof, (read_only, 2)))
    assert function.compile(signature) == function.compile(signature)  # as each of both asks
    asked = []
    compile_types = function.compile
    function.compile = lambda signature: asked.append(signature) or compile_types(signature)
    assert function(read_only, 2) == 2
    assert asked == []


# ------------------------------------------------------------- closed and full


@compiled
@pytest.mark.usefixtures("closed")
def test_without_a_folder_code_is_compiled_and_that_is_said_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        function = fresh()
        assert (function(21), function(2.5)) == (42, 5.0)
    (said,) = {str(each.message) for each in caught}
    assert said.startswith("the folder for compiled code must be writable and have room; got ")
    assert "Not a directory" in said
    assert said.endswith("Name a folder in NUMBA_CACHE_DIR.")
    assert len(caught) == 1
    assert caught[0].category is jit.CacheWarning


@compiled
def test_a_full_disk_is_named_as_that_of_the_compiled_code(folder, monkeypatch):
    def fail(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(compiling, "_replace", fail)
    with pytest.warns(jit.CacheWarning, match="code must .*got No space left.*cache'"):
        assert fresh()(21) == 42


def test_the_next_folder_is_used_where_the_first_is_closed(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path / "file/a", tmp_path / "b"])
    assert compiling.write("x.kernel", b"code") == ""
    assert compiling.read("x.kernel") == b"code"
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["x.kernel"]
    assert compiling.find_obstacle() == ""
    assert len(list((tmp_path / "b").iterdir())) == 1  # the trial is gone


def test_a_named_folder_is_the_only_one_and_else_they_are_those_of_numba(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(sys, "platform", "linux")
    (named,) = compiling.folders()
    assert named.parent == tmp_path / "named"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    beside, users = compiling.folders()
    assert beside == PACKAGE.resolve() / "devices/__pycache__"
    assert users.parent == tmp_path / "user/numba"


@pytest.mark.usefixtures("closed")
def test_devices_say_that_compiled_code_cannot_be_kept(capsys):
    assert equilabel.devices()[0].available
    assert "NUMBA_CACHE_DIR" in equilabel.devices()[0].note
    assert main(["devices"]) == 0
    assert "NUMBA_CACHE_DIR" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@compiled
@pytest.mark.long
def test_an_install_that_may_not_be_written_labels_and_says_so_once(tmp_path):
    """Beneath a file no folder can be made, by root neither."""
    copy = copied(tmp_path)
    (copy / "devices/__pycache__").touch()
    code = (
        "import numpy as np, equilabel;"
        "print(equilabel.label(np.eye(5, dtype=bool), connectivity=1).max())"
    )
    done = run(tmp_path, code)
    assert done.stdout.split() == ["5"]
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1


@pytest.mark.slow
@compiled
def test_a_change_in_a_function_of_another_file_is_noticed(tmp_path):
    copy = copied(tmp_path) / "runs/cpu"
    (copy / "outer.py").write_text(
        "from equilabel.devices.jit import njit\nfrom .inner import value\n\n\n"
        "@njit(nogil=True, cache=True)\ndef twice():\n    return 2 * value()\n"
    )
    said = []
    for number in (21, 34):
        (copy / "inner.py").write_text(
            "from equilabel.devices.jit import njit\n\n\n"
            f"@njit(nogil=True, cache=True)\ndef value():\n    return {number}\n"
        )
        code = "from equilabel.runs.cpu.outer import twice; print(twice())"
        said.append(run(tmp_path, code).stdout.strip())
    assert said == ["42", "68"]
    assert list((copy.parents[1] / "devices/__pycache__").glob("runs.cpu.outer.twice-*.kernel"))


def copied(folder):
    """Copy the package without what was compiled."""
    leave = shutil.ignore_patterns("__pycache__", "napari.yaml")
    return Path(shutil.copytree(PACKAGE, folder / "equilabel", ignore=leave))


def run(folder, code):
    (folder / "file").touch()
    surroundings = {
        **{key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")},
        **{"PYTHONPATH": str(folder), "HOME": str(folder / "file/home")},
        **{"XDG_CACHE_HOME": str(folder / "file/cache"), "LOCALAPPDATA": str(folder / "file")},
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
