"""What a remembered labeler hands to its kernel, and when it declines; no card is needed."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="launchers import CuPy")

from equilabel.domains.grid import Foreground
from equilabel.runs.cuda import bands, tiles

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
    return SimpleNamespace(
        shape=shape,
        ndim=len(shape),
        dtype=np.dtype(dtype),
        data=memory,
        flags=flags,
        nbytes=memory.size,
    )


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

    attributes = {bands.MULTIPROCESSORS: 132, bands.COOPERATIVE: 1, bands.SHARED: 232_448}
    runtime = SimpleNamespace(
        getDevice=lambda: seen.device, deviceGetAttribute=lambda which, _: attributes[which]
    )
    calls = SimpleNamespace(launchKernel=start, launchCooperativeKernel=start)
    cuda = SimpleNamespace(
        runtime=runtime,
        driver=calls,
        alloc=alloc,
        get_current_stream=lambda: SimpleNamespace(ptr=0),
    )
    for module in (bands, tiles):
        monkeypatch.setattr(module, "cupy", SimpleNamespace(cuda=cuda, ndarray=array))
    monkeypatch.setattr(bands, "kernel", lambda *_: SimpleNamespace(ptr=7))
    bands.prepare_bands.cache_clear()
    yield seen
    bands.prepare_bands.cache_clear()


def prepare(image, stacked=False):
    foreground = Foreground("!=", image.dtype.type(0), values=image.dtype.kind != "b")
    return bands.labeler_for(image, foreground, 2, stacked, image.shape)


def addresses(driver, layout, skipped):
    """Read the addresses that the last launch was given, in the order of its job."""
    job = np.frombuffer(memory_at(driver.started[-1][2], 8), np.uint64)[0]
    return layout.unpack(memory_at(int(job) + skipped, layout.size))


def memory_at(address, size):
    return ctypes.string_at(address, size)


def test_every_call_tells_the_kernel_of_bands_where_all_is(driver):
    image = array(SHAPE, "?")
    prepared = prepare(image)
    cut = bands.cut(SHAPE, 132, 2**18)
    assert (cut.across, cut.rows * cut.bands >= SHAPE[0]) == (25, True)
    for pixels in (image, array(SHAPE, "?")):
        labels, count = prepared(pixels)
        told = addresses(driver, bands.ADDRESSES, 0)
        tables = driver.tables[-1]
        assert told[:2] == (pixels.data.ptr, labels.data.ptr)
        assert driver.started[-1][1] == cut.bands
        ends = [begin - tables.ptr for begin in (*told[3:], tables.ptr + tables.size)]
        sizes = np.subtract(ends, [begin - tables.ptr for begin in told[2:]])
        tables, nodes = 8 * cut.bands * cut.across, 4 * cut.bands * cut.most
        assert (sizes >= (tables, nodes, 4 * cut.bands, 8)).all()
        assert all(begin % 16 == 0 for begin in told)
        assert (count._memory + count._begin).ptr == told[-1]


def moved(out, step):
    """Return a view of an array that begins `step` bytes later."""
    data = SimpleNamespace(ptr=out.data.ptr + step, device_id=out.data.device_id)
    return SimpleNamespace(**{**vars(out), "data": data})


def test_labels_go_straight_to_an_array_that_can_take_them(driver):
    image = array(SHAPE, "?")
    prepared, out = prepare(image), array(SHAPE, "i4")
    labels, _ = prepared(image, out)
    assert labels is out
    assert out.data.ptr in addresses(driver, bands.ADDRESSES, 0)
    away = array(SHAPE, "i4")
    away.data.device_id = 1
    gaps = array(SHAPE, "i4")
    gaps.flags = SimpleNamespace(c_contiguous=False)
    onto = array(SHAPE, "i4")
    onto.data.ptr = image.data.ptr + image.nbytes - 16
    below = array(SHAPE, "i4")
    below.data.ptr = image.data.ptr - below.nbytes + 16
    started = len(driver.started)
    for other in (array(SHAPE, "u4"), array(SHAPE, "i8"), moved(out, 4), away, gaps, onto, below):
        assert prepared(image, other) is None
    assert len(driver.started) == started


@pytest.mark.parametrize(
    "shape", [(1, 1), (64, 64), (65, 63), (512, 512), (2**16, 8), (1000, 1024), (64, 63, 60)]
)
def test_bands_have_all_rows_and_fit(shape):
    cut = bands.cut(shape, 132, 231_424)
    planes, deep = shape[0], cut.rows // cut.lines
    assert cut.rows == deep * cut.lines
    assert cut.rows * cut.across <= cut.threads
    assert (cut.bands - 1) * deep < planes <= cut.bands * deep
    assert cut.bands <= cut.threads
    assert cut.shared <= 231_424


def test_what_does_not_fit_a_device_has_no_bands():
    assert bands.cut((512, 512), 132, 2**13) is None  # as little to share as on older devices
    assert bands.cut((512, 512), 1, 2**18) is None
    assert bands.cut((4096, 4096), 132, 2**18) is None
    assert bands.cut((2, 2000, 2000), 132, 2**18) is None


def test_what_bands_do_not_know_has_no_labeler(driver):
    assert prepare(array((1024, 1024), "?")) is not None
    assert prepare(array((2048, 2049), "?")) is None  # larger than all bands
    assert prepare(array((64, 64), "u1")) is None  # values tell runs apart
    assert prepare(array((64, 64), "?"), stacked=True) is None
    assert prepare(array((64,), "?")) is None
    driver.device = 1
    assert prepare(array((64, 64), "?")) is None
