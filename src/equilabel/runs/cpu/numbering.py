"""Numbers components 1 to N in raster order, from runs or from roots."""

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, popcount
from equilabel.devices.jit import BORROWING, inlined, njit

from .packing import exceeds
from .run_table import advance, locate, new_position, row_of

# ---- Passes that number runs, and components in raster order of their first pixels


@njit(nogil=True, cache=True, **BORROWING)
def index(runs, counts, first_block, last_block):
    """Write the number of the first run of each word, and make each run its own root.

    `counts` is (B + 1,) of int64: the number of the first run of each block. `first` and `parents`
    of `runs` are overwritten for the blocks of the range.
    """
    for block in range(first_block, last_block):
        run = counts[block]
        for word in range(runs.starts.shape[1]):
            runs.first[block, word] = run
            run += popcount(runs.starts[block, word])
    for run in range(np.uint64(counts[first_block]), np.uint64(counts[last_block])):
        runs.parents[run] = run


@inlined
def number_range(parents, begin, end, components):
    """Give numbers to a range of runs, after `components` others; return the total."""
    for run in range(np.uint64(begin), np.uint64(end)):
        parent = np.uint64(parents[run])  # unsigned: no index counts from the end
        components += parents.dtype.type(parent == run)
        # A root reads back what was just written: this needs no branch.
        parents[run] = components
        parents[run] = parents[parent]
    return components


@njit(nogil=True, cache=True, **BORROWING)
def count_roots(parents, begin, end):
    """Count the roots of a range of runs."""
    roots = 0
    for run in range(np.uint64(begin), np.uint64(end)):
        roots += parents[run] == run
    return roots


@njit(nogil=True, cache=True, **BORROWING)
def number(counts, parents, first_block, last_block, slab, components, ends):
    """Replace the parent of each run of some blocks by its label, in order of first runs.

    Other threads may do so for the blocks before them: where the parent of a run, or its parent's
    parent, is in an earlier block, the run gets ``~other``, where run `other` has the same label;
    `follow` looks it up. `counts` is (B + 1,): the first run of each block. `slab` is the number of
    blocks of a slab; `components` is the number of components that begin before these blocks.
    ``ends[slab + 1]``, of (slabs + 1,), is set to those that begin before the end of a slab.
    """
    label = parents.dtype.type(components)
    begin = np.uint64(counts[first_block])
    ends[0] = 0
    for block in range(first_block, last_block, slab):
        for run in range(np.uint64(counts[block]), np.uint64(counts[block + slab])):
            parent = np.uint64(parents[run])  # unsigned: no index counts from the end
            if parent < begin:
                parents[run] = ~parents[run]
                continue
            label += parents.dtype.type(parent == run)
            parents[run] = label
            parents[run] = parents[parent]
        ends[block // slab + 1] = label


@njit(nogil=True, cache=True, **BORROWING)
def follow(labels, begin, end):
    """Give labels to the runs of a range that `number` left with a reference.

    Other threads do the same: what is read is a label or a reference that leads to one.
    """
    for run in range(begin, end):
        label = labels[run]
        while label < 0:
            label = labels[~label]
        labels[run] = label


@njit(nogil=True, cache=True, **BORROWING)
def reorder(runs, first_slab, last_slab, ends, order):
    """Put the components that begin in each slab into the order of first pixels, not of first runs.

    ``order[label]``, (N + 1,) and zeros at first, is set to the label in raster order; entry 0 is
    undefined. `runs` and `ends` are those that `number` wrote.
    """
    bits, labels = runs.bits, runs.parents
    line = runs.grid[4] if runs.deep > 1 else 1
    position = new_position()
    for slab in range(first_slab, last_slab):
        before = ends[slab]
        given = before
        wanted = ends[slab + 1]
        if wanted == before:
            continue
        few = wanted - before < line * bits.shape[1]
        limit = labels.dtype.type(before)
        for z in range(runs.deep):
            locate(slab * line, runs.grid, position)
            for block in range(slab * line, slab * line + line):
                for y in range(runs.tall):
                    if given == wanted:
                        break
                    row = row_of(runs, position, z, y)
                    carry = NONE
                    for word in range(bits.shape[1]):
                        pixels = bits[row, word]
                        begins = pixels & ~((pixels << ONE) | carry)
                        carry = pixels >> LAST
                        here = runs.starts[block, word]
                        run = runs.first[block, word]
                        if few:  # skip the word if no label of its runs is new
                            met = exceeds(labels, run - 1, limit)
                            if met & ((ONE << np.uint64(popcount(here) + 1)) - ONE) == NONE:
                                continue
                        while begins != NONE:
                            bit = begins & (~begins + ONE)
                            label = labels[run + popcount(here & (bit ^ (bit - ONE))) - 1]
                            # No branch here: labels that are not new write to entry 0.
                            slot = label if label > before else 0
                            new = label > before and order[slot] == 0
                            given += new
                            order[slot if new else 0] = given
                            begins ^= bit
                advance(runs.grid, position)


@njit(nogil=True, cache=True, **BORROWING)
def relabel(labels, begin, end, order):
    """Replace each label of a range of runs by its label in another order."""
    for run in range(begin, end):
        labels[run] = order[labels[run]]


# ---- Labels from roots, whichever method found them


@njit(nogil=True, cache=True)
def number_roots(roots, labels):
    """Give components the labels 1 to N in raster order of their first elements; return N.

    `roots` is (N,), -1 for background; any forest with ``roots[i] <= i`` works here, but not on a
    GPU. `labels` may be `roots`; its type must hold the number of components.
    """
    count = 0
    for i in range(roots.size):
        root = roots[i]
        if root < 0:
            labels[i] = 0
        elif root == i:
            count += 1
            labels[i] = count
        else:
            labels[i] = labels[root]
    return count
