"""Words of 64 pixels: what each function means, in Python and in the instructions it becomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config, njit

from equilabel.devices.cpu import bits
from equilabel.runs.cpu import packing as vector_compare
from equilabel.runs.cpu import painting
from equilabel.runs.cpu.unions import first_contacts

TYPES = ("u1", "i2", "i4", "u8")  # every width; signs make no difference to bits
WORDS = st.integers(0, 2**64 - 1)
STARTS = [(0, 1), (64, 0), (3, 67), (71, 70), (9, 9)]


def compare(pixels, start, other, value):
    return vector_compare.differs(pixels, start, value), vector_compare.agrees(pixels, start, other)


def compare_part(pixels, start, other, value, width):
    differing = vector_compare.differs_within(pixels, start, value, width)
    return differing, vector_compare.agrees_within(pixels, start, other, width)


def write(labels, start, word, label):
    painting.paint(labels, start, word, label)


def write_past_caches(labels, start, word, label):
    line = np.empty(64, labels.dtype)
    painting.paint(line, 0, word, label)
    painting.stream(line, labels, start)
    painting.fence()


def write_over(labels, start, word, label):
    painting.blend(labels, start, word, label)


def write_eight(labels, start, word, begins, run, table):
    painting.spread(labels, start, word, begins, run, table)


def count(word):
    return bits.popcount(word), bits.lowest(word)


KERNELS = compare, compare_part, write, write_over, write_past_caches, write_eight, count
PLAIN = {f: f for f in KERNELS}
COMPILED = {f: njit(f) for f in PLAIN}


@pytest.fixture(scope="session", params=["plain", "compiled"])
def way(request):
    """Map functions to themselves, and to what numba makes of them."""
    if request.param == "compiled" and config.DISABLE_JIT:
        pytest.skip("numba is switched off: nothing is compiled")
    return PLAIN if request.param == "plain" else COMPILED


def word_of(flags):
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def flags_of(word):
    return np.array([(word >> k) & 1 for k in range(64)], bool)


def some_pixels(dtype, size=135):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 0, 1], dtype)
    return np.random.default_rng(3).choice(values, size, p=[0.1, 0.4, 0.4, 0.1])


def random_words(count):
    words = np.random.default_rng(4).integers(0, 2**64, count, dtype=np.uint64).tolist()
    return [0, 1, 1 << 63, 2**64 - 1, *words]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("start", "other"), STARTS)
def test_a_comparison_sets_one_bit_for_each_of_64_pixels(way, dtype, start, other):
    pixels = some_pixels(dtype)
    here, there = pixels[start : start + 64], pixels[other : other + 64]
    for value in np.unique(pixels):
        differing, agreeing = way[compare](pixels, start, other, value)
        assert int(differing) == word_of(here != value)
        assert int(agreeing) == word_of(here == there)


@pytest.mark.parametrize("dtype", ["u1", "i8"])
@pytest.mark.parametrize("width", [1, 2, 63, 64])
@pytest.mark.parametrize(
    ("start", "shift"), [(0, -1), (0, 1), (5, -1), (-1, 0), (-1, -70), (-1, 1)]
)
def test_a_comparison_near_an_end_reads_nothing_beyond_it(way, dtype, width, start, shift):
    pixels = some_pixels(dtype)
    start = pixels.size - width if start < 0 else start
    other = start + shift
    value = pixels[start]
    differing, agreeing = way[compare_part](pixels, start, other, value, width)
    here = pixels[start : start + width]
    places = np.arange(other, other + width)
    inside = (places >= 0) & (places < pixels.size)
    there = pixels[np.clip(places, 0, pixels.size - 1)]
    assert int(differing) == word_of(here != value)
    assert int(agreeing) & word_of(inside) == word_of((here == there) & inside)


class Fenced:
    """Pixels that cannot be read beyond their ends, not even from behind."""

    def __init__(self, pixels):
        self.pixels = pixels
        self.size = pixels.size

    def __getitem__(self, place):
        assert 0 <= place < self.size
        return self.pixels[place]


@pytest.mark.parametrize("width", [1, 30, 64])
@pytest.mark.parametrize("function", [vector_compare.agrees_within, vector_compare.differs_within])
def test_pixels_that_do_not_exist_are_not_read(function, width):
    plain = getattr(function, "py_func", function)
    for size in (64, 65, 130):
        pixels = Fenced(some_pixels("u1", size))
        for start in {0, 1, size - width}:
            for other in (start - 70, start - 1, start + 1, start + 70):
                if function is vector_compare.agrees_within:
                    plain(pixels, start, other, min(width, size - start))
                else:
                    plain(pixels, start, pixels[0], min(width, size - start))


@pytest.mark.parametrize("dtype", TYPES)
def test_painting_writes_the_label_and_zeros_to_64_pixels_alone(way, dtype):
    label = np.iinfo(dtype).max
    for word in random_words(4):
        labels = np.full(80, 7, dtype)
        way[write](labels, 9, np.uint64(word), labels.dtype.type(label))
        expected = np.full(80, 7, dtype)
        expected[9:73] = np.where(flags_of(word), labels.dtype.type(label), 0)
        np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_streaming_writes_what_painting_writes(way, dtype):
    label = np.iinfo(dtype).max
    memory = np.full(200, 7, dtype)
    begin = -memory.ctypes.data % 16 // memory.itemsize + 16
    for word in random_words(4):
        memory[:] = 7
        way[write_past_caches](memory, begin, np.uint64(word), memory.dtype.type(label))
        expected = np.full(200, 7, dtype)
        expected[begin : begin + 64] = np.where(flags_of(word), memory.dtype.type(label), 0)
        np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_blending_writes_the_label_and_leaves_the_other_pixels(way, dtype):
    label = np.iinfo(dtype).max
    for word in random_words(4):
        before = some_pixels(dtype, 80)
        labels = before.copy()
        way[write_over](labels, 9, np.uint64(word), labels.dtype.type(label))
        expected = before.copy()
        expected[9:73][flags_of(word)] = label
        np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("runs", ["i4", "i8"])
@pytest.mark.parametrize("dtype", TYPES)
def test_spreading_counts_up_the_runs_of_eight_pixels(way, dtype, runs):
    table = np.random.default_rng(5).permutation(120)[:40].astype(runs) + 1
    for begins in range(256):
        word, run = (begins * 37 + 11) % 256, begins % 30
        labels = np.full(12, 125, dtype)
        way[write_eight](labels, 2, np.uint64(word), np.uint64(begins), run, table)
        ranks = run + np.cumsum(flags_of(begins)[:8])
        expected = np.full(12, 125, dtype)
        expected[2:10] = np.where(flags_of(word)[:8], table[ranks], 0)
        np.testing.assert_array_equal(labels, expected)


@given(word=WORDS)
def test_the_bits_of_a_word_are_counted(way, word):
    assert way[count](np.uint64(word or 1))[0] == bin(word or 1).count("1")


@given(word=WORDS, shift=st.integers(0, 63))
def test_the_lowest_bit_of_a_word_is_found(way, word, shift):
    assert way[count](np.uint64((word << shift) % 2**64 | 1 << 63))[1] == min(
        k for k in range(64) if ((word << shift) | 1 << 63) >> k & 1
    )


def test_no_bit_is_counted_in_an_empty_word(way):
    assert way[count](np.uint64(0))[0] == 0


def test_of_contacts_between_two_beginnings_the_first_is_kept():
    @njit
    def kept(contacts, begins):
        return first_contacts(contacts, begins)

    rng = np.random.default_rng(0)
    for density in (0.02, 0.3, 0.9):
        for _ in range(50):
            contacts, begins = rng.random((2, 64)) < [[density], [0.2]]
            expected, free = 0, True
            for k in range(64):
                free |= bool(begins[k])
                if contacts[k] and free:
                    expected |= 1 << k
                    free = False
            words = [sum(1 << k for k in range(64) if bits[k]) for bits in (contacts, begins)]
            assert int(kept(*map(np.uint64, words))) == expected


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_call_of_a_twin_compiles_no_function_of_its_own():
    @njit(nogil=True)
    def compare_with_zero(pixels):
        return vector_compare.differs(pixels, 0, np.uint8(0))

    assert compare_with_zero(np.arange(64, dtype=np.uint8)) == 2**64 - 2
    (entry,) = compare_with_zero.overloads.values()
    defined = [each.name for each in entry.library.get_defined_functions()]
    assert not any("differs" in name for name in defined), defined
