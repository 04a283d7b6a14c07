"""The live preview on planes of 3D images, and of an image seen from a distance."""

import numpy as np
import pytest

from equilabel.samples import nuclei_2d, nuclei_3d
from gui import LONG, open_form, run, settle, shown

pytestmark = pytest.mark.gui


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_in_a_stack_the_preview_lies_on_the_visible_plane(viewer, qtbot, order):
    stack = nuclei_3d((16, 48, 64))
    image = viewer.add_image(stack, scale=(4, 2, 1), translate=(5, 6, 7), rotate=(0, 0, 0))
    viewer.dims.order = order
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    form.fields.threshold.set_level(40)
    for place in (3, 9):
        viewer.dims.set_current_step(order[0], place)
        qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)
        layer = form.preview.layer
        start = image.world_to_data(layer.data_to_world((0, 0, 0)))
        assert round(start[order[0]]) == place
        expected = stack.take(place, order[0]) > form.fields.threshold.slider.value()
        np.testing.assert_array_equal(np.squeeze(layer.data, order[0]) > 0, expected)
        others = [axis for axis in range(3) if axis != order[0]]
        np.testing.assert_allclose(start[others], 0, atol=1e-9)


def test_on_a_rotated_image_the_preview_turns_with_it(viewer, qtbot):
    image = viewer.add_image(
        nuclei_3d((8, 48, 64)), rotate=(0, 0, 30), scale=(4, 1, 1), translate=(9, 8, 7)
    )
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    form.fields.threshold.set_level(40)
    shown(form, qtbot)
    layer = form.preview.layer
    plane = round(image.world_to_data(viewer.dims.point)[0])
    np.testing.assert_allclose(
        layer.data_to_world((0, 20, 30)), image.data_to_world((plane, 20, 30)), atol=1e-9
    )


def test_in_3d_the_preview_says_that_it_needs_2d(viewer, qtbot):
    viewer.add_image(nuclei_3d((8, 32, 32)))
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    viewer.dims.ndisplay = 3
    qtbot.waitUntil(lambda: form.preview.layer is None, timeout=LONG)
    assert "2D" in form.fields.remark.text()
    viewer.dims.ndisplay = 2
    shown(form, qtbot)
    assert "2D" not in form.fields.remark.text()


def test_a_preview_that_cannot_see_across_planes_says_so(viewer, qtbot):
    viewer.add_image(nuclei_3d((8, 32, 32)))
    form = open_form(viewer, qtbot)
    form.fields.sigma.value = 1.0
    form.fields.show_preview.value = True
    shown(form, qtbot)
    qtbot.waitUntil(lambda: "this plane alone" in form.fields.remark.text(), timeout=LONG)


def test_a_preview_at_a_distance_has_a_wider_outline(viewer, qtbot):
    viewer.add_image(nuclei_2d((2048, 2048)))
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    far = (form.preview.layer.data == 2).sum()
    viewer.scene.camera.zoom *= 8
    qtbot.waitUntil(lambda: (form.preview.layer.data == 2).sum() < 0.7 * far, timeout=LONG)


def test_the_preview_follows_to_images_of_other_axes_and_other_places(viewer, qtbot, notes):
    pixels = nuclei_2d((64, 80))
    options = [{}, {"rotate": 30, "shear": [0.3]}, {"affine": np.diag([2.0, 3.0, 1.0])}]
    for number, option in enumerate(options):
        viewer.add_image(pixels, name=str(number), **option)
    viewer.add_image(nuclei_3d((4, 64, 80)), name="stack")
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    for name in ("0", "1", "2", "stack", "1", "0"):
        image = form.fields.image.value = viewer.layers[name]
        settle(form, qtbot)
        found = shown(form, qtbot)
        layer = form.preview.layer
        assert layer.ndim == image.ndim
        assert found.any()
        spot = (*[0] * (layer.ndim - 2), *np.argwhere(found)[0])
        inside = image.world_to_data(layer.data_to_world(spot))
        np.testing.assert_allclose(inside[-2:], spot[-2:], atol=1e-6)
    assert not notes()


def test_a_scale_a_unit_and_names_that_are_given_later_are_those_of_the_fields(viewer, qtbot):
    image = viewer.add_image(nuclei_2d((64, 80)))
    form = open_form(viewer, qtbot)
    fields = form.fields
    fields.show_preview.value = True
    image.scale, image.units = (0.5, 0.5), ("um", "um")
    assert fields.unit.choices == ("pixels", "µm")
    fields.unit.value = "µm"
    fields.min_size.value = 10.0
    assert fields.min_size.pixels.text() == "= 40 px"
    image.scale = (0.25, 0.25)
    assert fields.min_size.pixels.text() == "= 160 px"
    settle(form, qtbot)
    shown(form, qtbot)
    np.testing.assert_allclose(form.preview.layer.scale, 0.25)
    count = fields.count.text()
    layer = run(form, qtbot)
    assert count == f"{layer.data.max()} objects"
    stack = viewer.add_image(np.arange(5 * 30 * 40, dtype="u2").reshape(5, 30, 40))
    fields.image.value = stack
    assert fields.axes.roles == ("space", "space", "space")
    assert "read as depth" in fields.remark.text()
    stack.axis_labels = ("t", "y", "x")
    assert fields.axes.roles == ("time", "space", "space")
    assert "read as depth" not in fields.remark.text()


def test_no_thread_begins_to_compile_when_the_image_goes(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 80)))
    form = open_form(viewer, qtbot)
    qtbot.waitUntil(lambda: not form._warm_up.running, timeout=LONG)
    viewer.layers.clear()  # as when a viewer is closed, which waits for no thread
    assert not form._warm_up.running


def test_a_run_and_a_filter_in_3d_before_the_mouse_has_moved(viewer, qtbot):
    """napari raised "len() of unsized object" while it selected the labels."""
    viewer.add_image(nuclei_3d((8, 32, 32)))
    viewer.dims.ndisplay = 3
    form = open_form(viewer, qtbot)
    viewer.mouse_over_canvas = True  # as where the window opens below the mouse
    viewer.cursor._view_direction = None
    found = run(form, qtbot)
    assert form.results.layer is found
    assert form.results.summary.text() in form.message.text()
    viewer.layers.selection.active = None
    viewer.layers.selection.active = found
    form.results.filter.condition.setText("area > 0")
    with qtbot.waitSignal(form.results.filter.task.done, timeout=LONG):
        form.results.filter.button.click()
    assert form.results.layer.name == f"{found.name} kept"
