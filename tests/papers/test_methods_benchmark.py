"""The benchmark of all methods finds each of them, and its images are what they are said to be."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from equilabel import METHODS, label

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Import a program of the benchmarks by its name."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_every_method_has_a_row_for_every_size_and_a_slow_one_a_smaller_side(
    benchmark, monkeypatch, tmp_path
):
    programs = benchmark("methods")
    monkeypatch.setattr(benchmark("harness"), "RESULTS", tmp_path)
    monkeypatch.setattr(programs, "images", lambda xp: {"ones": lambda side: np.ones((side, side))})
    monkeypatch.setattr(programs, "_grid", lambda xp, draw, side: grid(programs, draw(side)))
    monkeypatch.setattr(programs, "DOMAINS", {"grid": programs.grids})
    clock = iter(np.arange(0.0, 1e6, 0.2))  # 0.2 s for whatever is timed
    monkeypatch.setattr(programs.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(sys, "argv", ["methods.py", "--sides", "64", "128", "--turns", "1"])
    programs.main()
    rows = json.loads((tmp_path / "methods_cpu.json").read_text())["rows"][1:]
    grids = [name for name, row in METHODS.items() if "grid" in row.domains]
    for side in (64, 128):
        found = {row["method"]: row for row in rows if row["asked"] == side}
        assert list(found) == grids
        for name, row in found.items():
            assert row["side"] == (
                32 if METHODS[name].propagates else side // 4 if side // 4 >= 32 else 32
            )
            assert row["seconds"] == pytest.approx(0.2)
            assert row["rounds"] >= 1


def grid(programs, image):
    return programs.Grid(image > 0, programs.Foreground("!=", np.False_, values=False), 1)


def test_a_mixture_separates_and_its_parts_grow(benchmark):
    solve = benchmark("cahn_hilliard").cahn_hilliard
    counts = [label(solve(np, (128, 128), steps), return_num=True)[1] for steps in (20, 400)]
    assert counts[0] > 2 * counts[1] >= 2
    assert solve(np, (96, 64), 200, fraction=0.3).mean() == pytest.approx(0.3, abs=0.06)
    assert solve(np, (24, 20, 16), 20).shape == (24, 20, 16)


@pytest.mark.parametrize("radius", [5, 20])
def test_half_of_an_image_of_disks_in_noise_is_covered(benchmark, radius):
    image = benchmark("methods").noisy_blobs(300, radius)
    assert image.mean() == pytest.approx(0.5, abs=0.02)
    assert np.bincount(label(image, connectivity=1).ravel())[1:].max() > 2 * radius**2
