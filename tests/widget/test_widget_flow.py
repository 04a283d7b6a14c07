"""From a layer to labels and a table, without a screen; and how to say it again."""

import shlex
from itertools import chain

import numpy as np
import pandas as pd
import pytest

import equilabel
from equilabel import segment
from equilabel.measuring.neighbors import COLUMNS
from equilabel.samples import movie, nuclei_2d, nuclei_3d
from equilabel.segmentation.stages import default_properties
from equilabel.storage.table import as_table
from equilabel.widget.logic.choices import (
    TICKED,
    Choices,
    connectivities,
    offered,
    question_smoothing,
)
from equilabel.widget.logic.objects import find_kept, keep_objects, summarize
from equilabel.widget.logic.outcomes import measure_source, segment_source
from equilabel.widget.logic.scripts import python_line, script_of, why_no_command, with_filters
from equilabel.widget.logic.sources import Source, guess_roles, labels_transform

layers = pytest.importorskip("napari.layers")
USUAL = ("num_pixels", "area", "centroid")


def quiet(_):
    pass


def run(layer, **options):
    source = Source.of(layer)
    choices = Choices(**{"properties": USUAL, **options})
    return segment_source(source, choices, quiet), choices


CASES = {
    "2D": (nuclei_2d((96, 120)), {}, {}),
    "sized": (
        nuclei_2d((96, 120)),
        {"scale": (0.3, 0.3), "units": ("um", "um")},
        {"sigma": "0.6um"},
    ),
    "3D": (nuclei_3d((16, 96, 96)), {"scale": (4, 1, 1)}, {"connectivity": 1, "min_size": 9}),
    "movie": (movie((4, 128, 128)), {"axis_labels": ("t", "y", "x")}, {"exclude_border": True}),
    "channels first": (
        np.stack([nuclei_2d((128, 128), seed) for seed in (1, 2)]),
        {"axis_labels": ("c", "y", "x")},
        {"channel": 1},
    ),
    "channels between": (
        np.stack([movie((3, 48, 50), seed) for seed in (1, 2)], axis=1),
        {"axis_labels": ("t", "c", "y", "x")},
        {"channel": 1, "fill_holes": True},
    ),
    "positions and time": (
        np.stack([movie((3, 48, 50), seed) for seed in (1, 2)]),
        {"axis_labels": ("p", "t", "y", "x")},
        {"threshold": (300.0, 600.0)},
    ),
    "time last": (
        np.moveaxis(movie((3, 48, 50)), 0, -1),
        {"axis_labels": ("y", "x", "t"), "rgb": False},
        {"threshold": "li"},
    ),
    "gray": (np.dstack([nuclei_2d((64, 70)) // 16] * 3).astype("u1"), {"rgb": True}, {}),
    "green": (
        np.dstack([nuclei_2d((64, 70), seed) // 16 for seed in range(3)]).astype("u1"),
        {"rgb": True},
        {"color": "green"},
    ),
    "dark": (4095 - nuclei_2d((96, 120)) // 16, {}, {"dark": True}),
    "every stage": (
        nuclei_2d((96, 120)),
        {"scale": (0.3, 0.3), "units": ("um", "um")},
        {
            **{"background": "9um", "closing": "0.6um", "opening": 1.5, "split": "0.3um"},
            **{"min_size": "2um2", "exclude_border": True},
        },
    ),
    "tracked": (
        movie((4, 128, 128)),
        {"axis_labels": ("t", "y", "x")},
        {"track": True, "background": 30.0, "sigma": 1.0},
    ),
    "local": (nuclei_2d((96, 120)), {}, {"threshold": "local", "block_size": 31, "offset": -50.0}),
}


@pytest.fixture(params=CASES)
def case(request):
    pixels, options, choices = CASES[request.param]
    layer = layers.Image(pixels, name="cells", **options)
    return layer, *run(layer, **choices)


def test_labels_overlay_the_image(case):
    layer, outcome, _ = case
    shown = layers.Labels(outcome.labels, **outcome.transform)
    assert outcome.metadata["objects"] > 1
    count = shown.ndim
    assert count in (layer.ndim, layer.ndim - 1)
    assert shown.data.shape == layer.data.shape[layer.ndim - count :][:count]
    np.testing.assert_allclose(shown.extent.world, layer.extent.world[:, layer.ndim - count :])
    assert shown.units == layer.units[layer.ndim - count :]


def test_the_python_line_repeats_the_run(case):
    layer, outcome, _ = case

    class viewer:
        layers = {"cells": layer}  # noqa: RUF012

    names = {"viewer": viewer}
    exec(outcome.metadata["python"], names)  # what a person would paste
    found = names["found"]
    assert found.num == outcome.metadata["objects"]
    assert found.threshold == outcome.metadata["threshold"]
    table = as_table(outcome.features, outcome.metadata["columns"])
    pd.testing.assert_frame_equal(found.table, table)


def test_the_metadata_repeat_the_run(case):
    layer, outcome, _ = case
    made = outcome.metadata
    source = Source.of(layer, made["axes"])
    image = source.arrange(source.read(made["color"]))
    found = segment(image, **made["parameters"])
    assert (found.num, found.threshold) == (made["objects"], made["threshold"])
    assert (made["method"], made["device"]) == (found.method, found.device)
    assert made["seconds"] > 0


def test_each_row_measures_the_label_of_its_number():
    outcome = run(layers.Image(nuclei_2d((200, 200))))[0]
    for number in (1, 5, outcome.metadata["objects"]):
        assert outcome.features["num_pixels"][number] == (outcome.labels == number).sum()


def test_stages_are_told_in_order():
    told = []
    source = Source.of(layers.Image(nuclei_2d((64, 64))))
    choices = Choices(fill_holes=True, min_size=5, properties=USUAL)
    segment_source(source, choices, told.append)
    assert told == ["read", "binarize", "fill", "label", "drop", "measure"]


def test_what_progress_raises_ends_the_run():
    def stop(stage):
        if stage == "label":
            raise KeyboardInterrupt

    source = Source.of(layers.Image(nuclei_2d((64, 64))))
    with pytest.raises(KeyboardInterrupt):
        segment_source(source, Choices(properties=USUAL), stop)


def test_an_image_turned_and_moved_has_its_labels_turned_and_moved():
    image = layers.Image(
        np.stack([nuclei_2d((64, 70))] * 2),
        scale=(1, 2, 3),
        translate=(0, 5, 7),
        rotate=np.array([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]),
        affine=np.diag([1, 2, 1, 1]),
    )
    outcome, _ = run(image)
    labels = layers.Labels(outcome.labels, **outcome.transform)
    for corner in ((0, 0), (10, 20), (63, 69)):
        expected = image.data_to_world((0, *corner))[1:]
        np.testing.assert_allclose(labels.data_to_world(corner), expected)


def test_shear_of_the_first_axis_is_left_out():
    image = layers.Image(np.zeros((2, 4, 5)), shear=(0.0, 0.0, 0.5))
    less = labels_transform(Source.of(image, ("channel", "space", "space")))
    assert np.atleast_1d(less["shear"]).tolist() == [0.5]


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (np.full((8, 8), 7), "the same gray value, 7: there is nothing"),
        (np.full((8, 8), np.nan), "All pixels are NaN or infinite"),
        (np.eye(8) * 5, "Move the threshold"),
    ],
)
def test_why_there_is_no_object_is_told(pixels, words):
    outcome, _ = run(layers.Image(pixels, name="dull"), threshold=99.0)
    assert outcome.metadata["objects"] == 0
    assert words in outcome.note
    assert "'dull'" in outcome.note


# ------------------------------------------------------------------ measure


def test_any_labels_are_measured_with_any_image():
    labels = np.array([[1, 1, 0], [0, 0, 3]])
    image = np.array([[2.0, 4.0, 9], [9, 9, 7]])
    outcome = measure_source(
        Source.of(layers.Labels(labels, scale=(2, 2))),
        Source.of(layers.Image(image, name="gray")),
        ("area", "intensity_mean"),
        quiet,
    )
    assert outcome.features["area"].tolist()[1::2] == [8, 4]
    assert outcome.features["intensity_mean"].tolist()[1::2] == [3, 7]
    assert outcome.metadata["intensity"] == "gray"


def test_labels_are_measured_without_an_image():
    labels = layers.Labels(np.array([[1, 1, 0]]))
    outcome = measure_source(Source.of(labels), None, ("area",), quiet)
    assert outcome.features["area"].tolist()[1:] == [2]


def test_an_image_of_another_shape_is_refused():
    labels, image = layers.Labels(np.ones((3, 4), int)), layers.Image(np.ones((4, 4)), name="gray")
    with pytest.raises(ValueError, match=r"image must have the shape .*\(3, 4\); got \(4, 4\)"):
        measure_source(Source.of(labels), Source.of(image), ("intensity_mean",), quiet)


def test_labels_with_large_gaps_are_measured_and_told():
    labels = layers.Labels(np.array([[1, 1, 0, 10**6]]))
    outcome = measure_source(Source.of(labels), None, ("area",), quiet)
    assert outcome.features["index"].tolist() == [0, 1, 10**6]
    assert "without large gaps" in outcome.note


def test_labels_that_repeat_along_channels_are_measured_once():
    pixels, options, choices = CASES["channels between"]
    image = layers.Image(pixels, name="cells", **options)
    outcome, _ = run(image, **choices)
    labels = layers.Labels(outcome.labels, **outcome.transform)
    again = measure_source(
        Source.of(labels, outcome.metadata["axes"]), Source.of(image), USUAL, quiet
    )
    pd.testing.assert_frame_equal(again.features, outcome.features)


# ------------------------------------------------------------------ choices


@pytest.mark.parametrize(("rank", "counts"), [(1, "2"), (2, "4 8"), (3, "6 18 26")])
def test_connectivities_have_their_familiar_names(rank, counts):
    names = [name.split(":")[0] for name, _ in connectivities(rank)]
    assert names == counts.split()


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_the_name_of_a_connectivity_counts_its_neighbors(rank):
    offsets = np.stack(np.meshgrid(*[[-1, 0, 1]] * rank), -1).reshape(-1, rank)
    for name, hops in connectivities(rank):
        count = ((np.abs(offsets).sum(1) <= hops) & np.abs(offsets).any(1)).sum()
        assert int(name.split(":")[0]) == count


def test_only_what_differs_from_the_defaults_is_an_argument():
    source = Source.of(layers.Image(np.zeros((4, 5))))
    assert Choices().arguments(source) == {}
    assert Choices(offset=3.0, block_size=9).arguments(source) == {}
    assert Choices(sigma=1.0).arguments(source) == {"sigma": 1.0}


# --------------------------------------------------------------- statistics


def source_of(spacing, *, stacked=False):
    """Return the source of a tiny image of some pixel size, which may be of one axis."""
    image = layers.Image(np.zeros((2,) * 6))
    scale = (1.0,) * stacked + spacing
    units = image.units[: len(scale)]
    roles = ("time",) * stacked + ("space",) * len(spacing)
    return Source("", image.data, False, {"scale": scale, "units": units}, roles)


@pytest.mark.parametrize("image", [True, False])
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("spacing", [(1.0,), (0.5, 0.5), (2.0, 1.0), (4.0, 1.0, 1.0), (1.0,) * 4])
def test_every_statistic_offered_can_be_measured(spacing, stacked, image):
    shape = (2,) * stacked + (6,) * len(spacing)
    labels = np.zeros(shape, int)
    labels[(0,) * stacked + (slice(1, 5),) * len(spacing)] = 1
    source = source_of(spacing, stacked=stacked)
    statistics = [*chain(*offered(source, image=image).values())]
    table = equilabel.regionprops_table(
        labels,
        np.ones(shape) if image else None,
        [each.name for each in statistics],
        spacing=spacing,
        stacked=stacked,
    )
    assert len(statistics) >= 6
    assert all(column.dtype.kind in "iufb" and len(column) == 1 for column in table.values())


@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("spacing", [(1.0,), (0.5, 0.5), (2.0, 1.0), (4.0, 1.0, 1.0), (1.0,) * 4])
def test_the_usual_statistics_are_those_of_segment(spacing, stacked):
    usual = [each.name for each in offered(source_of(spacing, stacked=stacked))[TICKED]]
    assert usual == list(default_properties(len(spacing), spacing, stacked)[1:])


def test_every_column_of_numbers_is_offered_once_in_its_group():
    offers = [offered(source_of((1.0,) * rank, stacked=True)) for rank in (2, 3)]
    offers.append(offered(source_of((2.0, 1.0))))
    names = set()
    for groups in offers:
        listed = [each.name for each in chain(*groups.values())]
        assert len(set(listed)) == len(listed)
        names |= {*listed}
        for group, rows in groups.items():
            assert rows
            assert group == TICKED or {each.group for each in rows} == {group}
    arrays = {"coords", "coords_scaled", "slice"}
    arrays |= {name for name in equilabel.PROPERTIES if name.startswith("image")}
    assert names == set(equilabel.PROPERTIES) - arrays - {"label"}


def test_nothing_that_is_offered_is_measured_object_by_object():
    rows = chain(*offered(source_of((1.0, 1.0))).values())
    assert {each.name for each in rows if not each.counted} == {*COLUMNS}  # of all at once, too


# ------------------------------------------------------------------ command


def test_the_command_repeats_the_run_on_the_file(here, capsys):
    from equilabel.cli import main
    from equilabel.storage.table import read_table
    from equilabel.storage.tiff import read_tiff, write_labels

    pixels = nuclei_2d((96, 120))
    path = here / "two cells.tif"
    write_labels(path, pixels, axes="YX", spacing={"Y": 0.5, "X": 0.5}, unit="µm")
    layer = layers.Image(pixels, name="cells", scale=(0.3, 0.3), units=("um", "um"))
    source = Source.of(layer)
    source = Source(**{**vars(source), "path": str(path)})
    choices = Choices(
        threshold="li",
        sigma="0.4um",
        fill_holes=True,
        connectivity=1,
        min_size=12,
        exclude_border=True,
        properties=(*USUAL, "intensity_mean"),
    )
    outcome = segment_source(source, choices, quiet)
    words = shlex.split(outcome.metadata["batch"])
    words[words.index("results")] = str(here / "results")
    assert main(words[1:]) == 0
    [written] = (here / "results").glob("*_labels.tif")
    np.testing.assert_array_equal(read_tiff(written).pixels, outcome.labels)
    [table] = (here / "results").glob("*_table.csv")
    expected = as_table(outcome.features, outcome.metadata["columns"])
    pd.testing.assert_frame_equal(read_table(table), expected)


def test_the_command_leaves_the_pixel_size_of_the_file_where_the_layer_has_none():
    source = Source.of(layers.Image(nuclei_2d((40, 50)), name="cells"))
    assert "spacing" not in segment_source(source, Choices(), quiet).metadata["batch"]


@pytest.mark.parametrize("name", CASES)
def test_the_command_repeats_a_run_on_every_kind_of_layer_or_says_why_not(name, here):
    from tifffile import imwrite

    from equilabel.cli import main
    from equilabel.storage.table import read_table
    from equilabel.storage.tiff import read_tiff

    pixels, options, choices = CASES[name]
    path = here / "image.tif"
    layer = layers.Image(pixels, name="cells", **options)
    source = Source(**{**vars(Source.of(layer)), "path": str(path)})
    roles = source.roles
    frames = ("frame",) if "time" in roles else ()
    usual = ("label", *frames, "area", "bbox", "intensity_mean")  # as the form ticks them
    made = segment_source(source, Choices(**{"properties": usual[1:], **choices}), quiet)
    words = shlex.split(made.metadata["batch"])
    if source.rgb or roles.count("time") > 1:
        assert not words
        assert made.metadata["no_batch"]
        return
    names = iter("ZYX"[-roles.count("space") :])
    letters = {"time": lambda: "T", "channel": lambda: "C", "space": lambda: next(names)}
    axes = "".join(letters[role]() for role in roles)
    order = [axes.index(letter) for letter in "TCZYX" if letter in axes]
    imwrite(
        path, pixels.transpose(order), metadata={"axes": "".join(axes[k] for k in order)}, ome=True
    )
    assert main(words[1:]) == 0
    [written] = (here / "results").glob("*_labels.tif")
    arranged = source.arrange(np.broadcast_to(made.labels, source.shape))
    found = arranged[..., 0] if "channel" in roles else arranged
    np.testing.assert_array_equal(read_tiff(written).pixels, found)
    table = read_table(next((here / "results").glob("*_table.csv"))).fillna({"event": ""})
    pd.testing.assert_frame_equal(table, as_table(made.features, made.metadata["columns"]))


def test_the_python_line_of_a_filtered_layer_repeats_the_filter():
    layer = layers.Image(nuclei_2d((96, 120)), name="cells")
    outcome, _ = run(layer)
    middle = float(outcome.features["area"].median())
    ranges = {"area": (middle, None), "num_pixels": (None, 2 * middle)}
    line = with_filters(outcome.metadata["python"], [ranges])
    names = {"viewer": type("viewer", (), {"layers": {"cells": layer}})}
    exec(line, names)  # what a person would paste
    kept = find_kept(outcome.features, ranges)
    labels, rows = keep_objects(outcome.labels, outcome.features, kept)
    assert 0 < names["found"].num == labels.max() < outcome.metadata["objects"]
    np.testing.assert_array_equal(names["found"].labels, labels)
    table = as_table(rows, {**outcome.metadata["columns"], "label_before": int})
    pd.testing.assert_frame_equal(names["found"].table, table)


@pytest.mark.parametrize("name", ["gray", "positions and time"])
def test_what_the_command_cannot_say_is_left_unsaid(name):
    pixels, options, choices = CASES[name]
    source = Source.of(layers.Image(pixels, **options))
    assert why_no_command(source)
    assert python_line(source, Choices(**choices))


def test_channels_that_the_file_does_not_name_are_not_left_to_the_command(tmp_path):
    from tifffile import imwrite

    pixels = np.stack([nuclei_2d((32, 40), seed) for seed in (1, 2)])
    source = Source.of(layers.Image(pixels))  # two planes: taken for channels
    assert source.roles[0] == "channel"
    for axes, expected in ((None, True), ("CYX", False)):
        path = tmp_path / f"{axes}.tif"
        imwrite(path, pixels, metadata=axes and {"axes": axes}, ome=bool(axes))
        named = Source(**{**vars(source), "path": str(path)})
        assert bool(why_no_command(named)) == expected
        made = segment_source(named, Choices(channel=1), quiet).metadata
        assert bool(made["batch"]) != expected


def test_a_pixel_size_that_the_layer_lacks_is_not_taken_from_the_file(here):
    """Lengths of the copied command were in µm, those of the run in pixels."""
    from tifffile import imwrite

    from equilabel.cli import main
    from equilabel.storage.table import read_table

    pixels, path = nuclei_2d((96, 120)), here / "cells.tif"
    imwrite(path, pixels, resolution=(20000, 20000), resolutionunit="CENTIMETER")
    layer = Source.of(layers.Image(pixels, name="cells"))
    source = Source(**{**vars(layer), "path": str(path)})
    made = segment_source(source, Choices(split=1.5), quiet)
    script, said = script_of("cells objects", made.metadata, "batch", {})
    assert said.endswith("It does not use the pixel size of the file, which the layer lacks.")
    assert main(shlex.split(script)[1:]) == 0
    table = read_table(next((here / "results").glob("*_table.csv")))
    np.testing.assert_allclose(table["area"], made.features["area"][1:])


def test_the_guess_for_a_sample_is_right():
    from equilabel.widget.logic import samples

    for make in (samples.nuclei_2d, samples.nuclei_3d, samples.movie, samples.porous_medium):
        [(pixels, options, _)] = make()
        layer = layers.Image(pixels, **options)
        expected = ["time" if name == "t" else "space" for name in options["axis_labels"]]
        assert Source.of(layer).roles == tuple(expected)
        assert guess_roles(pixels.shape, options["axis_labels"]) == tuple(expected)


@pytest.mark.parametrize(
    ("value", "threshold", "objects", "said"),
    [
        (np.nan, "otsu", 0, "are NaN or infinite"),
        (7.0, "otsu", 0, "gray value, 7"),
        (7.0, 5, 1, "gray value, 7"),
    ],
)
def test_an_image_in_which_nothing_can_be_found_is_not_done_without_a_word(
    value, threshold, objects, said
):
    outcome, _ = run(layers.Image(np.full((9, 9), value)), threshold=threshold)
    assert outcome.metadata["objects"] == objects
    assert said in outcome.note
    summary = summarize(outcome.features, outcome.metadata)
    assert ("no threshold" in summary) == np.isnan(value)


def test_a_wide_blur_is_questioned_in_words():
    image = layers.Image(np.zeros((8, 512, 512)), scale=(4, 1, 1))
    source = Source.of(image, ("time", "space", "space"))
    said = [question_smoothing(source, Choices(sigma=sigma)) for sigma in (0.0, 20.0, 39.0)]
    assert said[:2] == ["", ""]
    assert said[2].startswith("The image is blurred over 92 pixels, more than a tenth of its 512")
