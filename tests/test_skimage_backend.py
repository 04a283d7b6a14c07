"""scikit-image finds this package by its entry points, and gets its answers in ours."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from skimage import measure

from equilabel.skimage_backend import can_has

theirs = pytest.importorskip("skimage.util._backends", reason="scikit-image 0.25 dispatches")
ROOT = Path(__file__).parents[1]


@pytest.fixture
def dispatch(tmp_path, monkeypatch):
    """Return what scikit-image makes of a function if this package is installed."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    groups = ("skimage_backends", "skimage_backend_infos")
    record = tmp_path / "equilabel_backend-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: equilabel-backend\nVersion: 1\n")
    lines = [f"[{each}]\nequilabel = {points[each]['equilabel']}\n" for each in groups]
    (record / "entry_points.txt").write_text("".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("SKIMAGE_NO_DISPATCHING", raising=False)
    theirs.all_backends.cache_clear()
    yield theirs.dispatchable
    theirs.all_backends.cache_clear()


def as_theirs(name):
    """Return a function that scikit-image might decorate."""

    def function(*arguments, **options):
        return "scikit-image's own"

    function.__name__, function.__module__ = name, "skimage.measure._of"
    return function


LABELS = measure.label(np.random.default_rng(0).random((20, 30)) < 0.4)


def test_calls_of_functions_that_are_the_same_here_come_here(dispatch):
    mask = LABELS > 0
    with pytest.warns(theirs.DispatchNotification, match="'equilabel' backend"):
        found = dispatch(as_theirs("label"))(mask, connectivity=1, return_num=True)
    np.testing.assert_array_equal(found[0], measure.label(mask, connectivity=1))
    with pytest.warns(theirs.DispatchNotification):
        table = dispatch(as_theirs("regionprops_table"))(label_image=LABELS, properties=("area",))
    np.testing.assert_array_equal(table["area"], np.bincount(LABELS.ravel())[1:])


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("label", np.array([0.5, 1.2])),  # cut off there, refused here
        ("label", [[0, 1]]),
        ("label", np.zeros((1,) * 7, int)),
        ("regionprops_table", LABELS > 0),
        ("regionprops", LABELS),
        ("perimeter", LABELS),
    ],
)
def test_other_calls_stay_there(dispatch, name, image):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dispatch(as_theirs(name))(image) == "scikit-image's own"
    assert not can_has(f"skimage.measure:{name}")
