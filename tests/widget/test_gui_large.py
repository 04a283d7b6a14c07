"""Layers that do not fit into memory, in a real viewer: question, progress, cancel, labels."""

import os
import threading

import numpy as np
import pytest
from qtpy.QtWidgets import QFileDialog

from equilabel import segment
from equilabel.samples import nuclei_2d
from equilabel.storage import memory
from equilabel.widget.logic import large
from equilabel.widget.logic.sources import Source, forecast
from gui import LONG, answer, canvas, colors_on, open_form, run

pytestmark = pytest.mark.gui
da = pytest.importorskip("dask.array")
pytest.importorskip("zarr")

PIXELS = nuclei_2d((520, 300))


@pytest.fixture
def gate():
    """Hold the blocks of an image that are read after the first ones."""

    class Gate:
        read, held, reached, release = 0, False, threading.Event(), threading.Event()

    gate = Gate()
    yield gate
    gate.release.set()


@pytest.fixture
def form(viewer, qtbot, monkeypatch, gate):
    """Open the form on a Dask layer larger than what memory is said to be free."""

    def read(block):
        if gate.held:
            gate.read += 1
            gate.reached.set()
            gate.release.wait(30)
        return block

    image = da.from_array(PIXELS, chunks=(64, 64)).map_blocks(read, dtype=PIXELS.dtype)
    layer = viewer.add_image(image, name="scan", contrast_limits=(0, PIXELS.max()))
    form = open_form(viewer, qtbot)
    monkeypatch.setattr(large, "ELEMENTS", 2**12)
    monkeypatch.setattr(memory, "free", lambda: forecast(Source.of(layer)) - 1)
    return form


@pytest.mark.long
def test_a_layer_larger_than_memory_is_segmented_in_blocks(
    viewer, qtbot, form, monkeypatch, tmp_path, notes
):
    said, stages = [], []
    place = tmp_path / "scan labels"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(place), ""))
    answer(form, "Save as ...", said)
    form.run_button.clicked.connect(
        lambda: form.task.advanced.connect(lambda *one: stages.append(one))
    )
    layer = run(form, qtbot)
    assert "'scan' needs" in said[0]
    names = ("label", *form.choices().properties) if form.choices().properties else None
    found = segment(PIXELS, properties=names)
    assert layer.multiscale
    assert [level.shape for level in layer.data] == [(520, 300), (260, 150), (130, 75)][
        : len(layer.data)
    ]
    assert not isinstance(layer.data[0], np.ndarray)
    np.testing.assert_array_equal(layer.data[0], found.labels)
    assert len(layer.features) == found.num + 1
    assert form.message.text().endswith(f"Its labels are in {str(place)!r}.")
    assert any(words.startswith("labeling, 7 of") for words, _ in stages)
    assert max(count for _, count in stages) == 1  # the bar begins again with each stage
    assert colors_on(canvas(viewer)) > 1000
    form.results.select([3])
    assert form.results.outlines.layer in viewer.layers
    form.results.filter.button.click()
    assert "image must fit into memory together with its labels" in notes()[-1]


@pytest.mark.long
def test_the_labels_of_a_temporary_folder_give_way_to_those_of_the_next_run(viewer, qtbot, form):
    first = []
    answer(form, "Temporary folder", [])
    first.append(run(form, qtbot).metadata["equilabel"]["stored"])
    assert "temporary folder" in form.message.text()
    answer(form, "Temporary folder", [])
    layer = run(form, qtbot)
    assert layer.metadata["equilabel"]["stored"] != first[0]
    assert os.path.exists(layer.metadata["equilabel"]["stored"])  # noqa: PTH110
    assert [each.name for each in viewer.layers] == ["scan", "scan objects"]


def test_cancel_ends_with_the_blocks_under_way(viewer, qtbot, form, gate):
    answer(form, "Temporary folder", [])
    gate.held = True
    form.run_button.click()
    qtbot.waitUntil(gate.reached.is_set, timeout=LONG)
    with qtbot.waitSignal(form.task.cancelled, timeout=500):
        form.cancel_button.click()
    assert "Cancelled" in form.message.text()
    gate.release.set()
    qtbot.waitUntil(lambda: not form.task._worker.is_running, timeout=LONG)
    assert gate.read <= 2 * os.cpu_count() + 2
    assert [each.name for each in viewer.layers] == ["scan"]


def test_a_question_that_is_cancelled_runs_nothing(form):
    answer(form, "Cancel", [])
    form.run_button.click()
    assert not form.running


@pytest.mark.long
def test_fields_that_blocks_cannot_do_are_named_and_the_remedy_helps(form, qtbot, notes):
    form.fields.fill_holes.value = form.fields.split.value = True
    form.fields.background.value = 9
    form.fields.background_method.value = "rolling_ball"
    form.run_button.click()
    assert "got Found with: Rolling ball. Choose Box (top-hat), or crop the image." in notes()[-1]
    assert not form.running
    form.fields.background_method.value = "top_hat"
    answer(form, "Temporary folder", [])
    assert run(form, qtbot) is not None
