"""The house: which room may import which, and what the front door loads."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import equilabel

PACKAGE = Path(equilabel.__file__).parent

# Arrows go from a higher level to a lower one. Modules of one folder may import each other.
LEVELS = {
    "array_types": -2,
    "arguments": -1,
    "options": -1,
    "descriptions": 0,
    "forecast": 0,
    "storage": 0,
    "quantities": 1,
    "samples": 1,
    "devices": 1,
    "colors": 2,
    "domains": 1,
    "runs": 2,
    "papers": 3,
    "measuring": 4,
    "labeling": 5,  # measures while it labels
    "simulation": 6,
    "segmentation": 7,
    "chunked": 8,
    "": 9,  # the facade
    "cli": 10,
    "skimage_backend": 10,
    "widget": 10,
    "__main__": 11,
}

# Libraries that only some rooms may know.
HOMES = {
    "cupy": (".cuda", "devices"),
    "numba": (".cpu", "devices"),
    "llvmlite": (".cpu", "devices"),
    "napari": ("widget",),
    "qtpy": ("widget",),
    "superqt": ("widget",),
    "magicgui": ("widget",),
    "app_model": ("widget",),
    "matplotlib": ("widget.forms.plots",),
    "typer": ("cli",),
    "tifffile": ("storage",),
    "bioio": ("storage",),
    "zarr": ("storage", "chunked"),
    "dask": ("chunked", "storage.table", "widget.logic.sources"),
    "distributed": ("chunked",),
}


def module_name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TYPES = ("array_types", "widget")
MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes(name):
    """Return all that stands in a module."""
    return list(ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))))


def arrows():
    """Yield each module with each one of ours that it imports."""
    for name in MODULES:
        yield from ((name, other) for other, foreign in imports(name) if not foreign)


@cache
def imports(name):
    """Leave out the names of types, which all modules may use; see `all_imports`."""
    return [
        (other, foreign)
        for other, foreign in all_imports(name)
        if other.removeprefix("equilabel.") not in TYPES
    ]


def all_imports(name):
    """Yield what a module imports, anywhere in it: ours relative to the package, others whole."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    for node in nodes(name):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, not alias.name.startswith("equilabel")
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:  # what is imported may be a module
                whole = f"{node.module}.{alias.name}".removeprefix("equilabel.")
                module = whole if whole in MODULES else node.module
                yield module, not node.module.startswith("equilabel")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            if node.module:
                yield ".".join([*base, node.module]), False
            else:
                for alias in node.names:
                    yield ".".join([*base, alias.name]), False


def room(name):
    """Return the room of a module: what stands directly in the package."""
    name = name.removeprefix("equilabel").lstrip(".")
    first = name.split(".")[0]
    return first if first in LEVELS else ""


def test_every_module_has_a_room():
    assert {name.split(".")[0] for name in MODULES} <= set(LEVELS)


def test_tests_lie_in_the_rooms_of_the_source():
    tests = Path(__file__).parent
    assert {path.parent.name for path in tests.glob("*/test_*.py")} <= set(LEVELS)
    names = [path.name for path in tests.rglob("test_*.py")]
    assert len(set(names)) == len(names)


def test_arrows_point_down():
    assert not [
        f"{name} imports {other}"
        for name, other in arrows()
        if name and room(other) != room(name) and LEVELS[room(other)] >= LEVELS[room(name)]
    ]


def seen_from(seer, *rooms):
    """List what the modules of a room import of ours that is in none of some rooms."""
    return [
        f"{name} imports {other}"
        for name, other in arrows()
        if room(name) == seer and room(other) not in rooms
    ]


def test_recipes_know_nothing_of_ours_but_their_contract():
    recipes = {method.recipe.partition(":")[0] for method in equilabel.METHODS.values()}
    seen = {(name, other.removeprefix("equilabel.")) for name, other in arrows() if name in recipes}
    assert {name for name, _ in seen} == recipes
    assert {other for _, other in seen} == {"domains.contract"}


def test_the_command_line_sees_only_the_facade_quantities_storage_and_compiling():
    rooms = ("", "colors", "quantities", "options", "storage", "descriptions", "forecast", "cli")
    seen = seen_from("cli", *rooms)
    # Rows of images that do not fit into memory, tasks on a Dask cluster, labels as OME-Zarr.
    others = {
        *("chunked.viewing", "chunked.engine", "chunked.ome_labels"),
        "devices.compiling",
    }
    assert {each.split()[-1].removeprefix("equilabel.") for each in seen} <= others


def test_the_plugin_sees_only_the_facade_and_rooms_without_kernels():
    rooms = (
        "",
        "colors",
        "quantities",
        "options",
        "storage",
        "descriptions",
        "forecast",
        "samples",
        "widget",
    )
    seen = {each.split()[-1].removeprefix("equilabel.") for each in seen_from("widget", *rooms)}
    large = "chunked.viewing"  # images that do not fit into memory
    selected = {"segmentation.outlines", "segmentation.result"}
    assert seen <= {large, "devices.compiling", "devices.threads", *selected}


# The wings of the plugin, from the one that knows no screen to the one a person sees.
WINGS = {"logic": 0, "viewer": 1, "forms": 2}


def wing(name):
    """Return the wing of the plugin that a module is in; None for others."""
    parts = name.removeprefix("equilabel.").split(".")
    return parts[1] if parts[0] == "widget" and len(parts) > 1 else None


def test_forms_know_the_viewer_and_both_the_logic_of_the_plugin():
    assert not [
        f"{name} imports {other}"
        for name, other in arrows()
        if wing(name) and wing(other) not in (None, wing(name))
        if WINGS[wing(other)] >= WINGS[wing(name)]
    ]


def foreigners():
    """Yield each module with the first name of each library that it imports."""
    for name in MODULES:
        yield from ((name, other.split(".")[0]) for other, foreign in imports(name) if foreign)


def test_the_logic_of_the_plugin_knows_no_screen():
    screen = {"napari", "app_model", "qtpy", "superqt", "magicgui"}
    assert not [
        f"{name} imports {other}"
        for name, other in foreigners()
        if (name == "widget" or wing(name) == "logic") and other in screen
    ]


def is_home(name, library):
    """Return whether a module may know a library: ".cpu" is a folder or a module of any room."""
    return any(
        home in f".{name}" if home.startswith(".") else name.startswith(home)
        for home in HOMES[library]
    )


def test_libraries_stay_in_their_rooms():
    assert not [
        f"{name} imports {other}"
        for name, other in foreigners()
        if other in HOMES and not is_home(name, other)
    ]


def test_kernels_are_compiled_with_the_cache_of_ours():
    """numba's raises where no folder can be written, and loads what is damaged."""
    assert not [
        name
        for name in MODULES
        if ".cpu" in name
        for node in nodes(name)
        if isinstance(node, ast.ImportFrom) and node.module == "numba"
        if {"njit", "jit"} & {alias.name for alias in node.names}
    ]


def test_the_facade_lists_all_its_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for name in names if name[0] != "_"} == set(equilabel.__all__)


def test_public_names_stay_what_they_are_whatever_is_imported_first():
    """Importing a room sets its name in the package: that of `devices` is a function's."""
    code = "import equilabel.devices.threads, equilabel.labeling, equilabel, types; "
    code += "from equilabel import devices; print(devices()[0].name, "
    code += (
        "*sorted(n for n in equilabel.__all__ if type(getattr(equilabel, n)) is types.ModuleType))"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["cpu", "lattices", "simulation"]


def test_importing_loads_no_heavy_library():
    heavy = ["cupy", "numba", "dask", "zarr", "napari", "pandas", "skimage", "tifffile", "scipy"]
    code = "import sys, equilabel; [getattr(equilabel, name) for name in equilabel.__all__]; "
    code += f"print([name for name in {heavy} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_manifest_in_the_package_is_the_one_at_the_root():
    from npe2 import PluginManifest

    root = PACKAGE.parents[1] / "napari.yaml"
    assert (PACKAGE / "napari.yaml").resolve() == root
    assert PluginManifest.from_file(root).name == "equilabel"


def named(name):
    """Yield our modules that stand in the strings of a module, as those loaded when needed do."""
    for node in nodes(name):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = node.value.partition(":")[0].removeprefix("equilabel.")
            if node.value.startswith("equilabel.") and module and module in MODULES:
                yield module


def targets(name):
    """Return the modules that a module imports or names; what packages hand on is left out."""
    found = {other.removeprefix("equilabel.") for other, foreign in imports(name) if not foreign}
    return {other for other in found | set(named(name)) if other in MODULES and other != name}


def test_no_module_leads_back_to_itself():
    faces = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    graph = {name: targets(name) - faces for name in MODULES if name not in faces}
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError with the circle


def test_modules_named_in_strings_lie_below():
    assert not [
        f"{name} names {other}"
        for name in MODULES
        for other in named(name)
        if name and room(other) != room(name) and LEVELS[room(other)] >= LEVELS[room(name)]
    ]


def test_kernels_that_are_named_for_any_device_are_there():
    named = {
        node.args[0].value
        for name in MODULES
        for node in nodes(name)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "passes"
        if isinstance(node.args[0], ast.Constant)
    }
    assert named
    for room_name, _, module in (name.rpartition(".") for name in named):
        assert {f"{room_name}.cpu.{module}", f"{room_name}.cuda.{module}"} & set(MODULES), module
