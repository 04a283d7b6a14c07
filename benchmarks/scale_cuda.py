"""Time `label_chunked` on GPUs: one, and all of a host, beside its CPU cores and what bounds them.

    python benchmarks/scale_cuda.py [--side 1024] [--blocks 256] [--images zarr raw numpy ...]

The image lies in `--folder` as a Zarr, by default in memory, and so do its labels. It may also be
an array of NumPy, whose labels are a new one; both may be in pinned memory, used again and again
(pinned); or both be Zarrs in a memory store, compressed (memory) or not (raw-memory). Each run is
a process of its own that sees as many GPUs as it is to use, and labels several times: the first
does not count. The last is watched by PyTorch's profiler, if it is installed: how long copies and
kernels were at work on each GPU. In the same process the limits are measured: the bus (pinned
memory, both ways), and the same threads when they read the image and write its labels, and do
nothing else. Labels of all runs are compared by checksums. Results go to
``benchmarks/results/scale_cuda.json``, those of a host with two GPUs to ``scale_cuda_2.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import store
from scale import make_image, peak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TURNS = 3  # the first does not count
PIECE = 1 << 26  # bytes of a copy, as many as the labels of 256^3 voxels
COPIES = 32
BLOCKS = (256, 512)
FILES = ("zarr", "raw")  # kinds of images that are files
KINDS = (*FILES, "numpy", "pinned", "memory", "raw-memory")


def seconds(call: Callable[[], object]) -> float:
    """Time a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def digest_of(labels: Any) -> str:
    """Return a checksum of labels: of an array, or of the files of a Zarr."""
    found = hashlib.sha256()
    if not isinstance(labels, (str, Path)):
        for first in range(0, labels.shape[0], BLOCKS[0]):
            found.update(np.ascontiguousarray(labels[first : first + BLOCKS[0]]))
        return found.hexdigest()
    for file in sorted(one for one in Path(labels).rglob("*") if one.is_file()):
        found.update(file.read_bytes())
    return found.hexdigest()


class Inside:
    """An image of some kind, and where its labels go.

    Parameters
    ----------
    image : str
        Path of a Zarr.
    kind : str
        As the command has it.
    out : str
        Path of the labels of a Zarr.
    block : int
        Side of the chunks of labels.
    """

    def __init__(self, image: str, kind: str, out: str, block: int) -> None:
        self._kind, self._out, self._block = kind, out, block
        self.image: Any = image
        self._pinned: Any = None
        if kind in FILES:
            return
        zarr = import_module("zarr")
        stored = zarr.open_array(image, mode="r")
        self._shape, form = stored.shape, {"shape": stored.shape, "dtype": stored.dtype}
        if kind.endswith("memory"):
            packed = {"compressors": None} if kind.startswith("raw") else {}
            form |= {"chunks": stored.chunks} | packed
            self.image = zarr.create_array(zarr.storage.MemoryStore(), **form)
        elif kind == "pinned":
            empty = import_module("cupyx").empty_pinned
            self.image = empty(stored.shape, stored.dtype)
            self._pinned = empty(stored.shape, np.int32)
        else:
            self.image = np.empty(stored.shape, stored.dtype)
        for part in parts_of(stored.shape, stored.chunks[0]):
            self.image[part] = stored[part]

    def out(self) -> Any:
        """Return where labels go."""
        if self._kind in FILES:
            shutil.rmtree(self._out, ignore_errors=True)
            return self._out
        if not self._kind.endswith("memory"):
            return self._pinned
        zarr = import_module("zarr")
        packed = [
            zarr.codecs.BloscCodec(cname="lz4", shuffle="noshuffle"),
            zarr.codecs.Crc32cCodec(),
        ]
        return zarr.create_array(
            zarr.storage.MemoryStore(),
            shape=self._shape,
            chunks=(self._block,) * len(self._shape),
            dtype="i4",
            compressors=None if self._kind.startswith("raw") else packed,
            config={"write_empty_chunks": True},
        )


def run(
    image: str, kind: str, out: str, block: int, device: str, workers: int, limits: bool
) -> dict[str, Any]:
    """Label an image several times; return what the fastest took."""
    from equilabel import label_chunked

    inside, turns = Inside(image, kind, out, block), []

    def once() -> Any:
        begun: dict[str, float] = {}
        target = inside.out()
        start = time.perf_counter()
        labels, count = label_chunked(
            inside.image,
            out=target,
            chunks=block,
            device=device,
            workers=workers,
            return_num=True,
            progress=lambda stage, *_, b=begun: b.setdefault(stage, time.perf_counter()),
        )
        times = [*begun.values(), time.perf_counter()]
        stages = {f"{k}_seconds": b - a for k, a, b in zip(begun, times, times[1:], strict=False)}
        turns.append({"seconds": times[-1] - start, **stages, "labels": count})
        return labels

    for turn in range(TURNS):
        labels = once()
        digest = digest_of(labels) if turn == TURNS - 1 else ""
        del labels
    best = min(turns[1:], key=lambda row: row["seconds"])
    row = best | {"first_seconds": turns[0]["seconds"], "peak_mb": peak(), "sha256": digest}
    if device == "cuda":
        row |= watched(once)
        row["device_mb"] = device_memory()
    if limits:
        row |= stored(image, out, block, workers) if kind in FILES else {}
        row |= buses() if device == "cuda" else {}
    return row


def device_memory() -> float:
    """Return the memory that CuPy has taken of all GPUs, in MB."""
    cupy = import_module("cupy")
    found = 0
    for gpu in range(cupy.cuda.runtime.getDeviceCount()):
        with cupy.cuda.Device(gpu):
            found += cupy.get_default_memory_pool().total_bytes()
    return found / 1e6


def watched(call: Callable[[], object]) -> dict[str, Any]:
    """Return how long copies and kernels were at work on each GPU during a call."""
    try:
        profiler = import_module("torch.profiler")
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.json")
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as found:
            took = seconds(call)
        found.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    spans: dict[str, dict[int, list[tuple[float, float]]]] = {}
    for event in events:
        kind = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "kernels"}.get(
            event.get("cat", "")
        )
        if kind is not None:
            gpu = int(event["args"]["device"])
            span = (event["ts"], event["ts"] + event["dur"])
            for name in (kind, "both"):
                spans.setdefault(name, {}).setdefault(gpu, []).append(span)
    busy = {name: {k: covered(s) / 1e6 for k, s in each.items()} for name, each in spans.items()}
    return {"watched_seconds": took, "busy_seconds": busy}


def covered(spans: list[tuple[float, float]]) -> float:
    """Return the length of what any of some spans covers."""
    found, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        found += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return found


def parts_of(shape: tuple[int, ...], block: int) -> Iterator[tuple[slice, ...]]:
    """Yield the part of each block."""
    for corner in np.ndindex(*(-(-side // block) for side in shape)):
        yield tuple(slice(block * k, block * (k + 1)) for k in corner)


def stored(image: str, out: str, block: int, workers: int) -> dict[str, float]:
    """Time the same threads that read the image, or write labels, and do nothing else."""
    import zarr

    from equilabel import label
    from equilabel.chunked.outputs import Output, create_zarr, read_part

    array = zarr.open_array(image, mode="r")
    parts = list(parts_of(array.shape, block))
    row: dict[str, float] = {}
    labels = label(read_part(array, parts[0])).astype(np.int32)
    create_zarr(Path(out), array.shape, (block,) * array.ndim, np.dtype(np.int32))
    target = Output.at(Path(out))
    calls = {
        "read": lambda part: read_part(array, part).size,
        "read_by_zarr": lambda part: array[part].size,
        "write": lambda part: target.write(part, labels),
    }
    with ThreadPoolExecutor(workers) as pool:
        for name, call in calls.items():
            times = [seconds(lambda c=call: list(pool.map(c, parts))) for _ in range(3)]
            row[f"{name}_alone_seconds"] = min(times[1:])
    shutil.rmtree(out)
    return row


def buses() -> dict[str, Any]:
    """Measure copies between pinned memory and all GPUs at once, in GB/s, one way and the other."""
    cupy = import_module("cupy")
    runtime = cupy.cuda.runtime
    found: dict[str, list[float]] = {"up_gb_s": [], "down_gb_s": []}

    def rate(gpu: int, name: str) -> float:
        with cupy.cuda.Device(gpu), cupy.cuda.Stream(non_blocking=True) as stream:
            there, here = cupy.empty(PIECE, np.uint8), cupy.cuda.alloc_pinned_memory(PIECE)
            kind = runtime.memcpyHostToDevice if "up" in name else runtime.memcpyDeviceToHost
            ends = (there.data.ptr, here.ptr) if "up" in name else (here.ptr, there.data.ptr)
            for _ in range(2):
                begin = time.perf_counter()
                for _ in range(COPIES):
                    runtime.memcpyAsync(*ends, PIECE, kind, stream.ptr)
                stream.synchronize()
            return COPIES * PIECE / (time.perf_counter() - begin) / 1e9

    count = runtime.getDeviceCount()
    with ThreadPoolExecutor(count) as pool:
        for name, each in found.items():
            each += pool.map(rate, range(count), [name] * count)
    return found


def fresh(gpus: int, *arguments: object) -> dict[str, Any]:
    """Call `run` in a process that sees so many GPUs."""
    code = f"import json, scale_cuda; print(json.dumps(scale_cuda.run(*{arguments!r})))"
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env=os.environ | visible,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--blocks", type=int, nargs="+", help="256; pinned: and 512")
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    parser.add_argument("--folder", default=memory, help="where the image is made, and its labels")
    usual = [one for one in KINDS if one != "raw"]
    parser.add_argument("--images", nargs="+", default=usual, choices=KINDS)
    parser.add_argument("--gpus", type=int, nargs="+", help="how many; 0 for the CPU")
    parser.add_argument("--workers", type=int, help="threads; by default the cores")
    parser.add_argument("--unlimited", action="store_true", help="limits are not measured")
    options = parser.parse_args()
    runtime = import_module("cupy").cuda.runtime
    count = runtime.getDeviceCount()
    card = runtime.getDeviceProperties(0)["name"].decode()
    workers = options.workers or len(os.sched_getaffinity(0))
    name = "scale_cuda" if count == 1 else f"scale_cuda_{count}"
    rows: list[dict[str, Any]] = [{"card": card, "gpus": count, "versions": versions()}]
    with tempfile.TemporaryDirectory(prefix="equilabel-", dir=options.folder) as folder:
        for kind in options.images:
            image = Path(folder, "raw.zarr" if kind == "raw" else "image.zarr")
            if not image.exists():
                form = {"compressors": None} if kind == "raw" else {}
                make_image(image, options.side, min(options.blocks or BLOCKS), **form)
            out = str(Path(folder, "labels.zarr"))
            few = 1 if kind == "pinned" else 0
            for block in options.blocks or BLOCKS[: 1 + few]:
                found = []
                for gpus in options.gpus or range(count, few - 1, -1):
                    device = "cuda" if gpus else "cpu"
                    limits = not options.unlimited
                    asked = (str(image), kind, out, block, device, workers, limits)
                    row = {"image": kind, "side": options.side, "block": block, "gpus": gpus}
                    found.append(row | {"workers": workers, "card": card} | fresh(gpus, *asked))
                    print(json.dumps(found[-1]), flush=True)
                    path = store(name, rows + found)  # what is measured stays if the rest fails
                if len({row["sha256"] for row in found}) != 1:
                    message = "labels differ between devices"
                    raise ValueError(message)
                rows += found
    print(path)


def versions() -> dict[str, str]:
    """Return the versions of what has a part in it."""
    found = {}
    for name in ("cupy-cuda13x", "zarr", "numcodecs"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


if __name__ == "__main__":
    main()
