"""The form that finds objects, in a real viewer: fields, runs, layers."""

import shlex

import numpy as np
import pytest

from equilabel import segment
from equilabel.samples import movie, nuclei_2d, nuclei_3d
from equilabel.segmentation.outlines import EDGE
from gui import LONG, MEASURE, SEGMENT, answer, canvas, colors_on, open_form, run, settle, shown
from pictures import pictures
from references import GRID_METHODS

pytestmark = pytest.mark.gui


@pytest.fixture
def form(kept_form):
    return kept_form


def made(layer):
    return layer.metadata["equilabel"]


# -------------------------------------------------------------------- runs


def test_a_run_gives_the_labels_of_segment_on_the_canvas(viewer, qtbot, form):
    assert colors_on(canvas(viewer)) == 0
    layer = run(form, qtbot)
    image = viewer.layers[0]
    found = segment(image.data, spacing=(0.325, 0.325))
    np.testing.assert_array_equal(layer.data, found.labels)
    assert layer.name == "nuclei objects"
    assert made(layer)["threshold"] == found.threshold
    assert colors_on(canvas(viewer)) > 2000
    np.testing.assert_array_equal(layer.scale, image.scale)
    assert layer.units == image.units
    assert layer.axis_labels == image.axis_labels


def test_labels_that_were_painted_are_not_replaced_unasked(viewer, qtbot, form):
    layer = run(form, qtbot)
    found = layer.data.copy()
    run(form, qtbot)  # nothing was changed: no question
    layer.fill((0, 0), 77)
    painted = layer.data.copy()
    asked = []
    answer(form, "Cancel", asked)
    form.run_button.click()
    assert not form.task.running
    np.testing.assert_array_equal(layer.data, painted)
    answer(form, "Replace", asked)
    run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found)
    layer.undo()  # of what was painted on the labels before
    np.testing.assert_array_equal(layer.data, found)
    layer.fill((0, 0), 5)
    layer.undo()
    np.testing.assert_array_equal(layer.data, found)
    layer.fill((0, 0), 77)
    assert len(viewer.layers) == 2
    answer(form, "Keep it", asked)
    run(form, qtbot)
    np.testing.assert_array_equal(layer.data, painted)
    assert len(viewer.layers) == 3
    question = "Replace 'nuclei objects'? Since its objects were found, it was painted."
    assert asked == [question] * 3


def test_a_removed_result_is_made_again(viewer, qtbot, form):
    viewer.layers.remove(run(form, qtbot))
    assert run(form, qtbot) in viewer.layers


def test_each_image_has_its_own_result(viewer, qtbot, form):
    run(form, qtbot)
    viewer.add_image(nuclei_2d((64, 64), seed=3), name="other")
    form.fields.image.value = viewer.layers["other"]
    settle(form, qtbot)
    run(form, qtbot)
    assert {"nuclei objects", "other objects"} < {layer.name for layer in viewer.layers}


def test_every_field_reaches_the_run(viewer, qtbot, form):
    form.fields.threshold.method.value = "li"
    form.fields.sigma.value = 0.5
    form.fields.fill_holes.value = True
    form.fields.connectivity.value = 1
    form.fields.min_size.value = 40
    form.fields.exclude_border.value = True
    form.fields.method.value = "komura"
    form.fields.device.value = "cpu"
    form.fields.statistics.tick("perimeter", False)
    form.fields.statistics.tick("eccentricity")
    layer = run(form, qtbot)
    found = segment(
        viewer.layers[0].data,
        threshold="li",
        sigma=0.5,
        fill_holes=True,
        connectivity=1,
        min_size=40,
        exclude_border=True,
        spacing=(0.325, 0.325),
    )
    np.testing.assert_array_equal(layer.data, found.labels)
    assert (made(layer)["method"], made(layer)["device"]) == ("komura", "cpu")
    assert "eccentricity" in layer.features
    assert "perimeter" not in layer.features


def test_objects_are_split_along_dark_lines(viewer, qtbot, form):
    fields, pixels = form.fields, viewer.layers[0].data
    fields.sigma.value, fields.split.value, fields.split_by.value = 1.0, True, "intensity"
    assert not fields.depth.number.enabled
    fields.show_preview.value = True
    outlined = shown(form, qtbot)
    found = segment(pixels, sigma=1.0, split=True, split_by="intensity")
    np.testing.assert_array_equal(outlined, found.labels > 0)
    assert fields.count.text() == f"{found.num} objects"
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found.labels)
    assert found.num > segment(pixels, sigma=1.0).num
    assert "split=True, split_by='intensity'" in made(layer)["python"]
    assert "--split --split-by=intensity" in made(layer)["batch"]


def test_dark_objects_are_found(viewer, qtbot):
    viewer.open_sample("equilabel", "porous_medium")
    form = open_form(viewer, qtbot)
    form.fields.threshold.dark.value = True
    layer = run(form, qtbot)
    image = viewer.layers[0]
    found = segment(image.data, dark=True, spacing=(4.0, 4.0, 4.0))
    np.testing.assert_array_equal(layer.data, found.labels)


def test_hysteresis_takes_the_two_ends_of_its_slider(viewer, qtbot, form):
    form.fields.threshold.method.value = "hysteresis"
    settle(form, qtbot)
    form.fields.threshold.range.setValue((300, 900))
    layer = run(form, qtbot)
    low, high = form.fields.threshold.range.value()
    assert made(layer)["threshold"] == (low, high)
    found = segment(viewer.layers[0].data, threshold=(low, high), spacing=(0.325, 0.325))
    np.testing.assert_array_equal(layer.data, found.labels)


def test_a_second_run_updates_the_layer_in_place(viewer, qtbot, form):
    first = run(form, qtbot)
    before = first.data
    first.opacity = 0.4
    form.fields.min_size.value = 60
    second = run(form, qtbot)
    assert second is first
    assert len(viewer.layers) == 2
    assert first.opacity == 0.4
    assert 0 < first.data.max() < before.max()
    assert len(first.features) == first.data.max() + 1


def test_a_new_layer_is_made_if_asked_for(viewer, qtbot, form):
    run(form, qtbot)
    form.fields.new_layer.value = True
    run(form, qtbot)
    assert [layer.name for layer in viewer.layers][1:] == ["nuclei objects", "nuclei objects [1]"]


@pytest.mark.parametrize(
    ("pixels", "options", "arguments"),
    [
        (
            nuclei_3d((16, 96, 96)),
            {"scale": (4, 1, 1), "translate": (1, 2, 3), "units": "um"},
            {"spacing": (4, 1, 1)},
        ),
        (movie((4, 128, 128)), {"axis_labels": ("t", "y", "x")}, {"stacked": True}),
        (nuclei_3d((16, 96, 96)), {"rotate": (0, 0, 30)}, {}),
    ],
    ids=["3D, anisotropic", "2D + t", "rotated"],
)
def test_labels_lie_where_the_image_lies(viewer, qtbot, pixels, options, arguments):
    image = viewer.add_image(pixels, name="image", **options)
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    found = segment(pixels, **arguments)
    assert found.num > 0
    np.testing.assert_array_equal(layer.data, found.labels)
    np.testing.assert_allclose(layer.extent.world, image.extent.world)
    corner = np.array(pixels.shape) - 1
    np.testing.assert_allclose(layer.data_to_world(corner), image.data_to_world(corner))
    assert layer.units == image.units


def test_a_movie_has_its_frames_in_the_table(viewer, qtbot):
    viewer.open_sample("equilabel", "movie")
    form = open_form(viewer, qtbot)
    assert form.fields.axes.roles == ("time", "space", "space")
    form.fields.statistics.tick("num_pixels")
    layer = run(form, qtbot)
    assert set(layer.features["frame"][1:]) == set(range(16))
    frame = int(layer.features["frame"][9])
    assert (layer.data[frame] == 9).sum() == layer.features["num_pixels"][9]


def test_selected_objects_of_a_movie_are_outlined_and_not_filled(viewer, qtbot):
    viewer.add_image(movie((3, 96, 96)), name="movie", axis_labels=("t", "y", "x"))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    frame = viewer.dims.current_step[0]
    number = int(np.unique(layer.data[frame])[1])
    form.results.select([number])
    drawn = np.squeeze(form.results.outlines.layer._slice.image.view)  # what napari draws
    own = layer.data[frame] == number
    np.testing.assert_array_equal(drawn > 0, own)
    assert 0 < (drawn == EDGE).sum() < own.sum()


def test_selected_objects_of_a_volume_are_half_transparent(viewer, qtbot):
    viewer.add_image(nuclei_3d((16, 64, 64)), name="volume")
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    viewer.layers["volume"].visible = False
    viewer.dims.ndisplay = 3
    viewer.reset_view()
    before = canvas(viewer)[..., :3].astype(int)
    form.results.select([int(np.bincount(layer.data.ravel())[1:].argmax()) + 1])
    after = canvas(viewer)[..., :3].astype(int)
    changed = (after != before).any(axis=-1)
    assert changed.any()
    half = abs(after[changed] - (before[changed] + 255) / 2).max(axis=-1) < 40
    assert 0.5 < half.mean() < 1  # the rest is the rim


def test_axes_can_be_given_another_meaning(viewer, qtbot):
    viewer.add_image(movie((6, 128, 128)), name="stack")
    form = open_form(viewer, qtbot)
    assert form.fields.axes.roles == ("space",) * 3
    assert form.fields.connectivity.native.itemText(0).startswith("6:")
    form.fields.axes._fields[0].value = "time"
    settle(form, qtbot)
    assert len(form.fields.connectivity.choices) == 2
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, segment(viewer.layers[0].data, stacked=True).labels)


def test_a_real_image_is_segmented(viewer, qtbot):
    [path] = pictures(["blobs.tif"], ["nuclei_2d.tif"])
    [image] = viewer.open(str(path))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    assert layer.data.shape == image.data.shape
    assert 30 < layer.data.max() < 120
    assert str(path) in made(layer)["batch"]


@pytest.mark.parametrize("kind", ["multiscale", "dask", "rgb", "channels"])
def test_every_kind_of_image_gives_the_right_labels(viewer, qtbot, kind):
    pixels = nuclei_2d((256, 256))
    expected = segment(pixels).labels
    if kind == "multiscale":
        image = viewer.add_image([pixels, pixels[::2, ::2], pixels[::4, ::4]], multiscale=True)
    elif kind == "dask":
        array = pytest.importorskip("dask.array")
        image = viewer.add_image(array.from_array(pixels, chunks=(64, 64)))
    elif kind == "rgb":
        green = (pixels // 64).astype("u1")
        image = viewer.add_image(np.dstack([green * 0, green, green * 0]), rgb=True)
        expected = segment(green).labels
    else:
        image = viewer.add_image(np.stack([pixels * 0, pixels]), axis_labels=("c", "y", "x"))
    form = open_form(viewer, qtbot)
    if kind == "rgb":
        assert form.fields.color.visible
        form.fields.color.value = "green"
    if kind == "channels":
        form.fields.channel.value = 1
    settle(form, qtbot)
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, expected)
    np.testing.assert_allclose(layer.extent.world, image.extent.world[:, -2:])


# ------------------------------------------------------------------- fields


def test_an_image_without_sizes_is_asked_for_pixels_alone(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 64)))
    form = open_form(viewer, qtbot)
    assert not form.fields.unit.visible
    assert form.fields.sigma.number.native.suffix() == " px"


def test_lengths_are_in_pixels_or_in_the_unit_of_the_layer(viewer, qtbot, form):
    image = viewer.layers[0].data
    fields = form.fields
    fields.sigma.value, fields.min_size.value, fields.split.value = 2.0, 100, True
    np.testing.assert_array_equal(
        run(form, qtbot).data,
        segment(image, sigma=2.0, min_size=100, split=True, spacing=0.325).labels,
    )
    fields.unit.value = "µm"  # the same lengths
    shown = [field.value for field in (fields.sigma, fields.min_size, fields.depth)]
    assert shown == pytest.approx([0.65, 100 * 0.325**2, 0.1625], abs=1e-3)
    assert fields.min_size.pixels.text() == "= 100 px"
    assert fields.min_size.number.native.suffix() == " µm²"
    fields.sigma.value, fields.min_size.value, fields.depth.value = 0.5, 5.0, 0.3
    pixels = [field.pixels.text() for field in (fields.sigma, fields.min_size, fields.depth)]
    assert pixels == ["= 1.54 px", "= 48 px", "= 0.923 px"]
    layer = run(form, qtbot)
    lengths = {"sigma": "0.5um", "min_size": "5um2", "split": "0.3um"}
    expected = segment(image, spacing=0.325, unit="um", **lengths)
    np.testing.assert_array_equal(layer.data, expected.labels)
    assert made(layer)["in_pixels"] == expected.in_pixels
    assert "sigma='0.5µm', split='0.3µm', min_size='5µm²', " in made(layer)["python"]
    assert "--sigma=0.5µm --split=0.3µm --min-size=5µm² " in " ".join(
        shlex.split(made(layer)["batch"])
    )
    assert made(layer)["batch"].count("--unit") == 1
    fields.sigma.value = 20
    assert "more than a tenth of its 512: objects may merge" in fields.remark.text()
    fields.sigma.value = 0.5
    assert "tenth" not in fields.remark.text()
    fields.unit.value = "pixels"
    assert fields.sigma.value == pytest.approx(1.54)


def test_a_rolling_ball_and_a_block_in_a_unit_reach_the_run_and_the_copied_texts(viewer, qtbot):
    image = (nuclei_2d((96, 96)) + np.arange(96) * 12).astype(np.uint16)
    viewer.add_image(image, name="cells", scale=(0.5, 0.25), units=("um", "um"))
    form = open_form(viewer, qtbot)
    fields = form.fields
    assert not fields.background_method.enabled
    fields.background.value, fields.background_method.value = 20, "rolling_ball"
    assert fields.background_method.enabled
    fields.threshold.method.value, fields.threshold.automatic.value = "local", False
    fields.threshold.offset.value = -50
    block = fields.threshold.block_size
    block.value = 50
    assert fields.choices().block_size == 51
    fields.unit.value = "µm"
    assert (block.value, block.pixels.text()) == (12.5, "25-51 px")
    block.value = 8
    assert block.pixels.text() == "17-33 px"
    settle(form, qtbot)
    fields.show_preview.value = True
    qtbot.waitUntil(
        lambda: not form.preview.drawing and form.preview.layer is not None, timeout=LONG
    )
    where = {"spacing": (0.5, 0.25), "unit": "um"}
    ball = {"background": "5um", "background_method": "rolling_ball"}
    found = segment(image, threshold="local", block_size="8um", offset=-50, **ball, **where)
    box = segment(image, threshold="local", block_size=51, offset=-50, background=20)
    assert (found.labels != box.labels).any()
    np.testing.assert_array_equal(np.squeeze(form.preview.layer.data) > 0, found.labels > 0)
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found.labels)
    assert made(layer)["in_pixels"] == found.in_pixels
    names = {"viewer": viewer}
    exec(made(layer)["python"], names)
    np.testing.assert_array_equal(names["found"].labels, layer.data)
    words = " ".join(shlex.split(made(layer)["batch"]))
    assert "--background=5µm --background-method=rolling_ball " in words
    assert "--block-size=8µm " in words


def test_the_stages_that_are_folded_reach_the_run_and_the_copied_texts(viewer, qtbot):
    frames = movie((3, 96, 96)) + np.arange(96, dtype=np.uint16) * 12
    viewer.add_image(frames, name="movie", axis_labels=("t", "y", "x"))
    form = open_form(viewer, qtbot)
    fields = form.fields
    assert fields.track.native.isVisible()
    fields.background.value, fields.closing.value, fields.opening.value = 25, 1.5, 2
    fields.track.value = True
    settle(form, qtbot)
    fields.show_preview.value = True
    qtbot.waitUntil(
        lambda: not form.preview.drawing and form.preview.layer is not None, timeout=LONG
    )
    options = {"background": 25, "closing": 1.5, "opening": 2, "track": True, "stacked": True}
    found = segment(frames, **options)
    frame = viewer.dims.current_step[0]
    shown = np.squeeze(form.preview.layer.data) > 0
    np.testing.assert_array_equal(shown, found.labels[frame] > 0)
    count = (found.table["frame"] == frame).sum()
    assert fields.count.text() == f"{count} objects in this frame"
    layer = run(form, qtbot)
    np.testing.assert_array_equal(layer.data, found.labels)
    assert layer.features["track"][1:].tolist() == found.table["track"].tolist()
    assert layer.features["event"][1:].tolist() == found.table["event"].tolist()
    words = {"background=25.0, ", "closing=1.5, ", "opening=2.0, ", "track=True"}
    assert all(word in made(layer)["python"] for word in words)
    viewer.add_image(frames[0], name="single")
    fields.image.value = viewer.layers["single"]
    assert not fields.track.native.isVisible()


def test_all_methods_are_offered_and_devices_that_cannot_be_used_say_why(form):
    from equilabel import devices

    items = form.fields.device.native.model()
    for row, report in enumerate(devices(), start=1):
        assert items.item(row).text() == report.name
        assert items.item(row).isEnabled() == report.available
        if not report.available:
            assert items.item(row).toolTip() == report.reason
            assert report.reason in form.fields.device.tooltip
    assert list(form.fields.method.choices) == ["auto", *GRID_METHODS]


def test_a_layer_with_another_name_is_offered_by_it(viewer, form):
    viewer.layers[0].name = "renamed"
    assert form.fields.image.native.currentText() == "renamed"


def test_planes_without_a_name_are_asked_about(viewer, qtbot, form):
    assert form.fields.remark.text() == ""
    viewer.add_image(np.zeros((48, 32, 32)), name="planes")
    form.fields.image.value = viewer.layers["planes"]
    assert form.fields.remark.text().startswith("48 planes read as depth: under Axes")
    viewer.add_image(np.zeros((48, 32, 32)), name="stack", axis_labels=("z", "y", "x"))
    form.fields.image.value = viewer.layers["stack"]
    assert form.fields.remark.text() == ""


@pytest.mark.parametrize(("shape", "names"), [((64, 64), "4 8"), ((8, 64, 64), "6 18 26")])
def test_neighbors_have_their_familiar_names(viewer, qtbot, shape, names):
    viewer.add_image(np.zeros(shape))
    form = open_form(viewer, qtbot)
    texts = [
        form.fields.connectivity.native.itemText(k)
        for k in range(form.fields.connectivity.native.count())
    ]
    assert [text.split(":")[0] for text in texts] == names.split()


def test_statistics_taken_off_stay_off_for_another_image(viewer, qtbot, form):
    form.fields.statistics.tick("area", False)
    viewer.add_image(nuclei_3d((8, 32, 32)), name="3D")
    form.fields.image.value = viewer.layers["3D"]
    assert "area" not in form.fields.statistics.names
    assert "surface_area_crofton" in form.fields.statistics.names
    assert "perimeter" not in form.fields.statistics.names


@pytest.mark.parametrize("name", [SEGMENT, MEASURE])
def test_all_that_can_be_measured_can_be_ticked(viewer, qtbot, name):
    pixels = nuclei_2d((96, 96))
    viewer.add_image(pixels, name="gray")
    viewer.add_labels(segment(pixels).labels, name="gray objects")
    form = open_form(viewer, qtbot, name)
    statistics = form.fields.statistics if name == SEGMENT else form.statistics
    for each in statistics._items:
        statistics.tick(each)
    layer = run(form, qtbot)
    columns = set(layer.features)
    for column in (
        *("perimeter_crofton", "circularity", "euler_number", "eccentricity", "orientation"),
        *("touches_border", "moments_hu-6", "inertia_tensor-0-0", "solidity", "intensity_median"),
    ):
        assert column in columns, column
    assert len(columns) > len(statistics._items)


def test_the_form_begins_with_the_recipe_of_the_guide(viewer, qtbot):
    image = nuclei_2d((120, 140))
    viewer.add_image(image, name="nuclei")
    form = open_form(viewer, qtbot, recipe=True)
    form.fields.show_preview.value = True
    qtbot.waitUntil(lambda: "objects" in form.fields.count.text().split(), timeout=LONG)
    qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)
    recipe = {"sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}
    wanted = segment(image, "per_object", **recipe)
    assert form.fields.count.text() == f"{wanted.num} objects"
    assert form.fields.threshold.slider.value() == pytest.approx(wanted.threshold, abs=5)
    run(form, qtbot)
    np.testing.assert_array_equal(viewer.layers[-1].data, wanted.labels)
