"""Methods that other packages offer as entry points, and the example of such a package."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel import METHODS, label
from equilabel.papers.outside import GROUP, Methods
from equilabel.samples import spiral
from references import expected_labels
from strategies import noise, questions

EXAMPLE = Path(__file__).parents[2] / "examples" / "equilabel-playne"
MODULE = """
from equilabel.domains.contract import Method
row = Method("{name}", "Nothing.", "", aliases={aliases}, package="{module}", recipe="recipe:run")
"""


def install(folder, module, points, text=""):
    """Write a module and the record of a distribution with entry points."""
    record = folder / f"{module}-1.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (record / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")
    if text:
        (folder / f"{module}.py").write_text(text)


def offer(folder, module, name, aliases=()):
    install(folder, module, {name: f"{module}:row"}, MODULE.format(**locals()))


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def fresh():
    return Methods(METHODS.built_in.values())


def test_a_row_of_another_package_is_listed_after_the_others(site):
    offer(site, "outside_one", "one", ("uno",))
    methods = fresh()
    assert [*methods] == [*methods.built_in, "one"]
    assert methods["one"].package == "outside_one"
    assert len(methods) == len(methods.built_in) + 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("outside_missing:row", "ModuleNotFoundError: No module named 'outside_missing'"),
        ("outside_broken:row", "ZeroDivisionError: division by zero"),
        ("outside_other:row", "it is 'text', no Method of this name"),
    ],
)
def test_a_row_that_does_not_load_costs_a_warning(site, value, reason):
    (site / "outside_broken.py").write_text("row = 1 / 0")
    (site / "outside_other.py").write_text("row = 'text'")
    install(site, "outside_bad", {"bad": value})
    with pytest.warns(UserWarning, match="is left out") as caught:
        assert [*fresh()] == [*METHODS.built_in]
    assert str(caught[0].message) == f"method 'bad' of {value!r} is left out: {reason}."


def test_two_of_one_name_are_refused_with_both_named(site):
    offer(site, "outside_one", "one")
    offer(site, "outside_two", "one")
    offer(site, "outside_three", "three", ("komura",))
    methods = fresh()
    with pytest.warns(UserWarning, match="name of its own") as caught:
        assert [*methods] == [*METHODS.built_in]
    told = sorted(str(each.message) for each in caught)
    assert "got 'komura' from ['equilabel', 'outside_three:row']. Those of other" in told[0]
    assert "'outside_one:row'" in told[1]
    assert "'outside_two:row'" in told[1]
    assert methods["komura"] is METHODS.built_in["komura"]


def test_nothing_is_loaded_before_an_unknown_name_or_all_names_are_needed(site):
    offer(site, "outside_one", "one")
    program = f"""
import sys
sys.path.insert(0, {str(site)!r})
import equilabel
equilabel.label([[1, 0]]), equilabel.label([[1, 0]], method="label_equivalence")
assert equilabel.METHODS["komura"].name == "komura"
assert "outside_one" not in sys.modules
try:
    equilabel.label([[1, 0]], method="two")
except ValueError as error:
    assert "'one'" in str(error), error
assert "outside_one" in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


# ---- The example of a package


@pytest.fixture(scope="module")
def playne(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(folder, "equilabel_playne", project["entry-points"][GROUP])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.syspath_prepend(EXAMPLE)
        METHODS.__dict__.pop("_others", None)
        yield "playne"
    METHODS.__dict__.pop("_others", None)


@given(question=questions(("?", "i2"), max_axes=4))  # its passes are compiled for each type
def test_labels_of_the_example_are_those_of_scikit_image(playne, question):
    image, background, connectivity = question
    labels = label(image, background, connectivity=connectivity, method=playne)
    np.testing.assert_array_equal(labels, expected_labels(image, background, connectivity))


@given(seed=st.integers(0, 99), periodic=st.lists(st.booleans(), min_size=3, max_size=3))
def test_the_example_labels_stacks_and_periodic_axes(playne, seed, periodic):
    image = noise((3, 4, 5), values=2, seed=seed)
    for words in ({"stacked": True}, {"periodic": tuple(periodic)}):
        expected = label(image, **words)
        np.testing.assert_array_equal(label(image, method=playne, **words), expected)


def test_passes_of_the_example_have_the_same_parameters_on_both_devices():
    twins = []
    for device in ("cpu", "cuda"):
        tree = ast.parse((EXAMPLE / "equilabel_playne" / f"{device}.py").read_text())
        made = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        plain = [node for node in made if node.name[0] != "_" and not node.decorator_list]
        twins.append({node.name: [each.arg for each in node.args.args] for node in plain})
    assert twins[0] == twins[1]
    assert list(twins[0]) == ["initialize", "resolve", "reduce_labels"]


def test_kernels_of_the_example_compile():
    nvrtc = pytest.importorskip("cupy", reason="it is compiled through CuPy").cuda.nvrtc
    source = (EXAMPLE / "equilabel_playne" / "playne.cu").read_text()
    program = nvrtc.createProgram(source, "playne.cu", (), ())
    for name in ("point_at_lowest<unsigned char>", "unite_parts<unsigned int>"):
        nvrtc.addNameExpression(program, name)
    nvrtc.addNameExpression(program, "resolve_chains<long long>")
    nvrtc.compileProgram(program, ("--gpu-architecture=compute_75", "--std=c++17"))
    assert not nvrtc.getProgramLog(program).strip("\0\n ")


@pytest.mark.gpu
@given(question=questions(max_axes=4))
def test_labels_of_the_example_are_the_same_on_a_gpu(playne, question):
    cupy = pytest.importorskip("cupy")
    image, background, connectivity = question
    given = cupy.asarray(np.ascontiguousarray(image, image.dtype.newbyteorder("=")))
    labels = label(given, background, connectivity=connectivity, method=playne)
    assert isinstance(labels, cupy.ndarray)
    expected = expected_labels(image, background, connectivity)
    np.testing.assert_array_equal(labels.get(), expected)


def test_the_example_is_in_the_benchmark_of_methods(playne, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE.parents[1] / "benchmarks")
    import methods

    grid = methods._grid(np, lambda side: spiral(side), 32)
    assert playne in methods.METHODS
    assert methods.label(METHODS[playne], "cpu", grid) == 1


def test_an_image_of_more_axes_than_the_example_knows_is_refused(playne):
    with pytest.raises(ValueError, match=r"for a 5-dimensional grid on 'cpu'; got 'playne'"):
        label(noise((2, 2, 2, 2, 2)), method=playne)


def test_a_report_has_the_time_of_each_pass_of_the_example(playne):
    labels, report = label(spiral(40), method=playne, report=True)
    assert labels.max() == 1
    assert report.passes == {"initialize": 1, "resolve": 2, "reduce_labels": 1}
    assert report.seconds.keys() == report.passes.keys()
    assert all(0 < seconds < 60 for seconds in report.seconds.values())
