"""What the experiments of this folder share: arguments, domains, times, and results in a file.

Results are rows and claims. A row is a point of a figure or a cell of a table: what the paper
prints, where it prints it, and what was measured here. A claim is a statement of the paper that is
either reproduced or not.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import passes, place, resolve, using
from equilabel.grid import Foreground, Grid
from equilabel.methods import load_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PACKAGES = ("equilabel", "numpy", "numba", "scipy", "cupy-cuda12x", "cupy-cuda13x")


class Figure(NamedTuple):
    """A figure or a table of a paper: what it shows, and the names of its axes."""

    title: str
    x: str
    y: str = "ms"


# ------------------------------------------------------------------- arguments


def arguments(description: str | None, sizes: Sequence[int], quick: Sequence[int]) -> Any:
    """Read the arguments that all experiments have: device, sizes, out, seconds."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", type=int, nargs="+", help=f"default: {list(sizes)}")
    parser.add_argument("--quick", action="store_true", help=f"sizes {list(quick)}, fewer samples")
    parser.add_argument("--out", type=Path, default=Path("papers-results"), help="folder")
    parser.add_argument("--seconds", type=float, default=60.0, help="what does not fit is left out")
    chosen = parser.parse_args()
    resolve(chosen.device)  # says what is missing, if it cannot be used
    chosen.sizes = chosen.sizes or list(quick if chosen.quick else sizes)
    return chosen


# --------------------------------------------------------------------- domains


def mask_grid(mask: Any, device: str) -> Grid:
    """Make the domain of a binary image, of 4 neighbors, on a device."""
    return Grid(place(mask, device), Foreground("!=", np.False_, values=False), 1)


def phase_grid(field: Any, device: str) -> Grid:
    """Make the domain of an image without background: pixels of equal value are connected."""
    return Grid(place(field, device), Foreground("all", None, values=True), 1)


def labeler(method: str, domain: Any, device: str, **options: Any) -> Callable[[], Any]:
    """Return a call of the recipe of a method, which is what the papers time: it finds roots."""
    return partial(load_recipe(method), passes(method, device), domain, **options)


# ----------------------------------------------------------------------- times


class Clock:
    """Times calls on a device as long as there is time left.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    seconds : float
        For everything that this clock is asked to time.
    rounds : int
        How often short calls are repeated. The first call, which compiles, does not count.
    """

    def __init__(self, device: str, seconds: float = 60.0, rounds: int = 5) -> None:
        self.device = device
        self.rounds = rounds
        self.end = time.perf_counter() + seconds

    def left(self) -> float:
        """Return the seconds that are left, or 0."""
        return max(self.end - time.perf_counter(), 0.0)

    def share(self, part: float) -> Clock:
        """Return a clock with a part of the time that is left."""
        return Clock(self.device, part * self.left(), self.rounds)

    def time(self, run: Callable[[], Any]) -> tuple[float, Any]:
        """Return the milliseconds that a call takes, and what it returns.

        The median of the device's own times on a GPU, the least of several on a CPU, which others
        may be using. Calls of more than two seconds are made once: compile kernels before.
        """
        once = self._on_gpu if self.device == "cuda" else self._on_cpu
        with using(self.device):
            first, result = once(run)
            if first > 2000 or not self.left():
                return first, result
            turns = max(1, min(self.rounds, int(3000 / max(first, 0.1)) + 1))
            times = [once(run)[0] for _ in range(turns)]
        return (statistics.median(times) if self.device == "cuda" else min(times)), result

    def warm(self, *calls: Callable[[], Any]) -> None:
        """Make calls, which compile what they need, on time that does not count."""
        began = time.perf_counter()
        with using(self.device):
            for call in calls:
                call()
        self.end += time.perf_counter() - began

    @staticmethod
    def _on_cpu(run: Callable[[], Any]) -> tuple[float, Any]:
        began = time.perf_counter()
        result = run()
        return 1e3 * (time.perf_counter() - began), result

    @staticmethod
    def _on_gpu(run: Callable[[], Any]) -> tuple[float, Any]:
        import cupy

        cupy.cuda.Device().synchronize()
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record()
        result = run()
        after.record()
        after.synchronize()
        return cupy.cuda.get_elapsed_time(before, after), result


def grow(
    clock: Clock, sizes: Iterable[float], make: Callable[[Any], Callable[[], Any]], limit: float
) -> Iterator[tuple[Any, float, Any]]:
    """Time calls of growing sizes; go on by a power law where one would take too long.

    Parameters
    ----------
    make : callable
        Returns the call for a size.
    limit : float
        Seconds that a call may be expected to take.

    Yields
    ------
    size, milliseconds, result
        The result is None where the time is extrapolated from the last two sizes. Sizes for which
        not even that is possible are left out.
    """
    found: list[tuple[float, float]] = []
    for size in sizes:
        expected = extrapolate(found, size)
        if clock.left() and expected < 1e3 * min(limit, clock.left()):
            milliseconds, result = clock.time(make(size))
            found.append((size, milliseconds))
            yield size, milliseconds, result
        elif len(found) > 1:
            yield size, expected, None


def extrapolate(found: Sequence[tuple[float, float]], size: float) -> float:
    """Continue points by the power law through the last two of them; by the square of one."""
    if not found:
        return 0.0
    (x, y), power = found[-1], 2.0
    if len(found) > 1 and x != found[-2][0]:
        power = math.log(y / found[-2][1]) / math.log(x / found[-2][0])
    return float(y * (size / x) ** power)


def slope(points: Iterable[tuple[float, float]]) -> float:
    """Return the exponent of the power law that fits points best."""
    x, y = np.log(np.array(list(points), float)).T
    return float(np.polyfit(x, y, 1)[0])


# --------------------------------------------------------------------- results


def row(
    figure: str,
    series: str,
    x: Any,
    ours: float,
    paper: float | None = None,
    *,
    unit: str = "ms",
    extrapolated: bool = False,
) -> dict[str, Any]:
    """Return a point of a figure or a cell of a table, with what the paper prints if it does."""
    return {
        "figure": figure,
        "series": series,
        "x": x,
        "unit": unit,
        "ours": ours,
        "paper": paper,
        "extrapolated": extrapolated,
    }


def claim(figure: str, text: str, paper: str, ours: str, holds: bool) -> dict[str, Any]:
    """Return a statement of a paper, its value there and here, and whether it holds here."""
    return {"figure": figure, "claim": text, "paper": paper, "ours": ours, "holds": bool(holds)}


def near(ours: float, paper: float) -> bool:
    """Tell whether a ratio is that of the paper within a factor of 2, and on the same side of 1."""
    return paper / 2 <= ours <= 2 * paper and (ours > 1) == (paper > 1)


def values(rows: Iterable[Mapping[str, Any]], figure: str, series: str) -> dict[Any, float]:
    """Return what was measured for a series of a figure, by x."""
    return {
        each["x"]: each["ours"]
        for each in rows
        if each["figure"] == figure and each.get("series") == series
    }


def show(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the figures of the paper beside ours, with the factor between them."""
    for each in rows:
        if "claim" in each:
            verdict = "reproduced" if each["holds"] else "NOT reproduced"
            print(
                f"{each['figure']}: {each['claim']}: paper {each['paper']}, ours {each['ours']}:"
                f" {verdict}"
            )
            continue
        paper, ours = each["paper"], each["ours"]
        beside = "" if paper is None else f"   paper {paper:g}"
        if paper is not None and each["unit"] == "ms" and ours:
            beside += f"   {paper / ours:.1f}x"
        note = " (extrapolated)" if each["extrapolated"] else ""
        print(
            f"{each['figure']:10} {each['series']:28} {each['x']!s:>14}"
            f" {ours:12.5g} {each['unit']}{note}{beside}"
        )


def store(
    out: Path,
    name: str,
    figures: Mapping[str, Figure],
    rows: list[dict[str, Any]],
    device: str,
) -> Path:
    """Write results as JSON, with the machine they were measured on."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    found = {
        "machine": machine(device),
        "figures": {key: figure._asdict() for key, figure in figures.items()},
        "rows": rows,
    }
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return path


def machine(device: str) -> dict[str, Any]:
    """Describe the machine and the software."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    about = {
        "device": device,
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
        "commit": os.environ.get("EQUILABEL_COMMIT") or _commit(),
        "date": time.strftime("%Y-%m-%d"),
    }
    if device == "cuda":
        import cupy

        current = cupy.cuda.runtime.getDevice()
        about["card"] = cupy.cuda.runtime.getDeviceProperties(current)["name"].decode()
    return about


def _commit() -> str:
    """Return the commit of the source, or nothing where there is no git."""
    try:
        return subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=False,
        ).stdout.strip()
    except OSError:
        return ""
