"""Which path serves which image: a change of the table that moves an image is seen here."""

from pathlib import Path

import numpy as np
import pytest

from equilabel import label, measure_components
from equilabel.domains.grid import Foreground
from equilabel.labeling import paths, problem_of
from equilabel.labeling.problem import make_problem
from equilabel.measuring import make_request
from references import expected_labels

SMALL, LARGE = (64, 65), (1500, 1501)
# Threads, shape, type, arguments, path.
ON_THE_CPU = [
    (1, (0, 5), "u1", {}, "nothing"),
    (1, (), "u1", {}, "single call"),
    (1, (9,), "?", {}, "single call"),
    (1, (16, 16), "?", {}, "single call"),
    (1, SMALL, "?", {}, "single call"),
    (1, SMALL, "u1", {}, "single call"),
    (1, SMALL, "i8", {"background": 3}, "single call"),
    (1, SMALL, "f4", {}, "single call"),
    (1, (5, 9, 40), "?", {"connectivity": 1}, "single call"),
    (1, (2, 3, 4, 5, 6), "u2", {}, "single call"),
    (1, SMALL, "?", {"stacked": True}, "single call"),
    (1, SMALL, "?", {"periodic": True}, "passes"),
    (1, SMALL, "?", {"method": "kalentev"}, "roots"),
    (1, LARGE, "?", {}, "passes"),
    (3, LARGE, "?", {}, "passes"),
    (4, LARGE, "?", {}, "team"),
    (16, LARGE, "?", {}, "team"),
    (16, LARGE, "u1", {}, "team"),
    (16, LARGE, "u1", {"background": 2}, "team"),
    (16, LARGE, "u1", {"stacked": True}, "team"),
    (16, LARGE, "i4", {}, "passes"),
    (16, LARGE, "f8", {}, "passes"),
    (16, LARGE, "?", {"periodic": (True, False)}, "passes"),
    (16, (90, 150, 170), "?", {"connectivity": 1}, "team"),
    (16, LARGE, "?", {"method": "komura"}, "roots"),
]
ON_A_GPU = [
    ((0, 5), "u1", {}, "nothing"),
    ((64, 64), "?", {}, "bands"),
    ((512, 512), "?", {"connectivity": 1}, "bands"),
    ((20, 40, 50), "?", {}, "bands"),
    ((1, 512, 512), "?", {}, "bands"),
    ((4096, 4096), "?", {}, "tiles"),
    ((256, 256, 256), "?", {}, "tiles"),
    ((512, 512), "u1", {}, "tiles"),
    ((512, 512), "i4", {}, "tiles"),
    ((9, 512, 512), "?", {"stacked": True}, "tiles"),
    ((5000,), "?", {}, "tiles"),
    ((3, 4, 20, 30), "?", {}, "tiles"),
    ((512, 512), "f4", {}, "passes"),
    ((512, 512), "?", {"periodic": True}, "passes"),
    ((512, 512), "?", {"method": "weigel_sewing"}, "roots"),
]


def some(shape, dtype):
    return (np.random.default_rng(0).random(shape) < 0.5).astype(dtype)


def name_of(row):
    return " ".join(str(each) for each in row)


@pytest.mark.parametrize("row", ON_THE_CPU, ids=name_of)
def test_which_path_an_image_takes(many_threads, row):
    count, shape, dtype, options, path = row
    many_threads(count)
    assert paths.path_of(make_problem(some(shape, dtype), **options)).name == path


@pytest.mark.gpu
@pytest.mark.parametrize("row", ON_A_GPU, ids=name_of)
def test_which_path_an_image_of_a_gpu_takes(cupy, row):
    shape, dtype, options, path = row
    image = some(shape, dtype)
    problem = make_problem(cupy.asarray(image), **options)
    assert paths.path_of(problem).name == path
    if image.size < 2**20:
        labels = label(cupy.asarray(image), report=True, **options)[0]
        np.testing.assert_array_equal(labels.get(), label(image, **options))


def test_thresholds_tables_and_runs_take_pass_after_pass(many_threads):
    many_threads(16)
    image = some(LARGE, "u1")
    above = problem_of(image, Foreground(">", image.dtype.type(0), values=False))
    assert paths.path_of(above).name == "passes"
    problem = make_problem(image)
    request = make_request(("area",), None, image.shape, None)
    assert paths.path_of(problem, paths.Wanted(request)).name == "passes"
    assert paths.path_of(problem, paths.Wanted(painted=False)).name == "passes"


def test_a_report_names_the_path_that_is_taken_without_one():
    assert label(some(SMALL, "?"), report=True)[1].path == "single call"
    assert label(some(SMALL, "?"), method="hawick_a", report=True)[1].path == "roots"


def test_a_path_that_declines_leaves_an_image_to_the_next(many_threads, monkeypatch):
    many_threads(1)
    image = some((40, 50), "u1")
    declined = []

    def decline(problem, wanted):
        declined.append(problem)

    first = paths.PATHS[2]
    assert first.name == "single call"
    monkeypatch.setattr(
        paths, "PATHS", (*paths.PATHS[:2], first._replace(label=decline), *paths.PATHS[3:])
    )
    labels = label(image, device="cpu", method="runs")
    assert len(declined) == 1
    np.testing.assert_array_equal(labels, expected_labels(image))


# -------------------------------------------- the same refusals, whatever path would be taken

REFUSED = [
    ({"connectivity": 3}, ValueError, "connectivity must be 1 to 2"),
    ({"background": 0.5}, TypeError, "background must be a whole number"),
    ({"out": np.zeros((3, 3), np.int32)}, ValueError, "out must have the shape"),
    ({"out": np.zeros(SMALL, np.float32)}, TypeError, "out must be an array of an integer type"),
    ({"method": "fastest"}, ValueError, "method"),
    ({"periodic": (True,)}, ValueError, "periodic"),
    ({"speed": 3}, TypeError, "speed"),
]


@pytest.mark.parametrize("dtype", ["?", "u1", "f4"])
@pytest.mark.parametrize(("options", "kind", "rule"), REFUSED)
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small", "large"])
def test_every_path_refuses_the_same(many_threads, shape, options, kind, rule, dtype):
    many_threads(16)
    image = some(shape, dtype)
    for method in ({}, {"method": "komura"}):
        with pytest.raises(kind, match=rule):
            label(image, **{**method, **options})


@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small", "large"])
def test_values_that_are_not_whole_are_refused_on_every_path(many_threads, shape, count):
    many_threads(count)
    image = some(shape, "f4")
    label(image)
    image[3, 4] = 0.5
    for call in (label, measure_components):
        with pytest.raises(ValueError, match=r"must hold whole numbers; got 0\.5"):
            call(image)


def test_labels_that_out_cannot_hold_are_refused_on_every_path(many_threads):
    for shape, count in ((SMALL, 1), ((600, 601), 1), (LARGE, 16)):
        many_threads(count)
        image = np.zeros(shape, np.uint8)
        image[::2, ::2] = 1
        with pytest.raises(ValueError, match="out must be of a type that holds"):
            label(image, out=np.zeros(shape, np.uint8))


def test_a_report_names_the_path_without_it_but_with_its_properties():
    image = np.eye(9, dtype=bool)
    assert label(image, report=True)[-1].path == "single call"
    assert label(image, report=True, properties=["label"])[-1].path == "passes"


def test_the_page_on_the_architecture_shows_the_table():
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [
        f"| {path.name} | {path.sentence} | `{path.where}` | {path.gives} |" for path in paths.PATHS
    ]
    assert "\n".join(rows) in page, "\n".join(rows)
