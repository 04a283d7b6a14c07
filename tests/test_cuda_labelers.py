"""What a remembered labeler hands to its kernel, and when it declines; no card is needed."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="launchers import CuPy")

from equilabel.grid import Foreground  # noqa: E402
from equilabel.kernels.cuda import at_once, run_jobs, tiling  # noqa: E402

SHAPE = (100, 200)


class Memory:
    """Memory that passes for that of a device."""

    def __init__(self, size):
        self.bytes = np.zeros(size + 15, np.uint8)
        self.ptr, self.size, self.device_id = -(-self.bytes.ctypes.data // 16) * 16, size, 0

    def __add__(self, skipped):
        return SimpleNamespace(ptr=self.ptr + skipped)


def array(shape, dtype):
    """Make what a labeler looks at of an array."""
    memory = Memory(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    flags = SimpleNamespace(c_contiguous=True)
    return SimpleNamespace(shape=shape, dtype=np.dtype(dtype), data=memory, flags=flags)


@pytest.fixture
def driver(monkeypatch):
    """Stand in for CuPy; keeps the arguments of launches, and the tables that were allocated."""
    seen = SimpleNamespace(started=[], tables=[], device=0, error=None)

    def start(function, blocks, *arguments):
        if seen.error:
            raise seen.error
        address = arguments[7]
        seen.started.append((function, blocks, address))

    def alloc(size):
        seen.tables.append(Memory(size))
        return seen.tables[-1]

    attributes = {at_once.MULTIPROCESSORS: 132, at_once.COOPERATIVE: 1}
    runtime = SimpleNamespace(
        getDevice=lambda: seen.device, deviceGetAttribute=lambda which, _: attributes[which]
    )
    calls = SimpleNamespace(
        launchKernel=start,
        launchCooperativeKernel=start,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 1,
    )
    cuda = SimpleNamespace(
        runtime=runtime,
        driver=calls,
        alloc=alloc,
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        Device=lambda _: SimpleNamespace(compute_capability="90"),
    )
    monkeypatch.setattr(at_once, "cupy", SimpleNamespace(cuda=cuda, ndarray=array))
    monkeypatch.setattr(at_once, "kernel", lambda *_: SimpleNamespace(ptr=7))
    at_once.prepare_launch.cache_clear()
    yield seen
    at_once.prepare_launch.cache_clear()
    at_once._compiled.cache_clear()


def prepare(image):
    foreground = Foreground("!=", image.dtype.type(0), values=image.dtype.kind != "b")
    return at_once.labeler_for(image, foreground, 2, False, image.shape)


def addresses(driver):
    """Read the addresses that the last launch was given, in the order of a Job."""
    job = np.frombuffer(memory_at(driver.started[-1][2], 16), np.uint64)[0]
    start = int(job) + tiling.PLAN.itemsize
    return run_jobs.ADDRESSES.unpack(memory_at(start, run_jobs.ADDRESSES.size))


def memory_at(address, size):
    return ctypes.string_at(address, size)


@pytest.mark.parametrize("dtype", ["?", "i2"])
def test_every_call_tells_the_kernel_where_this_image_and_its_tables_are(driver, dtype):
    image = array(SHAPE, dtype)
    labeler = prepare(image)
    for pixels in (image, array(SHAPE, dtype)):
        labels, _ = labeler(pixels)
        told = addresses(driver)
        tables = driver.tables[-1]
        inside = sorted(told[k] - tables.ptr for k in (1, 2, 3, 4, 5, 7, 8))
        assert (told[0], told[6]) == (pixels.data.ptr, labels.data.ptr)
        assert inside[0] == 0
        assert told[4] - tables.ptr + 4 * np.prod(SHAPE) == tables.size  # nodes are the last
        assert all(offset % 16 == 0 for offset in inside)


def test_a_labeler_declines_what_it_was_not_made_for(driver):
    image = array(SHAPE, "?")
    labeler = prepare(image)
    assert labeler(image) is not None
    image.flags.c_contiguous = False
    assert labeler(image) is None
    image.flags.c_contiguous = True
    driver.device = 1
    assert labeler(image) is None
    driver.device = 0
    image.data.ptr += 1
    assert labeler(image) is None
    image.data.ptr -= 1
    driver.error = at_once.FAILURES[1](700)
    assert labeler(image) is None
    driver.error = None
    assert labeler(image) is not None
    assert len(driver.started) == 2


def test_images_that_do_not_fit_at_once_have_no_labeler(driver):
    assert prepare(array((1024, 1024), "?")) is not None  # 128 tiles for 132 multiprocessors
    assert prepare(array((1024, 1025), "?")) is None
    assert prepare(array((8, 2**17 - 1), "?")) is not None
    assert prepare(array((7, 2**15), "u1")) is not None
    assert prepare(array((1, 33 * 32 * 132), "u1")) is None  # more tiles
