"""Tables of labels on the GPU that are prepared once: what is remembered from call to call."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_cuda_measuring import same

from equilabel import label, regionprops_table
from equilabel.measuring import remembered
from equilabel.measuring.properties import IntensityMissingError, PropertyUndefinedError
from equilabel.samples import blobs, percolation
from resets import check_reset

pytestmark = pytest.mark.gpu
PLACES = ("label", "area", "bbox", "centroid")
ALL = (*PLACES, "perimeter", "euler_number", "intensity_mean", "intensity_max", "intensity_std")


@pytest.fixture(autouse=True)
def forgotten():
    remembered.forget()


def agree(cupy, labels, values=None, names=PLACES):
    """Compare the first call, which checks, and the next, which remembers, with the CPU."""
    expected = regionprops_table(labels, values, names)
    moved = cupy.asarray(labels)
    gray = None if values is None else cupy.asarray(values)
    for columns in ("auto", "host"):
        for _ in range(2):
            same(regionprops_table(moved, gray, names, columns=columns), expected)
    assert remembered.remembered() > 0


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4", "i8"])
@pytest.mark.parametrize(
    "shape", [(300, 411), (257, 512), (8, 1030), (1000, 128), (70, 4097), (5, 40, 300), (7000,)]
)
def test_four_pixels_of_a_row_are_counted_at_once(cupy, shape, dtype):
    """Labels that touch, repeat, stop and begin anywhere; two, three and four in a quad."""
    rng = np.random.default_rng(0)
    names = (*PLACES, "orientation", "inertia_tensor") if len(shape) == 2 else PLACES
    for labels in (
        label(percolation(shape, 0.55)) % 120,
        rng.integers(0, 9, shape),
        rng.integers(0, 120, shape),
        np.sort(rng.integers(0, 50, shape), -1),
        np.ones(shape, int),
        np.where(rng.random(shape) < 0.01, np.iinfo(dtype).max if dtype[1] < "4" else 70_000, 0),
    ):
        agree(cupy, labels.astype(dtype), names=names)


@pytest.mark.parametrize("kind", ["?", "u1", "u2"])
@pytest.mark.parametrize("shape", [(300, 411), (64, 2048), (12, 40, 70)])
def test_values_are_summed_with_the_counts(cupy, shape, kind):
    values = np.random.default_rng(0).integers(0, 2**16, shape).astype(kind)
    names = [name for name in ALL if len(shape) == 2 or name != "perimeter"]
    for density in (0.3, 0.6):
        agree(cupy, label(percolation(shape, density)), values, names)


def test_values_that_no_column_needs_are_checked_all_the_same(cupy):
    labels = cupy.asarray(label(percolation((40, 50), 0.5)))
    expected = regionprops_table(labels.get(), None, PLACES)
    for gray in (
        cupy.ones((40, 50)),
        cupy.ones((40, 50, 3), np.float32),
        cupy.ones((40, 50), "u1"),
    ):
        for _ in range(2):
            same(regionprops_table(labels, gray, PLACES), expected)
    for _ in range(2):
        with pytest.raises(ValueError, match="must have the shape of label_image"):
            regionprops_table(labels, cupy.ones((50, 40)), PLACES)
        with pytest.raises(TypeError, match="must be of a real type"):
            regionprops_table(labels, cupy.ones((40, 50), complex), PLACES)


REFUSED = [
    ({"properties": ["aera"]}, ValueError, "got 'aera'"),
    ({"properties": ["area", []]}, TypeError, "properties must be names"),
    ({"properties": ["intensity_mean"]}, IntensityMissingError, "needs an intensity_image"),
    ({"properties": ["volume"]}, PropertyUndefinedError, "defined for 3"),
    ({"properties": ["frame"]}, PropertyUndefinedError, "stacked"),
    ({"columns": "gpu"}, ValueError, "columns must be one of"),
    ({"spacing": -1}, ValueError, "spacing must be positive"),
    ({"periodic": (True,)}, ValueError, "periodic must be"),
    ({"extra_properties": [3]}, TypeError, "extra_properties"),
]


@pytest.mark.parametrize(
    ("options", "kind", "rule"), REFUSED, ids=[next(iter(row[0])) for row in REFUSED]
)
@pytest.mark.parametrize("seen", [False, True], ids=["checked", "remembered"])
def test_what_is_refused_is_refused_after_a_like_table_was_made(cupy, options, kind, rule, seen):
    labels = cupy.asarray(label(percolation((40, 50), 0.5)))
    if seen:
        for _ in range(2):
            regionprops_table(labels, properties=["area"])
            regionprops_table(labels)
        assert remembered.remembered() == 2
    for _ in range(2):
        with pytest.raises(kind, match=rule):
            regionprops_table(labels, **options)


def test_labels_that_changed_are_counted_anew(cupy):
    """The table has room for those of the last image: more of them, fewer, and negative ones."""
    labels = cupy.zeros((512, 600), np.int32)
    for most in (1, 300_000, 7, 90_000):
        labels[...] = cupy.asarray(np.random.default_rng(most).integers(0, most + 1, labels.shape))
        expected = regionprops_table(labels.get(), None, PLACES)
        for columns in ("host", "device", "device"):
            same(regionprops_table(labels, None, PLACES, columns=columns), expected)
    labels[100, 100] = -5
    for _ in range(2):
        with pytest.raises(ValueError, match="must hold no negative labels; got -5"):
            regionprops_table(labels, None, PLACES)
    labels[100, 100] = 2**31 - 1
    expected = regionprops_table(labels.get(), None, PLACES)
    same(regionprops_table(labels, None, PLACES), expected)


def test_arrays_of_one_shape_may_lie_in_any_way(cupy):
    labels, values = label(percolation((64, 128), 0.6)), percolation((64, 128), 0.5)
    expected = regionprops_table(labels, values, ALL)
    room, gray = cupy.zeros((70, 180), np.int32), cupy.zeros((70, 180), bool)
    agree(cupy, labels, values, ALL)
    for cut in (
        lambda whole: whole[3:67, 5:133],
        lambda whole: whole.ravel()[7 : 7 + 8192].reshape(64, 128),
        lambda whole: whole.ravel()[: 128 * 64].reshape(128, 64).T,
    ):
        cut(room)[...] = cupy.asarray(labels)
        cut(gray)[...] = cupy.asarray(values)
        for _ in range(2):
            same(regionprops_table(cut(room), cut(gray), ALL), expected)


def test_an_array_may_be_freed_and_another_lie_there(cupy):
    pool = cupy.get_default_memory_pool()
    for turn in range(20):
        shape = (64, 160) if turn % 2 else (160, 64)
        labels = label(percolation(shape, 0.5, seed=turn)).astype(("i4", "i8", "u2")[turn % 3])
        agree(cupy, labels)
        if turn % 5 == 4:
            pool.free_all_blocks()


def test_streams_share_no_tables(cupy, spin):
    labels = [label(percolation((300, 500), 0.5, seed=seed)) for seed in range(6)]
    expected = [regionprops_table(each, None, PLACES) for each in labels]
    moved = [cupy.asarray(each) for each in labels]
    for _ in range(3):
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in labels]
        tables = []
        for stream, each in zip(streams, moved, strict=True):
            with stream:
                spin((1,), (1,), (2_000_000,))
                tables += [regionprops_table(each, None, PLACES) for _ in range(3)]
        del streams, stream  # a new one may have the address of one that is gone
        for k, table in enumerate(tables):
            same(table, expected[k // 3])


def test_threads_remember_for_themselves(cupy):
    labels = [label(percolation((200, 300), 0.5, seed=seed)) for seed in range(8)]
    moved = [cupy.asarray(each) for each in labels]

    def work(k):
        return [regionprops_table(moved[k], None, PLACES) for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        for k, tables in enumerate(pool.map(work, range(8))):
            expected = regionprops_table(labels[k], None, PLACES)
            for table in tables:
                same(table, expected)


def test_every_device_has_its_own(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one CUDA device")
    labels = label(blobs((200, 300)))
    expected = regionprops_table(labels, None, PLACES)
    for _ in range(2):
        for index in (0, 1):
            with cupy.cuda.Device(index):
                moved = cupy.asarray(labels)
                for _ in range(2):
                    table = regionprops_table(moved, None, PLACES)
                    assert {column.device.id for column in table.values()} == {index}
                    same(table, expected)
        same(regionprops_table(moved, None, PLACES), expected)  # not the current one


def test_a_device_that_was_reset_is_refused_in_words_or_measured(cupy):
    check_reset(
        "lambda array: regionprops_table(array, None, ['area'])['area'], "
        "regionprops_table(labels, None, ['area'])['area'], cupy.asarray(labels)"
    )
