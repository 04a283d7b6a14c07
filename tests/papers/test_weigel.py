"""Tiles that are sewn together or relax (Weigel 2011), on images and on lattices of bonds."""

from itertools import product

import numpy as np
import pytest

from equilabel import METHODS, label
from equilabel.domains.bonds import Bonds
from equilabel.papers import load_passes, load_recipe
from equilabel.papers.meshes import cpu as links
from equilabel.papers.weigel2011 import cpu as weigel_tiles
from references import bond_roots, expected_labels, grid_of, random_bonds
from strategies import noise

NAMES = ["weigel_sewing", "weigel_relaxation"]
LOCAL = METHODS["weigel_sewing"].options["local"].choices
SQUARE = [(0, 1), (1, 0)]
TRIANGULAR = [(0, 1), (1, -1), (1, 0)]
CUBIC = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
CORNERS = [(0, 0, 1), (0, 1, -1), (0, 1, 1), (1, -1, 0), (1, -1, 1), (1, 1, 1)]
LATTICES = [
    *product([SQUARE, TRIANGULAR], [(9, 14), (2, 7), (1, 5), (2, 2), (1, 1), (33, 3)]),
    *product([CUBIC, CORNERS], [(5, 4, 7), (2, 1, 9), (2, 2, 2)]),
    ([(1,)], (37,)),
    ([(1,)], (1,)),
]


def find(name, domain, **options):
    return load_recipe(name)(load_passes(name, "cpu"), domain, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("steps", "shape"), LATTICES)
def test_roots_of_bonds_are_smallest_indices_whatever_is_periodic(name, steps, shape):
    for seed, periodic in enumerate(product([False, True], repeat=len(shape))):
        bonds = random_bonds(shape, steps, periodic, (0.5, 0.2, 0.9)[seed % 3], seed)
        for local, tile in zip(LOCAL, (2, 3, 8), strict=True):
            found = find(name, bonds, tile=tile, local=local).roots
            np.testing.assert_array_equal(found, bond_roots(bonds))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("tile", [2, 3, 8, 16, 64])
def test_every_edge_of_tiles_gives_the_same_roots(name, local, tile):
    bonds = random_bonds((37, 50), SQUARE, (True, False), 0.5)
    roots = find(name, bonds, tile=tile, local=local).roots
    np.testing.assert_array_equal(roots, bond_roots(bonds))
    image = noise((37, 50), "u1", 3)
    labels = label(image, method=name, tile=tile, local=local)
    np.testing.assert_array_equal(labels, expected_labels(image))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_open_bonds_may_be_bits_of_any_type(name, dtype):
    bonds = random_bonds((6, 7), TRIANGULAR, (True, True), 0.4)
    other = Bonds(bonds.open.astype(dtype), bonds.steps, bonds.periodic)
    np.testing.assert_array_equal(find(name, other).roots, bond_roots(bonds))


@pytest.mark.parametrize("local", LOCAL)
def test_a_tile_is_labeled_as_if_it_were_alone(local):
    image = noise((7, 11), "u1", 2, seed=3)
    lattice = load_passes("weigel_sewing", "cpu").connect(grid_of(image, connectivity=2))
    found = weigel_tiles.label_tiles(lattice, 4, local).reshape(image.shape)
    indices = np.arange(image.size).reshape(image.shape)
    for top, left in product(range(0, 7, 4), range(0, 11, 4)):
        part = np.s_[top : top + 4, left : left + 4]
        numbers = expected_labels(image[part], 0, 2)
        for number in range(1, numbers.max(initial=0) + 1):
            assert set(found[part][numbers == number]) == {indices[part][numbers == number].min()}
        assert (found[part][numbers == 0] == -1).all()


@pytest.mark.parametrize(
    ("side", "tile", "levels"), [(64, 16, 2), (65, 16, 3), (16, 16, 1), (5, 2, 2)]
)
def test_tiles_double_from_level_to_level(side, tile, levels):
    image = np.ones((side, 3), bool)
    found = find("weigel_sewing", grid_of(image, False), tile=tile)
    assert found.rounds == levels
    assert (found.roots == 0).all()
    stack = grid_of(np.ones((500, side, 3), bool), False, stacked=True)
    assert find("weigel_sewing", stack, tile=tile).rounds == levels  # images stay apart


def test_a_bond_is_sewn_at_the_highest_level_of_the_seams_that_it_crosses():
    shape, edges = np.array([1, 1, 32, 32]), np.array([1, 1, 4, 4])
    steps = np.array([(0, 0, 1, 1)])
    levels = {
        (0, 0): 0,
        (3, 0): 1,
        (0, 7): 2,
        (3, 7): 2,
        (15, 7): 3,
        (7, 3): 2,
        (31, 7): -1,
    }
    for (y, x), level in levels.items():
        site = np.array([0, 0, y, x])
        assert links.seam_level(shape, steps, 0, edges, site) == level, (y, x)


def test_a_level_joins_what_lies_in_its_tiles_and_no_more():
    module = load_passes("weigel_sewing", "cpu")
    lattice = module.connect(grid_of(np.ones(32, np.uint8)))
    roots = module.label_tiles(lattice, 4, "union_find")
    for level, more in ((1, True), (2, True), (3, False)):
        assert module.sew(lattice, 4, level, roots) is more
        module.point_at_roots(roots)
        assert set(roots) == set(range(0, 32, 4 << level))


def test_labels_relax_from_tile_to_tile():
    steps = [(1,)]
    ring = Bonds(np.ones(64, np.uint8), np.array(steps), (True,))
    module = load_passes("weigel_relaxation", "cpu")
    roots = module.label_tiles(module.connect(ring), 8, "self_labeling")
    pairs = module.list_borders(module.connect(ring), 8, roots)
    assert pairs.tolist() == [[k, (k + 8) % 64] for k in range(0, 64, 8)]
    backwards = pairs[::-1].copy()  # the order in which a label moves one tile a round
    backwards = backwards[1:]  # without the way around
    rounds = 1
    while module.relax(backwards, roots):
        rounds += 1
    assert rounds == 8
    module.spread(roots)
    assert (roots == 0).all()


def test_of_bonds_inside_a_tile_none_is_a_pair():
    module = load_passes("weigel_relaxation", "cpu")
    lattice = module.connect(Bonds(np.ones(64, np.uint8), np.array([(1,)]), (True,)))
    roots = module.label_tiles(lattice, 64, "breadth_first")
    assert module.list_borders(lattice, 64, roots).shape == (0, 2)


def test_self_labeling_takes_passes_until_nothing_changes():
    inside = np.full(8, 1, np.uint16)
    inside[-1] = 0
    labels = np.empty(8, np.int64)
    backward = np.array([1])  # each element looks at the next: in this order, one pass is enough
    assert weigel_tiles.self_label(inside, backward, 1, labels) == 2
    assert labels.tolist() == [0] * 8
    inside = np.roll(inside, 1)
    assert weigel_tiles.self_label(inside, -backward, 1, labels) == 2
    assert labels.tolist() == [0] * 8


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("shape", "tile", "most"), [((8, 8), 1, 64), ((8, 8), 65, 64), ((4, 4, 4), 17, 16)]
)
def test_an_edge_outside_the_range_is_refused(name, shape, tile, most):
    rule = rf"^tile must be 2 to {most} for {len(shape)} axes; got {tile}\.$"
    with pytest.raises(ValueError, match=rule):
        label(np.ones(shape, bool), method=name, tile=tile)
    with pytest.raises(ValueError, match=r"^local must be one of \['self_labeling'"):
        label(np.ones(shape, bool), method=name, local="depth_first")
