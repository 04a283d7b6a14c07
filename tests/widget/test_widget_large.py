"""Layers that do not fit into memory: labels and table are those of a run that does."""

import numpy as np
import pytest

import equilabel
from equilabel.samples import movie, nuclei_2d, nuclei_3d
from equilabel.storage import memory
from equilabel.widget.logic import large
from equilabel.widget.logic.choices import Choices
from equilabel.widget.logic.outcomes import segment_source
from equilabel.widget.logic.sources import Source, forecast

layers = pytest.importorskip("napari.layers")
da = pytest.importorskip("dask.array")
pytest.importorskip("zarr")

CASES = {
    "3D": (
        nuclei_3d((16, 96, 96)),
        {"scale": (4, 1, 1), "units": ("um",) * 3},
        {"sigma": "1um", "min_size": "50um3"},
    ),
    "channels between": (
        np.stack([movie((3, 48, 50), seed) for seed in (1, 2)], axis=1),
        {"axis_labels": ("t", "c", "y", "x")},
        {"channel": 1, "min_size": 9},
    ),
    "positions and time": (
        np.stack([movie((3, 48, 50), seed) for seed in (1, 2)]),
        {"axis_labels": ("p", "t", "y", "x")},
        {"connectivity": 1, "properties": ("area", "centroid")},
    ),
    "gray": (
        np.dstack([nuclei_2d((300, 70), seed) // 16 for seed in range(3)]).astype("u1"),
        {"rgb": True},
        {"threshold": "triangle"},
    ),
}


def quiet(*_):
    pass


def make(name="3D", *, lazy=True):
    pixels, options, choices = CASES[name]
    if lazy:
        last = (pixels.shape[-1],) if options.get("rgb") else (20,)
        pixels = da.from_array(pixels, chunks=(*(30,) * (pixels.ndim - 1), *last))
    layer = layers.Image(pixels, name="cells", **options)
    source = Source.of(layer)
    return layer, source, Choices(**choices)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(large, "ELEMENTS", 2**12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("name", "lazy"), [*((name, True) for name in CASES), ("3D", False)])
def test_block_by_block_a_run_finds_the_same_and_its_python_line_repeats_it(name, lazy):
    layer, source, choices = make(name, lazy=lazy)
    told = []
    found = large.segment_large(source, choices, None, lambda *stage: told.append(stage))
    inside = segment_source(make(name, lazy=False)[1], choices, quiet)
    np.testing.assert_array_equal(found.labels, inside.labels)
    assert found.metadata["objects"] > 1
    numbers = [each.features.to_numpy(float) for each in (found, inside)]
    np.testing.assert_allclose(*numbers, rtol=1e-5)
    assert max(total for _, _, total in told) > 2
    shown = layers.Labels(found.labels, **found.transform)
    np.testing.assert_allclose(shown.extent.world, layer.extent.world[:, -shown.ndim :])

    viewer = type("Viewer", (), {"layers": {"cells": layer}})
    names = {"viewer": viewer}
    exec(found.metadata["python"], names)
    assert names["found"].num == found.metadata["objects"]


def test_the_layer_of_a_large_plane_has_lower_resolutions():
    _, source, choices = make("gray")
    levels = large.segment_large(source, choices, None, quiet).levels
    assert [level.shape for level in levels] == [(300, 70), (150, 35)]
    np.testing.assert_array_equal(levels[1], np.asarray(levels[0])[::2, ::2])


def test_a_run_that_was_cancelled_goes_on_at_the_same_place(tmp_path):
    _, source, choices = make()

    def cancel(stage, done, _):
        if stage == "write" and done:
            raise KeyboardInterrupt

    place, told = tmp_path / "cells.zarr", []
    with pytest.raises(KeyboardInterrupt):
        large.segment_large(source, choices, place, cancel)
    assert not place.exists()
    again = large.segment_large(source, choices, place, lambda *stage: told.append(stage))
    assert [stage for stage in told if stage[0] == "label"] == [("label", told[0][2], told[0][2])]
    assert str(place) in again.stored
    other = Choices(**{**vars(choices), "connectivity": 1})
    with pytest.raises(FileExistsError, match="choose another path"):
        large.segment_large(source, other, place, quiet)


def test_a_temporary_folder_goes_with_a_run_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, source, choices = make()

    def fail(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        large.segment_large(source, choices, None, fail)
    assert not list(tmp_path.iterdir())


def test_fields_that_need_the_whole_image_are_named_and_the_remedy_helps():
    _, source, _ = make()
    spoiled = {
        "Found with: Rolling ball": (
            {"background": "9um", "background_method": "rolling_ball"},
            "Choose Box (top-hat)",
        ),
        "Statistics: area_convex": ({"properties": ("area", "area_convex")}, "Untick area_convex"),
    }
    for words, (values, remedy) in spoiled.items():
        said = large.explain_refusal(source, Choices(**values), "2 GB")
        assert f"(2 GB); got {words}. {remedy}, or crop the image." in said
    for values in ({"properties": ("area",)}, {"background_method": "rolling_ball"}):
        assert not large.explain_refusal(source, Choices(**values), "2 GB")
    with pytest.raises((ValueError, TypeError)):  # what is named, is refused
        large.segment_large(source, Choices(properties=("area_convex",)), None, quiet)
    assert equilabel.PROPERTIES["area"].mergeable


def test_chunks_larger_than_memory_are_refused_with_their_size(monkeypatch):
    _, source, choices = make()
    assert not large.explain_size(source, choices)
    monkeypatch.setattr(memory, "free", lambda: forecast(source) - 1)
    assert large.explain_size(source, choices)
    monkeypatch.setattr(memory, "free", lambda: 1000)
    with pytest.raises(MemoryError, match="Open it in smaller chunks"):
        large.segment_large(source, choices, None, quiet)
