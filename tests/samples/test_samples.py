"""The sample images: what they promise, and that their files say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import ndimage
from scipy.spatial import cKDTree
from tifffile import TiffFile

from equilabel import samples
from equilabel.samples import SAMPLES
from equilabel.samples.fields import blur, smooth_field
from equilabel.samples.nuclei import expose

FOLDER = Path(__file__).parents[2] / "sample_data"
FILES = sorted(FOLDER.glob("*.tif"))
CROSS = ndimage.generate_binary_structure(2, 1)
RANKS = [(40,), (30, 50), (12, 20, 16), (6, 7, 8, 9)]


def neighbors(image):
    """Count the 4-neighbors in the foreground of each foreground pixel."""
    return ndimage.convolve(image.astype(int), CROSS.astype(int), mode="constant")[image] - 1


# ------------------------------------------------------------------- the table


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_the_same_each_time(name):
    sample = SAMPLES[name]
    assert_array_equal(sample.make(), sample.make())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_says_what_its_axes_are(name):
    sample = SAMPLES[name]
    image = sample.make()
    assert len(sample.axes) == image.ndim
    assert set(sample.spacing) <= set("ZYX") & set(sample.axes)
    assert bool(sample.spacing) == bool(sample.unit)
    assert ("T" in sample.axes) == (sample.interval is not None)
    assert sample.description.endswith(".")


@pytest.mark.parametrize(
    "make", [samples.nuclei_2d, samples.nuclei_3d, samples.movie, samples.porous_medium]
)
def test_another_seed_makes_another_image(make):
    shape = (4, 48, 40)[-2 if make is samples.nuclei_2d else -3 :]
    assert not np.array_equal(make(shape, seed=1), make(shape, seed=2))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (make, shape)
        for make in (samples.blobs, samples.nuclei_mask, samples.percolation, samples.voronoi)
        for shape in [*RANKS, (1, 1), (0, 5)]
    ],
)
def test_makers_of_any_rank_keep_to_the_shape(make, shape):
    image = make(shape, seed=3)
    assert image.shape == shape
    assert image.flags.c_contiguous


# ---------------------------------------------------------------------- nuclei


@pytest.mark.parametrize(("shape", "fraction"), [((600, 500), 0.15), ((60, 90, 80), 0.10)])
def test_nuclei_cover_the_fraction_they_promise(shape, fraction):
    assert samples.nuclei_mask(shape).mean() == pytest.approx(fraction, abs=0.01)


def test_a_benchmark_image_holds_about_five_thousand_nuclei_per_4096_squared():
    mask = samples.nuclei_mask((1024, 1024))
    count = ndimage.label(mask, np.ones((3, 3)))[1]
    assert 5000 / 16 * 0.9 < count < 5000 / 16 * 1.1


def test_some_nuclei_touch():
    areas = np.bincount(ndimage.label(samples.nuclei_2d() > 400)[0].ravel())[1:]
    areas = areas[areas > 50]
    assert areas.max() > 1.8 * np.median(areas)


def test_some_nuclei_are_dim():
    image = ndimage.gaussian_filter(samples.nuclei_2d().astype(float), 2)
    regions, count = ndimage.label(image > 230)
    brightest = ndimage.maximum(image, regions, range(1, count + 1))
    assert np.count_nonzero(np.asarray(brightest) < np.median(brightest) / 2) >= 4


def test_light_is_uneven():
    image = samples.nuclei_2d()
    corners = [np.median(image[:80, :80]), np.median(image[-80:, -80:])]
    assert corners[0] > corners[1] + 3


def test_planes_of_the_stack_lie_four_times_farther_apart():
    image = ndimage.gaussian_filter(samples.nuclei_3d((48, 160, 160)).astype(float), (0.5, 2, 2))
    boxes = ndimage.find_objects(ndimage.label(image > 30)[0])
    sizes = np.array([[part.stop - part.start for part in box] for box in boxes])
    depth, height, width = np.median(sizes[sizes[:, 1] > 10], axis=0)
    assert 2.5 < (height + width) / 2 / depth < 5


def test_photon_noise_grows_with_the_square_root_of_light():
    rng = np.random.default_rng(0)
    dark, light = (
        expose(np.full(20_000, n, "f4"), rng, gain=1, offset=0, read_noise=0, white=65535)
        for n in (25, 400)
    )
    assert dark.mean() == pytest.approx(25, rel=0.03)
    assert dark.std() == pytest.approx(5, rel=0.05)
    assert light.std() == pytest.approx(20, rel=0.05)


def test_a_camera_saturates():
    light = expose(
        np.array([-5, 1e6], "f4"),
        np.random.default_rng(0),
        gain=1,
        offset=0,
        read_noise=0,
        white=255,
    )
    assert light.max() == 255
    assert light.min() <= 2


# ----------------------------------------------------------------------- movie


def test_cells_divide():
    movie = samples.movie((16, 256, 256)).astype(float)
    first, last = (ndimage.label(ndimage.gaussian_filter(movie[t], 1.5) > 230)[1] for t in (0, 15))
    assert last > first + 5


def test_cells_move_a_little_from_frame_to_frame():
    movie = samples.movie((9, 96, 96)).astype(float)
    after_one, after_eight = (np.corrcoef(movie[0].ravel(), movie[t].ravel())[0, 1] for t in (1, 8))
    assert 0.99 > after_one > after_eight + 0.1


# ---------------------------------------------------------------------- fields


def test_blobs_cover_what_is_asked():
    for fraction in (0, 0.2, 0.5, 1):
        assert samples.blobs((100, 120), fraction=fraction).mean() == pytest.approx(fraction)


def test_a_field_is_smooth_and_normal():
    field = smooth_field((200, 200), 5)
    assert field.mean() == pytest.approx(0, abs=1e-3)
    assert field.std() == pytest.approx(1, abs=1e-3)
    assert np.abs(np.diff(field, axis=0)).max() < 0.7


def test_a_blur_does_not_reach_round_the_border():
    light = np.zeros((40, 50), "f4")
    light[0, 20] = 1
    blurred = blur(light, (1.0, (2.0, 2.0)))
    assert blurred[1:].sum() > 0.1
    assert np.abs(blurred[-8:]).max() < 1e-4


def test_blurs_add_up_with_their_weights():
    light = np.random.default_rng(0).random((30, 31), dtype="f4")
    expected = 0.5 * light + 2 * ndimage.gaussian_filter(light, 3, mode="nearest", truncate=6)
    assert blur(light, (0.5, 0), (2.0, 3))[10:-10, 10:-10] == pytest.approx(
        expected[10:-10, 10:-10], abs=2e-2
    )


def test_a_rock_has_dark_pores_and_two_minerals():
    image = ndimage.median_filter(samples.porous_medium((40, 96, 96)), 3)
    shares = [(image < 105).mean(), ((image > 105) & (image < 170)).mean(), (image > 170).mean()]
    assert 0.2 < shares[0] < 0.4
    assert shares[1] > 0.5
    assert 0.005 < shares[2] < 0.15


# ---------------------------------------------------------------------- curves


@pytest.mark.parametrize("size", range(12))
def test_a_spiral_is_one_path(size):
    image = samples.spiral(size)
    assert image.shape == (size, size)
    assert ndimage.label(image)[1] == min(size, 1)
    if size > 2:
        counts = neighbors(image)
        assert sorted(counts[counts != 2]) == [1, 1]


def test_a_spiral_fills_half_of_the_image():
    assert samples.spiral(101).mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("order", range(6))
def test_a_hilbert_curve_is_one_path_through_every_point(order):
    image = samples.hilbert(order)
    assert image.shape == (2 ** (order + 1) - 1,) * 2
    assert image[::2, ::2].all()
    assert ndimage.label(image)[1] == 1
    counts = neighbors(image)
    assert sorted(counts[counts != 2]) == ([1, 1] if order else [0])


def test_a_padded_hilbert_curve_has_a_power_of_two():
    image = samples.hilbert(4, padded=True)
    assert image.shape == (32, 32)
    assert not image[-1].any()
    assert not image[:, -1].any()
    assert_array_equal(image[:-1, :-1], samples.hilbert(4))


# --------------------------------------------------------------------- mosaics


@pytest.mark.parametrize("p", [0, 0.31, 1])
def test_percolation_keeps_its_probability(p):
    assert samples.percolation((300, 300), p).mean() == pytest.approx(p, abs=0.01)


def test_percolation_comes_in_blocks():
    image = samples.percolation((10, 13), 0.5, granularity=4)
    blocks = samples.percolation((3, 4), 0.5)
    assert_array_equal(image, np.kron(blocks, np.ones((4, 4), bool))[:10, :13])


@pytest.mark.parametrize("shape", [(60,), (70, 90), (30, 22, 40)])
def test_each_pixel_holds_the_number_of_the_nearest_point(shape):
    image = samples.voronoi(shape, cells=25, seed=5)
    points = np.random.default_rng(5).random((25, len(shape))) * shape - 0.5
    pixels = np.stack(np.indices(shape), axis=-1).reshape(-1, len(shape))
    assert image.dtype == np.int32
    assert_array_equal(image.ravel(), cKDTree(points).query(pixels)[1] + 1)


# ----------------------------------------------------------------------- files


def test_sample_data_is_small():
    assert len(FILES) == len(SAMPLES) - 1
    assert sum(path.stat().st_size for path in FILES) < 3_000_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_its_sample(path):
    sample = SAMPLES[path.stem]
    image = sample.make()
    if image.dtype == np.bool_:
        image = image * np.uint8(255)
    with TiffFile(path) as file:
        series = file.series[0]
        assert series.axes == sample.axes
        assert series.dtype == image.dtype
        stored = series.asarray().astype(int)
        assert file.ome_metadata is not None
        for axis, size in sample.spacing.items():
            assert f'PhysicalSize{axis}="{size}"' in file.ome_metadata
    # A last bit may differ from one processor to the next, a gray value then by one.
    different = np.abs(stored - image)
    assert (different > 0).mean() < 1e-3
    assert np.quantile(different, 0.9999) <= 1
