"""The published methods on a GPU: passes do what their CPU twins do, roots are the same bits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from equilabel.devices import passes
from equilabel.papers import load_passes, load_recipe
from equilabel.papers.kalentev2011 import cpu as cpu_kalentev
from equilabel.papers.komura2016 import cpu as cpu_komura
from equilabel.papers.table import METHODS
from equilabel.runs.cpu import numbering as cpu_roots
from equilabel.samples import blobs, hilbert, spiral
from references import GRID_METHODS, grid_of, skip_unknown_rank

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]

ROOTS = [name for name in GRID_METHODS if METHODS[name].answer == "roots"]
DTYPES = [np.dtype(code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
SHAPES = [(2311,), (97, 131), (23, 36, 37), (11, 9, 8, 13), (5, 4, 7, 6, 9), (4, 3, 5, 3, 6, 5)]
NEIGHBORHOODS = [(shape, c) for shape in SHAPES for c in range(1, len(shape) + 1)]
RUNS = 8  # of one race


def noise(shape, dtype=np.int32, values=3, seed=0):
    return np.random.default_rng(seed).integers(0, values, shape).astype(dtype)


def find_roots(name, image, background, connectivity, device, *, stacked=False):
    skip_unknown_rank(name, image.ndim - stacked)
    grid = grid_of(image, background, connectivity, stacked=stacked)
    return load_recipe(name)(load_passes(name, device), grid).roots.reshape(image.shape)


def check_roots(name, image, background, connectivity, *, stacked=False):
    """Compare roots, on the device, with those of the other method on the CPU."""
    where = {"stacked": stacked}
    roots = find_roots(name, cupy.asarray(image), background, connectivity, "cuda", **where)
    assert isinstance(roots, cupy.ndarray)
    assert roots.dtype == np.int64
    other = "komura" if name == "kalentev" else "kalentev"
    expected = find_roots(other, image, background, connectivity, "cpu", **where)
    np.testing.assert_array_equal(roots.get(), expected)


def on_device(*arrays):
    return [cupy.asarray(array) for array in arrays]


def counted_scans(image, connectivity=1):
    """Count the rounds of Kalentev's host loop on the device; the last one changes nothing."""
    grid = grid_of(cupy.asarray(image), False, connectivity)
    return load_recipe("kalentev")(load_passes("kalentev", "cuda"), grid).rounds


# ---------------------------------------------------------------- contract


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize(("shape", "connectivity"), NEIGHBORHOODS)
@pytest.mark.parametrize("background", [0, None])
def test_roots_are_those_of_the_cpu_in_every_neighborhood(name, shape, connectivity, background):
    check_roots(name, noise(shape), background, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("background", [0, 1, None])
def test_roots_are_those_of_the_cpu_in_every_dtype(name, dtype, background):
    image = noise((67, 45), dtype)
    scalar = None if background is None else dtype.type(background)
    for connectivity in (1, 2):
        check_roots(name, image, scalar, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@settings(max_examples=60)
@given(data=st.data())
def test_roots_are_those_of_the_cpu_whatever_the_image(name, data):
    shape = data.draw(npst.array_shapes(max_dims=max(METHODS[name].ranks), max_side=6))
    dtype = data.draw(st.sampled_from(DTYPES))
    values = [False, True]
    if dtype.kind != "b":
        values = [0, 1, 2, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    image = data.draw(npst.arrays(dtype, shape, elements=st.sampled_from(values)))
    background = data.draw(st.none() | st.sampled_from(values).map(dtype.type))
    connectivity = data.draw(st.integers(1, len(shape)))
    check_roots(name, image, background, connectivity, stacked=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 900), (900, 1), (1, 70, 1), (1, 50, 60)])
def test_axes_of_length_one_join_nothing(name, shape):
    for connectivity in range(1, len(shape) + 1):
        check_roots(name, noise(shape), 0, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("shape", [(600,), (30, 80), (30, 50, 60), (3, 1, 60), (14, 13, 12, 15)])
def test_images_of_a_stack_are_never_joined(name, shape):
    for image in (np.ones(shape, np.uint8), noise(shape)):
        for connectivity in range(1, max(len(shape), 2)):
            check_roots(name, image, 0, connectivity, stacked=True)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("connectivity", [1, 2])
@pytest.mark.parametrize(
    ("draw", "small"),
    [
        (lambda: spiral(401), lambda: spiral(97)),
        (lambda: hilbert(8), lambda: hilbert(5)),
        (lambda: blobs((500, 700)), lambda: blobs((150, 130))),
    ],
)
def test_long_chains_end_at_the_smallest_index(name, connectivity, draw, small):
    image = small() if METHODS[name].propagates else draw()
    for turned in (image, image[::-1].copy(), image.T.copy(), image[:, ::-1].copy()):
        check_roots(name, turned, False, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize(("occupation", "connectivity"), [(0.593, 1), (0.407, 2), (0.95, 1)])
def test_every_run_of_a_race_ends_with_the_same_bits(name, occupation, connectivity):
    shape = (300, 260) if METHODS[name].propagates else (2048, 1000)
    image = np.random.default_rng(1).random(shape) < occupation
    expected = cupy.asarray(find_roots("komura", image, False, connectivity, "cpu"))
    image = cupy.asarray(image)
    for _ in range(RUNS):
        assert (find_roots(name, image, False, connectivity, "cuda") == expected).all()


@pytest.mark.parametrize("name", ROOTS)
def test_values_that_differ_in_the_last_bit_are_not_joined(name):
    image = cupy.asarray(np.array([2**63, 2**63 + 1, 2**63 + 1, 2**64 - 1], np.uint64))
    roots = find_roots(name, image, np.uint64(2**64 - 1), 1, "cuda")
    assert roots.tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize("name", ROOTS)
def test_an_image_is_left_alone(name):
    image = cupy.asarray(noise((60, 70)))
    before = image.copy()
    find_roots(name, image, 0, 2, "cuda")
    assert (image == before).all()


@pytest.mark.parametrize("name", ROOTS)
def test_work_waits_for_the_current_stream_alone(name):
    image = noise((700, 900), np.uint8, values=2)
    expected = find_roots("komura", image, 0, 1, "cpu")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        roots = find_roots(name, cupy.asarray(image), 0, 1, "cuda")
        stream.synchronize()
    np.testing.assert_array_equal(roots.get(), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROOTS)
def test_more_elements_than_32_bits_can_count(name):
    height, width = 2**16 + 3, 2**15 + 5
    needed = 40 * height * width
    if cupy.cuda.runtime.memGetInfo()[0] < needed:
        pytest.skip(f"needs {needed / 2**30:.0f} GiB of device memory")
    image = cupy.zeros((height, width), cupy.uint8)
    top = height - 150 if METHODS[name].propagates else 0
    image[top:, 5] = 1  # one component across the boundary, one beyond it, one that wraps onto none
    image[-2, 7:90] = 1
    image[-2:, -1] = 2
    roots = find_roots(name, image, np.uint8(0), 2, "cuda")
    assert (roots[top:, 5] == top * width + 5).all()
    assert (roots[-2, 7:90] == (height - 2) * width + 7).all()
    assert (roots[-2:, -1] == (height - 1) * width - 1).all()
    assert int((roots >= 0).sum()) == height - top + 83 + 2
    labels = cupy.empty(roots.size, cupy.uint8)
    assert passes("runs.numbering", "cuda").number_roots(roots.ravel(), labels) == 3
    labels = labels.reshape(image.shape)
    assert [int(labels[top, 5]), int(labels[-2, 8]), int(labels[-1, -1])] == [1, 2, 3]
    assert int(labels.sum(dtype=cupy.int64)) == height - top + 2 * 83 + 3 * 2
    del image, roots, labels
    cupy.get_default_memory_pool().free_all_blocks()


# --------------------------------------------------------- Kalentev's passes


@pytest.mark.parametrize("background", [np.uint8(0), None])
def test_labels_start_as_on_the_cpu(background):
    image = noise((61, 83), np.uint8)
    labels = load_passes("kalentev", "cuda").init_labels(grid_of(cupy.asarray(image), background))
    expected = cpu_kalentev.init_labels(grid_of(image, background))
    np.testing.assert_array_equal(labels.get(), expected)


def test_a_scan_lowers_what_the_label_refers_to():
    module = load_passes("kalentev", "cuda")
    grid = grid_of(cupy.asarray(np.array([[1, 1], [1, 1]], np.uint8)))  # 5 6 / 9 10, padded
    labels = module.init_labels(grid)
    assert labels.reshape(4, 4)[1:3, 1:3].tolist() == [[5, 6], [9, 10]]
    assert module.scan(grid, labels) is True
    assert labels.reshape(4, 4)[1:3, 1:3].tolist() == [[5, 5], [5, 6]]
    module.analyze(labels)
    assert labels.reshape(4, 4)[1:3, 1:3].tolist() == [[5, 5], [5, 5]]
    assert module.scan(grid, labels) is False


def test_a_scan_lowers_labels_in_use_alone_and_leaves_fewer():
    grid = grid_of(cupy.asarray(noise((400, 300), np.uint8, values=2)))
    module = load_passes("kalentev", "cuda")
    labels = module.init_labels(grid)
    while True:
        before = labels.get()
        changed = module.scan(grid, labels)
        after = labels.get()
        assert (after <= before).all()
        lowered = np.flatnonzero(after < before)
        np.testing.assert_array_equal(before[lowered], lowered)  # each was its own label
        assert changed == (lowered.size > 0)
        if not changed:
            break
        module.analyze(labels)
        assert (labels[labels] == labels).all()


def test_chains_of_labels_are_followed_as_on_the_cpu():
    foreground = np.flatnonzero(np.arange(50_000) % 7)
    lower = np.random.default_rng(2).integers(0, np.arange(foreground.size) + 1)
    labels = np.zeros(50_000, np.int64)
    labels[foreground] = foreground[lower]
    (device_labels,) = on_device(labels)
    cpu_kalentev.analyze(labels)
    load_passes("kalentev", "cuda").analyze(device_labels)
    np.testing.assert_array_equal(device_labels.get(), labels)


def test_padding_is_taken_off_as_on_the_cpu():
    image = noise((37, 20, 41), np.uint16)
    grid = grid_of(image, connectivity=2)
    labels = cpu_kalentev.init_labels(grid)
    while cpu_kalentev.scan(grid, labels):
        cpu_kalentev.analyze(labels)
    (device_labels,) = on_device(labels)
    device_grid = grid_of(cupy.asarray(image), connectivity=2)
    roots = load_passes("kalentev", "cuda").crop(device_grid, device_labels)
    np.testing.assert_array_equal(roots.get(), cpu_kalentev.crop(grid, labels))


@pytest.mark.parametrize("size", [9, 33, 100, 401])
def test_a_spiral_takes_few_rounds_whatever_its_size(size):
    image = spiral(size)
    assert max(counted_scans(image), counted_scans(image[::-1].copy())) <= 4


@pytest.mark.parametrize(
    ("occupation", "rounds"),
    [(0.2, 4), (0.3, 5), (0.4, 5), (0.6, 8), (0.7, 5), (0.8, 4), (0.9, 4), (0.99, 3)],
)
def test_noise_takes_about_as_many_rounds_as_in_table_2(occupation, rounds):
    image = np.random.default_rng(0).random((2048, 2048)) < occupation
    assert rounds - 1 <= counted_scans(image) <= rounds + 2  # who wins a race differs by card


# ----------------------------------------------------------- Komura's passes


@pytest.mark.parametrize(("shape", "connectivity"), NEIGHBORHOODS)
def test_each_pass_of_the_four_does_what_it_does_on_the_cpu(shape, connectivity):
    image = noise(shape, np.uint16)
    grid = grid_of(image, 1, connectivity)
    device_grid = grid_of(cupy.asarray(image), 1, connectivity)
    module = load_passes("komura", "cuda")
    labels = cpu_komura.initialize(grid)
    device_labels = module.initialize(device_grid)
    np.testing.assert_array_equal(device_labels.get(), labels)
    cpu_komura.analyze(labels)
    module.analyze(device_labels)
    np.testing.assert_array_equal(device_labels.get(), labels)
    cpu_komura.reduce_labels(grid, labels)
    module.reduce_labels(device_grid, device_labels)
    assert (device_labels <= cupy.arange(image.size)).all()
    cpu_komura.analyze(labels)
    module.analyze(device_labels)  # chains differ from run to run, their ends do not
    np.testing.assert_array_equal(device_labels.get(), labels)


def test_four_passes_are_enough():
    called = []

    def recorded(name):
        def call(*arguments):
            called.append(name)
            return getattr(load_passes("komura", "cuda"), name)(*arguments)

        return call

    names = ("initialize", "analyze", "reduce_labels")
    counted = SimpleNamespace(**{name: recorded(name) for name in names})
    load_recipe("komura")(counted, grid_of(cupy.asarray(noise((90, 90)))))
    assert called == ["initialize", "analyze", "reduce_labels", "analyze"]


# ------------------------------------------------- Hawick's and Row-Col Unify


@pytest.mark.parametrize("name", ["hawick_c", "hawick_d", "kalentev_rowcol"])
@pytest.mark.parametrize("connectivity", [1, 2, 3])
def test_methods_whose_threads_never_meet_take_the_rounds_of_the_cpu(name, connectivity):
    image = noise((20, 31, 45), np.uint8, values=2)
    recipe = load_recipe(name)
    there = recipe(load_passes(name, "cuda"), grid_of(cupy.asarray(image), 0, connectivity))
    assert there.rounds == recipe(load_passes(name, "cpu"), grid_of(image, 0, connectivity)).rounds


@pytest.mark.parametrize("name", ["hawick_a", "hawick_b"])
@pytest.mark.parametrize("draw", [lambda: spiral(65), lambda: blobs((90, 140))])
def test_labels_move_at_least_as_far_in_a_round_as_on_the_cpu(name, draw):
    image = draw()
    recipe = load_recipe(name)
    there = recipe(load_passes(name, "cuda"), grid_of(cupy.asarray(image)))
    assert 2 <= there.rounds <= recipe(load_passes(name, "cpu"), grid_of(image)).rounds


@pytest.mark.parametrize("size", METHODS["hawick_b"].options["tile_size"].choices)
@pytest.mark.parametrize(("shape", "connectivity"), NEIGHBORHOODS)
def test_tiles_of_every_size_lead_to_the_same_roots(size, shape, connectivity):
    image = noise(shape, np.uint16)
    grid = grid_of(cupy.asarray(image), 0, connectivity)
    roots = load_recipe("hawick_b")(load_passes("hawick_b", "cuda"), grid, tile_size=size).roots
    expected = find_roots("komura", image, 0, connectivity, "cpu")
    np.testing.assert_array_equal(roots.get().reshape(shape), expected)


@pytest.mark.parametrize("segment", METHODS["kalentev_rowcol"].options["segment"].choices)
@pytest.mark.parametrize(
    "shape", [(3, 5000), (2311,), (3000, 2), (65, 64), (63, 129), (2, 7, 1030)]
)
def test_segments_of_every_length_lead_to_the_same_roots_in_as_many_rounds(segment, shape):
    image = np.random.default_rng(3).random(shape) < 0.9
    recipe = load_recipe("kalentev_rowcol")
    for connectivity in range(1, len(shape) + 1):
        grid = grid_of(cupy.asarray(image), False, connectivity)
        found = recipe(load_passes("kalentev_rowcol", "cuda"), grid, segment=segment)
        expected = find_roots("komura", image, False, connectivity, "cpu")
        np.testing.assert_array_equal(found.roots.get().reshape(shape), expected)
        there = grid_of(image, False, connectivity)
        assert found.rounds == recipe(load_passes("kalentev_rowcol", "cpu"), there).rounds


@pytest.mark.parametrize(("shape", "connectivity"), NEIGHBORHOODS)
def test_a_sweep_along_all_lines_does_what_it_does_on_the_cpu(shape, connectivity):
    image = noise(shape, np.uint8)
    for name, run in (
        ("hawick_c", lambda module, grid, labels: module.sweep(grid, labels)),
        ("kalentev_rowcol", lambda module, grid, labels: module.unify(grid, labels, 64)),
    ):
        found = []
        for device, place in (("cpu", np.asarray), ("cuda", cupy.asarray)):
            module, grid = load_passes(name, device), grid_of(place(image), 0, connectivity)
            labels = module.initialize(grid)
            assert run(module, grid, labels) is True
            found.append(cupy.asnumpy(labels))
        np.testing.assert_array_equal(*found)


def test_references_are_those_of_the_cpu_after_every_phase():
    image = noise((61, 83), np.uint8, values=2)
    cpu, cuda = load_passes("hawick_d", "cpu"), load_passes("hawick_d", "cuda")
    grid, there = grid_of(image), grid_of(cupy.asarray(image))
    labels, device_labels = cpu.initialize(grid), cuda.initialize(there)
    arrays = labels, cpu.init_references(labels)
    others = device_labels, cuda.init_references(device_labels)
    while cpu.scan(grid, *arrays):
        assert cuda.scan(there, *others) is True
        for phase in ("analyze", "relabel"):
            for one, other in zip(arrays, others, strict=True):
                np.testing.assert_array_equal(other.get(), one)
            getattr(cpu, phase)(*arrays)
            getattr(cuda, phase)(*others)
    assert cuda.scan(there, *others) is False


# ------------------------------------------------------------------- number


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_numbers_are_those_of_the_cpu_in_labels_of_any_type(dtype):
    roots = find_roots("komura", noise((50, 60)), 0, 2, "cpu").ravel()
    labels, expected = np.full(roots.size, 99, dtype), np.full(roots.size, 77, dtype)
    device_roots, device_labels = on_device(roots, labels)
    count = passes("runs.numbering", "cuda").number_roots(device_roots, device_labels)
    assert count == cpu_roots.number_roots(roots, expected)
    np.testing.assert_array_equal(device_labels.get(), expected)


def test_roots_can_be_numbered_in_place():
    (roots,) = on_device(np.array([-1, 1, 2, 1, 4, 2, -1]))
    assert passes("runs.numbering", "cuda").number_roots(roots, roots) == 3
    assert roots.tolist() == [0, 1, 2, 1, 3, 2, 0]


def test_an_image_of_background_has_no_numbers():
    (roots,) = on_device(np.full(5000, -1))
    assert passes("runs.numbering", "cuda").number_roots(roots, roots) == 0
    assert not roots.any()
