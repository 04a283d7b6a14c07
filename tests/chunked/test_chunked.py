"""Labels of images in chunks: those of the whole image, number by number."""

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import tifffile
import zarr

import equilabel
from equilabel import label, label_chunked
from equilabel.chunked import results, tasks
from equilabel.chunked.blocks import Blocks, cut_faces
from equilabel.chunked.engine import Engine
from equilabel.chunked.tasks import ChangedInputError
from equilabel.devices import workers as workers_of_gpus
from equilabel.labeling import solve

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(14)
NOISE = RNG.random((20, 24, 28)) < 0.25


def random_case(seed):
    """Return an image, the arguments of `label`, and sides of chunks."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 5))
    shape = rng.integers(1, {1: 40, 2: 14, 3: 8, 4: 5}[axes], axes).tolist()
    stacked = bool(axes > 1 and rng.random() < 0.3)
    image = rng.random(shape) < rng.choice([0.2, 0.5, 0.8])
    background = None
    if rng.random() < 0.5:
        image = rng.integers(0, 3, shape).astype(np.uint8)
        background = [None, 1, 7][rng.integers(3)]
    if axes == 3 and rng.random() < 0.2:
        image = image[..., :1]  # which scikit-image numbers column by column
    arguments = {
        "background": background,
        "connectivity": int(rng.integers(1, axes - stacked + 1)),
        "stacked": stacked,
        "periodic": (rng.random(axes - stacked) < 0.4).tolist(),
    }
    return image, arguments, [int(rng.integers(1, side + 1)) for side in image.shape]


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in (2, 3))])
def test_chunks_do_not_matter(part):
    for seed in range(part, 120, 4):
        image, arguments, chunks = random_case(seed)
        expected, count = label(image, return_num=True, **arguments)
        found, number = label_chunked(
            image, return_num=True, chunks=chunks, scheduler="synchronous", **arguments
        )
        np.testing.assert_array_equal(found, expected, err_msg=f"{seed}", strict=True)
        assert number == count


def spiral(side):
    """Return a path of one pixel that winds inward: a single component."""
    image = np.zeros((side, side), bool)
    y, x, dy, dx = 0, 0, 0, 1
    image[0, 0] = True
    for length in [side - 1, *np.repeat(np.arange(side - 1, 0, -2), 2).tolist()]:
        for _ in range(length):
            y, x = y + dy, x + dx
            image[y, x] = True
        dy, dx = dx, -dy
    return image


@pytest.mark.parametrize(("chunks", "connectivity"), [(1, 1), (3, 1), (4, 2), ((1, -1), 2)])
def test_a_spiral_through_all_chunks_is_one_component(chunks, connectivity):
    image = spiral(24)
    found, count = label_chunked(
        image, connectivity=connectivity, chunks=chunks, workers=3, return_num=True
    )
    assert count == 1
    assert (found == image).all()


@pytest.fixture
def stored(tmp_path):
    """Return the path of noise as a Zarr, in chunks that do not fit its shape."""
    array = zarr.create_array(
        tmp_path / "noise.zarr", shape=NOISE.shape, chunks=(8,) * 3, dtype="?"
    )
    array[...] = NOISE
    return tmp_path / "noise.zarr"


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_the_same_kind_comes_out(stored, tmp_path):
    expected = label(NOISE)
    uneven = da.from_array(NOISE, chunks=((3, 17), 24, (5, 9, 14)))
    found = label_chunked(uneven)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), expected, strict=True)
    found = label_chunked(zarr.open_array(stored), out=tmp_path / "a.zarr", chunks=(8, -1, 16))
    assert isinstance(found, zarr.Array)
    np.testing.assert_array_equal(found[...], expected, strict=True)
    found = label_chunked(str(stored), out=tmp_path / "b.zarr")
    assert found == tmp_path / "b.zarr"
    np.testing.assert_array_equal(zarr.open_array(found)[...], expected)
    tifffile.imwrite(tmp_path / "noise.tif", NOISE.astype(np.uint8))
    found = label_chunked(tmp_path / "noise.tif", out=tmp_path / "c.zarr", chunks=(7, -1, 9))
    np.testing.assert_array_equal(zarr.open_array(found)[...], expected)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        *("a.zarr", "b.zarr", "c.zarr", "noise.tif", "noise.zarr")
    ]


def test_each_chunk_is_read_twice():
    reads, lock = [], threading.Lock()

    def read(block, block_id=None):
        with lock:
            reads.append(block_id)
        return block

    image = da.from_array(NOISE, chunks=8).map_blocks(
        read, dtype=bool, meta=np.empty((0,) * 3, "?")
    )
    reads.clear()
    label_chunked(image)
    assert len(reads) == 2 * len(set(reads)) == 2 * image.npartitions


@pytest.mark.parametrize("largest", [5, 2**31 - 1])
def test_no_block_of_an_array_in_memory_is_labeled_twice(largest, monkeypatch):
    labeled = []
    monkeypatch.setattr(results, "LARGEST", largest)  # labels of 32 bits
    monkeypatch.setattr(tasks, "solve", lambda *a, **k: labeled.append(1) or solve(*a, **k))
    found = label_chunked(NOISE, chunks=8)
    np.testing.assert_array_equal(found, label(NOISE))
    assert (found.dtype, len(labeled)) == (np.int64 if largest == 5 else np.int32, 36)


def test_labels_at_the_ends_of_a_block_do_not_keep_all_of_it_in_memory():
    labels = np.ones((8, 8, 8), np.int32)
    lows, highs = cut_faces(labels, Blocks((24,) * 3, (8,) * 3), 13, 1, 40)
    assert all(face.base is None for face in (*lows, *highs))


@pytest.mark.parametrize("scheduler", ["processes", "cluster"])
@pytest.mark.long
def test_other_processes_find_the_same(scheduler, stored, tmp_path):
    if scheduler == "processes":
        label_chunked(stored, out=tmp_path / "out.zarr", chunks=16, scheduler=scheduler, workers=1)
    else:
        from distributed import LocalCluster

        with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster:
            address = cluster.scheduler_address
            label_chunked(stored, out=tmp_path / "out.zarr", chunks=16, scheduler=address)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr")[...], label(NOISE))


class Stopped(Exception):
    """What a caller raises to end the work."""


def stop_after(number):
    """Return a `progress` that ends the work after so many blocks."""
    calls = iter(range(number))

    def progress(stage, done, total):
        if next(calls, None) is None:
            raise Stopped

    return progress


KILLED = """
import os, random, signal, sys, threading
import zarr, equilabel.chunked.label
from equilabel import label_chunked
seed, image, out = sys.argv[1:]
label_chunked(__import__("numpy").eye(4, dtype=bool), chunks=2)
delay = random.Random(seed).uniform(0.0, 0.15)
threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
label_chunked(image, out=out, chunks=4, resume=True)
"""


@pytest.mark.long
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(stored, tmp_path):
    out, expected = tmp_path / "out.zarr", tmp_path / "expected.zarr"
    label_chunked(stored, out=expected, chunks=4)
    killed = 0
    for seed in range(3):
        command = [sys.executable, "-c", KILLED, str(seed), stored, out]
        killed += subprocess.run(command, check=False).returncode == -9
        assert killed <= seed or not out.exists()
    assert killed
    assert label_chunked(stored, out=out, chunks=4, resume=True) == out
    assert files(out) == files(expected)


ABANDONED = """
import os, signal
from equilabel.chunked.engine import _pool
if __name__ == "__main__":
    with _pool("processes", 1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads the state of a process")
def test_workers_end_with_a_caller_that_was_killed(tmp_path):
    (tmp_path / "abandoned.py").write_text(ABANDONED)
    command, told = [sys.executable, tmp_path / "abandoned.py"], tmp_path / "told"
    with told.open("w") as file:  # a pipe would stay open as long as the worker
        done = subprocess.run(command, check=False, stdout=file, stderr=file)
    assert done.returncode == -9
    state = Path("/proc") / told.read_text().split()[0] / "stat"
    for _ in range(100):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the worker goes on")


@pytest.mark.parametrize("number", [0, 5, 40, 47, 70])
def test_a_run_that_was_stopped_does_not_begin_again(number, stored, tmp_path):
    out, stages = tmp_path / "out.zarr", []
    with pytest.raises(Stopped):
        label_chunked(stored, out=out, chunks=8, progress=stop_after(number))
    assert not out.exists()
    label_chunked(stored, out=out, chunks=8, resume=True, progress=lambda *one: stages.append(one))
    np.testing.assert_array_equal(zarr.open_array(out)[...], label(NOISE))
    stages = [stage for stage, *_ in stages if stage != "merge"]  # which is not stored
    before = min(number, 37) + max(0, number - 50)  # 36 blocks, and where each stage begins
    assert len(stages) <= 74 - before + 5
    assert label_chunked(stored, out=out, chunks=8, resume=True, return_num=True)[1] == NOISE_COUNT


NOISE_COUNT = label(NOISE, return_num=True)[1]


@pytest.mark.parametrize("damage", ["chunk", "part", "cut"])
def test_what_is_lost_or_damaged_is_made_again(damage, stored, tmp_path):
    out = tmp_path / "out.zarr"
    with pytest.raises(Stopped):
        label_chunked(stored, out=out, chunks=8, progress=stop_after(75), workers=1)
    begun = tmp_path / ".out.zarr.unfinished"
    written = sorted((begun / "labels" / "c").rglob("0"))[-1]
    if damage == "chunk":
        written.unlink()
    elif damage == "part":
        (begun / "label-3").write_bytes(b"")
        (begun / "label-4").unlink()
        (begun / "label-5").write_bytes((begun / "label-5").read_bytes()[:-3])
    else:
        written.write_bytes(written.read_bytes()[:-9])
    label_chunked(stored, out=out, chunks=8, resume=True)
    np.testing.assert_array_equal(zarr.open_array(out)[...], label(NOISE))


def test_another_image_or_argument_is_not_mixed_in(stored, tmp_path):
    out = tmp_path / "out.zarr"
    with pytest.raises(Stopped):
        label_chunked(stored, out=out, chunks=8, progress=stop_after(30))
    for other in ({"connectivity": 1}, {"chunks": 4}, {"background": 1}, {"periodic": True}):
        with pytest.raises(ValueError, match="resume must go on with the image and arguments"):
            label_chunked(stored, out=out, resume=True, **{"chunks": 8, **other})
    zarr.open_array(stored)[3, 3, 3] ^= True
    with pytest.raises(ValueError, match=r"got image=.*Pass resume=False"):
        label_chunked(stored, out=out, chunks=8, resume=True)
    label_chunked(stored, out=out, chunks=8)
    np.testing.assert_array_equal(zarr.open_array(out)[...], label(zarr.open_array(stored)[...]))


def test_an_image_that_changes_meanwhile_is_noticed(stored, tmp_path):
    def change(stage, done, total):
        if stage == "merge" and not done:
            zarr.open_array(stored)[:8, :8, :8] = False

    with pytest.raises(ChangedInputError, match="must stay as it is"):
        label_chunked(stored, out=tmp_path / "out.zarr", chunks=8, progress=change)
    assert not (tmp_path / "out.zarr").exists()


def test_chunks_that_vanish_before_they_are_read_are_noticed(stored, tmp_path):
    def remove(stage, done, total):
        if stage == "label" and not done:
            next(file for file in (stored / "c").rglob("*") if file.is_file()).unlink()

    with pytest.raises(ChangedInputError, match="got other files than at the beginning"):
        label_chunked(stored, out=tmp_path / "out.zarr", chunks=8, progress=remove)
    assert not (tmp_path / "out.zarr").exists()


def test_one_run_at_a_time_writes_a_path(stored, tmp_path):
    refused = []

    def begin_again(stage, done, total):
        command = f"import equilabel; equilabel.label_chunked({str(stored)!r}, out={str(out)!r})"
        if not refused:
            refused.append(subprocess.run([sys.executable, "-c", command], capture_output=True))

    out = tmp_path / "out.zarr"
    label_chunked(stored, out=out, progress=begin_again)
    assert b"RuntimeError: out must be made by one run at a time" in refused[0].stderr
    with pytest.raises(FileExistsError, match="nothing is yet"):
        label_chunked(stored, out=out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunks": None}, "chunks must be given for an array of NumPy"),
        ({"chunks": (3, 3)}, "for each of 3 axes; got"),
        ({"chunks": 0}, "chunks must be 1 or more"),
        ({"connectivity": 4}, "connectivity must be 1 to 3"),
        ({"scheduler": "clouds"}, "scheduler must be one of"),
        ({"workers": 0}, "workers must be 1 or more"),
        ({"resume": True}, "resume needs out"),
        ({"label_image": "nowhere.zarr"}, "label_image must be a path that exists"),
        ({"label_image": [[1]]}, "label_image must be an array of NumPy, Dask or Zarr"),
        ({"label_image": np.zeros((0, 3), bool)}, "label_image must have an axis and no empty one"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, message):
    arguments = {"label_image": NOISE, "chunks": 8, **arguments}
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        label_chunked(**arguments)


def test_loading_the_package_loads_neither_dask_nor_zarr():
    code = (
        "import sys, equilabel, numpy; equilabel.label_chunked(numpy.eye(3, dtype=bool), chunks=2)"
    )
    code += "; print([name for name in ('dask', 'distributed', 'zarr') if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
    assert Path(equilabel.__file__).parent.joinpath("chunked").is_dir()


def number_of_worker(_):
    return workers_of_gpus._worker.number


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
@pytest.mark.long
def test_workers_are_numbered_to_share_gpus(scheduler):
    found = set()
    with Engine(scheduler, 2).started() as run:
        for number in run.map_tasks(number_of_worker, ((k,) for k in itertools.count())):
            found.add(number)
            if len(found) == 2:
                break
    assert found == {0, 1}
