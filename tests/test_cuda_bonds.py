"""Lattices of bonds on a GPU: roots and labels are those of the reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from equilabel.devices import passes
from equilabel.methods import load_recipe
from references import bond_roots, random_bonds
from test_bonds import LATTICES, ROOTS

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]


def on_device(bonds):
    return replace(bonds, open=cupy.asarray(bonds.open))


@pytest.mark.parametrize("method", ROOTS)
@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("share", [0.3, 0.55, 1.0])
def test_roots_are_the_smallest_sites_on_every_lattice_and_boundary(method, name, share):
    shape, steps = LATTICES[name]
    for periodic in product((False, True), repeat=len(shape)):
        bonds = random_bonds(shape, steps, periodic, share, seed=len(name))
        found = load_recipe(method)(passes(method, "cuda"), on_device(bonds)).roots
        np.testing.assert_array_equal(found.get(), bond_roots(bonds))


@pytest.mark.parametrize("method", ROOTS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_bonds_are_bits_of_integers_of_every_size(method, dtype):
    steps = [step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
    steps = steps[-8 * np.dtype(dtype).itemsize :]
    bonds = random_bonds((5, 6, 70), steps, (True, False, True), 0.08, dtype=dtype)
    found = load_recipe(method)(passes(method, "cuda"), on_device(bonds)).roots
    np.testing.assert_array_equal(found.get(), bond_roots(bonds))
