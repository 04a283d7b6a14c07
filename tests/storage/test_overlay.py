"""Overlays: what a person sees is what was labeled."""

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from equilabel.storage.overlay import (
    BRIGHTEST,
    GAMMA,
    GAP,
    LONGEST,
    PALETTE,
    draw_numbers,
    write_overlay,
)
from pictures import pictures

NUCLEI = pictures(
    ["BBBC007/A9 p7d.tif", "BBBC007/17P1_POS0013_D_1UL.tif"], ["nuclei_2d.tif", "blobs.tif"]
)
LEVELS = {"nuclei_2d": 418, "blobs": 0}  # of the others, 50


def drawn(folder, image, labels, *, numbered=False, **options):
    write_overlay(folder / "o.png", image, labels, numbered=numbered, **options)
    return opened(folder / "o.png")


def opened(path):
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def colored(picture):
    return picture.max(axis=-1) != picture.min(axis=-1)


@pytest.fixture
def square():
    """One square of 200 on 10, 300 pixels wide; enlarged four times, outlines two pixels wide."""
    image = np.full((300, 300), 10, np.uint8)
    image[50:100, 120:170] = 200
    return image, (image == 200).astype(np.int32)


def test_outlines_lie_inside_their_object_on_its_outermost_pixels(tmp_path, square):
    picture = drawn(tmp_path, *square)
    inside = np.kron(square[1], np.ones((4, 4), int)) == 1
    expected = inside & ~ndimage.binary_erosion(inside, np.ones((5, 5)))
    np.testing.assert_array_equal(colored(picture), expected)


def test_gray_levels_span_black_to_the_brightest_gray(tmp_path, square):
    picture = drawn(tmp_path, *square)
    gray = picture[..., 0][~colored(picture)]
    assert set(gray) == {0, BRIGHTEST}


def test_outlines_outshine_the_image(tmp_path, square):
    picture = drawn(tmp_path, *square)
    assert picture[colored(picture)].max(axis=-1).min() > BRIGHTEST


def test_neighbors_differ_in_color(tmp_path):
    labels = np.kron(np.arange(1, 401).reshape(20, 20), np.ones((20, 20), int))
    picture = drawn(tmp_path, np.zeros(labels.shape), labels)
    factor = picture.shape[0] // labels.shape[0]
    color = picture[:: 20 * factor, :: 20 * factor].astype(int)  # a corner of each object
    for axis in (0, 1):
        assert np.abs(np.diff(color, axis=axis)).sum(axis=-1).min() > 0


def test_objects_apart_differ_in_color_from_the_nearest(tmp_path):
    labels = np.zeros((200, 200), int)
    labels[20:60, 20:60], labels[20:60, 120:160], labels[120:160, 20:60] = 7, 14, 21
    picture = drawn(tmp_path, labels, labels)
    factor = picture.shape[0] // 200
    colors = {tuple(picture[y * factor, x * factor]) for y, x in ((20, 20), (20, 120), (120, 20))}
    assert len(colors) == 3
    assert colors <= {tuple(color) for color in PALETTE}


def test_large_images_are_reduced_and_no_object_is_lost(tmp_path):
    labels = np.zeros((4100, 3000), np.int32)
    places = np.arange(40, 4000, 97)
    labels[places, places % 2990] = np.arange(1, places.size + 1)
    picture = drawn(tmp_path, labels > 0, labels)
    assert picture.shape[:2] == (1367, 1000)
    assert ndimage.label(colored(picture))[1] == places.size


def test_reduced_gray_is_the_mean_of_blocks(tmp_path):
    image = np.zeros((2 * LONGEST + 1, 300))  # blocks of three rows, the last of two
    image[:300], image[-1] = 90, 90
    image[300:3000:3] = 90
    shown = drawn(tmp_path, image, np.zeros(image.shape, int))[:, 0, 0].astype(int)
    third, half = ((1 / n) ** GAMMA * BRIGHTEST for n in (3, 2))
    expected = (BRIGHTEST, third, 0, half)
    assert shown[[50, 500, 1200, -1]] == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("shape", "panels"),
    [
        *[((1,), (1, 1)), ((2,), (1, 2)), ((5,), (2, 3)), ((9,), (3, 3)), ((30,), (3, 3))],
        *[((2, 4), (2, 3)), ((3, 1), (3, 1)), ((4, 5, 6), (3, 3))],
    ],
)
def test_planes_become_a_montage(tmp_path, shape, panels):
    image = np.ones((*shape, 400, 400), np.uint8)
    picture = drawn(tmp_path, image, image)
    factor = (picture.shape[0] + GAP) // panels[0] // 400
    assert picture.shape[:2] == tuple(n * (400 * factor + GAP) - GAP for n in panels)
    assert max(picture.shape) <= LONGEST


def test_no_column_of_a_montage_is_empty(tmp_path):
    image = np.ones((5, 800, 400), np.uint8)
    assert drawn(tmp_path, image, image).shape[:2] == (800 * 2 + GAP, 400 * 3 + 2 * GAP)


def test_all_planes_share_one_contrast(tmp_path):
    image = np.ones((2, 300, 300)) * np.array([1, 3])[:, None, None]
    image[:, :9] = 0
    picture = drawn(tmp_path, image, np.zeros(image.shape, int))[..., 0]
    dim, bright = picture[200, 100], picture[200, -100]
    assert 0 < dim < bright == BRIGHTEST


def test_a_montage_shows_planes_as_they_are(tmp_path):
    labels = np.zeros((30, 40, 40), int)
    labels[15, 10:30, 10:30] = 1  # in the middle plane alone
    picture = drawn(tmp_path, labels, labels)
    side = (picture.shape[0] + GAP) // 3
    seen = [
        colored(picture[row * side :, column * side :][: side - GAP, : side - GAP]).any()
        for row in range(3)
        for column in range(3)
    ]
    assert seen == [False] * 4 + [True] + [False] * 4


def test_an_object_keeps_its_color_through_the_planes(tmp_path):
    labels = np.zeros((3, 50, 50), int)
    labels[:, 10:20, 10:20], labels[1, 30:40, 10:20] = 1, 2
    picture = drawn(tmp_path, labels, labels)
    found = {tuple(color) for color in picture[colored(picture)]}
    assert len(found) == 2


def test_pixels_keep_their_proportion(tmp_path):
    image = np.ones((20, 60), np.uint8)
    flat, tall = (
        drawn(tmp_path, image, image, spacing=spacing).shape for spacing in (None, (9.0, 3.0, 1.0))
    )
    assert flat[1] / flat[0] == 3
    assert tall[1] / tall[0] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "image",
    [
        np.full((30, 30), np.nan),
        np.where(np.eye(30) > 0, np.inf, -np.inf),
        np.full((30, 30), 7, np.uint16),
        np.eye(30, dtype=bool),
        np.full((2100, 5), -np.inf) + np.where(np.arange(2100)[:, None] % 2, np.nan, 3),
        np.eye(30) * 1e300,
    ],
    ids=["nan", "infinite", "constant", "bool", "large", "beyond float32"],
)
def test_no_value_is_too_odd_to_draw(tmp_path, image):
    assert drawn(tmp_path, image, np.zeros(image.shape, int)).dtype == np.uint8


def test_sparse_images_are_not_black(tmp_path):
    image = np.zeros((300, 300), np.uint8)
    image[3, 3] = 1
    assert drawn(tmp_path, image, np.zeros(image.shape, int)).max() == BRIGHTEST


def test_dim_pixels_are_lifted(tmp_path):
    image = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    picture = drawn(tmp_path, image, np.zeros(image.shape, int))
    middle = picture[0, picture.shape[1] // 2, 0]
    assert BRIGHTEST * 0.55 < middle < BRIGHTEST * 0.7


def test_an_earlier_picture_survives_a_failure(tmp_path, square, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    drawn(tmp_path, *square)
    before = (tmp_path / "o.png").read_bytes()
    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(OSError, match="No space"):
        write_overlay(tmp_path / "o.png", square[0].T, square[1].T)
    assert [path.name for path in tmp_path.iterdir()] == ["o.png"]
    assert (tmp_path / "o.png").read_bytes() == before


@pytest.mark.parametrize("path", NUCLEI, ids=lambda path: path.stem)
def test_nuclei_of_pictures_are_all_outlined(tmp_path, path):
    import tifffile

    image = tifffile.imread(path)
    labels, count = ndimage.label(image > LEVELS.get(path.stem, 50))
    picture = drawn(tmp_path, image, labels)
    factor = picture.shape[0] // image.shape[0]
    outlined = np.kron(labels, np.ones((factor, factor), int))[colored(picture)]
    assert set(outlined) == set(range(1, count + 1))


# --------------------------------------------------------------------------------------- numbers


def test_a_picture_is_numbered_unless_told_otherwise(tmp_path, square):
    plain = drawn(tmp_path, *square)
    write_overlay(tmp_path / "n.png", *square)
    changed = (opened(tmp_path / "n.png") != plain).any(axis=2)
    assert 50 < changed.sum() < 400
    assert changed[200:400, 480:680].sum() == changed.sum()  # within the square


def lettered(labels, **options):
    """Return the pixels of a picture that numbers change, and the numbers."""
    gray = np.full(labels.shape, 99, np.uint8)
    drawn = draw_numbers(
        gray, labels, lambda each: np.full(len(each), 250, np.uint8), (1, 1), **options
    )
    return gray != 99, drawn


def test_numbers_of_enlarged_pictures_lie_where_objects_do():
    labels = np.zeros((30, 40), np.int32)
    labels[5:25, 10:35] = 1
    gray = np.full((60, 120), 99, np.uint8)
    assert draw_numbers(gray, labels, lambda each: np.full(len(each), 250, np.uint8), (2, 3)) == [1]
    assert (gray == 254).any()  # the brightest shade
    assert not (gray != 99)[np.kron(labels, np.ones((2, 3), int)) == 0].any()


def test_every_object_with_room_has_its_number_inside():
    labels = np.zeros((120, 300), np.int32)
    boxes = [(slice(10, 50), slice(10 + 70 * k, 60 + 70 * k)) for k in range(4)]
    for number, box in enumerate(boxes):
        labels[box] = number + 1
    marks, numbers = lettered(labels)
    assert sorted(numbers) == [1, 2, 3, 4]
    assert not marks[labels == 0].any()
    assert all(marks[box].any() for box in boxes)


def test_a_number_lies_beside_an_object_that_it_would_hide():
    labels = np.zeros((60, 90), np.int32)
    labels[30:34, 30:34] = 7
    marks, numbers = lettered(labels)
    assert numbers == [7]
    assert not marks[labels == 7].any()
    assert marks[:, 34:60].any()
    labels[20:45, 36:80] = 8  # no room on the right: on the left
    marks, numbers = lettered(labels)
    assert sorted(numbers) == [7, 8]
    assert marks[:, :30].any()


def test_numbers_without_room_are_left_out_and_the_largest_come_first():
    labels = np.arange(1, 401, dtype=np.int32).reshape(20, 20).repeat(4, 0).repeat(4, 1)
    labels[20:60, 20:60] = 500
    assert lettered(labels)[1] == [500]
    assert lettered(labels, kept_free=(80, 80))[1] == []


def test_objects_at_the_border_have_numbers_that_are_whole():
    labels = np.zeros((80, 80), np.int32)
    labels[:17, 30:60], labels[40:75, 72:] = 1111, 22
    marks, numbers = lettered(labels)
    assert sorted(numbers) == [22, 1111]
    assert marks[:17, 30:60].any()
    assert marks[40:75, 40:].any()
    assert lettered(np.ones((40, 40), np.int32))[1] == [1]
    assert lettered(np.ones((4, 4), np.int32))[1] == []
