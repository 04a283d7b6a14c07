"""The form that measures labels of any origin, in a real viewer."""

import numpy as np
import pytest

from equilabel import label, segment
from equilabel.samples import nuclei_2d
from gui import LONG, MEASURE, middle, open_form, run

pytestmark = pytest.mark.gui


def test_labels_of_other_origin_cannot_be_repeated(viewer, qtbot, notes):
    viewer.add_labels(np.eye(9, dtype=int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    form.results.python_button.click()
    assert notes()[-1].endswith("not 'mine': run it on the image first.")


def test_any_labels_are_measured_in_place(viewer, qtbot):
    pixels = nuclei_2d((128, 128))
    labels = segment(pixels).labels
    viewer.add_image(pixels, name="gray")
    layer = viewer.add_labels(labels, name="mine", scale=(2, 2))
    form = open_form(viewer, qtbot, MEASURE)
    form.image.value = viewer.layers["gray"]
    form.statistics.tick("extent")
    assert run(form, qtbot) is layer
    expected = segment(pixels, spacing=2.0).table
    np.testing.assert_allclose(layer.features["intensity_mean"][1:], expected["intensity_mean"])
    np.testing.assert_allclose(layer.features["area"][1:], expected["area"])
    assert "extent" in layer.features
    status = layer.get_status(middle(layer, 3), world=True)["coordinates"]
    assert "intensity_mean" in status


def test_labels_are_measured_without_gray_values(viewer, qtbot):
    viewer.add_labels(np.pad(np.ones((3, 3), int), 2), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    assert form.image.value is None
    assert not any("intensity" in name for name in form.statistics.names)
    layer = run(form, qtbot)
    assert layer.features["area"].tolist()[1:] == [9]
    assert form.message.text().startswith("1 object, ")
    viewer.layers.clear()
    assert form.message.text() == ""  # it was about them


def test_all_planes_of_a_few_are_measured_and_the_guess_is_said(viewer, qtbot):
    """Two to four planes of labels were read as channels, and the first of them was measured."""
    pixels = np.zeros((3, 40, 40), int)
    pixels[0, :5, :5], pixels[1, 10:15, 10:15], pixels[2, 20:30, 20:30] = 1, 2, 3
    viewer.add_labels(pixels, name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    assert form.remark.text().startswith("3 planes read as depth: under Axes, ")
    assert run(form, qtbot).features["area"][1:].tolist() == [25, 25, 100]


def test_objects_get_those_they_lie_in_and_these_their_number(viewer, qtbot, notes):
    cells = label(np.pad(np.ones((2, 8, 8), bool), ((0, 0), (2, 2), (2, 2))), stacked=True)
    spots = np.zeros(cells.shape, int)
    spots[0, 3, 3], spots[0, 8, 8:11], spots[1, 5, 5], spots[1, 0, 0] = 1, 2, 3, 4
    options = {"axis_labels": ("t", "y", "x")}
    outer = viewer.add_labels(cells, name="cells", **options)
    viewer.add_labels(spots, name="spots", **options)
    form = open_form(viewer, qtbot, MEASURE)
    form.labels.value, form.parents.value = viewer.layers["spots"], outer
    assert form.parents.choices == (None, outer)  # not the spots themselves
    layer = run(form, qtbot)
    assert layer.name == "spots"
    assert layer.features["parent"][1:].tolist() == [1, 1, 2, 0]
    assert layer.features["overlap"][1:].tolist() == [1, 2, 1, 0]
    assert "area" in layer.features
    assert outer.features["children"][1:].tolist() == [2, 1]
    assert outer.get_status((0, 4, 4), world=True)["coordinates"].count("children: 2")
    form.parents.value = None
    assert "parent" in run(form, qtbot).features  # what was measured before is kept
    viewer.add_labels(spots[:, 1:], name="smaller", **options)
    form.parents.value = viewer.layers["smaller"]
    run(form, qtbot)
    assert "parents must have the shape of the labels" in notes()[-1]


def test_painted_cells_stay_marked_and_nuclei_in_them_are_measured_again(viewer, qtbot):
    cells = label(np.pad(np.ones((8, 20), bool), 2) & (np.arange(24) != 12))
    nuclei = np.zeros_like(cells)
    nuclei[4:6, 4:6] = 1
    outer = viewer.add_labels(cells, name="cells")
    inner = viewer.add_labels(nuclei, name="nuclei")
    form = open_form(viewer, qtbot, MEASURE)
    form.labels.value = outer
    run(form, qtbot)
    outer.data_setitem(np.nonzero((outer.data == 2) & (np.indices(cells.shape)[0] < 6)), 0)
    form.labels.value, form.parents.value = inner, outer
    run(form, qtbot)
    results = form.results
    assert outer.features["children"][1:].tolist() == [1, 0]
    results.show_layer(outer)
    assert results.summary.text() == "2 objects, painted since"
    inner.data_setitem(np.nonzero(nuclei), 0)
    inner.data_setitem(tuple(np.argwhere(cells == 2)[-2:].T), 1)
    for layer in (inner, outer):
        results.show_layer(layer)
        results.again_button.click()
        qtbot.waitUntil(lambda: not results.again.running, timeout=LONG)
        if layer is inner:
            assert inner.features.loc[1, ["parent", "overlap"]].tolist() == [2, 2]
            assert outer.features["children"][1:].tolist() == [0, 1]
    assert outer.features["area"][2] == (outer.data == 2).sum()
    assert "children" not in outer.features  # they were not counted again


def test_axes_set_by_hand_hold_when_objects_are_measured_again(viewer, qtbot):
    pixels = np.zeros((5, 20, 20))
    pixels[:, 3:9, 3:9] = pixels[:, 12:17, 12:17] = 10
    viewer.add_image(pixels, name="channels")
    form = open_form(viewer, qtbot)
    axis = form.fields.axes._fields[0]
    axis.value = "channel"
    layer = run(form, qtbot)
    assert layer.features["intensity_mean-4"][1:].tolist() == [10, 10]
    form.results.select([1, 2])
    form.results.edits[0].click()  # merge
    tasks = form.results.edit, form.results.again
    qtbot.waitUntil(lambda: not any(each.running for each in tasks), timeout=LONG)
    assert layer.features["area"][1:].tolist() == [36 + 25]
    assert layer.features["intensity_mean-4"][1:].tolist() == [10]
    frames = viewer.add_labels(label(pixels > 0, stacked=True), name="frames")
    form = open_form(viewer, qtbot, MEASURE)
    form.labels.value, form.image.value = frames, None
    form.axes._fields[0].value = "time"
    run(form, qtbot)
    assert frames.features["frame"][1:].tolist() == [*np.repeat(range(5), 2)]
    frames.data_setitem(np.nonzero(frames.data == 10), 0)
    form.results.show_layer(frames)
    form.results.again_button.click()
    qtbot.waitUntil(lambda: not form.results.again.running, timeout=LONG)
    assert form.results.summary.text() == "9 objects"


def test_an_image_that_does_not_fit_is_told(viewer, qtbot, notes):
    viewer.add_image(np.ones((4, 5)), name="gray")
    viewer.add_labels(np.ones((3, 3), int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    run(form, qtbot)
    assert "image must have the shape of the labels, (3, 3); got (4, 5) for 'gray'" in notes()[-1]
    assert notes()[-1].endswith("or none.")
    form.image.value = None
    assert run(form, qtbot).features["area"].tolist()[1:] == [9]


def test_labels_with_large_gaps_are_told(viewer, qtbot, notes):
    viewer.add_labels(np.array([[1, 1, 0, 10**6]]), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    layer = run(form, qtbot)
    assert "without large gaps" in notes()[-1]
    status = layer.get_status((0, 3), world=True)["coordinates"]
    assert "area: 1" in status
    assert notes()[-1].endswith("as in `equilabel.label(labels)`.")
    before = len(notes())
    layer.data = label(layer.data)
    assert run(form, qtbot).features["area"].tolist()[1:] == [2, 1]
    assert len(notes()) == before


def test_both_forms_are_tabs_of_one_place_and_the_window_stays(viewer, qtbot):
    window = viewer.window._qt_window
    before = window.size()
    window.resize(1280, 720)
    viewer.add_image(nuclei_2d((64, 64)), name="gray")
    first, second = open_form(viewer, qtbot), open_form(viewer, qtbot, MEASURE)
    others = {second.parent(), first.results.parent()}
    qtbot.waitUntil(lambda: set(window.tabifiedDockWidgets(first.parent())) == others, timeout=LONG)
    hidden = [True, False]
    qtbot.waitUntil(
        lambda: [form.visibleRegion().isEmpty() for form in (first, second)] == hidden, timeout=LONG
    )
    assert (window.width(), window.height()) == (1280, 720)
    window.resize(before)


def test_gray_values_that_were_left_out_stay_left_out(viewer, qtbot):
    viewer.add_image(np.ones((3, 3)), name="gray")
    labels = viewer.add_labels(np.ones((3, 3), int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    assert form.image.value is viewer.layers["gray"]
    form.image.value = None
    viewer.add_image(np.ones((7, 7)), name="other")
    assert form.image.value is None
    assert form.labels.value is labels
    viewer.layers.remove("gray")
    viewer.layers.remove("other")
    viewer.add_image(np.ones((3, 3)), name="first")
    assert form.image.value is viewer.layers["first"]
