"""Markers, a mask, cells around nuclei, and an offset from the noise, in a real viewer."""

import shlex

import numpy as np
import pytest
import tifffile
from napari.layers import Labels
from qtpy.QtWidgets import QApplication

from equilabel import segment
from equilabel.cli import main
from equilabel.storage.tiff import read_tiff
from equilabel.widget.logic.scripts import script_of
from gui import open_form, run, settle, shown

pytestmark = pytest.mark.gui

Y, X = np.mgrid[:48, :72]
TWO = ((Y - 22) ** 2 + (X - 24) ** 2 < 150) | ((Y - 22) ** 2 + (X - 42) ** 2 < 150)
IMAGE = np.where(TWO, 200, 20).astype(np.uint8)
POINTS = np.where((Y == 22) & ((X == 24) | (X == 42)), 1, 0)
LEFT = (X < 50).astype(int)


def made(layer):
    return layer.metadata["equilabel"]


@pytest.fixture
def form(viewer, qtbot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tifffile.imwrite("cells.tif", IMAGE)
    viewer.open("cells.tif")
    viewer.layers[0].scale, viewer.layers[0].units = (0.5, 0.5), ("um", "um")
    return open_form(viewer, qtbot)


def test_preview_run_and_copied_texts_agree_on_markers_mask_and_growth(viewer, form, qtbot):
    fields = form.fields
    assert not fields.markers.visible
    points = viewer.add_labels(POINTS, name="points", scale=(0.5, 0.5))
    viewer.add_labels(LEFT, name="left", scale=(0.5, 0.5))
    viewer.add_labels(POINTS[1:], name="other")
    QApplication.processEvents()
    offered = [each and each.name for each in fields.markers.choices]
    assert offered == [None, "points", "left"]
    assert (fields.markers.value, fields.mask.value) == (None, None)  # nothing unasked
    fields.markers.value, fields.mask.value = points, viewer.layers["left"]
    fields.unit.value, fields.grow.value = "µm", 2
    assert fields.grow.pixels.text() == "= 4 px"
    settle(form, qtbot)
    fields.show_preview.value = True
    where = {"spacing": 0.5, "unit": "um"}
    found = segment(IMAGE, markers=POINTS, mask=LEFT, grow="2um", **where)
    assert found.num == 2
    np.testing.assert_array_equal(shown(form, qtbot), found.labels > 0)
    edges = np.squeeze(form.preview.layer.data) == 2
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found.labels)
    assert made(layer)["parameters"]["markers"] == "points"
    assert edges[(found.labels == 1) & (np.roll(found.labels, -1, 1) == 2)].any()
    names = {"viewer": viewer}
    exec(made(layer)["python"], names)
    np.testing.assert_array_equal(names["found"].labels, found.labels)
    points.name, viewer.layers["cells"].name, viewer.layers["left"].name = "cells 2", "x", "points"
    open_layers = {str(each.unique_id): each.name for each in viewer.layers}
    line, said = script_of(layer.name, made(layer), "python", open_layers)
    exec(line, names)  # the names of markers and mask are those of now
    np.testing.assert_array_equal(names["found"].labels, found.labels)
    assert "not open" not in said
    del open_layers[str(points.unique_id)]
    said = script_of(layer.name, made(layer), "python", open_layers)[1]
    assert said.endswith("'points' of the run is not open now.")
    words = shlex.split(made(layer)["batch"])
    assert {"--markers=markers.tif", "--mask=mask.tif", "--grow=2µm"} < set(words)
    said = script_of(layer.name, made(layer), "batch", viewer.layers)[1]
    assert said.endswith("Save 'points' as 'markers.tif' first. Save 'left' as 'mask.tif' first.")
    tifffile.imwrite("markers.tif", POINTS.astype(np.uint8))
    tifffile.imwrite("mask.tif", LEFT.astype(np.uint8))
    assert main(words[1:]) == 0
    np.testing.assert_array_equal(read_tiff("results/cells_labels.tif").pixels, found.labels)


def test_labels_in_use_and_copies_are_not_replaced(viewer, form, qtbot):
    """A run with its own earlier labels as markers replaced them, without a question."""
    first = run(form, qtbot)
    before = first.data.copy()
    form.fields.markers.value = first
    form.fields.min_size.value = 0
    second = run(form, qtbot)
    assert second is not first
    np.testing.assert_array_equal(first.data, before)
    form.fields.markers.value = None
    copy = viewer.add_layer(Labels.create(*second.as_layer_data_tuple()))
    assert run(form, qtbot) is second
    assert copy in viewer.layers


def test_the_preview_follows_the_brush(viewer, form, qtbot):
    fields = form.fields
    points = viewer.add_labels(np.zeros_like(POINTS), name="points", scale=(0.5, 0.5))
    fields.markers.value = points
    fields.show_preview.value = True
    settle(form, qtbot)
    shown(form, qtbot)
    assert fields.count.text() == "1 object"
    for x in (24, 42):
        points.paint((22, x), 1)
    qtbot.waitUntil(lambda: fields.count.text() == "2 objects", timeout=60_000)
    viewer.layers.remove(points)
    qtbot.waitUntil(lambda: fields.count.text() == "1 object", timeout=60_000)
    assert not fields.markers.visible


def test_markers_of_a_movie_with_channels_lie_on_its_frames(viewer, qtbot):
    movie = np.stack([np.stack([IMAGE * 0, IMAGE])] * 2)  # time, channel
    viewer.add_image(movie, name="movie", axis_labels=("t", "c", "y", "x"))
    points = viewer.add_labels(np.stack([POINTS, POINTS * 0]), name="points")
    form = open_form(viewer, qtbot)
    form.fields.channel.value, form.fields.markers.value = 1, points
    layer = run(form, qtbot)
    assert [int(each.max()) for each in (layer.data[0], layer.data[1])] == [2, 3]
    names = {"viewer": viewer}
    exec(made(layer)["python"], names)
    assert names["found"].num == 3


def test_an_offset_from_the_noise_is_ticked_and_reaches_run_and_copied_texts(viewer, form, qtbot):
    rng = np.random.default_rng(0)
    noisy = (IMAGE + rng.normal(0, 4, IMAGE.shape)).clip(0, 255).astype(np.uint8)
    viewer.layers[0].data = noisy
    field = form.fields.threshold
    field.method.value = "local"
    assert field.automatic.visible
    assert not field.offset.enabled
    settle(form, qtbot)
    form.fields.show_preview.value = True
    found = segment(noisy, "local", block_size=51, offset="auto")
    np.testing.assert_array_equal(shown(form, qtbot), found.labels > 0)
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found.labels)
    assert "offset='auto'" in made(layer)["python"]
    assert "--offset=auto" in made(layer)["batch"]
    field.automatic.value = False
    assert field.offset.enabled
    assert form.choices().offset == 0
    field.method.value = "otsu"
    assert not field.automatic.visible
