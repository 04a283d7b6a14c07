"""Every launch hands a kernel what its signature asks for; no card is needed.

Launchers run on arrays of NumPy that pass for those of a device, and what they start is held
against the source: the number of arguments, which are arrays, of which type, and the size of
structures. Kernels do nothing here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="launchers import CuPy")

from test_cuda_compile import SIZES

from equilabel.devices.cuda import kernels, transfers
from equilabel.measuring.counts import (
    Formula,
    Layout,
    Step,
    Values,
)
from equilabel.measuring.cuda import accumulate, columns, sources
from equilabel.measuring.cuda import accumulate as tables
from equilabel.measuring.cuda import sources as label_counts
from equilabel.papers import METHODS, load_passes, load_recipe
from equilabel.papers.apostolakis1992 import cuda as apostolakis
from equilabel.papers.hawick2010 import cuda as hawick
from equilabel.papers.kalentev2011 import cuda as kalentev
from equilabel.papers.komura2016 import cuda as komura
from equilabel.papers.meshes import cuda as meshes
from equilabel.papers.weigel2011 import cuda as weigel
from equilabel.runs.cuda import numbering as roots
from equilabel.runs.cuda import tiles
from equilabel.segmentation.cuda import histogram, pipeline, smoothing
from graphs import GRAPHS
from kernels import signatures
from references import grid_of, random_bonds

STRUCTURES = {name: size for _, name, size in SIZES} | {"Grays<u2>": sources.GRAYS.itemsize}

TYPES = {"Index": "i8", "unsigned long long": "u8", "double": "f8", "int": "i4", "bool": "?"}
TYPES["unsigned char"] = "u1"


class OnDevice(np.ndarray):
    """An array that passes for one of a device."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def __array_function__(self, function, types, arguments, options):
        made = super().__array_function__(function, types, arguments, options)
        return made.view(OnDevice) if isinstance(made, np.ndarray) else made


def on_device(array):
    return np.ascontiguousarray(array).view(OnDevice)


def ask(name):
    """Stand in for a function of CuPy."""
    found = getattr(np, name)
    if isinstance(found, type):
        return found

    def call(*arguments, **options):
        made = found(*arguments, **options)
        return made.view(OnDevice) if isinstance(made, np.ndarray) else made

    return call


class Memory(np.ndarray):
    """Stands in for memory of a device, or of the host that a device writes to."""

    @property
    def ptr(self):
        return self.ctypes.data

    @property
    def mem(self):
        return self

    def __add__(self, skipped):
        return self[skipped:]


def memory(size):
    return np.zeros(size, np.uint8).view(Memory)


class FakeCuPy:
    """As much of CuPy as launchers use."""

    ndarray = OnDevice
    cuda = SimpleNamespace(
        alloc_pinned_memory=memory,
        alloc=memory,
        runtime=SimpleNamespace(memsetAsync=lambda *_: None, getDevice=lambda: 0),
        get_current_stream=lambda: SimpleNamespace(ptr=0, synchronize=lambda: None),
        Event=lambda **_: SimpleNamespace(record=lambda: None, synchronize=lambda: None),
    )
    maximum = np.maximum
    asnumpy = staticmethod(np.asarray)

    def __getattr__(self, name):
        return ask(name)


@pytest.fixture
def started(monkeypatch):
    """List what is started: file, kernel, blocks, arguments."""
    calls = []

    def kernel(file, name):
        return lambda grid, block, arguments, **_: calls.append((file, name, grid, arguments))

    def start(function, blocks, threads, *arguments):
        function((blocks,), (threads,), arguments)

    class Call:
        def __init__(self, function, threads, *arguments):
            self.function, self.threads, self.arguments = function, threads, arguments

        def start(self, blocks, stream, *numbers):
            open_ones = iter(numbers)
            given = [next(open_ones) if each is None else each for each in self.arguments]
            assert next(open_ones, None) is None
            start(self.function, blocks, self.threads, *given)

    for module in (columns, pipeline):
        monkeypatch.setattr(module, "Call", Call)
    modules = accumulate, columns, histogram, tables, transfers, roots, sources
    modules += pipeline, smoothing
    papers = apostolakis, hawick, kalentev, komura, meshes, weigel, kernels
    monkeypatch.setattr(label_counts, "kernel", kernel)
    for module in modules + papers:
        monkeypatch.setattr(module, "cupy", FakeCuPy())
        if hasattr(module, "kernel"):
            monkeypatch.setattr(module, "kernel", kernel)
        if module in modules and hasattr(module, "start"):
            monkeypatch.setattr(module, "start", start)
    monkeypatch.setattr(tables, "download", lambda array, **_: np.asarray(array))
    monkeypatch.setattr(tables, "upload", on_device)
    monkeypatch.setattr(tables, "GREATEST", np.max)
    return calls


def signature(file, name):
    """Return the types that a kernel asks for, with its template parameters put in."""
    base, _, chosen = name.removesuffix(">").partition("<")
    parameters, arguments = signatures(file)[base]
    names = [part.split()[-1] for part in parameters]
    given = dict(zip(names, re.findall(r"\w+<[^>]*>|\w+", chosen), strict=True))
    kinds = []
    for argument in arguments:
        words = re.sub(r"const|__restrict__|__grid_constant__|\w+$", "", argument)
        kind = words.replace("*", "").strip()
        kind = re.sub(r"\w+", lambda word: given.get(word[0], word[0]), kind)
        kinds.append((TYPES.get(kind, kind), "*" in words))
    return kinds


def check(calls):
    assert calls
    for file, name, (blocks,), arguments in calls:
        kinds = signature(file, name)
        assert len(kinds) == len(arguments), name
        assert blocks > 0
        for (kind, is_array), argument in zip(kinds, arguments, strict=True):
            if kind in STRUCTURES:
                assert argument.shape == (), (name, kind)
                assert argument.itemsize == STRUCTURES[kind], (name, kind)
            elif is_array and type(argument) is int:
                assert argument % 8 == 0, (name, kind)  # an address
            elif is_array:
                assert isinstance(argument, OnDevice), (name, kind)
                whole = argument.dtype.kind in "iu" and kind[0] in "iu"
                found = argument.dtype.str[1:]
                assert (
                    found == kind
                    or (whole and found[1:] == kind[1:])
                    or ((found, kind) in (("b1", "u1"), ("b1", "?")))
                ), (name, kind, found)
            elif kind in ("?", "bool"):
                assert isinstance(argument, (bool, np.bool_)), (name, kind)
            else:
                assert not isinstance(argument, (bool, np.ndarray, float)), (name, kind)
                assert np.asarray(argument).dtype.kind in "iub", (name, kind)


LAYOUTS = {
    "1D": ((700,), Layout(axes=1)),
    "places": ((70, 1100), Layout(axes=2, seconds=True)),
    "outlines": ((70, 90), Layout(axes=2, pairs="all", euler_full=True, outline="equal")),
    "uneven": ((70, 90), Layout(axes=2, pairs="faces", euler_face=True, outline="uneven")),
    "3D": ((9, 17, 300), Layout(axes=3, pairs="all", euler_full=True, euler_face=True)),
    "stack": ((3, 40, 50), Layout(axes=3, stacked=True, pairs="faces")),
    "5D": ((2, 3, 4, 5, 40), Layout(axes=5, first=True)),
}


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u8"])
def test_labels_are_counted_and_values_summed(started, kind, dtype):
    shape, layout = LAYOUTS[kind]
    labels = on_device(np.arange(np.prod(shape)).reshape(shape) % 5).astype(dtype).view(OnDevice)
    accumulator = accumulate.Accumulator(accumulate.LabelSource(labels), layout)
    size = labels.size
    for values in (np.ones((size, 1), "u1"), np.ones((size, 1), "u2"), np.ones((size, 2), "f4")):
        accumulator.values(on_device(values))
    centers = np.zeros((len(accumulator.labels), layout.rank))
    accumulator.squares(
        on_device(np.ones((size, 1), "f4")), Values(*np.zeros((3, len(centers), 1)))
    )
    if layout.rank in (2, 3):
        accumulator.powers(centers)
        accumulator.weighted(on_device(np.ones((size, 1), "f8")), 0, centers)
    check(started)
    count = "count_quads" if kind == "places" else "count_labels"
    expected = {count, "count_labels", "add_values", "add_squares"}
    if layout.rank in (2, 3):
        expected.add("add_powers")
    assert {name.partition("<")[0] for _, name, _, _ in started} == expected


@pytest.mark.parametrize("values", [[1e17 / 3] * 999, [1.0, 1.0 + 1e-16], [-3e5, 7e99], [1e-9, 0]])
def test_squares_of_an_object_fit_into_their_unit(started, monkeypatch, values):
    """Also where the mean of equal values is not quite one of them."""
    launched, values = [], np.array(values)[:, np.newaxis]
    accumulator = object.__new__(accumulate.Accumulator)
    accumulator._flat, accumulator._count, accumulator.labels = None, 1, np.arange(1)
    accumulator.table = np.array([[len(values)]])
    accumulator._slots = SimpleNamespace(spread=lambda rows: rows, fetch=lambda table: table)
    monkeypatch.setattr(accumulate, "type_name", str)
    monkeypatch.setattr(
        accumulator, "_launch", lambda *given: launched.append(given), raising=False
    )
    total = np.nextafter(values.sum(), np.inf)
    accumulator.squares(
        on_device(values), Values(*np.reshape((total, values.min(), values.max()), (3, 1, 1)))
    )
    *_, centers, scales, _ = launched[0]
    squares = np.ldexp((values[:, 0] - centers[0]) ** 2, scales[0])
    assert squares.sum() < 2.0**62
    assert squares.max() > 2.0**30 or not np.ptp(values)  # and are not rounded away


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("many", [False, True])
def test_runs_are_counted_and_their_values_summed(started, kind, many):
    shape, layout = LAYOUTS[kind]
    cut = tiles.arrange(shape, layout.rank, layout.stacked, many)
    job = np.zeros((), f"V{STRUCTURES['Job']}")
    tile = f"Tile<{str(many).lower()}, {', '.join(map(str, cut.tile))}>"
    table = SimpleNamespace(job=job, tiling=cut, many=many, node="u4", tile=tile)
    joined = accumulate.RunSource(table, shape)
    counts, sums = (on_device(np.zeros((8, width), np.uint64)) for width in (layout.width, 4))
    joined.count(layout, 7, counts)
    joined.count(layout, 7, counts, on_device(np.ones(shape, "u2")), sums.data.ptr)
    check(started)


def columns_of(labels, values, spec, **options):
    source = accumulate.LabelSource(labels)
    found = columns.Columns(
        labels.shape, spec, lambda *tables: count(source, spec, values, *tables), **options
    )
    found.begin()
    return found


def count(source, spec, values, most, table, sums, stream):
    source.count(spec.layout, most, table, values, sums)


@pytest.mark.parametrize("on_host", [False, True])
@pytest.mark.parametrize("values", [None, "u1"])
def test_columns_are_computed_from_counts(started, on_host, values):
    labels = on_device(np.ones((40, 60), "i4"))
    layout = Layout(axes=2)
    steps = (Step(Formula.LABEL), Step(Formula.TOUCHES), Step(Formula.WEIGHED, 0, 1, (0.25,)))
    formulas = columns.pack(steps, (0.5, 0.5), 0.25, False)
    values = None if values is None else on_device(np.ones(labels.shape, values))
    gray = None if values is None else values.dtype
    found = columns_of(labels, values, columns.TableSpec(
        layout, formulas, gray, object(), 9600, on_host
    ))  # fmt: skip
    check(started)
    fill = named(started[-1])
    assert fill["stride"] == 9600  # labels that there is room for: fewer than are guessed at first
    assert fill["rows"] == 9601
    found._received[columns.COUNTED] = 1
    if on_host:
        assert [str(column.dtype) for column in found.finish()] == ["int64", "bool", "float64"]


@pytest.mark.parametrize("dtype", [None, "u1", "u2"])
def test_counts_that_the_host_needs_are_those_of_labels_that_occur(started, dtype):
    labels = on_device(np.ones((40, 60), "i4"))
    layout = Layout(axes=2)
    formulas = columns.pack((Step(Formula.LABEL),), (1.0, 1.0), 1.0, False)
    values = None if dtype is None else on_device(np.ones(labels.shape, dtype))
    gray = None if values is None else values.dtype
    spec = columns.TableSpec(layout, formulas, gray, object(), 9, False)
    found = columns_of(labels, values, spec, keeps=True)
    counted = np.zeros((10, layout.width + (4 if dtype else 0)), np.uint64)
    counted[[2, 5, 9]] = np.arange(1, 4)[:, None]
    table, sums = np.hsplit(counted, [layout.width])
    sums[:, 1:2] = ~sums[:, 1:2]
    whole = np.concatenate([table.ravel(), sums.ravel()]).view(np.uint8)
    found._memory[: whole.size] = whole
    occurring, rows, given = found.counts()
    assert occurring.tolist() == [2, 5, 9]
    assert rows.tolist() == [[k] * layout.width for k in (1, 2, 3)]
    assert rows.dtype == np.int64
    if dtype is None:
        assert given is None
    else:
        assert [each[:, 0].tolist() for each in given] == [[1, 2, 3]] * 4
        assert [each.dtype.str[1:] for each in given] == ["i8", dtype, dtype, "i8"]


@pytest.mark.parametrize("shape", [(33, 31), (5, 6, 40)])
@pytest.mark.parametrize("dtype", ["?", "i2"])
def test_passes_of_the_papers(started, shape, dtype):
    image = on_device(np.ones(shape, dtype))
    for name, passes in (("kalentev", kalentev), ("komura", komura)):
        more = {"accumulate": True} if name == "kalentev" else {}
        found = load_recipe(name)(passes, grid_of(image), **more).roots
        roots.number_roots(on_device(found), on_device(np.zeros(image.size, np.int32)))
    check(started)


def test_histograms(started):
    histogram.count_values(on_device(np.arange(300, dtype="u2")), 300)
    histogram.count_bins(on_device(np.ones(50, "f4")), np.linspace(0, 1, 11, dtype="f4"))
    check(started)


def named(call):
    """Map the names of a kernel's parameters to what it was given."""
    file, name, _, arguments = call
    _, parameters = signatures(file)[name.partition("<")[0]]
    return dict(zip((re.split(r"\W", each)[-1] for each in parameters), arguments, strict=True))


def test_passes_of_the_papers_get_each_list_of_steps_as_itself(started):
    grid = grid_of(on_device(np.ones((5, 6, 7), "i2")))
    size, rows = grid.padding.size, grid.padding.rows
    labels = kalentev.init_labels(grid)
    kalentev.scan(grid, labels)
    kalentev.init_counts(grid, labels)
    kalentev.crop(grid, labels)
    for call in started:
        given = named(call)
        np.testing.assert_array_equal(given["rows"], rows)
        assert (given["width"], given["size"], given["labels"].size) == (7, 210, size)
    scan, count = named(started[1]), named(started[2])
    for key in ("jumps", "shifts"):
        np.testing.assert_array_equal(scan[key], getattr(grid.padding, key))
        np.testing.assert_array_equal(count[key], getattr(grid.padding, f"face_{key}").reshape(-1))
    assert scan["steps"] == grid.padding.jumps.size

    started.clear()
    komura.reduce_labels(grid, komura.initialize(grid))
    for call in started:
        given = named(call)
        for key, expected in zip(("shape", "steps", "offsets"), grid.half, strict=True):
            np.testing.assert_array_equal(given[key], expected)


def domains():
    """List a domain of each kind, on the device, by the kind."""
    bonds = random_bonds((5, 6), [(0, 1), (1, 0)], (True, False))
    graph = replace(GRAPHS["path"])
    vars(bonds)["open"] = on_device(bonds.open)
    vars(graph).update({key: on_device(getattr(graph, key)) for key in ("offsets", "neighbors")})
    grid = grid_of(on_device(np.ones((5, 6, 7), "u2")))
    return {"grid": grid, "bonds": bonds, "graph": graph}


@pytest.mark.parametrize("name", [name for name, row in METHODS.items() if "papers" in row.passes])
def test_passes_of_the_papers_give_kernels_what_they_ask_for(started, name):
    """Nothing changes, so that each recipe ends with its first round."""
    for kind, domain in domains().items():
        if kind in METHODS[name].domains:
            load_recipe(name)(load_passes(name, "cuda"), domain)
            check(started)


def test_passes_of_later_rounds_give_kernels_what_they_ask_for(started, monkeypatch):
    known = domains()
    grid, graph = known["grid"], known["graph"]
    labels = hawick.initialize(grid)
    references = hawick.init_references(labels)
    hawick.analyze(labels, references)
    hawick.relabel(labels, references)
    colors, frontier = hawick.clear_colors(graph), hawick.init_frontier(graph, False)
    hawick.spread(graph, colors, 0, frontier, hawick.init_frontier(graph, False))
    labels = kalentev.init_labels(grid)
    kalentev.analyze(labels)
    kalentev.analyze_counts(labels, kalentev.init_counts(grid, labels))
    lattice = weigel.connect(grid)
    roots = weigel.label_tiles(lattice, 2, "union_find")
    weigel.sew(lattice, 2, 1, roots)
    monkeypatch.setattr(FakeCuPy, "zeros", lambda *_: on_device(np.ones(2, "u8")), raising=False)
    weigel.list_borders(lattice, 2, roots)
    check(started)
    names = {name.partition("<")[0] for _, name, _, _ in started}
    assert names >= {"analyze", "relabel", "spread", "analyze_counts", "sew", "store_pairs"}


@pytest.mark.parametrize("bins", [300, 60_000])
def test_a_histogram_is_counted_in_parts_that_follow_one_another(started, bins):
    pixels = on_device(np.array([7, 100, bins - 1], "u2"))
    histogram.count_values(pixels, bins)
    expected = 0 if bins <= histogram.BINS else 7
    for call in started:
        given = named(call)
        assert given["size"] == pixels.size
        assert given["first"] == expected
        assert given["counts"].size == bins - expected
        assert 0 < given["bins"] <= min(histogram.BINS, bins - expected)
        expected += given["bins"]
    assert expected == bins


@pytest.mark.parametrize("shape", [(70, 1100), (3, 40, 600)])
@pytest.mark.parametrize(("dtype", "real"), [("u2", "f4"), ("f8", "f8")])
def test_an_image_is_segmented_by_launches_that_were_prepared(
    started, monkeypatch, shape, dtype, real
):
    passes = []
    monkeypatch.setattr(tiles, "kernel", lambda *name: name)
    monkeypatch.setattr(tiles, "handle", lambda name: name[1])
    monkeypatch.setattr(tiles, "start_at", lambda name, *_: passes.append(name.partition("<")[0]))
    tiles.prepare.cache_clear()
    stacked, image = len(shape) > 2, on_device(np.ones(shape, dtype))
    weights = [np.ones(1)] * stacked + [np.ones(3), np.ones(10)]
    recipe = pipeline.Recipe(np.dtype(real), weights, None, False, True, 1, stacked, (3, 9), True)
    layout = Layout(axes=len(shape), stacked=stacked)
    formulas = columns.pack((Step(Formula.LABEL),), (1.0, 1.0), 1.0, stacked)
    gray = image.dtype if dtype == "u2" else None
    spec = columns.TableSpec(layout, formulas, gray, object(), 9600, True)
    prepared = pipeline.Pipeline(image, recipe, spec)
    monkeypatch.setattr(columns, "wait_for", lambda numbers, which: True)
    for fault in (0, 1):
        told = []
        monkeypatch.setattr(
            columns.Columns, "finish", lambda self, fault=fault: self.notes.extend([0, fault]) or []
        )
        found = prepared(image, told.append)
        prepared._columns.notes.clear()
        assert (found is None) == bool(fault)
        assert told == ["binarize", "fill", "label", "drop", "measure"]
    tiles.prepare.cache_clear()
    check(started)
    names = [name.partition("<")[0] for _, name, _, _ in started]
    assert names[: len(names) // 2] == [
        *["smooth_axis"] * 2, "find_edges", "count_bins", "find_level", "compare", "mark_border",
        "tally_runs", "fill_columns",
    ]  # fmt: skip
    each = ["find_tiles", "join_tiles", "number_nodes", "paint"]
    assert passes == each * 4
