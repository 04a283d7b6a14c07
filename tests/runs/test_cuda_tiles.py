"""Methods that work on meshes of links, on a GPU: Weigel's tiles, and many grids."""

from itertools import product

import numpy as np
import pytest

from equilabel import METHODS, label
from equilabel.domains.bonds import Bonds
from equilabel.papers import load_passes, load_recipe
from equilabel.samples import blobs, spiral
from references import bond_roots, grid_of, random_bonds

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]

NAMES = ["weigel_sewing", "weigel_relaxation", "apostolakis"]
WEIGEL = NAMES[:2]
LOCAL = METHODS["weigel_sewing"].options["local"].choices
STEPS = {
    1: [[(1,)]],
    2: [[(0, 1), (1, 0)], [(0, 1), (1, -1), (1, 0)], [(0, 1), (1, -1), (1, 0), (1, 1)]],
    3: [
        [(0, 0, 1), (0, 1, 0), (1, 0, 0)],
        [(0, 0, 1), (0, 1, -1), (0, 1, 1), (1, -1, 0), (1, -1, 1), (1, 1, 1)],
    ],
}
SHAPES = [(1,), (2,), (3001,), (1, 1), (2, 2), (1, 70), (97, 130), (2, 3, 65), (17, 20, 33)]


def moved(bonds):
    return Bonds(cupy.asarray(bonds.open), bonds.steps, bonds.periodic)


def find(name, domain, device="cuda", **options):
    return load_recipe(name)(load_passes(name, device), domain, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_roots_of_bonds_are_those_of_scipy_whatever_is_periodic(name, shape):
    for steps in STEPS[len(shape)]:
        for seed, periodic in enumerate(product([False, True], repeat=len(shape))):
            for p in (0.2, 0.35, 0.5, 0.9):
                bonds = random_bonds(shape, steps, periodic, p, seed)
                found = find(name, moved(bonds)).roots
                assert found.dtype == np.int64
                np.testing.assert_array_equal(found.get(), bond_roots(bonds))


@pytest.mark.parametrize("name", WEIGEL)
@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("tile", [2, 3, 8, 16, 33, 64])
def test_every_edge_of_tiles_gives_the_same_roots(name, local, tile):
    bonds = random_bonds((137, 250), STEPS[2][0], (True, False), 0.5)
    roots = find(name, moved(bonds), tile=tile, local=local).roots
    np.testing.assert_array_equal(roots.get(), bond_roots(bonds))
    cube = random_bonds((17, 40, 35), STEPS[3][1], (False, True, True), 0.3)
    roots = find(name, moved(cube), tile=min(tile, 16), local=local).roots
    np.testing.assert_array_equal(roots.get(), bond_roots(cube))
    for image in (spiral(150), blobs((150, 333))):
        labels = label(cupy.asarray(image), method=name, tile=tile, local=local)
        np.testing.assert_array_equal(labels.get(), label(image))


@pytest.mark.parametrize("name", WEIGEL)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_open_bonds_may_be_bits_of_any_type(name, dtype):
    bonds = random_bonds((60, 70), STEPS[2][1], (True, True), 0.4)
    other = Bonds(cupy.asarray(bonds.open.astype(dtype)), bonds.steps, bonds.periodic)
    np.testing.assert_array_equal(find(name, other).roots.get(), bond_roots(bonds))


@pytest.mark.parametrize("shape", [(500,), (65, 90), (9, 17, 30)], ids=str)
def test_links_levels_and_tiles_are_as_on_the_cpu(shape):
    image = np.random.default_rng(0).integers(0, 3, shape).astype(np.uint16)
    for connectivity in range(1, len(shape) + 1):
        lattices = [
            load_passes("weigel_sewing", device).connect(grid_of(place(image), 1, connectivity))
            for device, place in (("cpu", np.asarray), ("cuda", cupy.asarray))
        ]
        np.testing.assert_array_equal(lattices[1].links.get(), lattices[0].links)
        for local, tile in product(LOCAL, (3, 16)):
            here, there = (
                load_passes("weigel_sewing", device).label_tiles(lattice, tile, local)
                for device, lattice in zip(("cpu", "cuda"), lattices, strict=True)
            )
            np.testing.assert_array_equal(there.get(), here)


@pytest.mark.parametrize("periodic", [(False, False), (True, True), (True, False)])
def test_levels_and_cycles_are_as_many_as_on_the_cpu(periodic):
    for seed, side in enumerate((31, 64, 200)):
        bonds = random_bonds((side, side + 3), STEPS[2][0], periodic, 0.5, seed)
        for name in ("weigel_sewing", "apostolakis"):
            assert find(name, moved(bonds)).rounds == find(name, bonds, "cpu").rounds


@pytest.mark.parametrize("name", NAMES)
def test_every_run_of_a_race_ends_with_the_same_bits(name):
    bonds = random_bonds((1024, 1000), STEPS[2][0], (True, True), 0.5)
    expected, bonds = cupy.asarray(bond_roots(bonds)), moved(bonds)
    for _ in range(8):
        assert (find(name, bonds).roots == expected).all()


def test_pairs_of_roots_are_those_of_the_cpu_in_any_order():
    bonds = random_bonds((130, 121), STEPS[2][1], (True, True), 0.4)
    lists = []
    for device, domain in (("cpu", bonds), ("cuda", moved(bonds))):
        module = load_passes("weigel_relaxation", device)
        lattice = module.connect(domain)
        pairs = module.list_borders(lattice, 8, module.label_tiles(lattice, 8, "union_find"))
        lists.append(sorted(pairs.tolist()))
    assert lists[0] == lists[1]
