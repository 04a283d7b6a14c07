"""Objects that touch: parted at their necks, and nothing else."""

import os

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.morphology import local_maxima, reconstruction

from attack.numbers import is_split
from equilabel import binarize, label, segment, split_touching
from equilabel.cli import main
from equilabel.devices import threads
from equilabel.samples.nuclei import nuclei_2d, nuclei_mask
from equilabel.segmentation import splitting
from equilabel.segmentation.cpu import parts as kernels

Y, X = np.mgrid[:120, :120].astype(float)


def disk(y, x, radius, shape=(120, 120)):
    return (Y[: shape[0], : shape[1]] - y) ** 2 + (X[: shape[0], : shape[1]] - x) ** 2 <= radius**2


def turned(angle, y=60.3, x=59.6):
    """Return coordinates along an axis, and across it."""
    along = (Y - y) * np.sin(angle) + (X - x) * np.cos(angle)
    return along, (Y - y) * np.cos(angle) - (X - x) * np.sin(angle)


def balls(centers, radius, shape, distances=(1, 1, 1)):
    grid = np.indices(shape).T * distances
    return np.any([((grid - c) ** 2).sum(-1) <= radius**2 for c in centers], axis=0).T


@settings(max_examples=60, deadline=None)
@given(
    st.floats(9, 20),
    st.floats(0.4, 1),
    st.floats(0, np.pi),
    st.floats(0, 0.7),
    st.floats(-0.5, 0.5),
)
def test_two_disks_with_a_clear_neck_are_parted(radius, share, angle, width, shift):
    small = radius * share
    neck = width * small
    apart = np.sqrt(radius**2 - neck**2) + np.sqrt(small**2 - neck**2)
    y, x = 45 + shift, 45 - shift
    mask = disk(y, x, radius) | disk(y + apart * np.sin(angle), x + apart * np.cos(angle), small)
    parts = split_touching(mask)
    if small - neck > 3:  # 0.8 pixels, and what rounding takes away
        assert parts.max() == 2
    assert ((parts > 0) == mask).all()


@pytest.mark.parametrize("width", [1, 2, 2.6, 3.4, 5.3, 8, 15])
def test_rods_rings_spirals_and_ells_stay_whole(width):
    for angle in (0, 0.1, 0.45, np.pi / 4, 1.3):
        along, across = turned(angle)
        radius = np.hypot(along, across)
        turns = radius / (2 * width + 4) - np.arctan2(across, along) / (2 * np.pi)
        inner = np.abs(along + 10) <= width / 2, np.abs(across + 10) <= width / 2
        end = (np.minimum(along, across) >= -10 - width / 2) & (np.maximum(along, across) < 30)
        for shape in (
            (np.abs(along) <= 40) & (np.abs(across) <= width / 2),
            np.abs(radius - 30) <= width / 2,
            (np.abs(turns - np.rint(turns)) * (2 * width + 4) <= width / 2) & (radius < 50),
            (inner[0] | inner[1]) & end,
            (along / 40) ** 2 + (across / (width / 2 + 1)) ** 2 <= 1,
        ):
            assert np.array_equal(split_touching(shape, tolerance=1), label(shape))


def test_the_default_keeps_rods_and_large_rings_whole():
    for angle in np.linspace(0, np.pi, 12):
        for width in (2, 3, 4, 7.5):
            along, across = turned(angle)
            rod = (np.abs(along) <= 45) & (np.abs(across) <= width / 2)
            assert split_touching(rod).max() == label(rod).max()
            ring = np.abs(np.hypot(along, across) - 35) <= width / 2
            assert split_touching(ring).max() == label(ring).max()


def test_equal_disks_without_a_neck_are_one_object():
    """`skimage.morphology.h_maxima` finds two seeds here: both ends have the greatest distance."""
    mask = disk(60, 50, 15) | disk(60, 51, 15)
    mask[75, 50:52] = True
    assert split_touching(mask).max() == 1


def split_slowly(mask, tolerance, distances, connectivity):
    """Split a component as the documentation says, with SciPy and scikit-image: (..., ) of int."""
    fine = mask
    for axis in range(mask.ndim):
        fine = fine.repeat(2, axis=axis)
    squares = ndimage.distance_transform_edt(fine, np.divide(distances, 2)) ** 2
    for axis in range(mask.ndim):
        squares = np.maximum.reduceat(squares, range(0, squares.shape[axis], 2), axis)
    squares = np.rint(squares * 2**20) / 2**20  # equal ones are equal
    radii = np.sqrt(squares)
    around = ndimage.generate_binary_structure(mask.ndim, connectivity)
    lowered = reconstruction(radii - tolerance, radii, footprint=around)
    seeds = local_maxima(lowered, footprint=around) & (lowered > 0.5)
    found, count = ndimage.label(seeds, around)
    tops = ndimage.maximum(radii, found, range(1, count + 1))
    firsts = [
        np.argwhere((found == k) & (radii == top))[0].tolist() for k, top in enumerate(tops, 1)
    ]
    order = sorted(range(count), key=lambda k: (-tops[k], firsts[k]))
    marks = np.zeros(mask.shape, int)
    for number, k in enumerate(order, 1):
        marks[found == k + 1] = number
    steps = np.argwhere(around) - 1
    steps = steps[np.abs(steps).sum(1) > 0]
    for level in sorted({*radii[mask].tolist()}, reverse=True):
        while True:
            best = {}
            for place in np.argwhere(mask & (marks == 0) & (radii >= level)):
                there = place + steps
                there = there[((there >= 0) & (there < mask.shape)).all(1)]
                offers = [(-radii[tuple(q)], marks[tuple(q)]) for q in there if marks[tuple(q)]]
                if offers:
                    best[tuple(place)] = min(offers)[1]
            if not best:
                break
            for place, mark in best.items():
                marks[place] = mark
    return marks if count > 1 else mask.astype(int)


@pytest.mark.parametrize("sides", [(24, 30), (11, 12, 13)])
@pytest.mark.parametrize("large", [2**20, 0])
def test_parts_are_those_of_the_definition(sides, large, monkeypatch):
    """Radii from SciPy, seeds from scikit-image, and a flood in plain Python."""
    monkeypatch.setattr(splitting, "LARGE", large)
    rng = np.random.default_rng(len(sides))
    several = 0
    for trial in range(8):
        mask = ndimage.gaussian_filter(rng.standard_normal(sides), 1.5) > 0.02
        connectivity = 1 + trial % len(sides)
        distances = ((1,) * len(sides), (2, 1, 1)[-len(sides) :], (1.5, 1, 1.25)[: len(sides)])[
            trial % 3
        ]
        components = label(mask, connectivity=connectivity)
        rule = splitting.make_rule(0.5, distances, connectivity, False)
        spans = ndimage.find_objects(components)
        ends = [[[s.start for s in box], [s.stop for s in box]] for box in spans]
        boxes = np.array([[n, *a, *b] for n, (a, b) in enumerate(ends, 1)])
        parts, counts = splitting.find_parts(components, boxes, rule)
        for number, count in enumerate(counts, 1):
            own = components == number
            if count > 1:
                several += 1
                expected = split_slowly(own, 0.5, distances, connectivity)
                assert np.array_equal(np.where(own, parts, 0), expected)
    assert several > 5


@pytest.mark.parametrize("connectivity", [1, 2])
def test_a_component_that_is_split_alone_has_the_same_parts(connectivity):
    """Those at the end of the image too, beyond which it is not background."""
    noise = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal((150, 170)), 3)
    labels = label(noise > 0.05, connectivity=connectivity)
    rule = splitting.make_rule(0.5, (1.0, 1.5), connectivity, False)
    spans = ndimage.find_objects(labels)
    ends = [[[s.start for s in box], [s.stop for s in box]] for box in spans]
    boxes = np.array([[n, *a, *b] for n, (a, b) in enumerate(ends, 1)])
    parts, several = splitting.find_parts(labels, boxes, rule)
    whole = np.append(0, several)[labels] < 2
    expected = np.where(whole, labels, parts + 1000)
    for box, count in zip(boxes, several, strict=True):
        assert splitting.split_alone(labels, box, 1000, rule) == (count if count > 1 else 0)
    np.testing.assert_array_equal(labels, expected)
    assert (several > 1).sum() > 5


@pytest.mark.gpu
@pytest.mark.parametrize("large", [2**15, 2000])  # cells of a batch, too
@pytest.mark.parametrize(
    ("sides", "options"),
    [
        ((300, 290), {}),
        ((300, 290), {"connectivity": 1, "spacing": (2, 1)}),
        ((3, 80, 75), {"stacked": True}),
        ((3, 80, 75), {"stacked": True, "spacing": (0.3, 0.7), "tolerance": 0.2}),
        ((32, 38, 35), {"connectivity": 2}),
        ((32, 38, 35), {"spacing": (3, 1.5, 1)}),
        ((11, 14, 12, 15), {"tolerance": 0.1}),
    ],
)
def test_a_gpu_finds_the_same_parts(monkeypatch, sides, options, large):
    cupy, rng = pytest.importorskip("cupy"), np.random.default_rng(0)
    monkeypatch.setattr(splitting, "LARGE", large)
    stacked = options.get("stacked", False)
    width = [0] * stacked + [2 if len(sides) < 4 else 1] * (len(sides) - stacked)
    noise = ndimage.gaussian_filter(rng.standard_normal(sides), width)
    for share in (0.4, 0.7, 0.9):
        mask = noise > np.quantile(noise, share)
        expected = split_touching(mask, **options)
        found = split_touching(cupy.asarray(mask), **options)
        np.testing.assert_array_equal(found.get(), expected)
    assert expected.max() > label(mask, stacked=stacked).max()


def test_disks_that_share_a_pixel_or_a_corner_are_parted():
    shared = np.zeros((9, 17), bool)
    shared[:, :9] = shared[:, 8:] = disk(4, 4, 4, (9, 9))
    shared[4, 8] = True
    corner = np.zeros((14, 14), bool)
    corner[:7, :7] = corner[7:, 7:] = True
    for mask in (shared, corner):
        assert label(mask).max() == 1
        assert split_touching(mask).max() == 2
    assert split_touching(corner, connectivity=1).max() == 2


@pytest.mark.parametrize("limits", [{"TOGETHER": 1}, {"LARGE": 0}, {"LARGE": 3000}, {"WHOLE": 0}])
def test_components_get_the_same_parts_in_any_task(limits, monkeypatch):
    """Those that reach the end of the image too, in images, volumes, and with other spacings."""
    volume = np.random.default_rng(0).standard_normal((20, 50, 60))
    volume = ndimage.gaussian_filter(volume, 2) > 0.1
    for mask, options in (
        (binarize(nuclei_2d((400, 380)), sigma=1), {}),
        (nuclei_mask((400, 400)), {"spacing": (0.5, 0.31), "connectivity": 1}),
        (volume, {"spacing": (2, 0.5, 0.5)}),
        (volume, {"stacked": True}),
    ):
        parts = split_touching(mask, **options)
        whole = label(mask, None, False, options.get("connectivity"), stacked="stacked" in options)
        assert parts.max() > whole.max()
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(splitting if hasattr(splitting, name) else kernels, name, value)
            assert np.array_equal(split_touching(mask, **options), parts)


def test_labels_that_touch_are_split_by_themselves():
    mask = nuclei_mask((220, 260))
    labels = label(mask) % 3 * mask  # few values; 0 cuts holes
    labels = labels + 3 * np.roll(mask, 7, axis=1)
    parts = split_touching(labels)
    assert is_split(labels, parts, connectivity=2)
    assert label(labels).max() < parts.max()


def test_each_part_is_connected_and_each_component_has_a_part():
    """Components without a seed, too."""
    corners = np.array([[1, 0, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 1]], bool)
    assert split_touching(corners).max() == 4
    rng = np.random.default_rng(0)
    for shape, stacked in (((90, 80), False), ((3, 30, 40), True), ((20, 21, 22), False)):
        mask = rng.random(shape) < 0.45
        for image in (mask, mask * rng.integers(1, 4, shape)):
            for connectivity in (1, len(shape) - stacked):
                options = {"connectivity": connectivity, "stacked": stacked}
                parts = split_touching(image, **options)
                assert is_split(image, parts, **options)
    flat = np.array([[1, 1, 0, 2], [3, 0, 2, 2]])[..., None]  # `label` numbers such by columns
    assert split_touching(flat).ravel().tolist() == [1, 1, 0, 2, 3, 0, 2, 2]


def test_parts_are_numbered_in_raster_order_and_the_same_in_any_number_of_threads(monkeypatch):
    mask = nuclei_mask((400, 400))
    monkeypatch.setitem(os.environ, "EQUILABEL_NUM_THREADS", "1")
    parts = split_touching(mask)
    assert parts.dtype == np.int32
    assert parts.max() > label(mask).max()
    values, first = np.unique(parts, return_index=True)
    assert np.array_equal(values, np.arange(parts.max() + 1))
    assert np.array_equal(np.argsort(first[1:]), np.arange(parts.max()))
    monkeypatch.setitem(os.environ, "EQUILABEL_NUM_THREADS", "4")
    assert np.array_equal(split_touching(mask), parts)
    assert np.array_equal(split_touching(parts), parts)


def test_components_that_are_surely_convex_are_not_looked_at(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(splitting, "find_parts", fail)
    mask = disk(30, 30, 20) | disk(90, 80, 12) | disk(30, 80, 8)
    assert np.array_equal(split_touching(mask), label(mask))


def test_objects_at_the_border_and_whole_images():
    mask = disk(0, 40, 10) | disk(0, 59, 10)
    assert split_touching(mask).max() == 2
    assert split_touching(np.ones((20, 30), bool)).max() == 1
    assert split_touching(np.ones(9, bool)).tolist() == [1] * 9
    assert split_touching(np.zeros((0, 5), bool)).shape == (0, 5)


def test_balls_are_parted_in_3d_where_spacings_differ():
    distances = (2.0, 0.5, 0.5)
    mask = balls([(8, 8, 8), (8, 8, 20)], 6.5, (9, 34, 58), distances)
    assert label(mask).max() == 1
    assert split_touching(mask, spacing=distances).max() == 2
    assert split_touching(mask, spacing=distances, tolerance="3um", unit="um").max() == 2
    assert split_touching(mask, spacing=distances, tolerance="4.5um", unit="um").max() == 1
    across = (np.indices((30, 30, 30)).T - 15) @ np.array([[0.8, 0.0], [-0.6, 0.6], [0.0, -0.8]])
    rod = ((across**2).sum(-1) <= 16).T
    assert split_touching(rod).max() == label(rod).max() == 1


def test_a_large_component_can_be_called_off(monkeypatch):
    """Between the pieces of its work."""
    mask = nuclei_mask((300, 300))
    monkeypatch.setattr(splitting, "LARGE", 100)
    asked = []

    def stop():
        asked.append(1)
        if len(asked) == stop_at:
            raise KeyboardInterrupt

    stop_at = 0
    with threads.interruptible(stop):
        split_touching(mask)
    stop_at, total = len(asked) - 3, len(asked)
    asked.clear()
    with threads.interruptible(stop), pytest.raises(KeyboardInterrupt):
        split_touching(mask)
    assert total > 20


def test_a_component_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(splitting, "LARGE", 100)
    monkeypatch.setattr(splitting, "MOST", 1000)
    with pytest.raises(ValueError, match="boxes have up to 1,000 pixels; got one of"):
        split_touching(disk(40, 40, 12) | disk(40, 62, 12))


def test_images_of_a_stack_are_split_by_themselves():
    one = disk(40, 40, 12) | disk(40, 62, 12)
    stack = np.stack([one, disk(40, 40, 12), one])
    parts = split_touching(stack, stacked=True)
    assert [set(np.unique(frame)) for frame in parts] == [{0, 1, 2}, {0, 3}, {0, 4, 5}]


def test_each_label_is_split_by_itself():
    labels = np.where(disk(40, 40, 12) | disk(40, 62, 12), 7, 0)
    labels[disk(40, 86, 12) & (labels == 0)] = 3
    parts = split_touching(labels)
    assert parts.max() == 3
    assert set(parts[labels == 3]) == {3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1}, "tolerance must be 0 or more"),
        ({"tolerance": "1um"}, "tolerance must be in pixels for an image without a pixel size"),
        ({"tolerance": "1um2", "spacing": 1, "unit": "um"}, "tolerance must be a length"),
        ({"tolerance": (1, 2)}, "tolerance must be a number"),
    ],
)
def test_a_tolerance_that_cannot_be_used_is_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        split_touching(np.ones((5, 5), bool), **options)


def test_segment_drops_and_measures_the_parts():
    image = np.where(disk(40, 40, 12) | disk(40, 62, 12) | disk(90, 90, 4), 9.0, 0.0)
    for fill_holes, method in ((False, "auto"), (True, "auto"), (False, "kalentev")):
        found = segment(
            image,
            threshold=5,
            split=True,
            min_size=60,
            fill_holes=fill_holes,
            method=method,
            properties=("label", "area", "solidity", "intensity_mean"),
        )
        assert found.num == found.labels.max() == 2
        assert found.in_pixels["split"] == 0.8
        assert found.table["area"].tolist() == np.bincount(found.labels.flat)[1:].tolist()
        assert found.table["solidity"].min() > 0.9
    assert segment(image, threshold=5, split=0).num == segment(image, threshold=5).num == 2
    assert segment(image, threshold=5, split="7um", spacing=0.5, unit="um").num == 2
    assert segment(image, threshold=5, split="1um", spacing=0.5, unit="um").num == 3
    with pytest.raises(ValueError, match="split must be in pixels for an image without"):
        segment(image, split="1um")


def test_segment_tells_that_it_splits_and_finds_what_split_touching_finds():
    image = nuclei_2d((256, 256))
    stages = []
    found = segment(image, sigma=1, split=1.2, stacked=False, progress=stages.append)
    assert stages == ["binarize", "label", "split", "measure"]
    assert np.array_equal(found.labels, split_touching(binarize(image, sigma=1), tolerance=1.2))


def test_the_command_splits_with_and_without_a_length(here, capsys):
    two = np.where(disk(40, 40, 12) | disk(40, 62, 12), np.uint8(200), np.uint8(0))
    tifffile.imwrite(here / "two.tif", two)
    file = str(here / "two.tif")
    for number, (words, objects) in enumerate(
        (
            ((file,), 1),
            (("--split", file), 2),
            ((file, "--split"), 2),
            (("--split", "9px", file), 1),
            ((file, "--split=1.5"), 2),
        )
    ):
        out = here / str(number)
        assert main(["batch", *words, "--out", str(out), "--no-overlay"]) == 0
        assert int(tifffile.imread(out / "two_labels.tif").max()) == objects
    assert main(["batch", file, "--split", "1um2", "--out", str(here / "none")]) == 2
    assert "--split must be a length" in capsys.readouterr().err


def test_components_that_are_split_together_have_the_same_parts(monkeypatch):
    rng = np.random.default_rng(11)
    for turn in range(30):
        shape = ((60, 70), (14, 18, 20), (3, 40, 40))[turn % 3]
        mask = ndimage.gaussian_filter(rng.random(shape), 1.2) > rng.uniform(0.45, 0.52)
        how = {"stacked": turn % 3 == 2, "tolerance": float(rng.choice([0.3, 0.8]))}
        apart = split_touching(mask, **how)
        with monkeypatch.context() as together:
            together.setattr(splitting, "MANY", -splitting.TOGETHER)  # always
            assert np.array_equal(split_touching(mask, **how), apart), turn
