"""Time, memory and bytes of labeling in chunks: beside memory and dask-image, and as images grow.

    python benchmarks/scale.py growth                    # 8 to 4096 chunks of 64^3
    python benchmarks/scale.py growth --sides 512 1024   # two of these rows, beside the others
    python benchmarks/scale.py memory --side 1024 --chunk 128   # beside `label` in memory
    python benchmarks/scale.py large --side 2048 --chunk 256
    python benchmarks/scale.py peer --python VENV/bin/python --name "peer, dask 2025.3"
    python benchmarks/scale.py graph                     # face graphs of 10^7 and 10^8 edges
    python benchmarks/scale.py objects --sides 256 1152  # tables of up to 10^8 objects
    python benchmarks/scale.py nuclei --sides 512 1024   # labels and table beside cc3d and SciPy
    python benchmarks/scale.py merge                     # of 10^7 to 10^9 components, by blocks
    python benchmarks/scale.py files                     # `equilabel batch` beside reading, writing
    python benchmarks/scale.py table                     # writes the tables of docs/scale.md

Each run is a process of its own, so that its peak memory is its own. Results are added to
`benchmarks/results/scale.json`, each with its commit; those of other commands stay. What is made
meanwhile lies in the folder of temporary files (`TMPDIR`) and is removed. On two idle cores:

    command   takes   needs
    growth    2 min   0.4 GB of disk
    memory    2 min   0.6 GB of disk, 6.5 GB of memory
    large     7 min   3 GB of disk
    peer      2 min   0.7 GB of disk
    graph     2 min   2 GB of memory
    objects   15 min  20 GB of disk, 5 GB of memory
    nuclei    5 min   1 GB of disk, 16 GB of memory
    merge     2 min   4 GB of memory
    files     7 min   3.5 GB of disk
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import threads
from harness import one_row_a_line

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parent / "results" / "scale.json"
WHAT = (
    "growth",
    "memory",
    "large",
    "peer",
    "graph",
    "objects",
    "nuclei",
    "merge",
    "files",
    "table",
)
SIDES = [128, 256, 512, 1024]
NUMBERINGS = "raster", "blocks"
STATE = "state_bytes"
STAGES = "label", "merge", "write", "table"
ENDINGS = "_labels.tif", "_table.csv"
TILE = 256
BATCH = 10**5  # edges of a group of blocks


def commit() -> str:
    """Return which code was measured, with a + if it has changed since."""
    here: Any = {"capture_output": True, "text": True, "cwd": RESULTS.parents[2]}
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **here).stdout.strip()
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], **here).returncode
    return found + "+" * changed


def make_image(path: Path, side: int, chunk: int, **form: Any) -> None:
    """Write blobs, 20 % of the voxels, and noise, 0.2 %, as a Zarr of uint8 and of some form."""
    import zarr
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)
    width = min(TILE, side)
    tile = gaussian_filter(rng.random((width,) * 3, dtype=np.float32), 2, mode="wrap")
    tile = tile > np.quantile(tile, 0.8)
    sides = {"shape": (side,) * 3, "chunks": (chunk,) * 3}
    image = zarr.create_array(path, dtype="u1", **sides, **form)
    piece = max(chunk, width)

    def fill(number: int, corner: tuple[int, ...]) -> None:
        each = np.random.default_rng(number)
        part = np.tile(np.roll(tile, each.integers(0, width, 3), (0, 1, 2)), (piece // width,) * 3)
        part |= each.random(part.shape, dtype=np.float32) < 0.002
        image[tuple(slice(piece * one, piece * (one + 1)) for one in corner)] = part

    with ThreadPoolExecutor(threads.available()) as pool:
        list(pool.map(fill, *zip(*enumerate(np.ndindex(*(side // piece,) * 3)), strict=True)))


def make_nuclei(path: Path, side: int) -> None:
    """Write a stack of nuclei, turned and repeated, as a Zarr of uint8 in chunks of 128^3."""
    import zarr

    from equilabel.samples import nuclei_3d

    image = zarr.create_array(path, shape=(side,) * 3, chunks=(128,) * 3, dtype="u1")
    tile = nuclei_3d((128, 256, 256))
    for number, (z, y, x) in enumerate(np.ndindex(side // 128, side // 256, side // 256)):
        turned = np.rot90(tile, number, (1, 2))[:: (-1) ** z]
        image[z * 128 : (z + 1) * 128, y * 256 : (y + 1) * 256, x * 256 : (x + 1) * 256] = turned


def run_nuclei(image: str, out: str, name: str, level: float) -> dict[str, float]:
    """Label and measure a Zarr by one program, from reading it to labels and table on the disk.

    The columns are those that all have: number of pixels, box and centroid.
    """
    import pandas as pd
    import zarr

    small = np.zeros((64,) * 3, "u1")
    small[8:20, 8:20, 8:20] = 255
    columns = ("label", "num_pixels", "bbox", "centroid")
    if name == "equilabel":
        from equilabel import segment_chunked

        with tempfile.TemporaryDirectory(dir=Path(out).parent) as folder:
            how: Any = {"chunks": 32, "properties": columns}
            segment_chunked(small, 100, out=Path(folder, "a"), **how)
        start, cpu = time.perf_counter(), time.process_time()
        found = segment_chunked(image, level, out=out, properties=columns)
        count, pixels = found.num, int(found.table["num_pixels"].sum())
    else:
        from equilabel.chunked.outputs import create_zarr

        start, cpu = time.perf_counter(), time.process_time()
        mask = zarr.open_array(image)[...] > level
        if name == "cc3d":
            import cc3d

            labels, count = cc3d.connected_components(mask, connectivity=26, return_N=True)
            counts = cc3d.statistics(labels)
            sizes, middles = counts["voxel_counts"][1:], counts["centroids"][1:]
        else:
            from scipy import ndimage

            labels, count = ndimage.label(mask, np.ones((3, 3, 3)))
            ndimage.find_objects(labels)
            sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
            middles = ndimage.center_of_mass(mask, labels, np.arange(1, count + 1))
        table = pd.DataFrame({"num_pixels": sizes}).join(pd.DataFrame(np.array(middles)))
        create_zarr(Path(out), labels.shape, (128,) * 3, np.dtype(np.int32))
        zarr.open_array(out, mode="r+")[...] = labels
        table.to_csv(Path(out, "table.csv"))
        pixels = int(sizes.sum())
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mb": peak(),
        "objects": int(count),
        "pixels": pixels,
    }


def bytes_of(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def peak() -> float:
    """Return the greatest memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def run_chunked(image: str, out: str, chunk: int | None, scheduler: str) -> dict[str, float]:
    """Label a Zarr in chunks; return seconds, CPU seconds, peak memory and bytes."""
    import zarr

    from equilabel import label_chunked

    for share in (0.0005, 0.03):  # few labels, and more than 16 bits hold: compiles or loads
        with tempfile.TemporaryDirectory(dir=Path(out).parent) as folder:
            small = Path(folder, "image")
            zarr.save_array(small, (np.random.default_rng(0).random((192,) * 3) < share).view("u1"))
            label_chunked(small, out=Path(folder, "labels"), chunks=64, scheduler=scheduler)
    before = peak()
    begun: dict[str, float] = {}
    stored = 0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal stored
        begun.setdefault(stage, time.perf_counter())
        if stage == "write" and not done:
            folder = Path(out).with_name(f".{Path(out).name}.unfinished")
            stored = sum(one.stat().st_size for one in folder.glob("label-*"))

    start, cpu = time.perf_counter(), time.process_time()
    _, count = label_chunked(
        image, out=out, chunks=chunk, scheduler=scheduler, return_num=True, progress=progress
    )
    end = time.perf_counter()
    times = [*begun.values(), end]
    return {
        "seconds": end - start,
        "cpu_seconds": time.process_time() - cpu,
        **{f"{stage}_seconds": b - a for stage, a, b in zip(begun, times, times[1:], strict=False)},
        "peak_mb": peak(),
        "before_mb": before,
        "labels": count,
        "state_bytes": stored,
        "image_bytes": bytes_of(Path(image)),
        "labels_bytes": bytes_of(Path(out)),
    }


def run_objects(side: int, chunk: int, folder: str, numbering: str) -> dict[str, float]:
    """Measure the objects of noise, in small blocks; the figures are those of the caller.

    One other process labels, counts and writes; that of the caller merges, numbers and collects.
    """
    import pandas as pd
    import zarr

    from equilabel import segment_chunked

    image, out = Path(folder, f"noise-{side}.zarr"), Path(folder, f"labels-{side}-{numbering}.zarr")
    if not image.exists():
        array = zarr.create_array(image, shape=(side,) * 3, chunks=(chunk,) * 3, dtype="u1")
        for layer in range(0, side, chunk):
            pixels = np.random.default_rng(layer).random((chunk, side, side), np.float32) < 0.1
            array[layer : layer + chunk] = pixels
    begun: dict[str, float] = {}

    def progress(stage: str, done: int, total: int) -> None:
        begun.setdefault(stage, time.perf_counter())
        if done % 1000 == 0:
            print(stage, done, total, round(peak()), file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(dir=folder) as small:  # compiles or loads
        segment_chunked(
            np.eye(40), 0.5, chunks=16, out=Path(small, "a"), scheduler="processes", workers=1
        )
    before, start, cpu = peak(), time.perf_counter(), time.process_time()
    found = segment_chunked(
        image,
        0.5,
        connectivity=1,
        chunks=chunk,
        out=out,
        numbering=numbering,
        scheduler="processes",
        workers=1,
        progress=progress,
    )
    end = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    lazy = not isinstance(found.table, pd.DataFrame)
    times = [*begun.values(), end]
    row = {
        "side": side,
        "chunk": chunk,
        "numbering": numbering,
        "objects": found.num,
        "seconds": end - start,
        **{f"{stage}_seconds": b - a for stage, a, b in zip(begun, times, times[1:], strict=False)},
        "caller_cpu_seconds": time.process_time() - cpu,
        "worker_cpu_seconds": usage.ru_utime + usage.ru_stime,
        "before_mb": before,
        "peak_mb": peak(),
        "lazy": lazy,
        "table_bytes": bytes_of(out / "table.parquet"),
        "table_files": len(list((out / "table.parquet").glob("*"))),
        "area_total": float(found.table["area" if "area" in found.table else "volume"].sum())
        if not lazy
        else float(found.table[list(found.table.columns)[1]].sum().compute()),
    }
    shutil.rmtree(out)
    return row


def run_label(image: str) -> dict[str, float]:
    """Label a Zarr in memory, from reading it to writing its labels."""
    import zarr

    from equilabel import label
    from equilabel.chunked.outputs import create_zarr

    label(np.zeros((64,) * 3, "u1"))
    start, cpu = time.perf_counter(), time.process_time()
    pixels = zarr.open_array(image)[...]
    read = time.perf_counter()
    labels, count = label(pixels, return_num=True)
    labeled = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=Path(image).parent) as folder:
        path = Path(folder, "labels")
        create_zarr(path, labels.shape, (256,) * 3, labels.dtype)
        zarr.open_array(path, mode="r+")[...] = labels
    end = time.perf_counter()
    return {
        "read_seconds": read - start,
        "label_seconds": labeled - read,
        "write_seconds": end - labeled,
        "seconds": end - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mb": peak(),
        "labels": count,
    }


def run_graph(edges: int, size: int) -> dict[str, float]:
    """Merge `size` components of blocks by edges, each of which joins nearby ones."""
    from equilabel.chunked.blocks import unite

    unite(np.arange(2), [np.array([[0, 1]])])  # compiles or loads
    firsts = np.arange(size)
    for begin in range(0, size, BATCH):
        firsts[begin : begin + BATCH].reshape(-1, 10)[:] += np.arange(9, -10, -2)  # not in order
    made, start, cpu = peak(), time.perf_counter(), time.process_time()
    making = 0.0

    def batches() -> Iterator[np.ndarray]:
        """Yield edges as they come from groups of blocks, and leave out the time to make them."""
        nonlocal making
        for number, begin in enumerate(range(0, edges, BATCH)):
            started = time.process_time()
            rng, count = np.random.default_rng(number), min(BATCH, edges - begin)
            pairs = np.empty((count, 2), np.int64)
            pairs[:, 0] = rng.integers(0, size, count)
            pairs[:, 1] = np.minimum(pairs[:, 0] + rng.integers(1, 1000, count), size - 1)
            making += time.process_time() - started
            yield pairs

    _, count = unite(firsts, batches())
    seconds = time.perf_counter() - start
    return {
        "edges": edges,
        "components": size,
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu - making,
        "labels": count,
        "given_mb": made,
        "peak_mb": peak(),
    }


def run_merge(blocks: int, each: int, share: float) -> dict[str, float]:
    """Merge the components of blocks, of which a share touches a face, block by block.

    Half of those that touch a face belong to one of the next block.
    """
    from equilabel.chunked.blocks import number_components
    from equilabel.chunked.checkpoints import Part

    none, listed = np.empty(0, np.int64), int(each * share)
    sizes = np.empty((0, 0), np.int64)

    class Synthetic:
        """Gives each block components that are made when they are asked for."""

        @staticmethod
        def part(_: int) -> Part:
            """Return the components of a block."""
            return Part(0, each, np.arange(1, listed + 1), none, none, sizes)

    def pairs() -> Iterator[tuple[int, int, np.ndarray]]:
        one = np.arange(0, listed, 2)
        other = np.random.default_rng(0).permutation(listed)[: len(one)]
        for block in range(blocks - 1):
            yield block, block + 1, np.stack([one, other], axis=1)

    saved: Any = Synthetic()
    number_components(saved, np.array([0, listed]), (), None, by_blocks=True)  # compiles or loads
    before, start, cpu = peak(), time.perf_counter(), time.process_time()
    offsets = np.arange(blocks + 1) * listed
    numbers, count = number_components(saved, offsets, pairs(), None, by_blocks=True)
    return {
        "blocks": blocks,
        "components": blocks * each,
        "listed": len(numbers[0]),
        "labels": count,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "before_mb": before,
        "peak_mb": peak(),
    }


# A virtual machine can take longer than all the work to give memory for the first time: both take
# it before, and glibc keeps it.
WARM = """
import numpy as np
for _ in range(2):
    np.ones(3 * 2**28, np.uint8)
"""
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**34), "MALLOC_ARENA_MAX": "1"}
PEER = """
import json, os, resource, sys, time
import dask, numpy as np, dask.array as da
from dask_image.ndmeasure import label
chunk = int(sys.argv[2])
image = da.from_array(np.load(sys.argv[1]), chunks=chunk)
start, cpu, user = time.perf_counter(), time.process_time(), os.times().user
labels, count = label(image, np.ones((3, 3, 3)))
labels, count = dask.compute(labels, count)
print(json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
    "user_seconds": os.times().user - user,
    "labels": int(count), "dask": dask.__version__,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}))
"""
OURS = """
import json, os, resource, sys, time
import numpy as np, equilabel
chunk = int(sys.argv[2])
image = np.load(sys.argv[1])
equilabel.label_chunked(image[:64, :64, :64], chunks=32)
start, cpu, user = time.perf_counter(), time.process_time(), os.times().user
labels, count = equilabel.label_chunked(image, chunks=chunk, return_num=True)
print(json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
    "user_seconds": os.times().user - user,
    "labels": count, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}))
"""


def make_files(folder: Path, count: int) -> None:
    """Write TIFFs of 512 x 512 pixels, uint8, each with about a hundred nuclei."""
    import tifffile

    from equilabel.samples import nuclei_2d

    folder.mkdir()
    rng = np.random.default_rng(0)
    fields = [nuclei_2d((512, 512), seed) for seed in range(40)]
    fields = [(field / (field.max() / 255)).astype("u1") for field in fields]
    for number in range(count):
        field = np.roll(fields[number % 40], rng.integers(0, 512, 2), (0, 1))
        tifffile.imwrite(folder / f"nuclei_{number:05d}.tif", field)


def run_alone(folder: str, made: str, first: int, step: int, plain: bool) -> dict[str, float]:
    """Read files, and write labels and tables that are in memory: ours, or tifffile and pandas.

    Parameters
    ----------
    folder, made : str
        Of the images, and of results of 40 of them.
    first, step : int
        Which files: each process takes its share.
    plain : bool
        Whether files are read and written by the libraries alone, without checks or flushing.
    """
    import tifffile

    from equilabel.storage.images import read_image
    from equilabel.storage.memory import keep_freed
    from equilabel.storage.table import read_table, write_table
    from equilabel.storage.tiff import write_labels

    if not plain:
        keep_freed()  # as the processes of a batch do
    files = sorted(Path(folder).iterdir())
    results = [
        (
            tifffile.imread(Path(made, f"{file.stem}_labels.tif")),
            read_table(Path(made, f"{file.stem}_table.csv")),
        )
        for file in files[:40]
    ]
    results = [
        (labels, table, {name: table[name].to_numpy() for name in table})
        for labels, table in results
    ]
    with tempfile.TemporaryDirectory(dir=made) as out:
        start, cpu = time.perf_counter(), time.process_time()
        for number in range(first, len(files), step):
            file, (labels, table, columns) = files[number], results[number % 40]
            places = Path(out, f"{file.stem}_labels.tif"), Path(out, f"{file.stem}_table.csv")
            if plain:
                tifffile.imread(file)
                tifffile.imwrite(places[0], labels, compression="zlib", photometric="minisblack")
                table.to_csv(places[1], index=False)
            else:
                read_image(file)
                write_labels(places[0], labels, axes="YX")
                write_table(places[1], columns)
        return {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
            "peak_mb": peak(),
        }


def run_peer(folder: str, made: str, first: int, step: int) -> dict[str, float]:
    """Segment files with scikit-image and SciPy: labels and tables as `equilabel batch` makes them.

    Arguments as for `run_alone`. Overlays, checks, checksums and records are left out.
    """
    import pandas as pd
    import tifffile
    from skimage import filters, measure

    names = ("label", "area", "bbox", "centroid", "equivalent_diameter_area", "perimeter")
    names += ("intensity_mean", "intensity_min", "intensity_max", "intensity_std")
    files = sorted(Path(folder).iterdir())
    with tempfile.TemporaryDirectory(dir=made) as out:
        start, cpu = time.perf_counter(), time.process_time()
        for file in files[first::step]:
            image = tifffile.imread(file)
            labels = measure.label(image > filters.threshold_otsu(image)).astype(np.int32)
            table = measure.regionprops_table(labels, image, names)
            places = Path(out, f"{file.stem}_labels.tif"), Path(out, f"{file.stem}_table.csv")
            tifffile.imwrite(places[0], labels, compression="zlib", photometric="minisblack")
            pd.DataFrame(table).to_csv(places[1], index=False)
        return {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
            "peak_mb": peak(),
        }


def measure_files(count: int, rounds: int, folder: Path) -> list[dict[str, object]]:
    """Label many small files in two processes, and read and write them in two, in turn."""
    images, out = folder / "images", folder / "results"
    make_files(images, count)
    command = ["batch", str(images), "--out", str(out), "--jobs", "2"]
    found: dict[str, list[dict[str, float]]] = {
        name: [] for name in ("overlays", "batch", "alone", "plain", "peer")
    }
    for _ in range(rounds):
        for name, more in (("overlays", []), ("batch", ["--no-overlay"])):
            shutil.rmtree(out, ignore_errors=True)
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            words = [sys.executable, "-m", "equilabel", *command, *more]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = len(list(out.glob("*_labels.tif")))
            cpu = sum(after[:2]) - sum(before[:2])
            row = {"seconds": seconds, "cpu_seconds": cpu, "done": done}
            found[name].append({**row, "peak_mb": after.ru_maxrss / 1000})
        for name, more in (("alone", [False]), ("plain", [True]), ("peer", [])):
            given = "run_peer" if name == "peer" else "run_alone", str(images), str(out)
            with ThreadPoolExecutor(2) as pool:
                halves = list(pool.map(lambda k: fresh(*given, k, 2, *more), (0, 1)))  # noqa: B023
            seconds = max(half["seconds"] for half in halves)
            cpu = sum(half["cpu_seconds"] for half in halves)
            most = max(half["peak_mb"] for half in halves)
            found[name].append({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": most})
        print({name: runs[-1] for name, runs in found.items()}, file=sys.stderr)
    results = sum(sum(one.stat().st_size for one in out.glob(f"*{end}")) for end in ENDINGS)
    middle = {
        name: {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
        for name, runs in found.items()
    }
    shares = {
        name: {
            key: float(
                np.median([a[key] / b[key] for a, b in zip(runs, found["batch"], strict=True)])
            )
            for key in ("seconds", "cpu_seconds")
        }
        for name, runs in found.items()
    }
    sizes = {"image_bytes": bytes_of(images), "results_bytes": results}
    return [{"files": count, "rounds": rounds, "shares": shares, **sizes, **middle}]


def fresh(function: str, *arguments: object) -> dict[str, float]:
    """Call a function of this file in a process of its own."""
    code = f"import json, scale; print(json.dumps(scale.{function}(*{arguments!r})))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def keep(name: str, rows: list[dict[str, object]]) -> None:
    """Store results beside those of other commands, and print them."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = [{**row, "commit": commit()} for row in rows]
    if name == "growth":
        sides = {row["side"] for row in rows}
        others = [row for row in known.get(name, ()) if row["side"] not in sides]
        rows = sorted([*others, *rows], key=lambda row: row["side"])
    known[name] = rows
    RESULTS.write_text(one_row_a_line(known))
    print(json.dumps(rows, indent=1))


def measure(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Run one of the commands."""
    rows: list[dict[str, object]] = []
    sides = options.sides if options.what == "growth" else [options.side]
    for side in sides:
        chunk = options.chunk or 64
        image, out = folder / f"{side}.zarr", folder / f"{side}-labels.zarr"
        if options.image:
            image = Path(options.image)
        elif options.what != "peer":
            make_image(image, side, chunk)
        row: dict[str, object] = {"side": side, "chunk": chunk, "block": options.block or 256}
        if options.what == "peer":
            make_image(image, side, 128)
            import zarr

            np.save(folder / "image.npy", zarr.open_array(image)[...] > 0)
            row |= beside_peer(options.python, str(folder / "image.npy"), side // 4)
        else:
            row["chunked"] = fresh("run_chunked", str(image), str(out), options.block, "threads")
            shutil.rmtree(out)
        if options.what == "memory":
            row["in memory"] = fresh("run_label", str(image))
        if options.what == "growth":
            shutil.rmtree(image)
        rows.append(row)
    return rows


def beside_peer(python: str, image: str, chunk: int) -> dict[str, object]:
    """Run both five times, in turn; return the median of each figure."""
    found: dict[str, list[dict[str, float]]] = {"equilabel": [], "dask-image": []}
    for _ in range(5):
        for name, one, code in (
            ("equilabel", sys.executable, OURS),
            ("dask-image", python, PEER),
        ):
            command = [one, "-c", WARM + code, image, str(chunk)]
            kept = {**os.environ, **KEPT}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    middle: dict[str, object] = {}
    for name, runs in found.items():
        last = runs[-1]
        figures = {key for key in last if key.endswith(("seconds", "mb"))}
        middle[name] = {
            key: float(np.median([one[key] for one in runs])) if key in figures else value
            for key, value in last.items()
        }
    return middle


def gigabytes(row: dict[str, float], name: str) -> str:
    """Return a size in words."""
    return f"{row[name] / 1e9:.2f} GB" if row[name] >= 1e9 else f"{row[name] / 1e6:.1f} MB"


def describe_files(row: dict[str, Any]) -> list[str]:
    """Return a table of what files took."""
    names = {
        "overlays": "`equilabel batch --jobs 2`, start, overlays and report included",
        "batch": "the same with `--no-overlay`",
        "alone": "reading with the same checks, writing labels and tables alone",
        "plain": "the same by tifffile and pandas, without checks, nothing flushed to the disk",
        "peer": "tifffile, scikit-image and pandas: Otsu, labels, the same columns; "
        "no overlays, checks or report",
    }
    lines = [
        f"| {row['files']:,} TIFFs of 512^2, two processes | seconds | files/s | CPU ms for each | "
        "peak memory of a process | batch reaches of its speed | of its CPU time |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, words in names.items():
        one, share = row[name], row["shares"][name]
        lines.append(
            f"| {words} | {one['seconds']:.3g} | {row['files'] / one['seconds']:.3g} | "
            f"{one['cpu_seconds'] / row['files'] * 1e3:.3g} | {one['peak_mb']:.0f} MB | "
            f"{share['seconds']:.2f} | {share['cpu_seconds']:.2f} |"
        )
    what = (
        f"Medians of {row['rounds']} rounds in turn, {gigabytes(row, 'image_bytes')} of images and "
        f"{gigabytes(row, 'results_bytes')} of labels and tables."
    )
    return [*lines, "", what]


def describe_objects(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table of what objects cost the process that calls, and the one that works."""
    lines = [
        "| objects, in blocks of 64^3 | numbers | seconds: label, merge, write, table | "
        "the caller: CPU s, microseconds an object | its memory, bytes an object | "
        "the worker: microseconds an object | Parquet |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        stages = ", ".join(f"{row[f'{one}_seconds']:.3g}" for one in STAGES)
        added = row["peak_mb"] - row["before_mb"]
        lines.append(
            f"| {row['objects']:,} of {row['side']:,}^3 | {row['numbering']} | "
            f"{row['seconds']:.3g}: {stages} | {row['caller_cpu_seconds']:.3g}, "
            f"{row['caller_cpu_seconds'] / row['objects'] * 1e6:.2f} | {added:,.0f} MB, "
            f"{added * 1e6 / row['objects']:.0f} | "
            f"{row['worker_cpu_seconds'] / row['objects'] * 1e6:.1f} | "
            f"{gigabytes(row, 'table_bytes')} in {row['table_files']} |"
        )
    return lines


def describe_nuclei(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table of programs that label and measure the same image."""
    lines = [
        "| voxels, nuclei | | seconds | CPU s | peak memory |",
        "| --- | --- | --- | --- | --- |",
    ]
    return lines + [
        f"| {row['side']:,}^3, {row['objects']:,} | {row['name']} | {row['seconds']:.3g} | "
        f"{row['cpu_seconds']:.3g} | "
        f"{row['peak_mb']:,.0f} MB |"
        for row in rows
    ]


def describe_merge(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table of the merge by blocks."""
    lines = [
        "| components | that touch a face | CPU s of the merge | memory |",
        "| --- | --- | --- | --- |",
    ]
    return lines + [
        f"| {row['components']:,} | {row['listed']:,} | {row['cpu_seconds']:.3g} | "
        f"{row['peak_mb'] - row['before_mb']:,.0f} MB |"
        for row in rows
    ]


def write_tables() -> None:
    """Put what was measured into the documentation."""
    known = json.loads(RESULTS.read_text())
    lines = [
        "| voxels | blocks | seconds: label, merge, write | peak memory | image read | "
        "state stored | labels written | labels |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    runs = [*known["growth"], *known["memory"], *known["large"]]
    for row, one in ((row, row["chunked"]) for row in runs):
        stages = ", ".join(f"{one[f'{name}_seconds']:.3g}" for name in ("label", "merge", "write"))
        block = row.get("block") or 64
        state = STATE if STATE in one else "faces_bytes"
        lines.append(
            f"| {row['side']}^3 | {(row['side'] // block) ** 3} of {block}^3 | "
            f"{one['seconds']:.3g}: {stages} | {one['peak_mb']:.0f} MB | "
            f"2 x {gigabytes(one, 'image_bytes')} | {gigabytes(one, state)} | "
            f"{gigabytes(one, 'labels_bytes')} | {one['labels']:,} |"
        )
    memory = known["memory"][0]
    whole, chunked = memory["in memory"], memory["chunked"]
    lines += [
        "",
        f"In memory, 1024^3 took {whole['seconds']:.3g} s with reading and writing "
        f"({whole['label_seconds']:.3g} s of it for `label`) and {whole['peak_mb']:.0f} MB; in "
        f"chunks {chunked['seconds']:.3g} s and {chunked['peak_mb']:.0f} MB.",
        "",
        "| 512^3 in 64 chunks, in memory | equilabel | dask-image | ratio | of CPU time |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in sorted(name for name in known if name.startswith("peer")):
        row = known[name][0]
        ours, peer = row["equilabel"], row["dask-image"]
        cells = [
            f"{one['seconds']:.3g} s, CPU {one['cpu_seconds']:.3g} s, {one['peak_mb']:.0f} MB"
            for one in (ours, peer)
        ]
        ratios = [f"{peer[name] / ours[name]:.3g}" for name in ("seconds", "cpu_seconds")]
        lines.append(f"| Dask {peer['dask']} | {' | '.join(cells + ratios)} |")
    lines += ["", *describe_nuclei(known["nuclei"])] if "nuclei" in known else []
    lines += ["", *describe_objects(known["objects"]), "", *describe_merge(known["merge"])]
    lines += ["", *describe_files(known["files"][0])]
    commits = [
        f"{name} {', '.join(dict.fromkeys(row.get('commit', 'not recorded') for row in rows))}"
        for name, rows in sorted(known.items())
    ]
    lines += ["", f"Commits: {'; '.join(commits)}."]
    page = Path(__file__).parents[1] / "docs" / "scale.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- scale -->\n")
    after = rest.partition("<!-- end -->")[2]
    table = "\n".join(lines)
    page.write_text(f"{before}<!-- scale -->\n{table}\n<!-- end -->{after}", encoding="utf-8")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--sides", type=int, nargs="+", default=SIDES, help="rows of growth")
    parser.add_argument("--chunk", type=int, help="side of the chunks of the image")
    parser.add_argument("--block", type=int, help="side of blocks; by default chosen")
    parser.add_argument("--count", type=int, default=10_000, help="of the files")
    parser.add_argument("--rounds", type=int, default=3, help="of the files, in turn")
    parser.add_argument("--edges", type=int, default=10**8, help="of the face graph")
    parser.add_argument("--components", type=int, default=10**9, help="of the face graph, at most")
    parser.add_argument("--image", help="a Zarr that is there already")
    parser.add_argument("--python", default=sys.executable, help="one that has dask-image")
    parser.add_argument("--name", help="under which results are stored")
    options = parser.parse_args()
    if options.what == "table":
        write_tables()
        return
    if options.what == "graph":
        keep(
            "graph",
            [
                {**fresh("run_graph", edges, min(edges, options.components))}
                for edges in (options.edges // 10, options.edges)
            ],
        )
        return
    if options.what == "merge":
        sizes = ((100, 100_000), (1_000, 100_000), (10_000, 100_000))
        shares = (0.02, 0.1)
        rows = [fresh("run_merge", *some, share) for share in shares for some in sizes]
        keep("merge", [{**row} for row in rows])
        return
    if options.what == "nuclei":
        with tempfile.TemporaryDirectory(prefix="equilabel-scale-") as folder:
            image, rows = Path(folder, "image.zarr"), []
            for side in options.sides:
                make_nuclei(image, side)
                # At 1024^3 SciPy takes more than 20 GB.
                for name in ("equilabel", "cc3d", *(("scipy",) if side <= 512 else ())):
                    found = fresh("run_nuclei", str(image), str(Path(folder, name)), name, 60.0)
                    rows.append({"name": name, "side": side, **found})
                    shutil.rmtree(Path(folder, name))
                shutil.rmtree(image)
            keep("nuclei", rows)
        return
    if options.what == "objects":
        with tempfile.TemporaryDirectory(prefix="equilabel-scale-") as folder:
            runs = [(side, 64, folder, how) for side in options.sides for how in NUMBERINGS]
            keep("objects", [{**fresh("run_objects", *run)} for run in runs])
        return
    if options.what == "growth":
        options.block = options.block or 64
    with tempfile.TemporaryDirectory(prefix="equilabel-scale-") as folder:
        if options.what == "files":
            keep(
                options.name or "files", measure_files(options.count, options.rounds, Path(folder))
            )
            return
        keep(options.name or options.what, measure(options, Path(folder)))


if __name__ == "__main__":
    main()
