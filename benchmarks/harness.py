"""What every benchmark shares: interleaved timing, peak memory, the machine, and storing both."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

os.environ["SKIMAGE_NO_DISPATCHING"] = "1"  # scikit-image is measured, not what it dispatches to
RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "equilabel",
    "numpy",
    "numba",
    "scipy",
    "scikit-image",
    "connected-components-3d",
    "opencv-python-headless",
)


def interleave(
    contenders: Mapping[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, float]]:
    """Time every contender once a round, so that a slow moment of the machine hits all of them.

    Parameters
    ----------
    clock : callable
        `time.thread_time` counts the work of a single thread, whoever else the machine serves.

    Returns
    -------
    dict of str to {"min": s, "median": s}
        The first round, which compiles and warms up, does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            began = clock()
            result = run()
            took = clock() - began
            del result
            if turn:
                seconds[name].append(took)
    return {
        name: {"min": min(times), "median": statistics.median(times)}
        for name, times in seconds.items()
    }


def warm_up(run: Callable[[], Any], seconds: float = 20) -> None:
    """Call until a machine that was idle, with a GPU, has its usual speed: some 20 seconds."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        run()


def peak_memory(run: Callable[[], Any]) -> int:
    """Return the bytes that a call holds at most beside what was there before.

    Counts what NumPy and Python allocate. Kernels that split objects take about 40 bytes more for
    each pixel of the box of the object that a thread is at.
    """
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def describe() -> dict[str, Any]:
    """Describe the machine and the software, for the record."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    commit = (
        os.environ.get("EQUILABEL_COMMIT")
        or subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=False,
        ).stdout.strip()
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "commit": commit,
        "date": time.strftime("%Y-%m-%d"),
    }


def store(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write the rows of a benchmark, with the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(one_row_a_line({"machine": describe(), "rows": rows}))
    return path


def one_row_a_line(found: Mapping[str, Any]) -> str:
    """Format results as JSON with one line for each row, so that changes of rows are readable."""
    entries = []
    for key, value in found.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        entries.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n".join(entries) + "}\n"
