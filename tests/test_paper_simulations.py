"""Experiments of papers on spins and clusters, in small."""

import runpy
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[1] / "examples" / "papers"
pytestmark = pytest.mark.slow


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs an experiment with arguments, and checks that it draws."""
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)

    def run(name, *arguments):
        found = runpy.run_path(str(PAPERS / f"{name}.py"))["main"](list(arguments))
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        return found

    return run


@pytest.mark.long
def test_times_of_weigel_are_printed_beside_ours(run, capsys):
    sizes = "--sizes", "32", "64", "--energy-sizes", "8", "16"
    run("weigel", *sizes, "--sweeps", "1000", "--tiles", "8", "--seconds", "0.001")
    printed = capsys.readouterr().out
    deviations = [float(line.split()[6]) for line in printed.splitlines() if "errors" in line]
    assert len(deviations) == 2
    assert max(map(abs, deviations)) < 4
    assert "2.697 (GTX 580, sewing)" in printed


def test_the_exponent_of_percolation_is_found_from_accumulated_sizes(run):
    (tau, error), (perimeter, _) = run(
        "percolation_clusters", "--side", "512", "--repeats", "8", "--smallest", "32"
    )
    assert error < 0.05
    assert abs(tau - 187 / 91) < 0.1
    assert abs(perimeter - 1) < 0.04
