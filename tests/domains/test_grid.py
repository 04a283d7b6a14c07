"""Neighborhoods: steps between pixels, and which rows have to be compared."""

from itertools import product
from math import comb

import numpy as np
import pytest

from equilabel.domains.grid import block_edges, blocks, half, offsets

KINDS = [(ndim, hops) for ndim in range(1, 7) for hops in range(1, ndim + 1)]
STACKS = [(ndim, hops) for ndim in range(2, 7) for hops in range(1, ndim)]
ALL = [(*kind, False) for kind in KINDS] + [(*kind, True) for kind in STACKS]
SMALL = [kind for kind in ALL if kind[0] <= 4]


def hops_of(step):
    return int(np.abs(step).sum())


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_neighbors_are_all_steps_of_few_enough_hops(ndim, connectivity, stacked):
    steps = {tuple(step) for step in offsets(ndim, connectivity, stacked=stacked).tolist()}
    for step in product((-1, 0, 1), repeat=ndim):
        inside = 1 <= hops_of(step) <= connectivity and not (stacked and step[0])
        assert (step in steps) == inside
    axes = ndim - stacked
    assert len(steps) == sum(comb(axes, k) * 2**k for k in range(1, connectivity + 1))


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_neighbors_come_in_raster_order(ndim, connectivity, stacked):
    steps = offsets(ndim, connectivity, stacked=stacked).tolist()
    assert steps == sorted(steps)


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_each_neighbor_has_its_opposite_at_the_mirrored_place(ndim, connectivity, stacked):
    steps = offsets(ndim, connectivity, stacked=stacked)
    np.testing.assert_array_equal(steps, -steps[::-1])


@pytest.mark.parametrize(("ndim", "connectivity"), KINDS)
def test_earlier_neighbors_are_those_before_the_pixel(ndim, connectivity):
    steps = offsets(ndim, connectivity)
    before = [step for step in steps.tolist() if step < [0] * ndim]
    assert half(steps).tolist() == before


def test_the_neighborhoods_of_two_and_three_axes_have_their_usual_sizes():
    assert [len(offsets(2, hops)) for hops in (1, 2)] == [4, 8]
    assert [len(offsets(3, hops)) for hops in (1, 2, 3)] == [6, 18, 26]


@pytest.mark.parametrize("table", [offsets(2, 1), block_edges(2, 2, (1, 2))])
def test_tables_that_callers_share_cannot_be_written(table):
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0


# -------------------------------------------------------------------- blocks


def overlap(step, connectivity):
    """Return whether two rows do not touch (0), overlap straight (1) or diagonally too (2)."""
    if max(map(abs, step)) > 1 or hops_of(step) > connectivity:
        return 0
    return 2 if hops_of(step) < connectivity else 1


def rows_of(block, place):
    """Return the leading coordinates of the rows of a block, in raster order."""
    sizes = (1, 1, 1, *block)
    return [
        tuple(p * s + i for p, s, i in zip(place, sizes, (0, 0, 0, *inner), strict=True))
        for inner in product(range(block[0]), range(block[1]))
    ]


def step_between(one, other):
    return tuple(a - b for a, b in zip(other, one, strict=True))


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_rows_of_a_block_overlap_diagonally_one_with_another(ndim, connectivity, stacked):
    block = blocks(ndim, connectivity, stacked=stacked)
    rows = rows_of(block, (0,) * 5)
    for one in rows:
        for other in rows:
            assert one == other or overlap(step_between(one, other), connectivity) == 2


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_blocks_extend_along_no_axis_that_is_not_there(ndim, connectivity, stacked):
    deep, tall = blocks(ndim, connectivity, stacked=stacked)
    assert tall == 1 or ndim - stacked >= 2
    assert deep == 1 or ndim - stacked >= 3


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), SMALL)
def test_edges_compare_each_pair_of_touching_rows_once(ndim, connectivity, stacked, largest):
    block = blocks(ndim, connectivity, stacked=stacked) if largest else (1, 1)
    mine = rows_of(block, (0,) * 5)
    compared = []
    for *away, diagonal, mine0, mine1, other0, other1 in block_edges(
        ndim, connectivity, block, stacked=stacked
    ).tolist():
        theirs = rows_of(block, away)
        compared += [
            (mine[a], theirs[b], 1 + diagonal) for a in {mine0, mine1} for b in {other0, other1}
        ]
    leading = ndim - 1 - stacked
    expected = [
        (one, other, overlap(step_between(one, other), connectivity))
        for away in product((-1, 0, 1), repeat=leading)
        if away < (0,) * leading
        for one in mine
        for other in rows_of(block, (*(0,) * (5 - leading), *away))
    ]
    assert sorted(compared) == sorted(pair for pair in expected if pair[2])


@pytest.mark.parametrize(("ndim", "connectivity", "stacked"), ALL)
def test_edges_lead_to_earlier_blocks_the_nearest_first(ndim, connectivity, stacked):
    edges = block_edges(ndim, connectivity, stacked=stacked)[:, :5].tolist()
    assert all(edge < [0] * 5 for edge in edges)
    distances = [hops_of(edge) for edge in edges]
    assert distances == sorted(distances)
