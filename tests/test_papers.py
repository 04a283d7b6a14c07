"""Experiments of the papers, in small: what papers claim, not how long anything takes."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from equilabel import Graph, label_graph

ROOT = Path(__file__).parents[1]


@pytest.fixture
def experiment(monkeypatch):
    """Return a function that loads a module of the folder of experiments."""
    monkeypatch.syspath_prepend(ROOT / "examples" / "papers")
    return importlib.import_module


@pytest.fixture
def clock(experiment):
    return experiment("experiment").Clock("cpu", seconds=60, rounds=1)


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("papers")


def verdicts(rows):
    return {row["claim"]: row["holds"] for row in rows if "claim" in row}


# ----------------------------------------------------------------- experiments


def test_a_spiral_takes_three_rounds_of_label_equivalence_and_many_of_row_col(experiment, clock):
    tables = experiment("kalentev_tables")
    rows = tables.table_1("cpu", 64, clock)
    values = experiment("experiment").values
    assert values(rows, "Table 1", "LE, iterations")["spiral"] == 3
    assert values(rows, "Table 1", "RC, iterations")["spiral"] > 64 / 4
    assert len(values(rows, "Table 1", "LE with sizes")) == len(tables.TABLE_1)


@pytest.mark.slow
def test_iterations_peak_near_the_percolation_threshold_as_in_table_2(experiment, clock):
    tables = experiment("kalentev_tables")
    rows = tables.table_2("cpu", 256, clock)
    rounds = experiment("experiment").values(rows, "Table 2", "iterations")
    assert max(rounds, key=rounds.get) == 0.6
    assert all(rounds[p] <= tables.TABLE_2[p][2] for p in rounds)
    printed = [row["paper"] for row in rows if row["series"] == "LE"]
    assert printed == [None] * 8  # the paper's are those of another size


def test_kernel_a_walks_a_spiral_that_kernel_d_jumps(experiment, clock):
    meshes = experiment("hawick_meshes")
    rows = meshes.run("cpu", (16, 32), clock, steps=(8, 32), limit=2)
    values = experiment("experiment").values
    assert set(values(rows, "Figure 19", "D, rounds").values()) == {3}
    walked = values(rows, "Figure 19", "A, rounds")
    assert walked[32] / walked[16] == pytest.approx(4, abs=0.5)
    for side in (16, 32):
        fields = [values(rows, "Figure 18", f"{kernel}, rounds")[side] for kernel in "DA"]
        assert fields[0] < fields[1] < walked[side]


@pytest.mark.slow
def test_all_graphs_are_labeled_alike_by_all_kernels(experiment, clock):
    graphs = experiment("hawick_graphs")
    for _, points, make in graphs.cases(0.005, "cpu"):
        size, ends = make(points[0])
        graph = Graph.from_edges(*ends, size=size)
        expected = label_graph(graph)
        for method in ("hawick_1", "hawick_2", "hawick_3"):
            np.testing.assert_array_equal(label_graph(graph, method=method), expected)
    rows = graphs.run("cpu", 0.005, clock)
    components = experiment("experiment").values(rows, "Figure 13", "components")
    assert list(components) == sorted(components.values())  # as many as sets, or nearly
    assert not any(row.get("extrapolated") for row in rows)


@pytest.mark.slow
def test_lattices_span_at_their_thresholds(experiment, clock):
    lattices = experiment("komura_lattices")
    like = np.zeros(1)
    for name, exact in lattices.EXACT.items():
        rows, claims = lattices.threshold(name, (16, 32, 64), 60, clock, like)
        assert all(claim["holds"] for claim in claims), claims
        estimate = float(claims[0]["ours"].split()[0])
        assert abs(estimate - exact) < 0.02
        width = experiment("experiment").values(rows, rows[0]["figure"], "width")
        assert rows[0]["figure"].endswith("sizes")
        assert (
            1.4 < (width[16] / width[64]) ** 0.5 < 2
        )  # falls as the side to the power of 3/4: 1.68


def test_a_lattice_spans_from_one_probability_on(experiment):
    lattices = experiment("komura_lattices")
    point = lattices.spanning_point("triangular", 16, 3, "cpu", None)
    for p, expected in ((point - 0.01, False), (point + 0.01, True)):
        bonds = lattices.MAKERS["triangular"](16, open_probability=p, seed=3)
        assert lattices.spans(bonds, "cpu") is expected


@pytest.mark.slow
def test_energies_and_cycles_are_those_of_theory(experiment, clock, monkeypatch):
    simulations = experiment("simulations")
    monkeypatch.setitem(simulations.CYCLES, "cpu", (6, 10))
    rows = simulations.energies(clock, {"device": "cpu"}, 1000)
    rows += simulations.cycles(clock, "cpu")
    found = verdicts(simulations.claims(rows))
    assert sum("energy at L" in text for text in found) == 3
    assert sum("cycles" in text for text in found) == 2
    assert all(found.values()), found


# ----------------------------------------------------------- graphs and images


def test_a_scale_free_graph_is_one_component_with_hubs(experiment):
    ends = experiment("networks").scale_free(5000, 5)
    graph = Graph.from_edges(*ends, size=5000)
    assert label_graph(graph).max() == 0
    counts = np.bincount(np.concatenate(ends))
    many = [(counts >= degree).mean() for degree in (20, 40)]
    assert 2.5 < many[0] / many[1] < 6  # P(k) ~ k^-3: 4
    assert counts[5:].min() >= 5


def test_a_small_world_has_its_ring_and_its_long_links(experiment):
    one, other = experiment("networks").small_world(4000, 10, 0.1)
    distance = np.minimum((one - other) % 4000, (other - one) % 4000)
    assert one.size == 20_000
    assert (distance > 5).mean() == pytest.approx(0.1, abs=0.01)


def test_a_disjoint_graph_stays_within_its_sets(experiment):
    size, sets = 3000, 40
    ends = experiment("networks").disjoint(size, 30_000, sets)
    labels = label_graph(Graph.from_edges(*ends, size=size))
    assert labels.max() + 1 == sets


def test_discs_in_noise_have_the_occupation_of_the_paper(experiment):
    image = experiment("paper_images").discs_in_noise(256, 10)
    assert image.mean() == pytest.approx(0.5, abs=0.01)


def test_phases_of_an_alloy_are_even_and_grow(experiment):
    early, late = (experiment("paper_images").phases(128, steps) for steps in (32, 512))
    for field in (early, late):
        assert field.mean() == pytest.approx(0.5, abs=0.05)
    borders = [(field != np.roll(field, 1, 0)).mean() for field in (early, late)]
    assert borders[1] < 0.6 * borders[0]


# ------------------------------------------------------------------------ page


def test_what_takes_too_long_is_extrapolated(experiment, clock):
    grow = experiment("experiment").grow
    times = {1: 1.0, 2: 8.0, 4: 64.0, 8: 512.0}
    clock.time = lambda run: (times[run()], "roots")
    found = list(grow(clock, times, lambda size: lambda: size, limit=0.1))
    assert [(size, result) for size, _, result in found] == [
        (1, "roots"), (2, "roots"), (4, "roots"), (8, None),
    ]  # fmt: skip
    assert found[-1][1] == pytest.approx(512)


def test_ratios_are_reproduced_within_a_factor_of_two_on_the_same_side_of_one(experiment):
    near = experiment("experiment").near
    assert [near(ours, 13) for ours in (6, 7, 26, 27)] == [False, True, True, False]
    assert [near(ours, 1.4) for ours in (0.9, 1.1, 2.9)] == [False, True, False]


def test_tables_of_the_papers_are_those_of_the_stored_results(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.render(text) == text


def test_every_figure_that_was_measured_stands_on_the_page(page):
    text = page.PAGE.read_text(encoding="utf-8")
    for name in page.NAMES:
        results = page.load(name)
        for figure in {*results["figures"], *(row["figure"] for row in results["rows"])}:
            assert f"<!-- {name}: {figure} -->" in text


def test_results_are_drawn_from_what_is_stored(experiment, tmp_path):
    mpl = pytest.importorskip("matplotlib")
    before = mpl.get_backend()
    module = experiment("experiment")
    rows = [
        module.row("Table 1", "LE", "spiral", 2.0, 5.6),
        module.row("Table 1", "LE", "noise", 1.0, extrapolated=True),
        module.claim("Table 1", "three rounds", "3", "3", True),
    ]
    figures = {"Table 1": module.Figure("Images", "image")}
    path = module.store(tmp_path, "small", figures, rows, "cpu")
    experiment("draw").draw(json.loads(path.read_text()), tmp_path / "small.png")
    mpl.use(before)
    assert (tmp_path / "small.png").stat().st_size > 1000
