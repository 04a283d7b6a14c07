"""What the experiments of this folder share: domains, times, verdicts, and results in a file.

The module of an experiment has `SIZES` (those of the paper) and `QUICK`; `FIGURES`, all figures and
tables of the paper; `PRINTED`, the numbers that it prints, by figure, series and x; `run`, which
measures rows; and `claims`, which compares them with what the paper says. Every verdict is that of
`verdict`. Only rows are stored: `read` puts the rest beside them.
"""

from __future__ import annotations

import argparse
import importlib
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

from equilabel.devices import place, resolve, using
from equilabel.domains.grid import Foreground, Grid
from equilabel.papers import load_passes, load_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

TOO_FEW = "a fit needs more points"
PACKAGES = ("equilabel", "numpy", "numba", "scipy", "cupy-cuda12x", "cupy-cuda13x")


class Figure(NamedTuple):
    """A figure or a table of a paper: what it shows, names of axes, or why it is not repeated."""

    title: str
    x: str = ""
    y: str = "ms"
    because: str = ""


# ------------------------------------------------------------------ experiments


def main(name: str) -> None:
    """Run the experiment of a module from the command line: measure, store and print."""
    module = importlib.import_module(name)
    parser = argparse.ArgumentParser(description=(module.__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", type=int, nargs="+", help=f"default: {list(module.SIZES)}")
    parser.add_argument("--quick", action="store_true", help=f"sizes {list(module.QUICK)}")
    parser.add_argument("--out", type=Path, default=Path("papers-results"), help="folder")
    parser.add_argument("--seconds", type=float, default=60.0, help="what does not fit is left out")
    chosen = parser.parse_args()
    resolve(chosen.device)  # says what is missing, if it cannot be used
    sizes = tuple(chosen.sizes or (module.QUICK if chosen.quick else module.SIZES))
    rows = module.run(chosen.device, sizes, Clock(chosen.device, chosen.seconds))
    path = store(chosen.out, name, sizes, rows, chosen.device)
    show(read(path))
    print(path)


# --------------------------------------------------------------------- domains


def mask_grid(mask: Any, device: str) -> Grid:
    """Make the domain of a binary image, of 4 neighbors, on a device."""
    return Grid(place(mask, device), Foreground("!=", np.False_, values=False), 1)


def phase_grid(field: Any, device: str) -> Grid:
    """Make the domain of an image without background: pixels of equal value are connected."""
    return Grid(place(field, device), Foreground("all", None, values=True), 1)


def labeler(method: str, domain: Any, device: str, **options: Any) -> Callable[[], Any]:
    """Return a call of the recipe of a method, which is what the papers time: it finds roots."""
    return partial(load_recipe(method), load_passes(method, device), domain, **options)


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
        first, result = self.once(run)
        if first > 2000 or not self.left():
            return first, result
        turns = max(1, min(self.rounds, int(3000 / max(first, 0.1)) + 1))
        times = [self.once(run)[0] for _ in range(turns)]
        return (statistics.median(times) if self.device == "cuda" else min(times)), result

    def warm(self, *calls: Callable[[], Any]) -> None:
        """Make calls, which compile what they need, on time that does not count."""
        began = time.perf_counter()
        with using(self.device):
            for call in calls:
                call()
        self.end += time.perf_counter() - began

    def once(self, run: Callable[[], Any]) -> tuple[float, Any]:
        """Return the milliseconds that a single call takes, and what it returns."""
        with using(self.device):
            return self._on_gpu(run) if self.device == "cuda" else self._on_cpu(run)

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
    """Return the exponent of the power law that fits points best: two of them, or more."""
    found = list(points)
    if len(found) < 2:
        raise ValueError(TOO_FEW)
    x, y = np.log(np.array(found, float)).T
    return float(np.polyfit(x, y, 1)[0])


# -------------------------------------------------------------------- verdicts

RULES = {
    "same": "ours equals the paper's",
    "ratio": "within a factor of 2, and on the same side of 1 unless the paper's is 1 itself",
    "power": "an exponent of sizes, at most 0.25 from the paper's",
    "error": "within two standard errors, which are those of both together",
    "more": "each of ours is more than that",
    "less": "each of ours is less than that",
    "fit": "no point is off the formula by more than 10 %",
}


def verdict(ours: Any, theirs: Any, rule: str, error: float = 0.0) -> bool:
    """Tell whether what a paper says holds here, by a rule of `RULES`; lists one by one."""
    if isinstance(ours, (list, tuple)):
        each = theirs if isinstance(theirs, (list, tuple)) else [theirs] * len(ours)
        return bool(ours) and all(map(verdict, ours, each, [rule] * len(ours)))
    if rule == "same":
        return bool(ours == theirs)
    if rule == "ratio":
        return theirs / 2 <= ours <= 2 * theirs and (theirs == 1 or (ours > 1) == (theirs > 1))
    if rule == "power":
        return bool(abs(ours - theirs) <= 0.25)
    if rule == "error":
        return bool(abs(ours - theirs) <= 2 * error)
    return bool(ours > theirs if rule == "more" else ours < (0.1 if rule == "fit" else theirs))


def claim(
    figure: str,
    text: str,
    rule: str,
    measured: Callable[[], Any],
    theirs: Any,
    *,
    error: Callable[[], float] = lambda: 0.0,
    paper: str = "",
    shown: Callable[[], str] | None = None,
) -> dict[str, Any]:
    """Compare a statement of a paper with what was measured.

    Parameters
    ----------
    measured, error, shown : callable
        Return what is compared, its error, and how it is written. A KeyError or ValueError of
        theirs says that it was not measured: there is no verdict then.
    theirs, paper
        What the paper says, as a value and in words; by default the value.
    """
    signs = {"more": "more than ", "less": "less than "}
    found = {"figure": figure, "claim": text, "rule": rule, "ours": "not measured", "holds": None}
    found["paper"] = paper or signs.get(rule, "") + words(theirs)
    try:
        ours = measured()
        found["holds"] = verdict(ours, theirs, rule, error())
        found["ours"] = shown() if shown else words(ours)
    except (KeyError, ValueError):
        pass
    return found


def over(
    one: Mapping[Any, float], other: Mapping[Any, float], x: Any, y: Any = None
) -> Callable[[], float]:
    """Return a call that divides a series at x by another at the same x, or at y."""
    return lambda: one[x] / other[x if y is None else y]


def words(value: Any) -> str:
    """Write a value of a claim: three digits, or a word as it is, or several of them."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(words, value))
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


# --------------------------------------------------------------------- results


def row(
    figure: str, series: str, x: Any, ours: float, *, unit: str = "ms", extrapolated: bool = False
) -> dict[str, Any]:
    """Return a point of a figure or a cell of a table."""
    return {
        "figure": figure,
        "series": series,
        "x": x,
        "unit": unit,
        "ours": ours,
        "extrapolated": extrapolated,
    }


def values(rows: Iterable[Mapping[str, Any]], figure: str, series: str) -> dict[Any, float]:
    """Return what was measured for a series of a figure, by x."""
    return {
        each["x"]: each["ours"]
        for each in rows
        if (each["figure"], each["series"]) == (figure, series)
    }


def show(results: Mapping[str, Any]) -> None:
    """Print the figures of the paper beside ours, with the factor between them."""
    for each in results["rows"]:
        paper, ours = each["paper"], each["ours"]
        beside = "" if paper is None else f"   paper {paper:g}"
        if paper is not None and each["unit"] and ours:
            beside += f"   {paper / ours:.1f}x"
        note = " (extrapolated)" if each["extrapolated"] else ""
        print(
            f"{each['figure']:10} {each['series']:28} {each['x']!s:>14}"
            f" {ours:12.5g} {each['unit']}{note}{beside}"
        )
    for each in results["claims"]:
        said = {True: "reproduced", False: "NOT reproduced", None: "no verdict"}[each["holds"]]
        print(
            f"{each['figure']}: {each['claim']}: paper {each['paper']}, ours {each['ours']}: {said}"
        )


def store(
    out: Path, name: str, sizes: Sequence[int], rows: list[dict[str, Any]], device: str
) -> Path:
    """Write rows as JSON, one a line, with the machine they were measured on."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    head = json.dumps({"machine": machine(device), "sizes": list(sizes)}).removesuffix("}")
    lines = ",\n".join(map(json.dumps, rows))
    path.write_text(f'{head},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    """Read stored rows, and put beside them what the paper prints, figures and claims.

    Nothing is compared where sizes are not those of the paper.
    """
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    module = importlib.import_module(path.stem)
    same = tuple(found["sizes"]) == module.SIZES
    for each in found["rows"]:
        key = each["figure"], each["series"], each["x"]
        each["paper"] = module.PRINTED.get(key) if same else None
    found["figures"] = module.FIGURES
    found["claims"] = module.claims(found["rows"]) if same else []
    return found


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
