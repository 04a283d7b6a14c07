"""Images, labels and unfinished runs in stores of objects, by URL: S3, and memory."""

import itertools
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile

moto = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")
upath = pytest.importorskip("upath")
zarr = pytest.importorskip("zarr")

from batches import posix, refused
from clusters import cluster
from equilabel import label, label_chunked, segment, segment_chunked
from equilabel.chunked import results
from equilabel.cli import main
from equilabel.storage import remote
from equilabel.storage import table as table_files
from equilabel.storage.ome_zarr import find_image
from equilabel.storage.table import read_table

NOISE = np.random.default_rng(0).random((12, 15, 20)) < 0.2
CHUNKS = (8,) * 3
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server():
    """A server of S3 on this machine, in a process of its own, and what a client must know."""
    running = moto.ThreadedMotoServer(port=0)
    running.start()
    _, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
        ):
            patch.setenv(name, value)
        patch.setattr(remote, "BEAT", 0.2)
        yield
    running.stop()


@pytest.fixture
def s3(server):
    """The URL of a new bucket, with the image `NOISE`."""
    name = f"bucket{next(NUMBERS)}"
    s3fs.S3FileSystem().mkdir(name)
    put(f"s3://{name}/noise.zarr")
    return f"s3://{name}"


@pytest.fixture
def bucket(monkeypatch):
    """The URL of a folder in memory, with the image `NOISE`."""
    monkeypatch.setattr(remote, "BEAT", 0.2)
    url = f"memory://bucket{next(NUMBERS)}"
    put(f"{url}/noise.zarr")
    yield url
    upath.UPath(url).fs.store.clear()


def put(url, **form):
    store = zarr.storage.FsspecStore.from_url(url)
    array = zarr.create_array(store, shape=NOISE.shape, chunks=CHUNKS, dtype="u1", **form)
    array[...] = NOISE


def opened(url):
    return zarr.open(zarr.storage.FsspecStore.from_url(str(url)), mode="r")


def files(url):
    """Return the objects below a URL, with their bytes."""
    folder = upath.UPath(url)
    folder.fs.invalidate_cache()
    found = folder.fs.find(folder.path)
    return {name.partition(folder.name)[2]: folder.fs.cat_file(name) for name in found}


def test_labels_in_s3_are_those_of_the_image_and_nothing_else_stays(s3):
    told = []
    found, num = label_chunked(
        f"{s3}/noise.zarr",
        out=f"{s3}/labels.zarr",
        chunks=8,
        return_num=True,
        progress=lambda *now: told.append((*now, "/zarr.json" in files(f"{s3}/labels.zarr"))),
    )
    expected = label(NOISE, return_num=True)
    np.testing.assert_array_equal(opened(found)[...], expected[0])
    assert (str(found), num) == (f"{s3}/labels.zarr", expected[1])
    assert not any(described for *_, described in told)
    roots = {name.split("/")[1] for name in s3fs.S3FileSystem().find(s3)}
    assert roots == {"noise.zarr", "labels.zarr"}
    with pytest.raises(FileExistsError, match="nothing is yet"):
        label_chunked(f"{s3}/noise.zarr", out=found, chunks=8)
    again = label_chunked(f"{s3}/noise.zarr", out=found, chunks=8, resume=True, return_num=True)
    assert again[1] == num


@pytest.mark.parametrize("stage", ["label", "merge", "write", "shrink"])
def test_a_run_that_was_stopped_in_s3_goes_on_to_the_same_objects(bucket, stage, monkeypatch):
    options = {"threshold": 0.5, "chunks": 8, "axes": "ZYX", "min_size": 2, "numbering": "blocks"}
    image, stopped = f"{bucket}/noise.zarr", []
    monkeypatch.setattr("equilabel.chunked.ome_labels.COARSEST", 8)
    segment_chunked(image, out=f"{bucket}/whole.zarr", **options)

    def stop(now, done, total):
        if now == stage and done and not stopped:
            stopped.append(now)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segment_chunked(image, out=f"{bucket}/out.zarr", progress=stop, **options)
    assert "/zarr.json" not in files(f"{bucket}/out.zarr")
    found = segment_chunked(image, out=f"{bucket}/out.zarr", resume=True, workers=1, **options)
    one, other = files(f"{bucket}/out.zarr"), files(f"{bucket}/whole.zarr")
    one["/zarr.json"] = one["/zarr.json"].replace(b'"out.zarr"', b'"whole.zarr"')
    assert one == other
    expected = segment(NOISE.astype(np.uint8), threshold=0.5, min_size=2)
    assert found.num == expected.num == len(found.table)
    assert find_image(found.labels).axes == "ZYX"


def test_a_table_in_parts_is_read_back_from_s3(bucket, monkeypatch):
    from equilabel.chunked import tables

    monkeypatch.setattr(tables, "ROWS", 7)
    options = {"threshold": 0.5, "properties": ("label", "area", "centroid")}
    found = segment_chunked(f"{bucket}/noise.zarr", out=f"{bucket}/a.zarr", chunks=8, **options)
    expected = segment(NOISE.astype(np.uint8), **options).table
    pd.testing.assert_frame_equal(found.table, expected)
    assert len(list((found.labels / table_files.PARTS).iterdir())) == -(-len(expected) // 7)


KILLED = """
import os, signal, sys, threading
import numpy, equilabel
from equilabel.storage import remote
remote.BEAT = 0.2
image, out, delay = sys.argv[1:]
equilabel.label_chunked(numpy.eye(4, dtype=bool), chunks=2)
threading.Timer(float(delay), os.kill, (os.getpid(), signal.SIGKILL)).start()
equilabel.label_chunked(image, out=out, chunks=8, resume=True)
"""


@posix
@pytest.mark.long
def test_processes_that_are_killed_leave_what_the_next_one_goes_on_with(s3):
    image, out = f"{s3}/noise.zarr", f"{s3}/out.zarr"
    label_chunked(image, out=f"{s3}/whole.zarr", chunks=8)
    killed = 0
    for delay in (0.4, 0.7, 1.0):
        command = [sys.executable, "-c", KILLED, image, out, str(delay)]
        killed += subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert killed
    label_chunked(image, out=out, chunks=8, resume=True, scheduler="processes", workers=2)
    assert files(out) == files(f"{s3}/whole.zarr")


@posix
@pytest.mark.long
def test_a_cluster_reads_and_writes_s3(s3, tmp_path):
    with cluster(tmp_path, 2) as (address, _):
        found = label_chunked(f"{s3}/noise.zarr", out=f"{s3}/out.zarr", chunks=8, scheduler=address)
    np.testing.assert_array_equal(opened(found)[...], label(NOISE))


def test_one_run_at_a_time_writes_a_url(bucket):
    image, out, refused = f"{bucket}/noise.zarr", f"{bucket}/out.zarr", []

    def begin_again(stage, done, total):
        if not refused:
            with pytest.raises(RuntimeError, match="one run at a time") as error:
                label_chunked(image, out=out, chunks=8)
            refused.append(error)

    label_chunked(image, out=out, chunks=8, progress=begin_again)
    assert refused


def test_a_lock_is_taken_over_from_a_run_that_is_gone(bucket):
    file = upath.UPath(f"{bucket}/lock")
    file.write_text('{"token": "gone", "turn": 7}')
    lease = remote.Lease(file)
    assert lease.take()
    started = time.monotonic()
    assert not remote.Lease(file).take()
    assert time.monotonic() - started >= 0.4
    lease.release()
    assert not file.exists()


def test_other_objects_at_a_url_are_never_removed(bucket):
    upath.UPath(f"{bucket}/out.zarr/mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="nothing is yet"):
        label_chunked(f"{bucket}/noise.zarr", out=f"{bucket}/out.zarr", chunks=8)
    with pytest.raises(FileExistsError, match="nothing is yet"):
        label_chunked(f"{bucket}/noise.zarr", out=f"{bucket}/out.zarr", chunks=8, resume=True)
    assert files(f"{bucket}/out.zarr") == {"/mine.txt": b"mine"}


def test_an_image_in_s3_that_has_changed_is_noticed(bucket):
    image, out = f"{bucket}/noise.zarr", f"{bucket}/out.zarr"
    label_chunked(image, out=out, chunks=8)
    opened_again = zarr.open_array(zarr.storage.FsspecStore.from_url(image), mode="r+")
    opened_again[0, 0, 0] = not NOISE[0, 0, 0]
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(ValueError, match="resume must go on with the image"):
        label_chunked(image, out=out, chunks=8, resume=True)


def test_labels_in_s3_belong_to_their_image(bucket):
    ome = segment_chunked(
        f"{bucket}/noise.zarr", 0.5, out=f"{bucket}/image.zarr", axes="ZYX", spacing=2, unit="um"
    )
    found = segment_chunked(ome.labels, 0.5, out=ome.labels / "labels" / "objects")
    assert opened(ome.labels / "labels").attrs["ome"]["labels"] == ["objects"]
    assert found.spacing == (2, 2, 2)
    assert find_image(found.labels).unit == "µm"


@pytest.mark.parametrize("kind", [ValueError, PermissionError, FileNotFoundError])
def test_what_cannot_be_reached_is_refused_in_words(s3, kind, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    image, out = f"{s3}/noise.zarr", f"{s3}/out.zarr"
    if kind is ValueError:
        with pytest.raises(ValueError, match="out must be a path, or a URL of a kind that fsspec"):
            label_chunked(image, out="s4://bucket/out.zarr")
        with pytest.raises(ValueError, match="label_image must be a path, or a URL of a kind"):
            label_chunked("s4://bucket/out.zarr", out=out)
        with pytest.raises(ValueError, match="in a store that can be written"):
            label_chunked(image, out="https://localhost/out.zarr")
        with pytest.raises(ValueError, match="be a Zarr"):
            label_chunked(f"{s3}/nothing.zarr", out=out)
        with pytest.raises(ValueError, match="not a URL"):
            label_chunked(image, out=Path(out))
    elif kind is FileNotFoundError:
        with pytest.raises(FileNotFoundError, match=r"out must be in a store that can be read and"):
            label_chunked(image, out="s3://nowhere/out.zarr", chunks=8)
    else:

        def forbidden(*_):
            message = "Access Denied"
            raise PermissionError(message)

        monkeypatch.setattr(results, "number_blocks", forbidden)
        with pytest.raises(PermissionError, match="got Access Denied for 's3://"):
            label_chunked(image, out=out, chunks=8)
    assert not list(tmp_path.iterdir())


def test_the_command_reads_and_writes_urls(bucket, here, capsys):
    image, told = f"{bucket}/noise.zarr", ["--threshold", "0.5", "--numbering", "blocks"]
    expected = segment(NOISE.astype(np.uint8), threshold=0.5)
    tifffile.imwrite("scan.tif", NOISE.astype(np.uint8), metadata={"axes": "ZYX"})
    for given, out, labels in (
        (image, f"{bucket}/labels.zarr", f"{bucket}/labels.zarr"),
        (image, f"{bucket}/results", f"{bucket}/results/noise_labels.zarr"),
        ("scan.tif", f"{bucket}/results", f"{bucket}/results/scan_labels.zarr"),
        (image, "results", "results/noise_labels.zarr"),
        ("file://scan.tif", "results", "results/scan_labels.tif"),
    ):
        own = told if labels.endswith(".zarr") else told[:2]
        assert main(["segment", given, *own, "--out", out]) == 0
        assert f"{expected.num} objects" in capsys.readouterr().out
        if "://" in labels:
            np.testing.assert_array_equal(opened(labels)[...], expected.labels)
    table = read_table(upath.UPath(f"{bucket}/results/noise_table.csv"))
    pd.testing.assert_frame_equal(table, expected.table)
    assert main(["segment", image, *told, "--out", f"{bucket}/labels.zarr", "--resume"]) == 0
    assert {one.name for one in here.iterdir()} == {"results", "scan.tif"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("s4://bucket/a.zarr", "IMAGE must be a path, or a URL of a kind that fsspec knows"),
        ("{}/noise.zarr --out s4://a/b", "--out must be a path, or a URL of a kind that fsspec"),
        ("{}/noise.zarr --out https://a/b", "--out must be in a store that can be written"),
        ("{}/a.tif", "a.tif'. Check URL and permission. Other images, such as TIFF: download"),
        ("s3://nowhere/a.zarr", "IMAGE at a URL must be a Zarr that can be read; got 's3://nowh"),
        ("{}/noise.zarr --out s3://nowhere/a", "--out must be in a store that can be read and"),
        ("cells.png --out {}/a", "--out at a URL needs an image in chunks: a TIFF or a Zarr"),
        ("{}/noise.zarr --out {} --resume --overwrite", "must not be combined"),
        ("{}/noise.zarr --outlines geojson", "--outlines needs the image as a whole"),
    ],
)
def test_the_command_refuses_urls_in_words(s3, here, capsys, words, said):
    s3fs.S3FileSystem().pipe_file(f"{s3}/a.tif", b"II*")
    assert said in refused(capsys, "segment", *words.format(s3, s3).split())
    assert not list(here.iterdir())


def test_earlier_results_at_a_url_stay(bucket, here, capsys):
    words = ["segment", f"{bucket}/noise.zarr", "--threshold", "0.5", "--out", f"{bucket}/a.zarr"]
    assert main(words) == 0
    known = files(f"{bucket}/a.zarr")
    capsys.readouterr()
    assert "--out at a URL must hold no earlier results" in refused(capsys, *words)
    assert "must be a path where nothing is yet" in refused(capsys, *words, "--overwrite")
    assert files(f"{bucket}/a.zarr") == known


@pytest.mark.parametrize("gone", ["labels", pytest.param("noise.zarr", marks=pytest.mark.long)])
def test_a_bucket_that_vanishes_is_said_by_the_command(s3, here, capsys, gone, monkeypatch):
    def vanish(*some, **more):
        write(*some, **more)
        store = s3fs.S3FileSystem(skip_instance_cache=True)
        while store.exists(s3):
            with suppress(OSError):  # the run has renewed its lock meanwhile
                store.invalidate_cache()
                store.rm(s3, recursive=True)

    write = results.write_blocks
    monkeypatch.setattr(results, "write_blocks", vanish)
    words = ["segment", f"{s3}/noise.zarr", "--threshold", "0.5", "--chunks", "8"]
    assert main([*words, "--out", f"{s3}/labels.zarr" if gone == "labels" else "out"]) == 1
    said = capsys.readouterr().err
    assert re.search("must (stay|be) .*(other files|bucket does not exist)", said)


def test_memory_is_a_store_too():
    put("memory://noise.zarr")
    found = label_chunked("memory://noise.zarr", out="memory://labels.zarr", chunks=8)
    np.testing.assert_array_equal(opened("memory://labels.zarr")[...], label(NOISE))
    assert found.protocol == "memory"
    assert not files("memory://.labels.zarr.unfinished")
    upath.UPath("memory://labels.zarr").fs.store.clear()


def test_a_url_of_this_machine_is_a_path(tmp_path):
    array = zarr.create_array(tmp_path / "noise.zarr", shape=NOISE.shape, chunks=CHUNKS, dtype="u1")
    array[...] = NOISE
    found = label_chunked(f"file://{tmp_path}/noise.zarr", out=f"file://{tmp_path}/labels.zarr")
    assert found == tmp_path / "labels.zarr"
    assert {one.name for one in tmp_path.iterdir()} == {"noise.zarr", "labels.zarr"}


def test_of_two_runs_that_begin_at_once_one_goes_on(bucket):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        leases = [remote.Lease(upath.UPath(f"{bucket}/lock")) for _ in range(4)]
        assert sum(pool.map(remote.Lease.take, leases)) == 1
    for lease in leases:
        lease.release()


def test_a_scheduler_that_is_lost_is_not_called_a_store(bucket, monkeypatch):
    from equilabel.chunked.engine import LostSchedulerError

    def lost(*_):
        message = "scheduler must stay reachable"
        raise LostSchedulerError(message)

    monkeypatch.setattr(results, "number_blocks", lost)
    with pytest.raises(LostSchedulerError, match="scheduler must stay"):
        label_chunked(f"{bucket}/noise.zarr", out=f"{bucket}/out.zarr", chunks=8)


@pytest.mark.long
@pytest.mark.parametrize("stage", ["label", "merge", "write"])
def test_a_bucket_that_vanishes_ends_the_run_and_nothing_is_a_zarr(s3, stage, tmp_path):
    def vanish(now, done, total):
        if now == stage and not done:
            s3fs.S3FileSystem(skip_instance_cache=True).rm(s3, recursive=True)

    for out in (f"{s3}/out.zarr", tmp_path / "out.zarr"):
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdirs(s3, exist_ok=True)
        put(f"{s3}/noise.zarr", overwrite=True)
        with pytest.raises((OSError, ValueError, RuntimeError), match=r"must|decoded"):
            label_chunked(f"{s3}/noise.zarr", out=out, chunks=8, progress=vanish)
    s3fs.S3FileSystem.clear_instance_cache()
    assert not s3fs.S3FileSystem().exists(f"{s3}/out.zarr/zarr.json")
    assert not (tmp_path / "out.zarr").exists()
