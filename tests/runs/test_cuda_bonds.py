"""Lattices of bonds on a GPU: roots and labels are those of the reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from test_bond_runs import ALL_IN_2D, ALL_IN_3D, CUBIC, SQUARE

from equilabel.domains.bonds import Bonds
from equilabel.labeling.graphs import label_bonds_by_runs
from equilabel.papers import load_passes, load_recipe
from references import BOND_METHODS, LATTICES, bond_roots, random_bonds

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]


def on_device(bonds):
    return replace(bonds, open=cupy.asarray(bonds.open))


@pytest.mark.parametrize("method", BOND_METHODS)
@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("share", [0.3, 0.55, 1.0])
def test_roots_are_the_smallest_sites_on_every_lattice_and_boundary(method, name, share):
    shape, steps = LATTICES[name]
    for periodic in product((False, True), repeat=len(shape)):
        bonds = random_bonds(shape, steps, periodic, share, seed=len(name))
        found = load_recipe(method)(load_passes(method, "cuda"), on_device(bonds)).roots
        np.testing.assert_array_equal(found.get(), bond_roots(bonds))


@pytest.mark.parametrize("method", BOND_METHODS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_bonds_are_bits_of_integers_of_every_size(method, dtype):
    steps = [step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
    steps = steps[-8 * np.dtype(dtype).itemsize :]
    bonds = random_bonds((5, 6, 70), steps, (True, False, True), 0.08, dtype=dtype)
    found = load_recipe(method)(load_passes(method, "cuda"), on_device(bonds)).roots
    np.testing.assert_array_equal(found.get(), bond_roots(bonds))


def check_labels(bonds):
    """Compare labels by runs on the device with the components that SciPy finds."""
    labels, count = label_bonds_by_runs(on_device(bonds))
    first, expected = np.unique(bond_roots(bonds), return_inverse=True)
    assert isinstance(labels, cupy.ndarray)
    assert (labels.dtype, labels.shape) == (np.int32, bonds.shape)
    np.testing.assert_array_equal(labels.get().ravel(), expected)
    assert int(count) == len(first)


@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 1.0])
def test_labels_by_runs_are_components_on_every_lattice_and_boundary(name, share):
    shape, steps = LATTICES[name]
    for periodic in product((False, True), repeat=len(shape)):
        check_labels(random_bonds(shape, steps, periodic, share, seed=len(name)))


@pytest.mark.parametrize("width", [1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 512, 1030])
@pytest.mark.parametrize("steps", [SQUARE, ALL_IN_2D, ALL_IN_2D[1:]], ids=len)
def test_runs_end_and_begin_anywhere_in_segments_and_tiles(width, steps):
    for height, periodic in product((1, 31, 65), product((False, True), repeat=2)):
        for share in (0.2, 0.5, 0.9):
            check_labels(random_bonds((height, width), steps, periodic, share, seed=width))


@pytest.mark.parametrize("steps", [CUBIC, ALL_IN_3D], ids=len)
@pytest.mark.parametrize("shape", [(1, 2, 3), (9, 10, 130), (17, 3, 40), (8, 16, 128)])
def test_lattices_of_three_axes_are_labeled_by_runs(steps, shape):
    for periodic in product((False, True), repeat=3):
        for share in (0.06, 0.25, 0.7):
            check_labels(random_bonds(shape, steps, periodic, share, dtype=np.uint16))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_sites_of_every_size_are_labeled_by_runs_wherever_they_begin(dtype):
    bonds = random_bonds((40, 272), SQUARE, (True, True), 0.5, dtype=dtype)
    check_labels(bonds)
    room = cupy.zeros(bonds.size + 1, dtype)[1:].reshape(bonds.shape)
    room[...] = cupy.asarray(bonds.open)
    labels, _ = label_bonds_by_runs(Bonds(room, bonds.steps, bonds.periodic))
    np.testing.assert_array_equal(labels.get(), label_bonds_by_runs(bonds)[0])


def test_every_run_of_a_race_gives_the_labels_of_the_cpu():
    bonds = random_bonds((2048, 1500), SQUARE, (True, True), 0.5)
    expected = cupy.asarray(label_bonds_by_runs(bonds)[0])
    there = on_device(bonds)
    out = cupy.empty(bonds.shape, np.int64)
    for _ in range(8):
        assert (label_bonds_by_runs(there)[0] == expected).all()
        assert (label_bonds_by_runs(there, out)[0] == expected).all()
