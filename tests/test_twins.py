"""Passes of one name do one thing on every device: the same functions, with the same parameters."""

import ast
import re
from pathlib import Path

import pytest

import equilabel
from equilabel import METHODS

KERNELS = Path(equilabel.__file__).parent / "kernels"
METHOD_FILES = Path(equilabel.__file__).parent / "methods"
# Modules of one name on both devices, and the class of each whose methods others call.
TWINS = [
    *("accumulate", "apostolakis", "boundaries", "hawick_1", "hawick_2", "hawick_3", "hawick_a"),
    *("hawick_b", "hawick_c", "hawick_d", "histogram", "index_labels", "kalentev"),
    *("kalentev_rowcol", "komura", "komura_graph", "links", "potts", "roots", "runs", "sources"),
    *("union_find", "weigel_relaxation", "weigel_sewing", "weigel_tiles"),
]
CLASSES = {"Accumulator": None, "LabelSource": {"__init__", "suffices"}, "RunSource": {"suffices"}}


def parameters(function):
    """List the parameters of a function, `*` before those that are keywords alone."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    more = [each.arg for each in arguments.kwonlyargs]
    assert arguments.vararg is None, function.name
    assert arguments.kwarg is None, function.name
    return [*names, "*", *more] if more else names


def is_kernel(function):
    made = [ast.unparse(each) for each in function.decorator_list]
    return any("njit" in each or each in {"called", "inlined", "inlined_part"} for each in made)


def signatures(device, name):
    """Map what others may call in a module of kernels to its parameters."""
    tree = ast.parse((KERNELS / device / f"{name}.py").read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if not is_kernel(node) or name == "roots":
                found[node.name] = parameters(node)
        elif isinstance(node, ast.ClassDef) and node.name in CLASSES:
            wanted = CLASSES[node.name]
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and (
                    method.name in wanted if wanted else method.name[:1] != "_"
                ):
                    found[f"{node.name}.{method.name}"] = parameters(method)
    return found


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_functions_with_the_same_parameters(name):
    cpu, cuda = signatures("cpu", name), signatures("cuda", name)
    shared = "sources"  # what walks through rows differs; what callers ask does not
    assert cpu, name
    if name == shared:
        cuda = {key: cuda[key] for key in cpu}
    assert cpu == cuda


@pytest.mark.parametrize("name", METHODS)
def test_every_pass_that_a_recipe_calls_is_there_on_each_of_its_devices(name):
    recipe = ast.parse((METHOD_FILES / f"{name}.py").read_text(encoding="utf-8"))
    [passes] = [n for n in recipe.body if isinstance(n, ast.ClassDef) and n.name == "Passes"]
    wanted = {n.name: parameters(n)[1:] for n in passes.body if isinstance(n, ast.FunctionDef)}
    [function] = [n for n in recipe.body if isinstance(n, ast.FunctionDef) and n.name == "recipe"]
    called = re.findall(r"passes\.(\w+)\(", ast.unparse(function))
    assert set(called) == set(wanted)
    for device in METHODS[name].devices:
        found = signatures(device, name)
        assert {key: found[key] for key in wanted} == wanted


def test_no_twin_is_left_out():
    both = [{path.stem for path in (KERNELS / each).glob("[a-z]*.py")} for each in ("cpu", "cuda")]
    assert both[0] & both[1] == set(TWINS)
    for method in METHODS.values():
        assert method.name in TWINS
        assert set(method.devices) == {"cpu", "cuda"}
