"""Experiments of the papers, in small: what papers claim, not how long anything takes."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from equilabel import Bonds, Graph, label_graph

ROOT = Path(__file__).parents[2]


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


# ----------------------------------------------------------------- experiments


def test_a_spiral_takes_three_rounds_of_label_equivalence_and_many_of_row_col(experiment, clock):
    tables = experiment("kalentev")
    rows = tables.table_1("cpu", 64, clock)
    values = experiment("experiment").values
    assert values(rows, "Table 1", "LE, iterations")["spiral"] == 3
    assert values(rows, "Table 1", "RC, iterations")["spiral"] > 64 / 4
    assert len(values(rows, "Table 1", "LE with sizes")) == len(tables.TABLE_1)


@pytest.mark.slow
def test_iterations_peak_near_the_percolation_threshold_as_in_table_2(experiment, clock):
    tables = experiment("kalentev")
    rows = tables.table_2("cpu", 256, clock)
    rounds = experiment("experiment").values(rows, "Table 2", "iterations")
    assert max(rounds, key=rounds.get) == 0.6
    assert all(rounds[p] <= tables.TABLE_2[p][2] for p in rounds)


@pytest.mark.slow
def test_the_exponent_of_percolation_is_found_from_accumulated_sizes(experiment):
    values, rows = experiment("experiment").values, experiment("kalentev").clusters("cpu", 256)
    assert values(rows, "Listing 4", "power")["tau"] == pytest.approx(187 / 91, abs=0.1)
    assert values(rows, "Listing 4", "power")["perimeter"] == pytest.approx(1, abs=0.05)
    assert max(values(rows, "Listing 4", "standard error").values()) < 0.05


def test_kernel_a_walks_a_spiral_that_kernel_d_jumps(experiment, clock):
    meshes = experiment("hawick_meshes")
    rows = meshes.run("cpu", (16, 32), clock, steps=(8, 32), limit=2)
    values = experiment("experiment").values
    assert set(values(rows, "Figure 19", "D, rounds").values()) == {3}
    walked = values(rows, "Figure 19", "A, rounds")
    assert walked == {side: side**2 / 2 - 1 for side in (16, 32)}  # `walk` multiplies by this
    for side in (16, 32):
        fields = [values(rows, "Figure 18", f"{kernel}, rounds")[side] for kernel in "DA"]
        assert fields[0] < fields[1] < walked[side]
    grid = meshes.phase_grid(meshes.two_spirals(32), "cpu")
    clock.once = lambda run: (2 * len(run()), None)  # two milliseconds a round
    assert meshes.walk(grid, 32, clock) == 2 * walked[32]


@pytest.mark.slow
def test_all_graphs_are_labeled_alike_by_all_kernels(experiment, clock):
    graphs = experiment("hawick_graphs")
    for _, points, make in graphs.cases(0.005, "cpu"):
        size, ends = make(points[0])
        graph = Graph.from_edges(*ends, size=size)
        expected = label_graph(graph)
        for method in ("hawick_1", "hawick_2", "hawick_3"):
            np.testing.assert_array_equal(label_graph(graph, method=method), expected)
    rows = graphs.run("cpu", (0.005,), clock)
    components = experiment("experiment").values(rows, "Figure 13", "components")
    assert list(components) == sorted(components.values())  # as many as sets, or nearly
    assert not any(row["extrapolated"] for row in rows)


@pytest.mark.slow
@pytest.mark.long
def test_lattices_span_at_their_thresholds(experiment, clock):
    lattices = experiment("komura")
    like = np.zeros(1)
    for name, exact in lattices.EXACT.items():
        rows = lattices.threshold(name, (16, 32, 64), clock, like)
        estimate, error = lattices.crossing(rows, name)
        assert abs(estimate - exact) < max(3 * error, 0.01)
        width = experiment("experiment").values(rows, rows[0]["figure"], "width")
        assert rows[0]["figure"].endswith("sizes")
        assert (
            1.4 < (width[16] / width[64]) ** 0.5 < 2
        )  # falls as the side to the power of 3/4: 1.68


def test_a_lattice_spans_from_one_probability_on(experiment):
    lattices = experiment("komura")
    point = lattices.spanning_point("triangular", 16, 3, "cpu", None)
    for p, expected in ((point - 0.01, False), (point + 0.01, True)):
        bonds = lattices.MAKERS["triangular"](16, open_probability=p, seed=3)
        assert lattices.spans(bonds, "cpu") is expected


@pytest.mark.slow
@pytest.mark.long
def test_cycles_are_those_of_theory(experiment, clock):
    cycles = experiment("apostolakis")
    claims = cycles.claims(cycles.run("cpu", (8, 16, 32, 64), clock))
    assert [claim["holds"] for claim in claims] == [True, True]


def test_a_label_crosses_one_border_in_a_synchronous_relaxation_step(experiment):
    along = np.ones((4, 64), np.uint8)
    along[:, -1] = 0
    rows = Bonds(along, np.array([(0, 1), (1, 0)]), (False, False))
    steps = experiment("weigel").synchronous_steps(rows, 4, "cpu")
    assert steps == 16  # 15 borders between tiles, and one that changes nothing


@pytest.mark.slow
@pytest.mark.long
def test_all_figures_of_weigel_are_measured(experiment, clock):
    weigel = experiment("weigel")
    rows = weigel.run("cpu", (16, 32), clock)
    measured = {name for name, figure in weigel.FIGURES.items() if not figure.because}
    assert {row["figure"] for row in rows} == measured
    energies = [claim for claim in weigel.claims(rows) if claim["figure"] == "energies"]
    assert [claim["holds"] for claim in energies] == [True, True, True]


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


@pytest.mark.parametrize(
    ("rule", "theirs", "held", "missed"),
    [
        ("same", 3, [3], [2, 4]),
        ("ratio", 13, [6.5, 26], [6.4, 27]),
        ("ratio", 1.4, [1.1, 2.8], [0.9, 2.9]),
        ("ratio", 1, [0.5, 2], [0.4, 2.1]),
        ("power", 1, [0.75, 1.25], [0.74, 1.26]),
        ("error", 1, [0.985, 1.015], [0.97, 1.03]),
        ("more", 1, [1.1, [1.1, 2]], [1, [0.9, 2]]),
        ("less", 1, [0.9], [1, []]),
        ("fit", 0, [0.09], [0.11]),
    ],
)
def test_a_verdict_is_that_of_its_rule(experiment, rule, theirs, held, missed):
    verdict = experiment("experiment").verdict
    assert [verdict(ours, theirs, rule, 0.01) for ours in held] == [True] * len(held)
    assert [verdict(ours, theirs, rule, 0.01) for ours in missed] == [False] * len(missed)


def test_all_verdicts_come_from_one_function(experiment, page, monkeypatch):
    module = experiment("experiment")
    monkeypatch.setattr(module, "verdict", lambda *_: "judged")
    for name in page.NAMES:
        results = module.read(page.RESULTS / f"{name}.json")
        claims = results["claims"]
        assert {claim["holds"] for claim in claims} <= {"judged", None}
        assert {claim["rule"] for claim in claims} <= set(module.RULES)
        assert {claim["figure"] for claim in claims} <= set(results["figures"])


def test_what_was_not_measured_has_no_verdict(experiment):
    module = experiment("experiment")
    missing = module.claim("Table 1", "RC over LE", "ratio", module.over({}, {1: 2.0}, 1), 3)
    assert (missing["holds"], missing["ours"]) == (None, "not measured")


def test_nothing_is_compared_with_a_paper_at_other_sizes(experiment, tmp_path):
    module = experiment("experiment")
    rows = [module.row("Table 3", "LE", 1024, 2.0)]
    small = module.read(module.store(tmp_path, "kalentev", (256, 512), rows, "cpu"))
    assert (small["rows"][0]["paper"], small["claims"]) == (None, [])
    sizes = experiment("kalentev").SIZES
    same = module.read(module.store(tmp_path, "kalentev", sizes, rows, "cpu"))
    assert same["rows"][0]["paper"] == 6.5
    assert same["claims"]


def test_tables_of_the_papers_are_those_of_the_stored_results(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.render(text) == text


@pytest.mark.parametrize(
    ("paper", "figures", "tables"),
    [
        ("Kalentev", 5, ["1", "2", "3", "4"]),
        ("Hawick", 19, ["1", "2", "3"]),
        ("Komura", 10, []),
        ("Weigel", 14, ["I"]),
        ("Apostolakis", 1, []),
    ],
)
def test_every_figure_and_table_of_a_paper_has_its_row(page, paper, figures, tables):
    rows = [line.split(" | ") for line in page.summary().splitlines()]
    repeated = {row[0].removeprefix("| "): row[2] for row in rows}
    for name in [f"Figure {k + 1}" for k in range(figures)] + [f"Table {k}" for k in tables]:
        assert repeated[f"{paper}, {name}"].startswith(("on a ", "no, because ", "not in these"))


def test_every_figure_that_is_repeated_stands_on_the_page(page):
    text = page.PAGE.read_text(encoding="utf-8")
    for name in page.NAMES:
        results = page.load(name)
        repeated = {key for key, figure in results["figures"].items() if not figure.because}
        assert {row["figure"] for row in results["rows"]} <= repeated
        assert all(f"<!-- {name}: {figure} -->" in text for figure in repeated)


def test_the_prose_of_the_page_has_no_times_but_those_that_a_paper_prints(page):
    prose = page.BLOCK.sub("", page.PAGE.read_text(encoding="utf-8"))
    times = set(re.findall(r"([\d.,]+) (?:ms|ns|s|times|realizations)\b", prose))
    assert times <= {"2.697", "3.934", "3.179", "8.6", "8", "13"}
    assert prose.count("H200") == 1  # its bandwidth: results may be of another card


def test_results_are_drawn_from_what_is_stored(experiment, tmp_path):
    mpl = pytest.importorskip("matplotlib")
    before = mpl.get_backend()
    module = experiment("experiment")
    rows = [
        module.row("Table 1", "LE", "spiral", 2.0),
        module.row("Table 1", "LE", "noise 0.1", 1.0, extrapolated=True),
    ]
    path = module.store(tmp_path, "kalentev", experiment("kalentev").SIZES, rows, "cpu")
    experiment("draw").draw(module.read(path), tmp_path / "small.png")
    mpl.use(before)
    assert (tmp_path / "small.png").stat().st_size > 1000
