"""Which image labels and outlines belong to, as it is drawn in a real viewer; the last of them."""

import threading

import dask.array
import numpy as np
import pytest
from qtpy.QtCore import QSettings, Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QAbstractSlider, QApplication, QPushButton

from equilabel import segment
from equilabel.samples import nuclei_2d, nuclei_3d
from equilabel.widget.logic.objects import count_objects
from gui import LONG, answer, canvas, colored, colors_on, open_form, run, settle, shown

pytestmark = pytest.mark.gui


def yellow(viewer):
    """Return the columns of the canvas, from 0 to 1, in which the preview is drawn."""
    picture = canvas(viewer)
    drawn = (picture[..., 0] > 150) & (picture[..., 1] > 120) & (picture[..., 2] < 100)
    return np.flatnonzero(drawn.any(axis=0)) / drawn.shape[1]


def channels():
    """Return an image of two channels: an object at the left in one, at the right in the other."""
    pixels = np.zeros((2, 40, 100), "u1")
    pixels[0, 15:25, 5:30] = pixels[1, 15:25, 70:95] = 200
    return pixels


# ---------------------------------------------------------------- channels


def test_outlines_lie_over_the_channel_that_is_drawn(viewer, qtbot):
    viewer.add_image(channels(), axis_labels=("c", "y", "x"))
    viewer.dims.set_current_step(0, 1)
    form = open_form(viewer, qtbot)
    fields = form.fields
    fields.show_preview.value = True
    shown(form, qtbot)
    assert (fields.channel.value, viewer.dims.current_step[0]) == (0, 0)  # the field leads first
    assert yellow(viewer).max() < 0.5
    viewer.dims.set_current_step(0, 1)
    qtbot.waitUntil(lambda: fields.channel.value == 1, timeout=LONG)
    settle(form, qtbot)
    shown(form, qtbot)
    assert yellow(viewer).min() > 0.5
    fields.channel.value = 0
    settle(form, qtbot)
    shown(form, qtbot)
    assert viewer.dims.current_step[0] == 0
    assert yellow(viewer).max() < 0.5
    assert run(form, qtbot).metadata["equilabel"]["parameters"]["channel"] == 0


def test_a_canvas_along_channels_gets_no_outline_until_it_shows_the_image(viewer, qtbot):
    pixels = np.ascontiguousarray(channels().transpose(1, 2, 0))
    viewer.add_image(pixels, axis_labels=("y", "x", "c"), rgb=False)
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    qtbot.waitUntil(lambda: "Ctrl+E" in form.fields.remark.text(), timeout=LONG)
    assert not yellow(viewer).size
    assert not form.fields.count.text()
    viewer.dims.roll()
    shown(form, qtbot)
    viewer.reset_view()
    assert "Ctrl+E" not in form.fields.remark.text()
    assert 0 < yellow(viewer).max() < 0.5
    assert form.fields.count.text().startswith("1 object")


# ------------------------------------------------------ what is pasted


TURNED = {
    "scale": (3.0, 2.0),
    "units": ("um", "um"),
    "translate": (5.0, 7.0),
    "rotate": 20,
    "shear": [0.2],
    "affine": np.array([[1, 0.1, 4], [0, 1.2, 0], [0, 0, 1]]),
    "axis_labels": ("row", "column"),
}


@pytest.mark.parametrize("case", ["turned", "channels", "positions", "time last"])
def test_pasted_labels_are_drawn_where_those_of_the_run_are(viewer, qtbot, notes, case):
    one = nuclei_2d((48, 60))
    pixels, options = {
        "turned": (one, TURNED),
        "channels": (np.stack([one, one, one]), {"axis_labels": ("c", "y", "x")}),
        "positions": (
            np.stack([[[one, one[::-1]]] * 3] * 2).swapaxes(1, 2),
            {"axis_labels": ("p", "t", "c", "y", "x"), "scale": (1, 2, 1, 0.5, 0.5)},
        ),
        "time last": (
            np.dstack([one] * 4),
            {"axis_labels": ("y", "x", "t"), "rgb": False, "scale": (2, 2, 1)},
        ),
    }[case]
    viewer.add_image(pixels, name="cells", **options)
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    layer.name = "of the run"
    form.results.python_button.click()
    line = QGuiApplication.clipboard().text()
    before = canvas(viewer)
    layer.visible = False
    exec(line, {"viewer": viewer})
    pasted = viewer.layers["cells objects"]
    np.testing.assert_array_equal(pasted.data, layer.data)
    np.testing.assert_allclose(pasted.extent.world, layer.extent.world)
    assert (pasted.units, pasted.axis_labels) == (layer.units, layer.axis_labels)
    assert pasted.features.equals(layer.features)
    assert np.ptp(before) > 0
    np.testing.assert_array_equal(canvas(viewer), before)
    assert not [note for note in notes() if "unit" in note.lower()]


# ------------------------------------------------- whose labels they are


def test_a_renamed_image_keeps_its_labels_and_another_of_its_name_gets_others(viewer, qtbot):
    first = viewer.add_image(nuclei_2d((64, 80)), name="cells")
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    first.name = "renamed"
    assert run(form, qtbot) is layer
    before = layer.data.copy()
    second = viewer.add_image(nuclei_2d((64, 80), 5), name="cells")
    form.fields.image.value = second
    settle(form, qtbot)
    other = run(form, qtbot)
    assert other is not layer
    np.testing.assert_array_equal(layer.data, before)
    assert run(form, qtbot) is other
    assert form.message.text().startswith(count_objects(other.data.max()))


# ------------------------------------------------------- images on disk


def test_a_small_lazy_image_shows_the_threshold_that_its_run_uses(viewer, qtbot):
    stack = nuclei_3d((6, 48, 64)).astype("u2")
    stack[3:] *= 3  # planes differ, so that one of them does not tell
    image = viewer.add_image(dask.array.from_array(stack, (2, 48, 64)))
    form = open_form(viewer, qtbot)
    level = form.fields.threshold.level
    assert level == segment(stack).threshold
    assert "sample" not in form.fields.remark.text()
    form.fields.show_preview.value = True
    shown(form, qtbot)
    plane = round(image.world_to_data(viewer.dims.point)[0])
    np.testing.assert_array_equal(shown(form, qtbot), stack[plane] > level)
    assert run(form, qtbot).metadata["equilabel"]["threshold"] == level


# ------------------------------------------------- progress of long steps


def test_the_bar_moves_while_a_dask_array_is_computed(viewer, qtbot):
    held, release = threading.Event(), threading.Semaphore(0)
    pixels = nuclei_2d((64, 80))

    def compute(block):
        if held.is_set():
            release.acquire(timeout=30)
        return block

    lazy = dask.array.from_array(pixels, (16, 80)).map_blocks(compute, dtype=pixels.dtype)
    viewer.add_image(lazy)
    form = open_form(viewer, qtbot)
    QApplication.processEvents()
    held.set()
    form.run_button.click()
    seen = set()
    for _ in range(3):
        release.release()
        qtbot.waitUntil(lambda: form.progress.value() not in {-1, 0, *seen}, timeout=LONG)
        seen.add(form.progress.value())
        assert form.message.text() == "Reading the image ..."
    with qtbot.waitSignal(form.ended, timeout=LONG):
        release.release(9)
    assert max(seen) < 100  # one stage


def test_the_bar_moves_while_objects_are_split(viewer, qtbot):
    viewer.add_image(nuclei_2d((1024, 1024)))
    form = open_form(viewer, qtbot)
    form.fields.split.value = True
    run(form, qtbot)
    moves = []
    form.run_button.click()
    form.task.advanced.connect(lambda words, count: moves.append((words, count)))
    with qtbot.waitSignal(form.ended, timeout=LONG):
        pass
    split = [count for words, count in moves if words == "splitting objects"]
    assert len(split) > 3
    assert split == sorted(split)
    assert split[-1] <= split[0] + 1


# ------------------------------------------------ what the preview says


def test_labels_below_the_preview_are_dim_while_it_is_drawn(viewer, qtbot):
    viewer.add_image(nuclei_2d((96, 120)))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    opacity, bright = layer.opacity, colors_on(canvas(viewer))
    form.fields.threshold.set_level(60000)  # beyond all pixels: nothing is outlined
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert colors_on(canvas(viewer)) < bright / 2
    viewer.layers.remove(form.preview.layer)  # by hand
    assert layer.opacity == opacity
    assert colors_on(canvas(viewer)) > 0.9 * bright  # the canvas may have been resized
    form.fields.show_preview.value = True
    shown(form, qtbot)
    layer.opacity = 0.9
    form.fields.show_preview.value = False
    qtbot.waitUntil(lambda: form.preview.layer is None, timeout=LONG)
    assert layer.opacity == 0.9


def test_the_count_says_that_it_is_of_a_plane_or_a_frame(viewer, qtbot):
    image = viewer.add_image(nuclei_3d((8, 48, 64)), axis_labels=("z", "y", "x"))
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert form.fields.count.text().endswith(" in this plane")
    assert form.fields.count.sizeHint().width() <= form.fields.count.width()
    image.axis_labels = ("t", "y", "x")
    settle(form, qtbot)
    qtbot.waitUntil(lambda: form.fields.count.text().endswith(" in this frame"), timeout=LONG)


def test_pixels_that_are_not_finite_are_named(viewer, qtbot):
    pixels = nuclei_2d((50, 80)).astype("f4")
    pixels[:5, :4], pixels[0, 0] = np.nan, np.inf
    viewer.add_image(pixels, contrast_limits=(0, 1000))
    form = open_form(viewer, qtbot)
    assert "0.5 % of the pixels are NaN or infinite" in form.fields.remark.text()
    form.fields.image.value = viewer.add_image(nuclei_2d((50, 80)))
    settle(form, qtbot)
    assert "NaN" not in form.fields.remark.text()


# ---------------------------------------------------------------- keys


def test_the_tab_key_leads_past_what_is_folded(viewer, qtbot):
    viewer.add_image(nuclei_2d((50, 80)))
    form = open_form(viewer, qtbot)
    heads = form.findChildren(QPushButton)
    [head] = [each for each in heads if each.text().endswith(" Statistics")]

    def reached():
        widget, found = form.nextInFocusChain(), set()
        while widget is not form and widget not in found:
            found.add(widget)
            widget = widget.nextInFocusChain()
        return [
            each
            for each in found
            if form.fields.statistics in (each, each.parent())
            and each.isVisible()
            and each.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]

    assert not reached()
    head.click()
    assert form.fields.statistics in reached()
    assert form.fields.statistics.height() >= 240
    head.click()
    assert not reached()


def test_keys_move_the_level_by_pages_and_to_its_ends(viewer, qtbot):
    pixels = np.arange(4000, dtype="u2").reshape(50, 80)
    viewer.add_image(pixels)
    form = open_form(viewer, qtbot)
    field = form.fields.threshold
    field.set_level(1000)
    inner = field.slider.findChild(QAbstractSlider)
    for key, value in {"PageUp": 1040, "PageDown": 1000, "End": 3999, "Home": 0}.items():
        qtbot.keyClick(inner, getattr(Qt.Key, f"Key_{key}"))
        assert field.choice == value


# -------------------------------------------------------------- tracks


def test_a_tracked_movie_has_tracks_in_the_colors_of_its_objects(viewer, qtbot):
    frames = np.zeros((4, 2, 60, 90), "u1")
    frames[:2, :, 10:30, 10:40] = 200  # it splits
    frames[2:, :, 10:18, 10:40] = frames[2:, :, 22:30, 10:40] = 200
    for frame in range(4):
        frames[frame, :, 40:50, 50 + 4 * frame : 70 + 4 * frame] = 200
    options = {"axis_labels": ("t", "z", "y", "x"), "scale": (1, 3, 0.5, 0.5)}
    image = viewer.add_image(frames, name="movie", translate=(0, 0, 5, 5), **options)
    form = open_form(viewer, qtbot)
    form.fields.track.value = True
    layer = run(form, qtbot)
    colored(form, qtbot)
    tracks = viewer.layers["movie tracks"]
    assert viewer.layers.selection.active is layer
    assert tracks.graph == {3: [1], 4: [1]}
    number, frame, *place = tracks.data[tracks.data[:, 0] == 2][-1]
    assert (number, frame, place) == (2, 3, [0.5, 44.5, 71.5])
    np.testing.assert_allclose(tracks.data_to_world((3, 0.5, 44.5, 71.5)), (3, 1.5, 27.25, 40.75))
    value = layer.get_value(tracks.data_to_world((3, 0, 44.5, 71.5)), world=True)
    assert layer.features["track"][value] == 2
    colors = {
        tuple(np.round(layer.get_color(int(label)), 5)): int(number)
        for label, number in enumerate(layer.features["track"][1:], start=1)
    }
    assert sorted(colors.values()) == [1, 2, 3, 4]  # one color for each track
    of_tracks = {tuple(np.round(each, 5)) for each in tracks.track_colors}
    assert of_tracks == set(colors)
    panel = form.results.colors  # they are on no scale
    scaled = (panel.bar.isVisibleTo(panel), panel.limits.isEnabled(), panel.colormap.enabled)
    assert not any(scaled)
    background = layer.get_status(tracks.data_to_world((3, 0, 0, 0)), world=True)["coordinates"]
    assert "event" not in background
    image.visible = False
    viewer.dims.set_current_step(0, 3)
    assert colors_on(canvas(viewer)) > 100
    layer.visible = False
    assert colors_on(canvas(viewer)) > 10  # of the tracks alone
    assert run(form, qtbot) is layer
    assert [each.name for each in viewer.layers].count("movie tracks") == 1
    form.fields.track.value = False
    run(form, qtbot)
    assert "movie tracks" not in viewer.layers
    form.fields.track.value = True
    run(form, qtbot)
    form.results.table_button.click()
    model = form.results.table.objects
    place = model.headers.index("parent")
    horizontal, tip = Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
    assert "0 for none" in model.headerData(place, horizontal, tip)


# --------------------------------------------------------------- masks


def test_a_painted_mask_is_segmented_as_it_is_drawn(viewer, qtbot):
    mask = viewer.add_labels(np.zeros((60, 90), int), name="painted", scale=(2, 2))
    form = open_form(viewer, qtbot, recipe=True)
    assert form.fields.image.value is None  # only a person chooses labels
    form.run_button.click()
    assert "a labels layer that is a mask" in form.message.text() or not form.running
    image = viewer.add_image(nuclei_2d((60, 90)))
    assert form.fields.image.value is image
    form.fields.image.value = mask
    settle(form, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    mask.brush_size = 20
    mask.mode = "paint"
    for number, place in ((1, (20, 20)), (7, (20, 36)), (2, (40, 70))):  # the first two touch
        mask.paint(place, number)
    settle(form, qtbot)
    qtbot.waitUntil(lambda: form.fields.count.text() == "3 objects", timeout=LONG)
    found = shown(form, qtbot)
    assert (found == (mask.data > 0)).mean() > 0.98
    assert yellow(viewer).size
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data > 0, found)
    assert (layer.name, layer.data.max()) == ("painted objects", 3)
    form.results.python_button.click()
    names = {"viewer": viewer}
    exec(QGuiApplication.clipboard().text(), names)
    np.testing.assert_array_equal(names["found"].labels, layer.data)
    layer.data_setitem((np.array([0]), np.array([0])), 1)
    form.results.again_button.click()  # with the mask in place of an image
    qtbot.waitUntil(lambda: not form.results.again.running, timeout=LONG)
    assert not layer.metadata["equilabel"]["unmeasured"]
    layer.undo()
    for field in (form.fields.split, form.fields.fill_holes):
        field.value = False
    form.fields.sigma.value = 0
    for method in ("otsu", "li", "per_object"):
        form.fields.threshold.method.value = method
        settle(form, qtbot)
        np.testing.assert_array_equal(run(form, qtbot).data > 0, mask.data > 0)
    assert layer.data.max() == 2


# ------------------------------------- settings of labels, and the last


def test_fields_are_set_as_for_the_labels_and_as_in_the_last_form(
    viewer, qtbot, notes, monkeypatch, tmp_path
):
    store = QSettings(str(tmp_path / "equilabel.ini"), QSettings.Format.IniFormat)
    monkeypatch.setattr("equilabel.widget.forms.segment._store", lambda: store)
    options = {"scale": (0.5, 0.5), "units": ("um", "um")}
    viewer.add_image(nuclei_2d((96, 120)), **options)
    form = open_form(viewer, qtbot, recipe=True)
    fields = form.fields
    first = fields.values()
    fields.unit.value = "\N{MICRO SIGN}m"
    fields.sigma.value, fields.min_size.value = 0.75, 4.0
    fields.threshold.set_level(700)
    fields.threshold.dark.value = False
    fields.statistics.tick("solidity")
    wanted, before = fields.values(), fields.choices()
    layer = run(form, qtbot)
    labels = layer.data.copy()
    [defaults] = [
        each for each in form.findChildren(QPushButton) if each.text() == "First settings"
    ]
    [take] = [
        each for each in form.findChildren(QPushButton) if each.text() == "Settings of the labels"
    ]
    defaults.click()
    assert fields.values() == first != wanted
    take.click()
    assert (fields.values(), fields.choices()) == (wanted, before)
    np.testing.assert_array_equal(run(form, qtbot).data, labels)
    fields.threshold.method.value = "li"  # a level is that of its image alone
    last = fields.values()
    run(form, qtbot)
    viewer.window.remove_dock_widget(form.parent())
    again = open_form(viewer, qtbot, recipe=True)
    assert {**again.fields.values(), "level": "li"} == last
    again.fields.connectivity.value = 2
    run(again, qtbot)
    viewer.window.remove_dock_widget(again.parent())
    solid = viewer.add_image(nuclei_3d((8, 32, 32)), **{"scale": (1, 0.5, 0.5)})
    deep = open_form(viewer, qtbot, recipe=True)
    deep.fields.image.value = solid
    assert deep.fields.connectivity.value == 3  # all neighbors, as before
    assert "surface_area_crofton" in deep.fields.statistics.names
    viewer.layers.clear()  # while a form is there: see `ResultsPanel`
    viewer.window.remove_dock_widget(deep.parent())
    viewer.add_image(nuclei_2d((96, 120)))
    other = open_form(viewer, qtbot, recipe=True)
    assert other.fields.sigma.value == first["sigma"]  # not 0.75 pixels
    viewer.add_labels(labels)
    [take] = [
        each for each in other.findChildren(QPushButton) if each.text() == "Settings of the labels"
    ]
    take.click()
    assert "must be found by this form" in notes()[-1]
    store.setValue("fields", "{")
    open_form(viewer, qtbot, recipe=True)


def test_objects_of_all_selected_images_are_found_one_after_the_other(viewer, qtbot):
    images = [viewer.add_image(nuclei_2d((64, 80), seed), name=str(seed)) for seed in range(3)]
    form = open_form(viewer, qtbot)
    viewer.layers.selection = set(images[1:])
    said = []
    answer(form, "Cancel", said)
    form.run_button.click()
    assert said == ["2 image layers are selected."]
    assert not form.running
    answer(form, "All 2", said)
    run(form, qtbot)
    qtbot.waitUntil(lambda: "1 objects" in viewer.layers, timeout=LONG)
    qtbot.waitUntil(lambda: not form.running, timeout=LONG)
    assert {layer.name for layer in viewer.layers} == {*"012", "1 objects", "2 objects"}
    for seed in (1, 2):
        expected = segment(images[seed].data).labels
        np.testing.assert_array_equal(viewer.layers[f"{seed} objects"].data, expected)
