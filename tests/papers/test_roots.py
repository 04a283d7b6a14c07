"""Roots that published methods return, before anything reads them, and mutants of their passes.

Numbering on the CPU resolves any forest on its way, so labels are right even without the last pass
of a method. Here roots themselves are compared, also where one call of a pass does nothing.
"""

import ast
import inspect
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from test_methods import NEIGHBORHOODS, noise
from test_methods import expected_roots as grid_roots

from equilabel import METHODS
from equilabel.devices import fetch, place
from equilabel.papers import load_passes, load_recipe
from equilabel.papers.meshes import Lattice, Multigrid
from equilabel.samples import spiral
from graphs import GRAPHS
from graphs import expected_roots as graph_roots
from references import LATTICES, bond_roots, grid_of, random_bonds

pytestmark = pytest.mark.slow
PUBLISHED = [name for name, row in METHODS.items() if row.answer == "roots"]
SMALL = {"tile": 3, "tile_size": 64, "segment": 64}  # options that cut small domains into parts
# Calls without which roots are right all the same, and why they stay.
FOR_SPEED = {
    "komura.analyze.1": "the paper's: chains are short when labels are reduced",
    "hawick_d.analyze.1": "the paper's: fewer rounds, which test_hawick.py counts",
    "apostolakis.improve.1": "the paper's: fewer cycles, which test_apostolakis.py counts",
    "hawick_2.init_frontier.2": "vertices that are active for no reason are compared once more",
    "union_find.compress.1": "ours: shortens the chains of paths first, which saves a tenth there",
    "union_find.compress.2": "Afforest's: finds most of the largest component",
    "union_find.find_largest.1": "Afforest's: its edges need not be looked at",
}


@cache
def domains():
    """List domains of each kind, with their number of axes and their roots."""
    images = [(noise(shape), back, way) for shape, way in NEIGHBORHOODS for back in (0, None)]
    images += [(image, False, 1) for image in (spiral(24), spiral(24)[::-1].copy())]
    grids = [(grid_of(*each), each[0].ndim, grid_roots(*each)) for each in images]
    for stack in (noise((3, 8)), noise((4, 5, 6))):
        axes = stack.ndim - 1
        roots = grid_roots(stack, 0, axes, stacked=True)
        grids.append((grid_of(stack, 0, axes, stacked=True), axes, roots))
    bonds = [
        random_bonds(shape, steps, (around,) * len(shape), 0.55)
        for shape, steps in LATTICES.values()
        for around in (False, True)
    ]
    return {
        "grid": grids,
        "bonds": [(each, sum(np.array(each.shape) > 1), bond_roots(each)) for each in bonds],
        "graph": [(graph, None, graph_roots(graph)) for graph in GRAPHS.values()],
    }


def cases(name):
    """Yield domains that a method knows, their roots, and options of its recipe."""
    row = METHODS[name]
    options = {key: SMALL[key] for key in row.options if key in SMALL}
    for kind in row.domains:
        for domain, axes, expected in domains()[kind]:
            if axes is None or axes in row.ranks:
                yield domain, expected, options
                if row.accumulates:
                    yield domain, expected, {"accumulate": True}


def is_right(name, kernels, device, domain, expected, options):
    """Compare what a recipe returns with the roots of a domain, and sizes if it counts them."""
    if device != "cpu":
        arrays = {"pixels", "open", "offsets", "neighbors"} & set(vars(domain))
        domain = replace(domain, **{key: place(getattr(domain, key), device) for key in arrays})
    found = load_recipe(name)(kernels, domain, **options)
    if found.counts is not None:
        sizes = fetch(found.counts)[:, 0]
        _, counts = np.unique(expected[expected >= 0], return_counts=True)
        if not np.array_equal(sizes[sizes > 0], counts):
            return False
    return np.array_equal(fetch(found.roots), expected.ravel())


@pytest.mark.parametrize("name", PUBLISHED)
def test_roots_are_the_smallest_indices_of_components(name, device):
    for case in cases(name):
        assert is_right(name, load_passes(name, device), device, *case)


class TooManyCallsError(Exception):
    """A recipe goes on for longer than any that ends."""


class Mutant:
    """Passes of which one, where one line of the recipe calls it, works only the first times."""

    def __init__(self, kernels, site, working, size):
        self.kernels, self.site, self.working = kernels, site, working
        self.left = 200 + 8 * size  # calls; methods as they are make a quarter of that at most

    def __getattr__(self, name):
        self.left -= 1
        if self.left < 0:
            raise TooManyCallsError
        real = getattr(self.kernels, name)
        if (name, sys._getframe(1).f_lineno) != self.site:
            return real
        self.working -= 1
        return real if self.working >= 0 else lambda *arguments: idle(real, *arguments)


def idle(real, *arguments):
    """Change nothing and report no change; return -1 for an index, arrays without their values."""
    if real.__annotations__["return"] in ("None", "bool"):
        return False
    made = real(*arguments)
    if isinstance(made, int):
        return -1
    if isinstance(made, Lattice | Multigrid):
        arrays = [made.links if isinstance(made, Lattice) else made.labels]
    else:
        arrays = made if isinstance(made, tuple) else [made]
    for array in arrays:
        array[...] = ~array if array.dtype == bool else 0
    return made


def mutants():
    """List calls of passes in recipes: method, call, pass and line, how many times it works."""
    found = []
    for name in PUBLISHED:
        lines, first = inspect.getsourcelines(load_recipe(name))
        nodes = list(ast.walk(ast.parse("".join(lines))))
        called = [each.func for each in nodes if isinstance(each, ast.Call)]
        sites = {(each.lineno, each.attr) for each in called if ast.unparse(each)[:7] == "passes."}
        loops = [each for each in nodes if isinstance(each, ast.While | ast.For)]
        seen = []
        for line, each in sorted(sites):
            seen.append(each)
            call = f"{name}.{each}.{seen.count(each)}"
            repeats = any(loop.lineno <= line <= loop.end_lineno for loop in loops)
            for working in range(1 + repeats):
                mutant = name, call, (each, first + line - 1), working
                found.append(pytest.param(*mutant, id=f"{call}-{working}"))
    return found


@pytest.mark.parametrize(("name", "call", "site", "working"), mutants())
def test_no_method_is_right_without_one_of_its_passes(name, call, site, working, device):
    try:
        survives = all(
            is_right(
                name, Mutant(load_passes(name, device), site, working, case[1].size), device, *case
            )
            for case in cases(name)
        )
    except TooManyCallsError:
        survives = False
    assert survives == (call in FOR_SPEED)
