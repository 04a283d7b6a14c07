"""What `label` and `label_graph` tell of the work they did."""

import numpy as np
import pytest

from equilabel import METHODS, Graph, label, label_graph
from equilabel.domains import lattices
from equilabel.samples import spiral
from references import GRID_METHODS


@pytest.mark.parametrize("method", GRID_METHODS)
def test_a_report_names_method_and_device_and_counts_calls(method):
    image = spiral(15)
    labels, report = label(image, method=method, report=True)
    np.testing.assert_array_equal(labels, label(image))
    assert (report.method, report.device) == (method, "cpu")
    assert report.rounds >= 1
    assert max(report.passes.values()) >= report.rounds


def test_rounds_are_those_of_the_recipe():
    image = spiral(31)
    assert label(image, method="kalentev", report=True)[1].passes["scan"] == 3  # of any spiral
    told = label(image, method="komura", report=True)[1].passes
    assert told == {"initialize": 1, "analyze": 2, "reduce_labels": 1}


def test_a_report_comes_last():
    image = np.eye(3, dtype=bool)
    labels, count, table, report = label(image, properties=["area"], return_num=True, report=True)
    assert (labels.max(), count, table["area"].tolist(), report.method) == (1, 1, [3.0], "runs")


@pytest.mark.parametrize("kind", ["graph", "bonds"])
def test_graphs_and_lattices_have_reports(kind):
    bonds = lattices.square(5, open_probability=0.5, seed=1)
    domain = Graph.from_bonds(bonds) if kind == "graph" else bonds
    for name in (name for name, row in METHODS.items() if kind in row.domains):
        labels, count, report = label_graph(domain, method=name, return_num=True, report=True)
        assert labels.max() + 1 == count
        assert report.method == name
        assert report.passes
        assert report.seconds.keys() == report.passes.keys()


def test_graphs_of_few_neighbors_are_labeled_without_a_sample():
    sparse, dense = Graph.from_edges([(0, 1), (1, 2)]), Graph.from_image(np.ones((9, 9), bool), 2)
    assert "unite_all" in label_graph(sparse, report=True)[1].passes
    assert "find_largest" in label_graph(dense, report=True)[1].passes
