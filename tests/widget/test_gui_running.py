"""Runs under way: progress, cancel, what vanishes meanwhile, and that the viewer stays alive."""

import os
import time
import warnings
from functools import partial

import numpy as np
import pytest
from napari.utils import progress
from napari.utils.notifications import notification_manager
from qtpy.QtWidgets import QApplication

from equilabel.devices import compiling, jit
from equilabel.samples import nuclei_2d
from equilabel.widget.forms import segment as segment_form
from equilabel.widget.viewer.tasks import Task
from gui import LONG, MEASURE, SEGMENT, hold_runs, open_form, run, settle

pytestmark = pytest.mark.gui
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@pytest.fixture
def form(kept_form):
    return kept_form


@pytest.fixture
def held(monkeypatch):
    yield from hold_runs(monkeypatch)


def test_progress_is_shown_in_the_form_and_by_napari(viewer, qtbot, form, held):
    reached, release = held
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    qtbot.waitUntil(lambda: "threshold" in form.message.text(), timeout=LONG)
    assert form.cancel_button.isEnabled()
    assert not form.run_button.isEnabled()
    qtbot.waitUntil(lambda: len(progress._all_instances) == 1, timeout=LONG)
    [bar] = progress._all_instances
    assert "nuclei" in bar.desc
    stages = []
    form.task.advanced.connect(lambda words, _: stages.append(words))
    with qtbot.waitSignal(form.task.done, timeout=LONG):
        release.set()
    words = list(dict.fromkeys(stages))  # the bar moves within them
    assert [each for each in words if each != "finding the threshold"] == ["labeling", "measuring"]
    qtbot.waitUntil(lambda: not progress._all_instances, timeout=LONG)
    assert form.run_button.isEnabled()
    assert not form.cancel_button.isEnabled()


def test_tasks_leave_the_filters_of_warnings_as_they_are(viewer, qtbot):
    before = list(warnings.filters), warnings.showwarning
    task = Task("looking")
    with qtbot.waitSignal(task.done, timeout=LONG) as during:
        task.submit(lambda _: (list(warnings.filters), warnings.showwarning))
    assert during.args == [before]  # they are those of all threads


def test_cancel_takes_effect_at_once_and_leaves_the_layers(viewer, qtbot, form, held):
    reached, release = held
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    with qtbot.waitSignal(form.task.cancelled, timeout=500):
        form.cancel_button.click()
    assert "Cancelled" in form.message.text()
    assert form.run_button.isEnabled()
    release.set()
    qtbot.waitUntil(lambda: not progress._all_instances, timeout=LONG)
    QApplication.processEvents()
    assert [layer.name for layer in viewer.layers] == ["nuclei"]


def test_a_cancelled_run_stops_at_its_next_stage(viewer, qtbot, form, monkeypatch, held):
    reached, release = held
    labeled = []
    pipeline = __import__("equilabel.segmentation", fromlist=["x"])
    solve = pipeline.solve
    monkeypatch.setattr(
        pipeline, "solve", lambda *args, **more: labeled.append(1) or solve(*args, **more)
    )
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    form.cancel_button.click()
    release.set()
    qtbot.waitUntil(lambda: not form.task._worker.is_running, timeout=LONG)
    assert not labeled
    run(form, qtbot)
    assert labeled  # what was watched is what a run calls


def test_after_a_cancelled_run_another_can_begin(viewer, qtbot, form, held):
    reached, release = held
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    form.cancel_button.click()
    release.set()
    assert run(form, qtbot) in viewer.layers


def test_pressing_twice_begins_one_run(viewer, qtbot, form, held):
    reached, release = held
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    task = form.task
    form._run()
    assert form.task is task
    release.set()
    qtbot.waitUntil(lambda: not task.running, timeout=LONG)
    assert len(viewer.layers) == 2


def test_an_image_replaced_or_removed_meanwhile_is_told(viewer, qtbot, form, notes, held):
    reached, release = held
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    viewer.layers[0].data = viewer.layers[0].data[:200]
    with qtbot.waitSignal(form.ended, timeout=LONG):
        release.set()
    assert "'nuclei' was changed or removed during the run" in notes()[-1]
    settle(form, qtbot)
    for event in held:
        event.clear()
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    viewer.layers["nuclei"].translate = (5, 5)
    with qtbot.waitSignal(form.ended, timeout=LONG):
        release.set()
    assert "'nuclei' was changed or removed during the run" in notes()[-1]
    for event in held:
        event.clear()
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    viewer.layers.clear()
    with qtbot.waitSignal(form.ended, timeout=LONG):
        release.set()
    [layer] = viewer.layers
    assert layer.data.max() > 10
    assert "'nuclei' was changed or removed during the run" in notes()[-1]


def test_a_result_removed_meanwhile_is_made_again(viewer, qtbot, form, held):
    reached, release = held
    release.set()
    old = run(form, qtbot)
    release.clear()
    reached.clear()
    form.run_button.click()
    qtbot.waitUntil(reached.is_set, timeout=LONG)
    viewer.layers.remove(old)
    with qtbot.waitSignal(form.ended, timeout=LONG):
        release.set()
    assert form.results.layer in viewer.layers
    assert form.results.layer is not old


def test_labels_removed_while_they_are_measured_are_told(viewer, qtbot, notes, monkeypatch):
    labels = viewer.add_labels(np.eye(32, dtype=int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    show = partial(form._show_outcome, labels, None, None)
    form.begin("x", lambda tell: time.sleep(0.3), show, ())
    viewer.layers.remove(labels)
    with qtbot.waitSignal(form.ended, timeout=LONG):
        pass
    assert "labels must stay open while they are measured; got 'mine' removed" in notes()[-1]


def test_a_gpu_lost_while_running_is_one_sentence(viewer, qtbot, form, notes, monkeypatch):
    lost = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda"})

    def fail(*_):
        message = "cudaErrorDevicesUnavailable"
        raise lost(message)

    monkeypatch.setattr(segment_form, "segment_source", fail)
    run(form, qtbot)
    assert "Choose the device 'cpu' and run again." in notes()[-1]
    said = notes()[-1].replace("; got ", ", but got ")
    assert form.message.text() == said[:1].upper() + said[1:]  # read for longer than it
    assert form.run_button.isEnabled()
    qtbot.waitUntil(lambda: not progress._all_instances, timeout=LONG)


def test_any_other_failure_is_one_sentence(viewer, qtbot, form, notes, monkeypatch):
    def fail(*_):
        message = "surprise"
        raise KeyError(message)

    monkeypatch.setattr(segment_form, "segment_source", fail)
    run(form, qtbot)
    assert "KeyError: 'surprise'. Please report it" in notes()[-1]
    monkeypatch.undo()
    assert run(form, qtbot) in viewer.layers


@pytest.mark.long
def test_compiling_is_said_while_a_run_waits_for_it_and_not_when_it_is_kept(
    viewer, qtbot, tmp_path, monkeypatch
):
    form = open_form(viewer, qtbot)
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path])

    def double(x):
        return 2 * x

    double.__module__ = "equilabel.devices.cpu.trial"

    def work(tell):
        tell("label")
        return jit.njit(nogil=True, cache=True)(double)(21)  # as a new process has it

    said = []
    form.message.setText = said.append
    for _ in range(2):
        with qtbot.waitSignal(form.ended, timeout=LONG):
            form.begin("x", work, said.index, ("label",))
        said.append("end")
    words = ["Compiling, first time only: 1 function ...", "Labeling ..."] if COMPILED else []
    first, second = said[: said.index("end")], said[said.index("end") + 1 :]
    assert first[: 1 + len(words)] == ["Labeling ...", *words]
    assert not any("ompiling" in each for each in second)


@pytest.mark.filterwarnings("default")
@pytest.mark.long
def test_a_cache_that_cannot_be_written_is_said_once(viewer, qtbot, notes, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path / "file/below"])
    viewer.add_image(np.eye(32))
    with notification_manager:  # as in the event loop of napari, it shows warnings of threads
        for name in (SEGMENT, MEASURE, SEGMENT):
            form = open_form(viewer, qtbot, name)
            qtbot.waitUntil(lambda form=form: not form._warm_up.running, timeout=LONG)
            viewer.add_labels(np.eye(32, dtype="u1"))
    [said] = [note for note in notes() if "NUMBA_CACHE_DIR" in note]
    assert said.startswith("the folder for compiled code must be writable")


# ---------------------------------------------------------------- bad input


def test_no_layer_at_all(viewer, qtbot, notes):
    form = open_form(viewer, qtbot)
    form.run_button.click()
    measure = open_form(viewer, qtbot, MEASURE)
    measure.run_button.click()
    for note in notes()[-2:]:
        assert "a layer must be chosen; got none. Open an image, or a sample" in note
    viewer.open_sample("equilabel", "spiral")  # as the messages say
    assert run(form, qtbot).data.max() == 1
    assert "area" in run(measure, qtbot).features


def test_labels_where_an_image_is_wanted(viewer, qtbot, notes):
    viewer.add_labels(np.eye(9, dtype=int), name="mine")
    form = open_form(viewer, qtbot)
    form.run_button.click()
    assert "'Label components' also takes a painted mask; 'Measure labels' takes" in notes()[-1]
    assert len(run(open_form(viewer, qtbot, MEASURE), qtbot).features) == 2
    viewer.add_image(np.eye(9), name="image")
    assert run(form, qtbot).data.max() == 1


# name: pixels, what is told, how many objects
ODD = {
    "empty": (
        np.zeros((0, 5, 6)),
        "must have at least one pixel; got shape (0, 5, 6)",
        None,
    ),
    "constant": (np.full((40, 50), 7), "the same gray value, 7: there is nothing", 0),
    "nan": (np.full((40, 50), np.nan), "All pixels are NaN or infinite", 0),
    "false": (np.zeros((40, 50), bool), "the same gray value, 0: there is nothing", 0),
    "bool": (np.eye(40, dtype=bool), None, 1),
    "nans": (np.where(np.eye(40) > 0, np.nan, np.arange(40.0)), None, None),
    "huge": (np.eye(40) * 1e300, None, 1),
    "negative": (np.eye(40) - 5.5, None, 1),
    "i8": (np.eye(40).astype("i8") * 2**40, None, 1),
    "f2": (np.eye(40).astype("f2"), None, 1),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_odd_images_are_told_or_segmented_one_after_the_other(viewer, qtbot, notes):
    form = open_form(viewer, qtbot)
    for name, (pixels, words, count) in ODD.items():
        kwargs = {"contrast_limits": (0, 1)} if not np.isfinite(pixels).any() else {}
        image = viewer.add_image(pixels, name=name, **kwargs)
        form.fields.show_preview.value = True
        settle(form, qtbot)
        qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)
        assert form.fields.image.value is image
        before = len(notes())
        if pixels.size:
            layer = run(form, qtbot)
            assert count is None or layer.data.max() == count, name
        else:
            form.run_button.click()
        if words:
            assert any(words in note for note in notes()[before:]), name
        assert not any("Traceback" in note for note in notes()[before:]), name
        viewer.layers.clear()
    viewer.add_image(nuclei_2d((32, 32)))
    settle(form, qtbot)
    assert form.fields.image.value is viewer.layers[0]


def test_roles_that_cannot_be_are_told(viewer, qtbot, notes):
    viewer.add_image(nuclei_2d((64, 64)))
    form = open_form(viewer, qtbot)
    for field in form.fields.axes._fields:
        field.value = "time"
    form.run_button.click()
    assert "axes must include at least one of space and at most one of channels" in notes()[-1]
    assert "at least one of space" in form.fields.remark.text()
    form.fields.axes._fields[1].value = "space"
    settle(form, qtbot)
    assert form.fields.remark.text() == ""
    assert run(form, qtbot).data.any()


def test_an_image_too_large_for_memory_is_told_without_dask(viewer, qtbot, notes, monkeypatch):
    monkeypatch.setattr("equilabel.widget.logic.large.NEEDED", ("no_such_library",))
    array = pytest.importorskip("dask.array")
    huge = array.zeros((400_000, 4096, 4096), chunks=(1, 4096, 4096), dtype="u1")
    viewer.add_image(huge, name="huge", contrast_limits=(0, 1))
    form = open_form(viewer, qtbot)
    run(form, qtbot)
    assert "image must fit into memory" in notes()[-1]
    assert "Crop it" in notes()[-1]
