"""What a prepared table hands to its kernels, when it asks again, declines; no card is needed."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="launchers import CuPy")

from equilabel.devices.cuda import kernels, transfers
from equilabel.measuring.counts import (
    Formula,
    Layout,
    Step,
)
from equilabel.measuring.cuda import columns, sources
from kernels import signatures

STEPS = (Step(Formula.LABEL), Step(Formula.TOUCHES))
TOLD = ("counted", "beyond", "torn", "gaps", "labels", "note", "other", "ended")


class Memory:
    """Memory that passes for that of a device."""

    def __init__(self, size):
        self.bytes = np.zeros(size + 15, np.uint8)
        self.ptr, self.size, self.device_id = -(-self.bytes.ctypes.data // 16) * 16, size, 0
        self.mem = self

    def __add__(self, skipped):
        return SimpleNamespace(ptr=self.ptr + skipped)


def array(shape, dtype):
    """Make what a tabler looks at of an array."""
    memory = Memory(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    flags = SimpleNamespace(c_contiguous=True)
    dtype = np.dtype(dtype)
    return SimpleNamespace(
        shape=shape,
        dtype=dtype,
        itemsize=dtype.itemsize,
        size=int(np.prod(shape)),
        nbytes=memory.size,
        data=memory,
        flags=flags,
    )


@pytest.fixture
def driver(monkeypatch):
    """Stand in for CuPy; keeps what kernels are given, and tells the host what a test says."""
    seen = SimpleNamespace(started=[], tables=[], waited=0, device=0, error=None, told=[])
    handles = {}

    def kernel(file, name):
        handles[len(handles) + 1] = file, name
        return SimpleNamespace(ptr=len(handles))

    def launch(function, blocks, *rest):
        if seen.error:
            raise seen.error
        file, name = handles[function]
        base = name.partition("<")[0]
        _, parameters = signatures(file)[base]
        names = [each.replace("*", " ").split()[-1] for each in parameters]
        given = ctypes.string_at(rest[7], 8 * len(names))
        words = {
            key: np.frombuffer(ctypes.string_at(int(at), 8), np.uint64)[0]
            for key, at in zip(names, np.frombuffer(given, np.uint64), strict=True)
        }
        seen.started.append((base, blocks, {key: int(word) for key, word in words.items()}))
        if base == "fill_columns" and seen.told:
            numbers = seen.told.pop(0)
            at = (ctypes.c_uint64 * len(TOLD)).from_address(int(words["told"]))
            found = {"ended": 1, **numbers, "counted": 1 + numbers.get("found", 0)}
            at[:] = [found.get(key, 0) for key in TOLD]

    def alloc(size):
        seen.tables.append(Memory(size))
        return seen.tables[-1]

    def synchronize():
        seen.waited += 1

    stream = SimpleNamespace(ptr=0, synchronize=synchronize)
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(
            getDevice=lambda: seen.device,
            memsetAsync=lambda *_: None,
        ),
        driver=SimpleNamespace(launchKernel=launch),
        alloc=alloc,
        alloc_pinned_memory=Memory,
        get_current_stream=lambda: stream,
        Event=lambda **_: SimpleNamespace(record=lambda: None, synchronize=synchronize),
    )
    made = SimpleNamespace(cuda=cuda, ndarray=lambda shape, dtype, at: (shape, str(dtype), at.ptr))
    for module in (kernels, columns, transfers):
        monkeypatch.setattr(module, "cupy", made)
    monkeypatch.setattr(columns, "kernel", kernel)
    monkeypatch.setattr(sources, "kernel", kernel)
    monkeypatch.setattr(columns, "_expected", {})
    monkeypatch.setattr(columns, "FIRST_GUESS", 9000)
    monkeypatch.setattr(columns, "zeros", columns.Zeros())
    return seen


def prepare(labels, gray=None, most=10**6, on_host=False, **kinds):
    formulas = columns.pack(STEPS, (1.0, 1.0), 1.0, False)
    gray = None if gray is None else np.dtype(gray)
    layout = Layout(axes=2, **kinds)
    names = "label", "touches_border"
    spec = columns.TableSpec(layout, formulas, gray, "kind", most, on_host)
    return columns.Tabler(labels, spec, names)


@pytest.mark.parametrize("kinds", [{}, {"pairs": "all"}])
@pytest.mark.parametrize("gray", [None, "?", "u2"])
def test_every_call_tells_the_kernels_where_everything_is(driver, kinds, gray):
    measure = prepare(array((40, 256), "i4"), gray, **kinds)
    for found in (5, 70):
        labels = array((40, 256), "i4")
        values = None if gray is None else array((40, 256), gray)
        driver.started.clear()
        driver.told = [{"found": found}]
        got = measure(labels, values)
        (count, blocks, given), (fill, fill_blocks, told) = driver.started
        out, scratch = driver.tables[-1], driver.tables[0]
        room = given["most"]
        assert (count, fill) == (
            "count_quads" if gray is None and not kinds else "count_labels",
            "fill_columns",
        )
        assert blocks == 1 + (count == "count_labels")
        assert given["labels"] == labels.data.ptr
        assert given["table"] == told["table"] == scratch.ptr
        assert told["rows"] == room + 1
        assert told["stride"] == room
        assert fill_blocks == -(-room // columns.ROWS)
        assert told["states"] + 8 * (fill_blocks + columns.STATES) <= scratch.ptr + scratch.size
        assert told["clean"] == 1
        assert (told["values"] == 0) == (gray is None)
        if gray is not None:
            assert given["grays"] == values.data.ptr
            assert told["values"] + 32 * (room + 1) == told["states"]
        assert told["out"] == out.ptr
        columns_of = {
            "label": ((found,), "int64", out.ptr),
            "touches_border": ((found,), "bool", out.ptr + 8 * room),
        }
        assert got == columns_of
    assert driver.waited == 0


def test_more_labels_than_expected_are_counted_again(driver):
    labels = array((400, 256), "i4")
    measure = prepare(labels)
    driver.told = [{"beyond": 90_000}, {"found": 90_000}]
    assert measure(labels)["label"][0] == (90_000,)
    rooms = [given["most"] for name, _, given in driver.started if name == "count_quads"]
    assert rooms[0] == columns.FIRST_GUESS < 90_000 < rooms[1]
    driver.told = [{"beyond": 2**31 - 1}]  # there is no room for so many, or it is negative
    assert prepare(labels, most=1000)(labels) is None
    driver.told = [{"found": 3, "torn": 1}]
    assert prepare(labels, most=1000)(labels) is None


def test_a_tabler_waits_in_another_way_in_the_end(driver):
    labels = array((40, 256), "i4")
    driver.told = [{"found": 3, "ended": 0}]
    assert prepare(labels)(labels)["label"][0] == (3,)
    assert driver.waited == 1


def test_columns_of_the_host_lie_after_what_is_told(driver):
    labels = array((40, 256), "i4")
    measure = prepare(labels, on_host=True)
    driver.told = [{"found": 3}]
    assert [str(column.dtype) for column in measure(labels).values()] == ["int64", "bool"]
    given = driver.started[-1][2]
    assert given["out"] == given["told"] + 8 * columns.TOLD


def test_a_tabler_declines_what_it_was_not_made_for(driver):
    labels = array((40, 256), "i4")
    measure = prepare(labels)
    driver.told = [{"found": 1} for _ in range(2)]
    assert measure(labels) is not None
    driver.device = 1
    assert measure(labels) is None
    driver.device = 0
    driver.error = columns.FAILURES[1](700)
    assert measure(labels) is None
    driver.error = None
    assert measure(labels) is not None


def begin(labels, values=None, **options):
    """Start columns that are waited for later, of labels or runs that are counted elsewhere."""
    formulas = columns.pack(STEPS, (1.0, 1.0), 1.0, False)
    gray = None if values is None else values.dtype
    most, on_host = options.pop("most", 10**6), options.pop("on_host", False)
    spec = columns.TableSpec(Layout(axes=2), formulas, gray, "kind", most, on_host)
    source = sources.LabelSource(labels)

    def count(most, table, sums, stream):
        source.count(spec.layout, most, table, values, sums)

    found = columns.Columns(labels.shape, spec, count, **options)
    found.begin()
    return found


@pytest.mark.parametrize("gray", [None, "u1", "u2"])
def test_columns_that_are_waited_for_later_are_started_as_those_of_a_tabler(driver, gray):
    labels = array((40, 256), "i4")
    values = None if gray is None else array((40, 256), gray)
    driver.told = [{"found": 5}, {"found": 5}]
    found = begin(labels, values, keeps=True)
    (count, blocks, given), (fill, fill_blocks, told) = driver.started
    scratch, out = driver.tables
    assert (count, fill) == ("count_labels" if gray else "count_quads", "fill_columns")
    assert given["labels"] == labels.data.ptr
    assert given["table"] == told["table"] == scratch.ptr
    assert told["rows"] == given["most"] + 1 == told["stride"] + 1
    assert told["clean"] == 0  # the host may ask for the counts
    assert told["out"] == out.ptr
    assert told["states"] + 8 * (fill_blocks + columns.STATES) == scratch.ptr + scratch.size
    if gray:
        assert given["grays"] == values.data.ptr
        assert told["values"] + 32 * told["rows"] == told["states"]
    assert driver.waited == 0
    label, touches = found.finish()
    assert (label, touches[:2]) == (((5,), "int64", out.ptr), ((5,), "bool"))
    assert found._memory is scratch
    driver.started.clear()
    columns._expected.clear()
    prepare(labels, gray)(labels, values)
    assert [(name, count) for name, count, _ in driver.started] == [
        (count, blocks),
        (fill, fill_blocks),
    ]
    again = driver.started[1][2]
    assert (again["rows"], again["stride"]) == (told["rows"], told["stride"])


def test_columns_are_counted_again_while_their_source_lasts(driver):
    labels = array((400, 256), "i4")
    driver.told = [{"beyond": 90_000}, {"found": 90_000}]
    found = begin(labels)
    assert found.finish()[0][0] == (90_000,)
    rooms = [given["most"] for name, _, given in driver.started if name == "count_quads"]
    assert rooms[0] == columns.FIRST_GUESS < 90_000 < rooms[1]
    for told, options in (
        ({"beyond": 200_000}, {"lasts": False}),
        ({"beyond": 2**31 - 1}, {}),
        ({"found": 200_000, "torn": 1}, {}),
    ):
        driver.told = [told]
        assert begin(labels, **options).finish() is None
    driver.told = [{"found": 3}]
    assert [str(column.dtype) for column in begin(labels, on_host=True).finish()] == [
        "int64",
        "bool",
    ]


def test_columns_that_nobody_waits_for_end_before_their_memory_is_free(driver):
    driver.told = [{"found": 3, "ended": 0}]
    found = begin(array((40, 256), "i4"))
    assert driver.waited == 0
    del found
    assert driver.waited == 1
