"""Passes of one name do one thing on every device: the same functions, with the same parameters."""

import ast
from pathlib import Path

import pytest

import equilabel
from equilabel import METHODS

PACKAGE = Path(equilabel.__file__).parent
# Modules of one name on both devices, which {} stands for, and the class of each whose methods
# others call.
TWINS = [
    *("measuring/{}/accumulate", "measuring/{}/sources", "runs/{}/boundaries"),
    *("runs/{}/graphs", "runs/{}/numbering", "runs/{}/passes", "segmentation/{}/histogram"),
    *("segmentation/{}/growing", "segmentation/{}/smoothing"),
    *("simulation/{}/potts", "papers/apostolakis1992/{}", "papers/hawick2010/{}"),
    *("papers/kalentev2011/{}", "papers/komura2016/{}", "papers/meshes/{}", "papers/weigel2011/{}"),
]
# What walks through rows differs, and what prepares; what callers ask does not.
UNLIKE = {
    *("measuring/{}/accumulate", "measuring/{}/sources", "papers/meshes/{}"),
    "segmentation/{}/smoothing",
}
CLASSES = {"Accumulator": None, "LabelSource": {"__init__", "suffices"}, "RunSource": {"suffices"}}


def parameters(function):
    """List the parameters of a function, `*` before those that are keywords alone."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    more = [each.arg for each in arguments.kwonlyargs]
    assert arguments.vararg is None, function.name
    assert arguments.kwarg is None, function.name
    return [*names, "*", *more] if more else names


# Kernels that callers of both devices know, by module.
PASSES = {
    "runs/{}/numbering": {"number_roots"},
    "papers/hawick2010/{}": {"analyze", "relabel", "next_source"},
    "papers/kalentev2011/{}": {"analyze", "analyze_counts"},
    "papers/weigel2011/{}": {"relax", "spread"},
}


def is_kernel(function):
    made = [ast.unparse(each) for each in function.decorator_list]
    return any("njit" in each or each in {"called", "inlined"} for each in made)


def signatures(device, name):
    """Map what others may call in a module of kernels to its parameters."""
    tree = ast.parse((PACKAGE / f"{name.format(device)}.py").read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if not is_kernel(node) or node.name in PASSES.get(name, ()):
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
    assert cpu, name
    if name in UNLIKE:
        cpu = {key: cpu[key] for key in cpu.keys() & cuda.keys()}
        cuda = {key: cuda[key] for key in cpu}
    assert cpu == cuda


def calls_of(name):
    """Map each pass that a recipe calls to the number of arguments that it is given."""
    module, _, function = METHODS[name].recipe.partition(":")
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    recipe = {getattr(n, "name", ""): n for n in ast.parse(path.read_text(encoding="utf-8")).body}
    return {
        node.func.attr: len(node.args)
        for node in ast.walk(recipe[function])
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("passes.")
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_pass_that_a_recipe_calls_is_there_on_each_of_its_devices(name):
    called = calls_of(name)
    assert called
    for device in METHODS[name].devices:
        found = signatures(device, METHODS[name].passes.replace(".", "/"))
        assert {key: len([each for each in found[key] if each != "*"]) for key in called} == called


@pytest.mark.parametrize("passes", sorted({method.passes for method in METHODS.values()}))
def test_every_pass_of_a_paper_is_called_by_a_recipe(passes):
    called = {each for n, m in METHODS.items() if m.passes == passes for each in calls_of(n)}
    assert set(signatures("cuda", passes.replace(".", "/"))) >= called
    if passes.startswith("papers"):
        assert set(signatures("cpu", passes.replace(".", "/"))) == called


def test_no_twin_is_left_out():
    named = {path.relative_to(PACKAGE).as_posix()[:-3] for path in PACKAGE.rglob("*.py")}
    both = {name.replace("cuda", "{}", 1) for name in named if "cuda" in name}
    both = {name for name in both if name.format("cpu") in named}
    assert {name for name in both if not name.endswith("__init__")} == set(TWINS)
    for method in METHODS.values():
        assert method.passes.replace(".", "/") in TWINS
        assert set(method.devices) == {"cpu", "cuda"}
