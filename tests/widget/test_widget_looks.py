"""Histograms, planes, outlines, colors and sentences: what the forms show, without a screen."""

import numpy as np
import pytest

import equilabel
from equilabel import DeviceUnavailableError, binarize
from equilabel.samples import nuclei_2d, nuclei_3d
from equilabel.segmentation.outlines import outline
from equilabel.widget.logic.choices import Choices
from equilabel.widget.logic.objects import limits
from equilabel.widget.logic.outcomes import explain
from equilabel.widget.logic.planes import Plane, compute_histogram, estimate_threshold, sample
from equilabel.widget.logic.samples import as_layers
from equilabel.widget.logic.sources import Source

layers = pytest.importorskip("napari.layers")

from equilabel.widget.viewer.layers import (
    MISSING,
    color_labels,
    make_scale,
)


def source_of(pixels, **options):
    source = Source.of(layers.Image(pixels, **options))
    return source, Choices()


# --------------------------------------------------------------- histograms


@pytest.mark.parametrize("kind", ["?", "u1", "i4", "f4"])
def test_a_histogram_counts_every_pixel_between_the_extremes(kind):
    pixels = (np.arange(600).reshape(20, 30) % 2 if kind == "?" else np.arange(600)).astype(kind)
    seen = compute_histogram(pixels.reshape(20, 30))
    assert (seen.low, seen.high) == (float(pixels.min()), float(pixels.max()))
    assert seen.counts.sum() == 600
    assert seen.whole == (kind != "f4")


def test_what_is_not_finite_is_left_out_of_the_histogram():
    seen = compute_histogram(np.array([np.nan, 1.0, 3.0, np.inf]))
    assert (seen.low, seen.high, seen.counts.sum()) == (1, 3, 2)
    share = compute_histogram(np.where(np.arange(1000) < 3, 1, np.nan)).describe_gaps()
    assert share.startswith("99.7 % of the pixels")


@pytest.mark.parametrize(("value", "bins"), [(np.nan, 0), (7.0, 1)])
def test_an_image_without_two_values_is_flat(value, bins):
    seen = compute_histogram(np.full((4, 5), value))
    assert seen.flat
    assert len(seen.counts) == bins


def test_a_sample_is_spread_over_the_image():
    some = sample(np.arange(10_000).reshape(100, 100), 100)
    assert some.size <= 100
    assert some.min() == 0
    assert some.max() > 8000


@pytest.mark.parametrize("method", ["otsu", "li", "triangle", "mean"])
def test_the_threshold_found_before_is_that_of_the_run(method):
    source, choices = source_of(nuclei_2d((96, 100)), scale=(0.5, 0.5), units=("um", "um"))
    choices = Choices(threshold=method, sigma="0.7um")
    _, found, remark = estimate_threshold(Plane(source, choices, (0, 0), (0, 1)))
    run = equilabel.segment(source.data, threshold=method, sigma=1.4)
    assert not remark
    assert found == run.threshold


def test_an_image_of_nan_alone_has_no_threshold():
    source, choices = source_of(np.full((9, 9), np.nan))
    seen, found, remark = estimate_threshold(Plane(source, choices, (0, 0), (0, 1)))
    assert (seen.counts.size, found, remark) == (0, None, "")


def test_the_threshold_is_that_of_the_chosen_channel():
    pixels = np.stack([nuclei_2d((64, 64)), nuclei_2d((64, 64)) * 3])
    source = Source.of(layers.Image(pixels, axis_labels=("c", "y", "x")))
    chosen = [Choices(channel=k) for k in (0, 1)]
    planes = [Plane(source, choices, (0, 0, 0), (1, 2)) for choices in chosen]
    levels = [estimate_threshold(plane)[1] for plane in planes]
    assert levels[1] > 2 * levels[0]


def test_a_large_image_is_sampled_and_says_so(monkeypatch):
    monkeypatch.setattr("equilabel.widget.logic.planes.EXACT", 5000)
    source, choices = source_of(nuclei_2d((96, 100)))
    seen, found, remark = estimate_threshold(Plane(source, choices, (0, 0), (0, 1)))
    assert "a sample" in remark
    level = binarize(source.data, return_threshold=True)[1]
    assert found == pytest.approx(level, rel=0.05)
    assert 4000 < seen.counts.sum() <= 5000


@pytest.mark.filterwarnings("ignore:sigma=")
@pytest.mark.parametrize(
    ("shape", "labels"), [((700, 800), "yx"), ((6, 90, 100), "zyx"), ((9, 80, 70), "tyx")]
)
def test_the_threshold_of_a_large_image_is_that_of_its_smoothed_pixels(monkeypatch, shape, labels):
    monkeypatch.setattr("equilabel.widget.logic.planes.EXACT", np.prod(shape) // 2)
    objects = (np.indices(shape).sum(0) // 30 % 3 == 0) * 60.0
    pixels = objects + np.random.default_rng(0).normal(0, 40, shape)
    source = Source.of(layers.Image(pixels, axis_labels=labels))
    choices = Choices(sigma=3.0, threshold="triangle")
    _, found, remark = estimate_threshold(Plane(source, choices, (0,) * len(shape), (0, 1)))
    run = equilabel.segment(pixels, **choices.arguments(source)).threshold
    plain = equilabel.segment(pixels, threshold="triangle", stacked=labels[0] == "t").threshold
    assert "a sample" in remark
    assert abs(found - run) < 0.2 * abs(plain - run)


def test_of_a_large_image_on_disk_only_the_visible_plane_is_read(monkeypatch):
    dask = pytest.importorskip("dask.array")
    monkeypatch.setattr("equilabel.widget.logic.planes.READ", 8 * 64 * 64 - 1)
    read = []

    def plane(block, block_info=None):
        read.append(block_info[0]["chunk-location"][0])
        return block

    pixels = nuclei_3d((8, 64, 64))
    lazy = dask.from_array(pixels, chunks=(1, 64, 64)).map_blocks(plane, dtype="u1")
    source, choices = source_of(lazy, contrast_limits=(0, 255))
    read.clear()
    seen, _, remark = estimate_threshold(Plane(source, choices, (3, 0, 0), (1, 2)))
    assert set(read) == {3}
    assert seen.high == pixels[3].max()
    assert "a sample" in remark


def test_why_a_method_finds_no_threshold_is_told():
    source, _ = source_of(np.arange(64.0).reshape(8, 8))
    choices = Choices(threshold="minimum")
    _, found, remark = estimate_threshold(Plane(source, choices, (0, 0), (0, 1)))
    assert found is None
    assert "two" in remark


# -------------------------------------------------------------------- planes


@pytest.mark.parametrize(("displayed", "index"), [((1, 2), 0), ((0, 2), 1), ((1, 0), 2)])
def test_the_plane_is_the_one_on_the_screen(displayed, index):
    pixels = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    source, choices = source_of(pixels, axis_labels=("z", "y", "x"))
    plane = Plane(source, choices, (1, 2, 3), displayed)
    np.testing.assert_array_equal(plane.read(), pixels.take((1, 2, 3)[index], index))
    assert plane.stride == 1


def test_beside_the_image_the_nearest_plane_is_taken():
    pixels = np.arange(24).reshape(4, 2, 3)
    source, choices = source_of(pixels, axis_labels=("z", "y", "x"))
    plane = Plane(source, choices, (99, 0, 0), (1, 2))
    np.testing.assert_array_equal(plane.read(), pixels[3])


def test_a_very_large_plane_is_thinned(monkeypatch):
    monkeypatch.setattr("equilabel.widget.logic.planes.LARGEST", 100)
    source, choices = source_of(np.arange(900).reshape(30, 30))
    plane = Plane(source, choices, (0, 0), (0, 1))
    assert plane.stride == 3
    np.testing.assert_array_equal(plane.read(), source.data[::3, ::3])


EVERY_STAGE = {
    **{"background": 20, "closing": "0.6um", "opening": 1, "fill_holes": True, "split": "0.5um"},
    **{"min_size": "3um2", "exclude_border": True, "connectivity": 1},
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("threshold", [500.0, (400.0, 900.0), "local"])
def test_on_a_single_plane_the_preview_shows_what_the_run_finds(threshold, dark):
    source, _ = source_of(nuclei_2d((96, 100)), scale=(0.5, 0.5), units=("um", "um"))
    choices = Choices(
        threshold=threshold,
        sigma=0.8,
        dark=dark,
        block_size=31,
        offset=5.0,
        **EVERY_STAGE,
    )
    plane = Plane(source, choices, (0, 0), (0, 1))
    level = None if threshold == "local" else threshold
    shown = plane.find_objects(plane.prepare(plane.read()), level)
    found = equilabel.segment(source.data, **choices.arguments(source))
    np.testing.assert_array_equal(shown, found.labels)


def test_a_background_of_less_than_a_pixel_is_refused_but_not_for_the_plane_that_is_shown():
    pixels = np.random.default_rng(0).random((6, 5, 7, 8))
    units = ("s", "um", "um", "um")
    source, _ = source_of(pixels, axis_labels="tzyx", scale=(1, 9, 1, 1), units=units)
    point, displayed = (0, 2, 0, 0), (0, 1)  # where no neighbor is within reach
    plane = Plane(source, Choices(background="3um"), point, displayed)
    np.testing.assert_array_equal(plane.prepare(plane.read()), pixels[:, :, 0, 0])
    small = Plane(source, Choices(background="0.5um"), point, displayed)
    with pytest.raises(ValueError, match=r"radius must be 1 pixel or more, .*; got 0\.5"):
        small.prepare(small.read())
    assert "must be 1 pixel or more" in estimate_threshold(small)[2]


def test_nothing_is_smoothed_along_time():
    pixels = np.random.default_rng(0).random((6, 5, 7))
    source, _ = source_of(pixels, axis_labels=("t", "y", "x"))
    choices = Choices(sigma=1.0)
    plane = Plane(source, choices, (0, 2, 0), (0, 2))
    np.testing.assert_allclose(plane.prepare(plane.read())[3], equilabel.smooth(pixels[3, 2], 1.0))


def test_a_plane_is_smoothed_by_the_same_length_as_the_run(monkeypatch):
    monkeypatch.setattr("equilabel.widget.logic.planes.LARGEST", 600)
    pixels = np.random.default_rng(0).random((40, 60))
    source, _ = source_of(pixels, scale=(1.0, 0.5), units=("um", "um"))
    choices = Choices(sigma="1000nm")
    plane = Plane(source, choices, (0, 0), (0, 1))
    assert plane.stride == 2
    smooth = plane.prepare(plane.read())
    np.testing.assert_allclose(smooth, equilabel.smooth(pixels[::2, ::2], (0.5, 1.0)))


def test_an_unknown_threshold_finds_nothing():
    source, choices = source_of(np.ones((3, 4)))
    assert not Plane(source, choices, (0, 0), (0, 1)).find_objects(source.data, None).any()


@pytest.mark.parametrize("width", [1, 2, 3])
def test_an_outline_is_as_wide_as_asked_for(width):
    mask = np.pad(np.ones((9, 9), bool), 2)
    code = outline(mask, width)
    assert (code > 0).sum() == 81
    assert (code == 1).sum() == (9 - 2 * width) ** 2
    assert mask.sum() == 81


def test_the_border_of_the_image_makes_no_edge():
    assert (outline(np.ones((4, 5), bool)) == 1).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (7, 2), (13, 17)])
def test_the_edge_of_an_object_is_where_another_label_is_near(shape):
    labels = np.random.default_rng(5).integers(0, 3, shape)
    labels[: shape[0] // 2, : shape[1] // 2 + 1] = 2**40 + 1  # differs from 1 beyond 32 bits
    places = np.argwhere(np.ones(shape, bool))
    steps = np.abs(places[:, None] - places[None]).sum(axis=-1)
    differ = labels.ravel()[:, None] != labels.ravel()
    for width in (1, 2, 3):
        edge = (differ & (steps <= width)).any(axis=1).reshape(shape)
        expected = np.where(labels == 0, 0, 1 + edge)
        np.testing.assert_array_equal(outline(labels, width), expected)


# -------------------------------------------------------------------- colors


def colored(values, low, high):
    """Return the colors of labels 0, 1, ... by their values."""
    scale = make_scale("gray")
    labels = np.arange(len(values))
    return color_labels(labels, np.array(values, float), (low, high), scale, np.uint8).color_dict


def test_values_get_the_color_of_their_place_on_the_scale():
    colors = colored([np.nan, 0.0, 5, 10, np.nan], 0, 10)
    assert [colors[number][0] for number in (1, 3)] == [0, 1]
    assert colors[2][0] == pytest.approx(0.5, abs=0.01)
    for missing in (colors[4], colors[None]):
        np.testing.assert_array_equal(missing, np.array(MISSING, "f4"))
    assert colors[0][3] == 0


def test_a_scale_without_width_has_one_color():
    assert tuple(colored([np.nan, 3.0], 3, 3)[1]) == (0, 0, 0, 1)


def test_infinite_values_get_the_ends_of_the_scale():
    colors = colored([np.nan, -np.inf, np.inf], 0, 1)
    assert [colors[number][0] for number in (1, 2)] == [0, 1]


def test_a_few_extreme_values_do_not_set_the_limits():
    low, high = limits(np.array([*range(1000), 1e9]))
    assert 5 < low < 15
    assert 980 < high < 1000


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf]])
def test_limits_of_nothing_are_those_of_a_scale(values):
    assert limits(np.array(values, float)) == (0, 1)


# ----------------------------------------------------------------- sentences


class CUDARuntimeError(RuntimeError):
    __module__ = "cupy_backends.cuda.api.runtime"


def test_a_gpu_that_is_lost_is_told_with_what_helps():
    text = explain(CUDARuntimeError("cudaErrorDevicesUnavailable: device lost"))
    assert "device lost" in text
    assert "Choose the device 'cpu'" in text


def test_a_gpu_behind_another_error_is_found():
    error = RuntimeError("failed")
    error.__cause__ = CUDARuntimeError("lost")
    assert "Choose the device 'cpu'" in explain(error)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DeviceUnavailableError("device='cuda' needs a card; got none."), "needs a card"),
        (MemoryError("Unable to allocate 9 TiB"), "must fit into memory; got Unable"),
        (MemoryError("image must fit; got 3. Crop it."), "image must fit; got 3. Crop it."),
        (OSError(12, "Cannot allocate memory"), "must fit into memory; got [Errno 12]"),
        (RuntimeError("boom\nbang"), "got RuntimeError: boom bang. Please report"),
        (ValueError(), "got ValueError"),
    ],
)
def test_errors_become_one_line(error, words):
    assert words in explain(error)
    assert "\n" not in explain(error)


# ------------------------------------------------------------------- samples


@pytest.mark.parametrize(
    "key", ["nuclei_2d", "nuclei_3d", "movie", "porous_medium", "percolation", "spiral"]
)
def test_samples_are_layers_with_sizes_and_names(key):
    [(pixels, options, kind)] = as_layers(key)
    layer = layers.Image(pixels, **options)
    assert kind == "image"
    assert layer.ndim == len(layer.axis_labels)
    assert layer.axis_labels[-2:] == ("y", "x")
    assert layer.metadata["description"].endswith(".")
