"""Time `label_chunked` on GPUs: one, and all of a host, beside its CPU cores.

    python benchmarks/scale_cuda.py [--side 1024] [--blocks 256 512] [--folder /dev/shm]

The Zarr lies in `--folder`: name one in memory. Each run is a process of its own that sees as many
GPUs as it is to use, and labels twice; the second time counts. How busy GPUs are is asked of NVML
every 10 ms: the share of time in which kernels ran. Labels of all runs are compared by checksums.
Results go to ``benchmarks/results/scale_cuda.json``.
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
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from harness import store
from scale import make_image, peak


def watch(stop: threading.Event, found: list[list[int]]) -> None:
    """Ask how busy the GPUs are, until told to stop."""
    nvml = import_module("pynvml")
    nvml.nvmlInit()
    cards = [nvml.nvmlDeviceGetHandleByIndex(k) for k in range(nvml.nvmlDeviceGetCount())]
    while not stop.wait(0.01):
        found.append([nvml.nvmlDeviceGetUtilizationRates(card).gpu for card in cards])


def run(image: str, out: str, block: int, device: str) -> dict[str, Any]:
    """Label a Zarr twice; return what the second time took."""
    from equilabel import label_chunked

    for turn in range(2):
        begun: dict[str, float] = {}
        stop, busy = threading.Event(), list[list[int]]()
        watcher = threading.Thread(target=watch, args=(stop, busy))
        if device == "cuda":
            watcher.start()
        start = time.perf_counter()
        _, count = label_chunked(
            image,
            out=out,
            chunks=block,
            device=device,
            return_num=True,
            progress=lambda step, *_, b=begun: b.setdefault(step, time.perf_counter()),
        )
        end = time.perf_counter()
        stop.set()
        if device == "cuda":
            watcher.join()
        digest = hashlib.sha256()
        for file in sorted(one for one in Path(out).rglob("*") if one.is_file()):
            digest.update(file.read_bytes())
        if turn == 0:
            shutil.rmtree(out)
    times = [*begun.values(), end]
    return {
        "seconds": end - start,
        **{f"{step}_seconds": b - a for step, a, b in zip(begun, times, times[1:], strict=False)},
        "busy": [sum(column) / len(column) / 100 for column in zip(*busy, strict=True)],
        "peak_mb": peak(),
        "labels": count,
        "sha256": digest.hexdigest(),
    }


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
    parser.add_argument("--blocks", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--folder", help="where the Zarr is made, and its labels")
    options = parser.parse_args()
    runtime = import_module("cupy").cuda.runtime
    count = runtime.getDeviceCount()
    card = runtime.getDeviceProperties(0)["name"].decode()
    rows = []
    with tempfile.TemporaryDirectory(prefix="equilabel-", dir=options.folder) as folder:
        image, out = Path(folder, "image.zarr"), Path(folder, "labels.zarr")
        make_image(image, options.side, min(options.blocks))
        for block in options.blocks:
            for gpus in range(count + 1):
                found = fresh(gpus, str(image), str(out), block, "cuda" if gpus else "cpu")
                shutil.rmtree(out)
                row = {"side": options.side, "block": block, "gpus": gpus}
                rows.append(row | {"cores": os.cpu_count(), "card": card} | found)
                print(json.dumps(rows[-1]), flush=True)
            if len({row["sha256"] for row in rows if row["block"] == block}) != 1:
                message = "labels differ between devices"
                raise ValueError(message)
    print(store("scale_cuda", rows))


if __name__ == "__main__":
    main()
