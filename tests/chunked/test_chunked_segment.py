"""Objects of images in chunks: labels and table of the whole image."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import ndimage

from equilabel import PROPERTIES, segment, segment_chunked
from equilabel.storage.ome_zarr import find_image

pytestmark = pytest.mark.slow

SUMS = ("intensity", "sum", "weighted")  # columns of sums over gray values
KINDS = {"u1": 255, "i2": 4000, "f4": 1.0}
THRESHOLDS = ["otsu", "triangle", "isodata", "yen", "mean", None]


def smooth_noise(rng, shape, kind):
    image = ndimage.gaussian_filter(rng.random(shape), 1.0)
    return ((image - image.min()) / np.ptp(image) * KINDS[kind]).astype(kind)


def moving(numbers=12):
    """A movie of drops that move, divide and vanish."""
    rng = np.random.default_rng(7)
    movie = np.zeros((7, 40, 50), np.float32)
    places, steps = rng.uniform(5, 40, (numbers, 2)), rng.normal(0, 1.5, (numbers, 2))
    for frame, image in enumerate(movie):
        for place in np.clip(places + frame * steps, 0, 39).astype(int):
            image[tuple(place)] += 200
    return (ndimage.gaussian_filter(movie, (0, 2, 2)) * 9).astype(np.uint8)


def stored_at(path, movie):
    array = zarr.create_array(path, shape=movie.shape, chunks=(1, 16, 16), dtype=movie.dtype)
    array[...] = movie
    return array


@pytest.mark.parametrize(
    ("chunks", "numbering"), [((3, 20, 50), "raster"), ((1, 16, 16), "blocks")]
)
def test_tracks_of_a_movie_are_those_of_the_movie_in_memory(tmp_path, chunks, numbering):
    movie = moving()
    options = {"threshold": 8, "stacked": True, "track": True, "min_size": 4}
    expected = segment(movie, **options)
    assert expected.table.event.nunique() > 2
    image = stored_at(tmp_path / "movie.zarr", movie)
    how = {"chunks": chunks, "numbering": numbering, **options}
    stored = segment_chunked(image, out=tmp_path / "labels.zarr", **how)
    again = segment_chunked(image, out=tmp_path / "labels.zarr", resume=True, **how)
    memory = segment_chunked(movie, **how)
    order = ["frame", "bbox-0", "bbox-1", "area"]
    for found in (stored, again, memory):
        table = found.table
        if numbering == "raster":
            np.testing.assert_array_equal(found.labels[...], expected.labels)
            pd.testing.assert_frame_equal(table, expected.table)
        else:  # the same objects, of other numbers
            columns = [name for name in table if name != "label"]
            one, other = (
                each.sort_values(order)[columns].reset_index(drop=True)
                for each in (table, expected.table)
            )
            numbers = ["track", "parent"]
            pd.testing.assert_frame_equal(one.drop(columns=numbers), other.drop(columns=numbers))
            assert table.track.max() == expected.table.track.max()
    with pytest.raises(ValueError, match="track needs stacked=True"):
        segment_chunked(movie, chunks=8, track=True)


def test_tracks_of_many_objects_are_in_each_part_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr("equilabel.chunked.tables.ROWS", 9)
    movie = moving()
    options = {"threshold": 8, "stacked": True, "track": True, "properties": ("label", "area")}
    image = stored_at(tmp_path / "movie.zarr", movie)
    found = segment_chunked(image, out=tmp_path / "labels.zarr", **options)
    pd.testing.assert_frame_equal(found.table, segment(movie, **options).table)


def mergeable(rank, stacked):
    return [
        name
        for name, row in PROPERTIES.items()
        if row.mergeable and (not row.ranks or rank in row.ranks) and (name != "frame" or stacked)
    ]


def random_case(seed):
    """Return an image, arguments of `segment`, and sides of chunks."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    stacked = bool(axes > 1 and rng.random() < 0.3)
    shape = rng.integers(4, {1: 60, 2: 20, 3: 11}[axes], axes).tolist()
    kind = rng.choice(list(KINDS))
    image = smooth_noise(rng, shape, kind)
    sigma = float(rng.choice([0, 0, 0.8]))
    threshold = THRESHOLDS[rng.integers(len(THRESHOLDS))] or float(np.median(image))
    if threshold == "mean" and (kind == "f4" or sigma):
        threshold = "otsu"
    arguments = {
        "threshold": threshold,
        "sigma": sigma,
        "dark": bool(rng.random() < 0.2),
        "connectivity": int(rng.integers(1, axes - stacked + 1)),
        "min_size": int(rng.integers(0, 5)),
        "max_size": [None, 60][rng.integers(2)],
        "exclude_border": bool(rng.random() < 0.3),
        "properties": mergeable(axes - stacked, stacked),
        "spacing": [None, 0.5, (2.0, *(0.5,) * (axes - stacked - 1))][seed % 3],
        "stacked": stacked,
    }
    if rng.random() < 0.3:
        axis, count = int(rng.integers(axes + 1)), int(rng.integers(1, 4))
        image = np.stack([np.roll(image, 3 * one, -1) for one in range(count)], axis)
        arguments |= {"channel_axis": axis, "channel": int(rng.integers(count))}
    return image, arguments, [int(rng.integers(2, side + 1)) for side in shape]


@pytest.mark.parametrize("part", range(2))
def test_labels_and_all_columns_are_those_of_the_whole_image(part):
    for seed in range(part, 40, 2):
        image, arguments, chunks = random_case(seed)
        expected = segment(image, **arguments)
        found = segment_chunked(image, chunks=chunks, scheduler="synchronous", **arguments)
        assert (found.threshold, found.num) == (expected.threshold, expected.num)
        np.testing.assert_array_equal(found.labels, expected.labels, f"{seed}", strict=True)
        for name in expected.table:
            rounded = image.dtype.kind == "f" and name.startswith(SUMS)
            pd.testing.assert_series_equal(
                found.table[name], expected.table[name], check_exact=not rounded, rtol=1e-9
            )


def test_wide_integers_and_constant_images_have_their_threshold():
    wide = smooth_noise(np.random.default_rng(1), (30, 40), "f4") * 1e9
    for image in (wide.astype(np.int64), wide.astype(np.float64), np.full((9, 9), 3.5)):
        expected = segment(image, properties=["label"])
        found = segment_chunked(image, chunks=11, properties=["label"])
        assert found.threshold == expected.threshold
        np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("method", ["otsu", "triangle", "yen", "isodata"])
@pytest.mark.parametrize(
    ("dtype", "low", "step"), [("f4", 0, 1e30), ("f8", -1e308, 1e308), ("f8", 1, 1e-15)]
)
def test_floats_too_large_or_too_close_for_bins_have_the_same_threshold(method, dtype, low, step):
    rng = np.random.default_rng(0)
    image = (low + step * rng.choice([0, 0.1, 0.9, 1], (40, 50), p=[0.6, 0.2, 0.1, 0.1])).astype(
        dtype
    )
    image[rng.random(image.shape) < 0.02] = np.nan
    found = segment_chunked(image, method, chunks=16, properties=["label"])
    expected = segment(image, method, properties=["label"])
    assert found.threshold == expected.threshold
    np.testing.assert_array_equal(np.asarray(found.labels), expected.labels)
    if low < 0:
        with pytest.raises(ValueError, match="too large to be added; got 'mean'"):
            segment_chunked(np.abs(image), "mean", chunks=16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"properties": ["label", "area_convex"]},
            "must be counts that blocks add up to.*area_conv",
        ),
        ({"properties": ["moments_hu"]}, "got 'moments_hu'. Leave it out"),
        ({"threshold": "local"}, "block_size must be given where threshold='local'"),
        ({"offset": 1}, "offset must be left out unless threshold='local'"),
        ({"background": "1um"}, "background"),
        ({"threshold": "li", "sigma": 1}, "needs no more than a histogram"),
        ({"chunks": 1}, "chunks must be 2 or more"),
        ({"sigma": 4000}, "sigma must be at most 1000 pixels"),
        ({"sigma": "2um"}, "sigma"),
        ({"channel": 1}, "channel needs channel_axis"),
        ({"channel_axis": 0}, "channel must be one of 0 to 8"),
    ],
)
def test_what_needs_all_pixels_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        segment_chunked(np.eye(9), **{"chunks": 4, **arguments})


def write_ome(folder, image, axes, version, scale):
    """Write two resolutions of an OME-Zarr, at a position, with consolidated metadata."""
    form = 2 if version == "0.4" else 3
    group = zarr.create_group(folder, zarr_format=form)
    lower = np.array((1, 1, 1, 3, 2))
    levels = image, image[..., 1::3, ::2]
    for name, pixels in zip(("s0", "s1"), levels, strict=True):
        group.create_array(name, shape=pixels.shape, chunks=(1, 1, 8, 16, 16), dtype=image.dtype)
        group[name][...] = pixels
    moved = [[0, 0, 0, 7.0, 0], [0, 0, 0, 7.0 + scale[3], 0]]
    names = {"t": "time", "c": "channel"}
    scales = {
        "axes": [
            {"name": one, "type": names.get(one, "space")}
            | ({"unit": "micrometer"} if one in "zyx" else {})
            for one in axes
        ],
        "datasets": [
            {
                "path": f"s{level}",
                "coordinateTransformations": [
                    {"type": "scale", "scale": (np.array(scale) * lower**level).tolist()},
                    {"type": "translation", "translation": moved[level]},
                ],
            }
            for level in (0, 1)
        ],
    }
    if form == 2:
        group.attrs["multiscales"] = [{"version": "0.4", **scales}]
    else:
        group.attrs["ome"] = {"version": "0.5", "multiscales": [scales]}
    with warnings.catch_warnings(action="ignore"):  # format 3 has no such block yet, zarr says
        zarr.consolidate_metadata(folder)


@pytest.mark.parametrize("version", [pytest.param("0.4", marks=pytest.mark.long), "0.5"])
def test_labels_of_an_ome_zarr_are_listed_in_it_with_lower_resolutions(version, tmp_path):
    image = smooth_noise(np.random.default_rng(2), (2, 3, 12, 40, 300), "u1")
    scan = tmp_path / "scan.ome.zarr"
    write_ome(scan, image, "tczyx", version, [1.0, 1.0, 2.0, 0.5, 0.5])
    out = scan / "labels" / "nuclei"
    arguments = {"channel": 1, "threshold": 140, "min_size": "1um3"}
    found = segment_chunked(scan, out=out, **arguments)
    assert found.labels == out
    assert f"labels: {str(out)!r}" in repr(found)
    expected = segment(
        image, stacked=True, channel_axis=1, channel=1, threshold=140, min_size=2,
        spacing=(2.0, 0.5, 0.5),
    )  # fmt: skip
    pd.testing.assert_frame_equal(found.table, expected.table)
    labels = zarr.open_array(out / "0", mode="r")
    assert labels.dtype == np.uint32
    form = {"0.4": (2, None), "0.5": (3, tuple("tzyx"))}[version]
    known = labels.metadata.to_dict()
    assert (known["zarr_format"], known.get("dimension_names")) == form
    np.testing.assert_array_equal(labels[...], expected.labels)
    np.testing.assert_array_equal(zarr.open_array(out / "1")[...], expected.labels[:, :, 1::3, ::2])
    assert zarr.open_group(scan)["labels/nuclei/1"].shape == (2, 12, 13, 150)
    assert not (out / "2").exists()
    described = find_image(out)
    assert (described.axes, described.unit, described.version) == ("TZYX", "µm", version)
    assert described.spacing == {"Z": 2.0, "Y": 0.5, "X": 0.5}
    file = ".zattrs" if version == "0.4" else "zarr.json"
    listed, about = (json.loads((folder / file).read_text()) for folder in (out.parent, out))
    if version == "0.5":
        listed, about = listed["attributes"]["ome"], about["attributes"]["ome"]
    assert listed["labels"] == ["nuclei"]
    assert about["image-label"]["source"] == {"image": "../../"}
    assert len(about["image-label"]["properties"]) == found.num
    assert about["multiscales"][0]["datasets"][1]["coordinateTransformations"] == [
        {"type": "scale", "scale": [1.0, 2.0, 1.5, 1.0]},
        {"type": "translation", "translation": [0.0, 0.0, 7.5, 0.0]},
    ]
    again = segment_chunked(scan, out=out, resume=True, **arguments)
    pd.testing.assert_frame_equal(again.table, found.table)
    assert again.threshold == 140


def test_axes_of_an_ome_zarr_may_be_written_out(tmp_path):
    image = smooth_noise(np.random.default_rng(3), (2, 3, 12, 40, 30), "u1")
    words = ("Time", "channel", "depth", "height", "width")
    tables = []
    for name, axes in (("letters", "tczyx"), ("words", words)):
        write_ome(tmp_path / name, image, axes, "0.5", [1.0, 1.0, 2.0, 0.5, 0.5])
        out = tmp_path / f"{name}_labels"
        tables.append(segment_chunked(tmp_path / name, channel=1, threshold=140, out=out).table)
    assert find_image(tmp_path / "words").axes == "TCZYX"
    assert len(tables[0]) > 1
    pd.testing.assert_frame_equal(*tables)


def test_labels_of_an_array_whose_axes_are_named_become_an_ome_zarr(tmp_path):
    image = smooth_noise(np.random.default_rng(4), (2, 1, 40, 300), "u1")
    source = zarr.create_array(tmp_path / "image.zarr", data=image, chunks=(1, 1, 16, 16))
    named = {"axes": "TZYX", "spacing": (2.0, 0.5, 0.5), "unit": "um", "threshold": 140}
    found = segment_chunked(source, out=tmp_path / "labels", **named)
    expected = segment(image, stacked=True, threshold=140, spacing=(2.0, 0.5, 0.5))
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    pd.testing.assert_frame_equal(found.table, expected.table)
    described = find_image(tmp_path / "labels")
    assert (described.axes, described.unit, described.version) == ("TZYX", "µm", "0.5")
    for wrong in ("ZYX", "ZTYX", "TCZX", "tzyx"):
        with pytest.raises(ValueError, match=f"for each of 4 axes, with Y and X; got '{wrong}'"):
            segment_chunked(source, out=tmp_path / "other", axes=wrong)
    with pytest.raises(TypeError, match="axes must be letters"):
        segment_chunked(source, out=tmp_path / "other", axes=4)


class Stopped(Exception):
    """What a caller raises to end the work."""


HARM = (b"", b"[]", b"[" * 10**5, b"9" * 5000)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *(("manifest.json", harm) for harm in HARM),
        *(("threshold.json", harm) for harm in (*HARM, b"{}", b'{"value": "x", "constant": 1}')),
    ],
    ids=range(10),
)
def test_notes_of_a_stopped_run_that_do_not_read_are_made_again(tmp_path, name, harm):
    image = smooth_noise(np.random.default_rng(3), (20, 24), "f4")

    def stop(stage, done, total):
        if (stage, done) == ("write", 1):
            raise Stopped

    arguments = {"chunks": 8, "out": tmp_path / "out.zarr"}
    with pytest.raises(Stopped):
        segment_chunked(image, progress=stop, **arguments)
    (there,) = tmp_path.rglob(name)
    there.write_bytes(harm)
    found = segment_chunked(image, resume=True, **arguments)
    np.testing.assert_array_equal(found.labels[...], segment(image).labels)


def test_a_run_that_was_stopped_goes_on_to_the_same_table(tmp_path):
    image = smooth_noise(np.random.default_rng(3), (40, 50), "f4")
    source = zarr.create_array(tmp_path / "image.zarr", shape=(40, 50), chunks=(8, 8), dtype="f4")
    source[...] = image

    def stop(stage, done, total):
        if (stage, done) == ("write", 7):
            raise Stopped

    arguments = {"chunks": 8, "out": tmp_path / "out.zarr", "sigma": 1.0}
    with pytest.raises(Stopped):
        segment_chunked(source, progress=stop, **arguments)
    stages = []
    found = segment_chunked(
        source, resume=True, progress=lambda *one: stages.append(one[0]), **arguments
    )
    assert {"threshold", "histogram"}.isdisjoint(stages)
    assert stages.count("label") == 1
    expected = segment(image, sigma=1.0)
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    pd.testing.assert_frame_equal(found.table, expected.table)


@pytest.mark.parametrize("stacked", [False, True])
def test_an_image_without_spatial_axes_is_refused(stacked):
    with pytest.raises(ValueError, match=f"image must have at least {1 + stacked} axes"):
        segment_chunked(np.array(True), stacked=stacked)


@pytest.mark.parametrize("value", [1e308, -1e308, 1e200, np.inf, np.nan])
def test_values_near_the_end_of_their_type_are_merged_without_a_warning(value):
    image = np.ones((40, 40))
    image[5:30, 5:30] = 3
    image[10, 10] = image[20, 25] = value  # in two blocks of one object
    wanted = ("label", "intensity_sum", "intensity_mean", "intensity_std")
    expected = segment(image, 2.0, properties=wanted).table
    found = segment_chunked(image, 2.0, chunks=16, properties=wanted).table
    pd.testing.assert_frame_equal(found, expected)


def test_an_image_in_colors_is_refused_at_a_path_as_in_memory(tmp_path):
    colors = np.random.default_rng(0).integers(0, 255, (50, 60, 3), np.uint8)
    zarr.create_array(tmp_path / "colors.zarr", data=colors)
    for image in (colors, tmp_path / "colors.zarr"):
        with pytest.raises(ValueError, match="channel_axis must be given"):
            segment_chunked(image, chunks=32, out=tmp_path / "out")
