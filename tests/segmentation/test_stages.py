"""Background, closing, opening and tracks: beside scikit-image, and as stages of `segment`."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage import morphology, restoration

from batches import picture, record, refused, sizes, summary, tiff
from equilabel import label, measure, samples, segment, segmentation, track_overlaps
from equilabel.cli import main
from equilabel.devices import threads
from equilabel.samples import movie
from equilabel.segmentation import morphology as mask_morphology
from equilabel.segmentation import remembered
from equilabel.segmentation.filters import subtract_background
from equilabel.segmentation.morphology import close_mask, open_mask
from equilabel.storage.table import read_table

TYPES = ["u1", "i2", "u4", "f4", "f8"]


def noise(shape, dtype="u1", seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("radii", [(2, 2), (0, 3), (5, 1), (40, 40)])
def test_the_background_is_that_of_a_top_hat(dtype, radii):
    image = noise((23, 31), dtype)
    box = morphology.footprint_rectangle([2 * radius + 1 for radius in radii])
    found = subtract_background(image, radii)
    np.testing.assert_array_equal(found, morphology.white_tophat(image, box, mode="ignore"))
    assert found.dtype == dtype.replace("i", "u")


@pytest.mark.parametrize("method", ["top_hat", "rolling_ball"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_the_background_of_signed_integers_does_not_overflow(dtype, method):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    image = np.full((40, 40), least, dtype)
    image[10:20, 10:20] = most
    bright = subtract_background(image, 15, method=method)
    dark = subtract_background(~image, 15, method=method, dark=True)
    assert (bright.min(), dark.max()) == (0, 0)
    assert bright[15, 15] > 0.99 * (most - least) > 0.99 * most > -dark[0, 0]
    assert -dark[15, 15] > 0.99 * (most - least)
    found = segment(image, background=15, background_method=method, properties=["area"])
    assert found.table["area"].tolist() == [100]


def test_the_background_of_half_precision_is_that_of_single_precision():
    image = noise((23, 31), "f4")
    image[3, 4] = np.nan
    found = subtract_background(image.astype("f2"), (2, 5))
    np.testing.assert_array_equal(found, subtract_background(image, (2, 5)))
    assert found.dtype == np.float16


@pytest.mark.parametrize("dtype", [*TYPES, "u2", "u8"])
def test_dark_objects_lie_below_their_background(dtype):
    image = noise((13, 3, 17), dtype)
    found = subtract_background(image, (2, 0, 1.9), dark=True)
    box = np.ones((5, 1, 3))
    expected = morphology.black_tophat(image.astype("i4"), box, mode="ignore")
    np.testing.assert_array_equal(found, -expected)
    assert found.dtype.kind in "if"


@pytest.mark.parametrize("radius", [2, 5, 40])
def test_the_rolling_ball_is_that_of_scikit_image_where_256_gray_values_are_used(radius):
    image = np.random.default_rng(1).integers(0, 256, (23, 31)).astype("u1")
    image[0, :2] = 0, 255
    level = restoration.rolling_ball(image, radius=radius)
    radii = (radius, radius)
    found = subtract_background(image, radii, method="rolling_ball")
    np.testing.assert_array_equal(found, image - level)
    dark = subtract_background(255 - image, radii, method="rolling_ball", dark=True)
    np.testing.assert_array_equal(dark, -(image - level).astype("i2"))


def test_a_ball_is_as_high_as_gray_values_reach_and_rolls_in_each_frame():
    frames = np.stack([uneven("f8"), 3 * uneven("f8")])
    found = subtract_background(frames, (0, 9.5, 4), method="rolling_ball")
    np.testing.assert_allclose(found[1], 3 * found[0])
    np.testing.assert_allclose(
        found[0], subtract_background(frames[0], (9.5, 4), method="rolling_ball")
    )
    assert found.min() == 0
    assert found[0].max() < 120  # of more than 360: the slope is gone


def test_pixels_that_are_not_finite_do_not_hold_the_ball_up():
    image = noise((30, 30), "f8")
    holes = image.copy()
    holes[5, 5:20], holes[9, 9], holes[12, 3] = np.nan, np.inf, -np.inf
    found = subtract_background(holes, (3, 3), method="rolling_ball")
    finite = np.isfinite(holes)
    np.testing.assert_array_equal(found[~finite], holes[~finite])
    assert (found[finite] >= 0).all()
    far = np.arange(30) > 15
    whole = subtract_background(image, (3, 3), method="rolling_ball")
    np.testing.assert_allclose(found[far], whole[far])


def test_pixels_that_are_not_finite_are_left_out_of_the_background():
    image = noise((40, 40), "f8")
    image[5, 7], image[20, 20:30], image[30, 30] = np.nan, np.inf, -np.inf
    image[:4, :9] = np.nan  # wider than the box
    found = subtract_background(image, (1, 1))
    finite = np.isfinite(image)
    np.testing.assert_array_equal(found[~finite], image[~finite])
    for y, x in np.argwhere(finite):
        level = max(
            np.min(box[np.isfinite(box)])
            for v in range(max(0, y - 1), min(40, y + 2))
            for u in range(max(0, x - 1), min(40, x + 2))
            for box in [image[max(0, v - 1) : v + 2, max(0, u - 1) : u + 2]]
            if np.isfinite(box).any()
        )
        assert found[y, x] == image[y, x] - level


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 1, 4)])
def test_small_images_have_a_background_too(shape):
    assert subtract_background(noise(shape), (9,) * len(shape)).shape == shape


def ball(radii):
    grid = np.ogrid[tuple(slice(-int(r), int(r) + 1) for r in radii)]
    return sum((x / max(r, 1e-9)) ** 2 for x, r in zip(grid, radii, strict=True)) <= 1 + 1e-9


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (2.5, 2.5), (3, 1), (0, 2), (0.6, 3), (2, 1, 1), (0, 2, 2), (4, 4)]),
    st.floats(0, 1),
)
def test_a_ball_closes_and_opens_as_a_footprint_does(seed, radii, share):
    random = np.random.default_rng(seed)
    mask = random.random(random.integers(1, 12, len(radii))) < share
    opened = morphology.opening(mask.view(np.uint8), ball(radii), mode="ignore")
    np.testing.assert_array_equal(open_mask(mask, radii), opened)
    margins = [(2 * int(r) + 2,) * 2 for r in radii]  # where dilations are not cut
    inner = tuple(slice(a, -b) for a, b in margins)
    closed = morphology.closing(np.pad(mask, margins), ball(radii))[inner]
    np.testing.assert_array_equal(close_mask(mask, radii), closed)


def test_specks_at_the_border_are_removed_and_objects_there_stay_whole():
    mask = np.zeros((20, 20), dtype=bool)
    mask[0, 5] = mask[0, 0] = True
    mask[12:, :] = True
    assert not open_mask(mask, (2, 2))[:12].any()
    assert open_mask(mask, (2, 2))[12:].all()


def test_blocks_in_threads_close_as_the_whole_does(many_threads, monkeypatch):
    mask = np.random.default_rng(0).random((90, 70)) < 0.1
    stack = np.random.default_rng(1).random((4, 50, 40)) < 0.1
    many_threads(1)
    alone = close_mask(mask, (3, 3)), open_mask(~mask, (3, 2)), close_mask(stack, (0, 3, 3))
    image = subtract_background(noise((4, 50, 40)), (0, 3, 3))
    many_threads(3)
    monkeypatch.setattr(mask_morphology, "BLOCK", 2000)
    np.testing.assert_array_equal(close_mask(mask, (3, 3)), alone[0])
    np.testing.assert_array_equal(open_mask(~mask, (3, 2)), alone[1])
    np.testing.assert_array_equal(close_mask(stack, (0, 3, 3)), alone[2])
    np.testing.assert_array_equal(subtract_background(noise((4, 50, 40)), (0, 3, 3)), image)
    np.testing.assert_array_equal(close_mask(stack, (0, 3, 3))[2], close_mask(stack[2], (3, 3)))


@pytest.mark.parametrize("work", [close_mask, open_mask])
def test_a_cancelled_opening_ends_within_a_block(work, many_threads, monkeypatch):
    monkeypatch.setattr(mask_morphology, "BLOCK", 30_000)
    many_threads(1)
    begun = []
    near = mask_morphology._near
    monkeypatch.setattr(
        mask_morphology, "_near", lambda *given: begun.append(given[0].size) or near(*given)
    )

    def stop():
        if len(begun) == 3:  # between the two distances of a block
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), threads.interruptible(stop):
        work(np.random.default_rng(0).random((40, 40, 40)) < 0.5, (1, 1, 1))
    assert len(begun) == 3
    assert max(begun) <= 30_000


# ------------------------------------------------------------------------------ in `segment`


def uneven(dtype="u2"):
    """Disks of 90 on a slope that rises by three times as much."""
    y, x = np.mgrid[:60, :90]
    image = 100 + 3 * x
    for row, column in ((15, 12), (40, 45), (20, 78)):
        image = image + 90 * ((y - row) ** 2 + (x - column) ** 2 <= 36)
    return image.astype(dtype)


@pytest.mark.parametrize("dark", [False, True])
def test_objects_on_a_slope_are_found_above_their_background(dark):
    image = 1000 - uneven() if dark else uneven()
    assert segment(image, dark=dark).num != 3
    found = segment(image, background=9, dark=dark, properties=("label", "area", "intensity_max"))
    assert found.num == 3
    assert set(found.table["area"]) == {113}
    brightest = [image[found.labels == number].max() for number in (1, 2, 3)]
    assert found.table["intensity_max"].tolist() == brightest  # of the image as it was
    assert found.in_pixels["background"] == (9, 9)


def test_a_ball_finds_the_background_by_its_radius():
    image = uneven()
    found = segment(image, background=12, background_method="rolling_ball", threshold=40)
    assert found.num == 3
    mask = subtract_background(image, (12, 12), method="rolling_ball") > 40
    np.testing.assert_array_equal(found.labels, label(mask))
    assert found.in_pixels["background"] == (12, 12)


def test_a_background_is_subtracted_from_each_frame_by_itself():
    frames = np.stack([uneven(), uneven()[:, ::-1]])
    both = segment(frames, background="4.5um", spacing=0.5, unit="um", stacked=True, threshold=50)
    alone = [segment(frame, background=9, threshold=50).labels for frame in frames]
    np.testing.assert_array_equal(both.labels[0], alone[0])
    np.testing.assert_array_equal(both.labels[1] > 0, alone[1] > 0)
    assert both.in_pixels["background"] == (9, 9)


def test_stages_follow_one_another_as_the_guide_says():
    """Background, smoothing, threshold, closing, opening, holes, labels."""
    image = np.random.default_rng(3).random((80, 90)) * 50 + uneven("f8")[:1]
    image[20:50, 30:70] += 60
    stages = []
    found = segment(
        image, threshold=30, background=30, sigma=1, closing=2.5, opening=2, fill_holes=True,
        progress=stages.append,
    )  # fmt: skip
    from scipy.ndimage import binary_fill_holes

    from equilabel import smooth

    mask = smooth(subtract_background(image, (30, 30)), 1) > 30
    mask = open_mask(close_mask(mask, (2.5, 2.5)), (2, 2))
    np.testing.assert_array_equal(found.labels, label(binary_fill_holes(mask)))
    assert stages == ["background", "binarize", "close and open", "fill", "label", "measure"]
    assert found.in_pixels["closing"] == (2.5, 2.5)


def test_a_ball_of_a_physical_radius_is_flat_where_planes_are_far_apart():
    volume = np.zeros((5, 20, 20), np.uint8)
    volume[2, 5:15, 5:9] = volume[2, 5:15, 11:15] = 9  # a gap of two pixels in one plane
    scale = {"spacing": (2.0, 0.5, 0.5), "unit": "um", "threshold": 1}
    assert segment(volume, **scale).num == 2
    closed = segment(volume, closing="1um", **scale)
    assert closed.num == 1
    assert not closed.labels[1].any()
    assert not closed.labels[3].any()
    assert segment(volume, opening="1.5um", **scale).num == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": 0.5}, "background must be 1 pixel or more, .* got 0.5, 0.5 pixels"),
        ({"background": 0}, "background must be 1 pixel or more"),
        ({"background": "5um2"}, "background must be a length"),
        ({"background": 9, "background_method": "rolling"}, "Did you mean 'rolling_ball'?"),
        ({"background_method": "rolling_ball"}, "background must be given with background_method"),
        ({"closing": "1um"}, "closing must be in pixels"),
        ({"opening": -1}, "opening must be 0 or more"),
        ({"closing": (1, 2, 3)}, "closing must be one length, or one for each of 2 axes"),
        ({"track": True}, "track needs stacked=True"),
    ],
)
def test_stages_that_cannot_be_taken_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        segment(picture(), **options)


def test_the_table_of_a_movie_holds_its_tracks():
    found = segment(movie(), threshold="li", sigma=1, min_size=20, stacked=True, track=True)
    tracks = track_overlaps(found.labels)
    assert list(found.table)[:6] == ["label", "frame", "track", "parent", "event", "area"]
    for name in tracks:
        np.testing.assert_array_equal(found.table[name], tracks[name])
    assert found.table["track"].max() < len(found.table) / 4  # most nuclei are found again
    alone = segment(movie(), stacked=True, track=True, properties=["area"]).table
    assert list(alone) == ["frame", "track", "parent", "event", "area"]


# ------------------------------------------------------------------------- on the command line


def test_stages_are_taken_by_the_command(here):
    tiff("a.tif", uneven(), ome=True, metadata={"axes": "YX", **sizes(0.5, 0.5)})
    words = ["--background", "4.5um", "--closing", "2px", "--opening", "1"]
    assert main(["batch", "a.tif", "--out", "out", *words]) == 0
    assert summary()["a.tif"]["objects"] == "3"
    used = record()["files"][0]["in_pixels"]
    assert used == {"background": [9.0, 9.0], "closing": [2.0, 2.0], "opening": [1.0, 1.0]}


def test_the_ball_rolls_on_the_command_line_and_in_runs_that_are_repeated(here, capsys):
    tiff("a.tif", uneven(), ome=True, metadata={"axes": "YX", **sizes(0.5, 0.5)})
    words = ["--background", "6um", "--background-method", "rolling_ball", "--threshold", "40"]
    assert main(["batch", "a.tif", "--out", "out", *words]) == 0
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 0
    for out in ("out", "again"):
        assert summary(out)["a.tif"]["objects"] == "3"
        assert record(out)["parameters"]["background_method"] == "rolling_ball"
    capsys.readouterr()
    said = refused(capsys, "batch", "a.tif", "--out", "no", *words[2:])
    assert "--background must be given with --background-method rolling_ball" in said


def test_tracks_of_chosen_columns_have_their_frames():
    movie = np.zeros((2, 8, 8), np.uint8)
    movie[:, 2:5, 2:5] = 9
    columns = {"properties": ("label", "area"), "stacked": True, "track": True}
    made = segment(movie, 1, **columns)
    for table in (made.table, measure(made.labels, **columns)):
        assert list(table) == ["label", "frame", "track", "parent", "event", "area"]
        assert table["frame"].tolist() == [0, 1]


def test_a_movie_is_tracked_by_the_command(here, capsys):
    tiff("a.tif", picture((3, 24, 32)), ome=True, metadata={"axes": "TYX"})
    assert main(["batch", "a.tif", "--out", "out", "--track"]) == 0
    table = read_table(Path("out/a_table.csv"))
    assert table["track"].tolist() == [1, 2] * 3
    assert read_table(Path("out/objects.csv"))["track"].tolist() == [1, 2] * 3
    capsys.readouterr()
    said = refused(capsys, "batch", "a.tif", "--out", "no", "--track", "--no-stacked")
    assert "--track needs --stacked, " in said
    tiff("b.tif", picture((3, 24, 32)), imagej=True, metadata={"axes": "ZYX"})
    assert main(["batch", "b.tif", "--out", "deep", "--track"]) == 1
    assert "pass --stacked if the first axis is time" in summary("deep")["b.tif"]["error"]
    assert main(["batch", "b.tif", "--out", "deep", "--track", "--stacked", "--overwrite"]) == 0
    tiff("c.tif")
    for words in ([], ["--stacked"]):
        assert main(["batch", "c.tif", "--out", "one", "--overwrite", "--track", *words]) == 1
        assert "got axes 'YX'. Leave it out." in summary("one")["c.tif"]["error"]
    assert main(["batch", "c.tif", "--out", "one", "--overwrite"]) == 0


@pytest.mark.gpu
@pytest.mark.parametrize("radii", [(3, 3), (0, 2.5, 2.5), (1, 3, 3), (1, 1, 2, 2)])
def test_a_gpu_gives_what_the_host_gives(radii):
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    image = noise((5, 6, 40, 50)[-len(radii) :])
    mask = image > 60
    for ours in (close_mask, open_mask):
        found = ours(cupy.asarray(mask), radii)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_array_equal(found.get(), ours(mask, radii))
    for pixels in (image, image.astype("f4"), np.where(image > 95, np.nan, image)):
        for dark in (False, True):
            found = subtract_background(cupy.asarray(pixels), radii, dark=dark)
            expected = subtract_background(pixels, radii, dark=dark)
            np.testing.assert_array_equal(found.get(), expected)
    found = subtract_background(cupy.asarray(image), radii, method="rolling_ball")
    assert isinstance(found, cupy.ndarray)
    expected = subtract_background(image, radii, method="rolling_ball")
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.gpu
def test_a_gpu_keeps_the_objects_of_the_host_and_measures_the_same():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    flat, deep = samples.nuclei_2d((500, 420)), noise((12, 60, 70))
    ways = [
        {"min_size": 30},
        {"max_size": 400, "exclude_border": True, "fill_holes": False},
        {"split": True, "min_size": 20, "exclude_border": True},
        {"split": True, "split_by": "intensity"},
        {"keep": "area > 50"},
        {"method": "komura", "min_size": 9},
        {"threshold": 1e9, "min_size": 9},
        {"properties": ("label", "area", "solidity", "touching"), "min_size": 9},
        {"sigma": 0, "dark": True, "threshold": "triangle"},
    ]
    for image in (flat, flat.astype("u2") * 17, deep, deep.astype("f4"), flat[:, :301]):
        for way in ways:
            options = {"sigma": 1, "fill_holes": True, **way, "stacked": image.ndim > 2}
            expected, there = segment(image, **options), cupy.asarray(image)
            for _ in range(2):  # the second time, all is prepared for some of them
                found = segment(there, **options)
                np.testing.assert_array_equal(found.labels.get(), expected.labels)
                assert found.threshold == expected.threshold
                assert found.num == expected.num
                pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-12)


@pytest.mark.gpu
def test_a_gpu_grows_objects_and_splits_them_at_markers_as_the_host_does():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    rng = np.random.default_rng(5)
    flat, deep = samples.nuclei_2d((300, 250)), noise((5, 60, 70))
    for image, stacked in ((flat, False), (deep, False), (deep, True)):
        seeds = rng.random(image.shape) < 0.01
        area = image > np.quantile(image, 0.3)
        ways = [
            {"grow": 2.5},
            {"grow": "1.5um", "spacing": 0.5, "unit": "um", "min_size": 9, "exclude_border": True},
            {"grow": 4, "mask": area, "split": True},
            {"mask": area, "min_size": 5},
            {"markers": seeds, "min_size": 4},
            {"markers": seeds * rng.integers(1, 99, image.shape), "mask": area, "grow": 2},
            {"markers": seeds, "split_by": "intensity", "split": 0.1, "keep": "area > 9"},
        ]
        for way in ways:
            options = {"sigma": 1, "fill_holes": True, **way, "stacked": stacked}
            expected = segment(image, **options)
            held = {
                name: cupy.asarray(value) if isinstance(value, np.ndarray) else value
                for name, value in options.items()
            }
            for arrays in (options, held):  # what is beside the image on either side
                found = segment(cupy.asarray(image), **arrays)
                assert isinstance(found.labels, cupy.ndarray)
                np.testing.assert_array_equal(found.labels.get(), expected.labels)
                assert (found.threshold, found.num) == (expected.threshold, expected.num)
                assert found.labels.dtype == expected.labels.dtype
                pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-12)


@pytest.mark.gpu
def test_an_image_like_an_earlier_one_needs_no_stages(monkeypatch):
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    remembered._memory.prepared.clear()
    columns = ("label", "area", "bbox", "touches_border")
    options = {"sigma": 1.5, "fill_holes": True, "min_size": 9, "properties": columns}
    image, told = samples.nuclei_2d((300, 420)).astype("u2") * 99, []
    segment(cupy.asarray(image), **options)
    alike = [image, image[::-1].copy(), image // 3, np.where(image > 9000, image, 0)]
    expected = [segment(each, **options) for each in alike]
    monkeypatch.setattr(segmentation, "find_foreground", None)
    for each, here in zip(alike, expected, strict=True):
        there = segment(cupy.asarray(each), progress=told.append, **options)
        np.testing.assert_array_equal(there.labels.get(), here.labels)
        assert (there.threshold, there.num) == (here.threshold, here.num)
        pd.testing.assert_frame_equal(there.table, here.table, rtol=1e-12)
        assert (there.in_pixels, there.spacing) == (here.in_pixels, here.spacing)
    assert told[:5] == ["binarize", "fill", "label", "drop", "measure"]
    monkeypatch.undo()
    many = np.random.default_rng(0).integers(0, 2, image.shape, "u2")
    for unlike in (np.full_like(image, 7), many):  # stage after stage: no contrast; many labels
        here, there = segment(unlike, **options), segment(cupy.asarray(unlike), **options)
        np.testing.assert_array_equal(there.labels.get(), here.labels)
    with pytest.raises(TypeError, match="fill_holes must be"):
        segment(cupy.asarray(image), **{**options, "fill_holes": 1.0})
