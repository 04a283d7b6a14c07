"""Labels 1 to N in raster order, from runs and from roots."""

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, popcount, smaller
from equilabel.devices.cpu.union_find import find
from equilabel.devices.jit import BORROWING, inlined, njit

from .packing import exceeds
from .run_table import advance, locate, new_position, row_of

# ---- Passes that number runs, and components in raster order of their first pixel

CHUNK = 4096  # runs that are looked at together


@njit(nogil=True, cache=True, **BORROWING)
def index(runs, counts, first_block, last_block):
    """Count up the runs that begin in each word, and make each run its own root.

    Parameters
    ----------
    runs : Runs
        `first` is overwritten in the range of blocks, and `parents` for their runs.
    counts : (B + 1,) array of int64
        Number of the first run of each block.
    """
    for block in range(first_block, last_block):
        run = counts[block]
        for word in range(runs.starts.shape[1]):
            runs.first[block, word] = run
            run += popcount(runs.starts[block, word])
    for run in range(np.uint64(counts[first_block]), np.uint64(counts[last_block])):
        runs.parents[run] = run


@njit(nogil=True, cache=True, **BORROWING)
def number(counts, parents, ends):
    """Replace each run's parent by the number of its component, in order of first runs.

    Parameters
    ----------
    counts : (slabs + 1,) array of int64
        Number of the first run of each slab.
    parents : (runs + 1,) array of int
        Overwritten: 1 to N, and 0 for run 0.
    ends : (slabs + 1,) array of int64
        ``ends[slab + 1]`` is set to the components that begin before the end of a slab.

    Returns
    -------
    int
        N.
    """
    components = parents.dtype.type(0)
    ends[0] = 0
    parents[0] = 0
    for slab in range(counts.size - 1):
        components = number_range(parents, counts[slab], counts[slab + 1], components)
        ends[slab + 1] = components
    return components


@inlined
def number_range(parents, begin, end, components):
    """Do as `number` for a range of runs, after so many components, and return their number."""
    for run in range(np.uint64(begin), np.uint64(end)):
        parent = np.uint64(parents[run])  # unsigned: no index counts from the end
        components += parents.dtype.type(parent == run)
        # A root reads what was just written: there is no branch to predict.
        parents[run] = components
        parents[run] = parents[parent]
    return components


@njit(nogil=True, cache=True, **BORROWING)
def is_one(parents, begin, end):
    """Return whether no run of a range is a root, and the last one is of run 1.

    If so of all runs but run 1, they are one component.
    """
    if find(parents, end - 1) != ONE:  # so it mostly ends
        return False
    for first in range(begin, end, CHUNK):
        roots = 0
        for run in range(np.uint64(first), np.uint64(smaller(first + CHUNK, end))):
            roots += parents[run] == run
        if roots > 0:
            return False
    return True


@njit(nogil=True, cache=True, **BORROWING)
def count_roots(parents, begin, end):
    """Count the roots of a range of runs."""
    roots = 0
    for run in range(np.uint64(begin), np.uint64(end)):
        roots += parents[run] == run
    return roots


@njit(nogil=True, cache=True, **BORROWING)
def number_part(counts, parents, first_block, last_block, slab, components, ends):
    """Do as `number` for some blocks, whatever becomes of those before meanwhile.

    Where the parent of a run, or its parent's, is in a block before them, the run gets ``~other``,
    where run `other` has the same label: `follow` looks it up.

    Parameters
    ----------
    counts : (B + 1,) array of int64
        Number of the first run of each block.
    parents : (runs + 1,) array of int
        Overwritten for the runs of these blocks.
    slab : int
        Blocks of a slab.
    components : int
        Those that begin before these blocks.
    ends : (slabs + 1,) array of int64
        Overwritten for these blocks.
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
    """Give the runs of a range that `number_part` has left without a label theirs.

    Other threads do so meanwhile: what is read is a way to a label, or that label.
    """
    for run in range(begin, end):
        label = labels[run]
        while label < 0:
            label = labels[~label]
        labels[run] = label


@njit(nogil=True, cache=True, **BORROWING)
def reorder(runs, first_slab, last_slab, ends, order):
    """Order the components that begin in each slab by their first pixel instead of first run.

    Where blocks have several rows, runs come block by block but pixels row by row. A slab is
    the blocks that share their rows' raster range: one block, or one line of them.

    Parameters
    ----------
    runs : Runs
        After `number`.
    ends : (slabs + 1,) array of int64
        From `number`.
    order : (N + 1,) array of int
        Zeros; ``order[label]`` is set to the label in raster order; entry 0 is undefined.
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
                        if few:  # look for new labels among all that are met in this word
                            met = exceeds(labels, run - 1, limit)
                            if met & ((ONE << np.uint64(popcount(here) + 1)) - ONE) == NONE:
                                continue
                        while begins != NONE:
                            bit = begins & (~begins + ONE)
                            label = labels[run + popcount(here & (bit ^ (bit - ONE))) - 1]
                            # Nothing to predict here either: what is known goes to entry 0.
                            slot = label if label > before else 0
                            new = label > before and order[slot] == 0
                            given += new
                            order[slot if new else 0] = given
                            begins ^= bit
                advance(runs.grid, position)


@njit(nogil=True, cache=True, **BORROWING)
def relabel(labels, begin, end, order):
    """Replace each label by that of another order."""
    for run in range(begin, end):
        labels[run] = order[labels[run]]


# ---- What follows from roots, whichever method found them


@njit(nogil=True, cache=True)
def number_roots(roots, labels):
    """Give components the numbers from 1, in raster order of their first elements.

    The label of each root is looked up, so any forest with ``roots[i] <= i`` is resolved on the
    way. This costs nothing. The CUDA twin does not resolve: no method may rely on it.

    Parameters
    ----------
    roots : (N,) array of int64
        Smallest index of each element's component; -1 for background. Not checked.
    labels : (N,) array of integers
        Overwritten; 0 for background. May be `roots` itself. Holds the number of components, or
        it wraps. Not checked.

    Returns
    -------
    int
        Number of components.
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
