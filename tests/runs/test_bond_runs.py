"""Lattices of bonds by runs: labels are the components of the graph that open bonds make."""

from itertools import product

import numpy as np
import pytest

from equilabel import label
from equilabel.domains.bonds import Bonds
from equilabel.labeling.graphs import label_bonds_by_runs
from equilabel.papers import load_passes, load_recipe
from references import LATTICES, bond_roots, random_bonds

SQUARE = [(0, 1), (1, 0)]
TRIANGULAR = [(0, 1), (1, 0), (1, 1)]
CUBIC = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
ALL_IN_2D = [(0, 1), (1, -1), (1, 0), (1, 1)]
ALL_IN_3D = [step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
WIDTHS = (1, 2, 3, 63, 64, 65, 127, 128, 129)


def check(bonds):
    """Compare labels with the components that SciPy finds."""
    labels, count = label_bonds_by_runs(bonds)
    first, expected = np.unique(bond_roots(bonds), return_inverse=True)
    np.testing.assert_array_equal(labels.ravel(), expected)
    assert labels.shape == bonds.shape
    assert labels.dtype == np.int32
    assert count == len(first)


@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 1.0])
def test_labels_are_components_on_every_lattice_and_boundary(name, share):
    shape, steps = LATTICES[name]
    for periodic in product((False, True), repeat=len(shape)):
        check(random_bonds(shape, steps, periodic, share, seed=len(name)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("steps", [SQUARE, TRIANGULAR, ALL_IN_2D, ALL_IN_2D[1:]], ids=len)
def test_runs_end_and_begin_anywhere_in_words(width, steps):
    cases = product((1, 2, 9), product((False, True), repeat=2))
    for number, (height, periodic) in enumerate(cases):
        share = (0.5, 0.2, 0.9)[number % 3]
        check(random_bonds((height, width), steps, periodic, share, seed=width))


@pytest.mark.parametrize("steps", [CUBIC, ALL_IN_3D], ids=len)
@pytest.mark.parametrize("shape", [(1, 2, 3), (3, 1, 65), (2, 3, 64), (4, 5, 130)])
def test_lattices_of_three_axes_are_labeled(steps, shape):
    for periodic in product((False, True), repeat=3):
        for share in (0.06, 0.25, 0.7):
            check(random_bonds(shape, steps, periodic, share, dtype=np.uint16))


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("periodic", list(product((False, True), repeat=3)))
def test_any_number_of_threads_gives_the_same_labels(threads, periodic, many_threads):
    many_threads(threads)
    check(random_bonds((6, 7, 70), ALL_IN_3D, periodic, 0.08, dtype=np.uint16))
    check(random_bonds((41, 67), TRIANGULAR, periodic[:2], 0.4))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_bonds_are_bits_of_integers_of_every_size_with_any_strides(dtype):
    bonds = random_bonds((9, 131), SQUARE, (True, True), 0.5, dtype=dtype)
    check(bonds)
    check(Bonds(np.asfortranarray(bonds.open), bonds.steps, bonds.periodic))


@pytest.mark.parametrize("connectivity", [1, 2])
def test_a_mask_as_bonds_has_the_components_of_the_mask(connectivity):
    mask = np.random.default_rng(0).random((40, 150)) < 0.55
    bonds = random_bonds(mask.shape, ALL_IN_2D if connectivity == 2 else SQUARE, (False,) * 2, 1.0)
    for k in range(len(bonds.steps)):
        joined = mask & mask.reshape(-1)[bonds.neighbors(k)].reshape(mask.shape)
        bonds.open[~joined] &= np.uint8(255 - (1 << k))
    labels, _ = label_bonds_by_runs(bonds)
    _, numbers = np.unique(labels[mask], return_inverse=True)
    np.testing.assert_array_equal(numbers + 1, label(mask, connectivity=connectivity)[mask])


def test_a_recipe_gives_a_table_that_is_numbered_from_zero():
    kernels = load_passes("runs", "cpu")
    table = load_recipe("runs")(kernels, random_bonds((3, 4), SQUARE, (False, False), 0.0))
    assert kernels.number(table) == 12
    assert table.parents[1:13].tolist() == list(range(12))


def test_labels_are_written_to_an_array_that_is_given():
    bonds = random_bonds((5, 6), SQUARE, (True, False), 0.5)
    out = np.full((5, 6), -1, np.int64)
    labels, _ = label_bonds_by_runs(bonds, out)
    assert labels is out
    np.testing.assert_array_equal(out, label_bonds_by_runs(bonds)[0])


def test_a_lattice_without_sites_has_no_components():
    labels, count = label_bonds_by_runs(Bonds(np.zeros((0, 3), np.uint8), np.array(SQUARE), (0, 0)))
    assert (labels.shape, count) == ((0, 3), 0)
