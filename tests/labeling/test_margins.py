"""Nothing is written outside the array that receives labels, nor read from memory nobody filled."""

import threading

import numpy as np
import pytest

from equilabel import label
from equilabel.labeling import output
from equilabel.measuring import count_part
from equilabel.measuring.counts import steps_to
from equilabel.measuring.cpu.neighbor_bits import compare
from equilabel.runs.cpu import painting
from equilabel.runs.cpu import passes as runs

GUARD = 0xA5
WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 71, 127, 128, 130)
IMAGES = {
    "background": lambda shape, rng: np.zeros(shape, np.uint8),
    "foreground": lambda shape, rng: np.ones(shape, np.uint8),
    "noise": lambda shape, rng: rng.integers(0, 2, shape, np.uint8),
    "many values": lambda shape, rng: rng.integers(0, 4, shape, np.uint8),
}


def guarded(shape, dtype, offset):
    """Make an array at some bytes from an address that 64 divides, with bytes on guard around."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 4 * 64, GUARD, np.uint8)
    begin = -memory.ctypes.data % 64 + 64 + offset
    return memory, memory[begin : begin + size].view(dtype).reshape(shape), (begin, begin + size)


@pytest.mark.parametrize("large", [painting.LARGE, 0], ids=["", "past the caches"])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("background", "i2"),
        ("foreground", "u4"),
        *(("noise", dtype) for dtype in ("u1", "i2", "u4", "i8")),
        *(("many values", dtype) for dtype in ("u1", "i2", "u4", "i8")),
    ],
)
def test_labels_stay_inside_out_wherever_it_begins(kind, dtype, large, monkeypatch):
    monkeypatch.setattr(painting, "LARGE", large)
    rng = np.random.default_rng(7)
    step = np.dtype(dtype).itemsize
    for number, width in enumerate(WIDTHS):
        for offset in range(number % 3 * step, 64, 3 * step):
            image = IMAGES[kind]((2, width), rng)
            image = image if kind == "many values" else image.astype(bool)
            memory, out, (begin, end) = guarded(image.shape, dtype, offset)
            label(image, out=out)
            np.testing.assert_array_equal(out, label(image))
            assert (memory[:begin] == GUARD).all()
            assert (memory[end:] == GUARD).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.uint8])
def test_an_image_without_foreground_clears_out(dtype):
    for shape in ((18, 8), (3, 64), (2, 3, 70), (5,)):
        for image in (np.zeros(shape, bool), np.full(shape, 3)):
            out = np.full(shape, 77, dtype)
            label(image, image.flat[0].item(), out=out)
            assert not out.any()


@pytest.mark.parametrize("shape", [(6, 64), (7, 132), (3, 5, 72), (5, 4)], ids=str)
@pytest.mark.parametrize("kind", IMAGES)
def test_labels_written_past_the_caches_are_the_same(kind, shape, monkeypatch):
    image = IMAGES[kind](shape, np.random.default_rng(5))
    image[-1, 1:] = 0  # rows of no pixels beside rows of some
    monkeypatch.setattr(painting, "LARGE", 0)
    for connectivity in (1, len(shape)):
        out = np.full(shape, -1, np.int64)
        label(image, connectivity=connectivity, out=out)
        np.testing.assert_array_equal(out, label(image, connectivity=connectivity))


def test_large_arrays_of_labels_begin_with_a_large_page(monkeypatch):
    monkeypatch.setattr(output, "FRESH", 100)
    image = np.random.default_rng(6).integers(0, 2, (33, 70), np.uint8)
    labels, _ = label(image, report=True)
    assert labels.ctypes.data % output.PAGE == 0
    assert labels.flags.c_contiguous
    assert labels.flags.writeable
    np.testing.assert_array_equal(labels, label(image))


@pytest.mark.usefixtures("in_one_call")
@pytest.mark.parametrize("shape", [(96, 100), (300, 301), (20, 30, 40)], ids=str)
def test_new_labels_begin_where_a_vector_of_them_does(shape):
    image = np.random.default_rng(8).integers(0, 2, shape, np.uint8)
    expected = label(image, out=np.empty(shape, np.int32))
    held = [bytes(16 * k) for k in range(9)]  # so that memory is not always at the same place
    for _ in range(len(held)):
        for pixels in (image, image + 1):
            found = label(pixels, background=pixels.min(), return_num=True)
            assert found[0].ctypes.data % 32 == 0
            assert found[0].flags.c_contiguous
            assert found[1] == expected.max()
            np.testing.assert_array_equal(found[0], expected)
            held.append(found)
    labels, _ = label(image, report=True)
    assert labels.ctypes.data % output.LINE == 0


def test_memory_that_nobody_filled_is_not_read(monkeypatch):
    def poisoned(shape, dtype=float):
        array = np.zeros(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0x7F
        return array

    expected = {}
    images = [make((9, 70), np.random.default_rng(3)) for make in IMAGES.values()]
    images += [image.astype(bool) for image in images[:3]]
    for blank in (True, False):
        for k, image in enumerate(images):
            expected[k, blank] = label(image, out=None if blank else np.empty(image.shape, "i4"))
    monkeypatch.setattr(runs.np, "empty", poisoned)
    for (k, blank), labels in expected.items():
        out = None if blank else np.full(labels.shape, 9, "i4")
        np.testing.assert_array_equal(label(images[k], out=out), labels)


@pytest.mark.parametrize("side", [20, 300])
def test_subclasses_of_arrays_are_taken_as_their_arrays(side):
    mask = np.ones((side, side), bool)
    out = np.zeros(mask.shape, np.int32).view(np.matrix)
    assert label(mask, out=out) is out
    assert (np.asarray(out) == 1).all()
    for image in (
        mask.view(np.matrix),
        np.ma.masked_array(mask, mask=mask),
        mask.view(np.recarray),
    ):
        labels = label(image)
        assert type(labels) is np.ndarray
        assert (labels == 1).all()


def test_a_masked_out_is_refused_because_its_mask_would_hide_labels():
    mask = np.ones((3, 3), bool)
    out = np.ma.masked_array(np.zeros((3, 3), np.int32), mask=mask)
    with pytest.raises(TypeError, match=r"out must be an array without a mask.*out\.data"):
        label(mask, out=out)
    label(mask, out=out.data)
    assert (out.data == 1).all()


def test_each_run_has_a_start_and_an_end_though_labels_change_meanwhile():
    labels = np.zeros(64 * 512, np.int32)
    stripes = np.tile(np.array([1, 0], np.int32), labels.size // 2)
    planes = np.empty((64, 8, 2), np.uint64)
    done = threading.Event()

    def change():
        while not done.is_set():
            for pattern in (stripes, 1 - stripes, 1):
                labels[:] = pattern

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(1000):
            compare(labels, 512, np.array([1, 1, 1, 1, 64]), steps_to(2, "none"), 0, 64, planes)
            foreground, left = planes[..., 0], planes[..., 1]
            before = foreground << np.uint64(1)
            before[:, 1:] |= foreground[:, :-1] >> np.uint64(63)
            assert not (left & ~(foreground & before)).any()
    finally:
        done.set()
        other.join()


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ({"box": [(0, 10**6), (0, 10**6)]}, "box must lie in the piece"),
        ({"box": [(0, 2), (-64, 3)]}, "box must lie in the piece"),
        ({"box": [(2, 0), (0, 3)]}, "box must lie in the piece"),
        ({"origin": (-1, 0)}, "origin and shape must hold the piece"),
        ({"origin": (1, 0), "shape": (2, 3)}, "origin and shape must hold the piece"),
        ({"shape": (2, 2)}, "origin and shape must hold the piece"),
    ],
)
def test_parts_outside_their_image_are_refused(place, rule):
    with pytest.raises(ValueError, match=f"^{rule}"):
        count_part(np.ones((2, 3), int), properties=["area"], **place)


@pytest.mark.parametrize("place", [{"box": [(0, 2)]}, {"origin": (0.5, 0)}, {"shape": (2, 3, 1)}])
def test_parts_are_given_in_whole_numbers_for_each_axis(place):
    with pytest.raises(TypeError, match=r"must hold .* for each of 2 axes; got"):
        count_part(np.ones((2, 3), int), properties=["area"], **place)


def test_parts_with_negative_labels_are_refused():
    with pytest.raises(ValueError, match="must hold no negative labels; got -3"):
        count_part(np.array([[1, -3, 1]]), properties=["area"])
