"""Files around the package say what the package and its pages say."""

import re
import tomllib
from pathlib import Path

import pytest

import equilabel

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [*(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Names that conda-forge gives to what an index of Python packages calls otherwise.
CONDA = {"python-xxhash": "xxhash", "imagecodecs": None, "python": None}


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_of_the_makefile_and_nothing_else(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs
    for run in runs:
        made = re.fullmatch(r"make ([\w-]+)((?: [A-Z]+=\w+)*)", run)
        assert made, run
        assert re.search(rf"^{made[1]}:", makefile, re.MULTILINE), run


def test_workflows_try_every_python_that_the_package_names():
    tried = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]
    named = [each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if " :: 3." in each]
    assert set(named) <= set(tried["matrix"]["python"])


def test_forms_of_issues_ask_for_what_devices_reports():
    forms = [read(path) for path in FORMS if path.name != "config.yml"]
    assert len(forms) == 2
    for form in forms:
        assert {"name", "description", "body"} <= form.keys()
        asked = {each["id"]: each["attributes"]["label"] for each in form["body"]}
        assert asked["report"] == "What does `equilabel devices --report` print?"


def test_the_recipe_for_conda_needs_what_the_package_needs():
    recipe = read(ROOT / "recipe" / "recipe.yaml")
    assert recipe["context"]["version"] == equilabel.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    pairs = (each.partition(" ")[::2] for each in recipe["requirements"]["run"])
    given = {CONDA.get(name, name): limit for name, limit in pairs}
    needed = (re.fullmatch(r"([\w-]+)(?:\[\w+\])?(.*)", each) for each in PROJECT["dependencies"])
    assert {name: limit for name, limit in given.items() if name} == {
        each[1]: each[2] for each in needed
    }


def test_figures_of_the_paper_are_those_of_the_page_on_performance():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    rows = {tuple(re.findall(r"[\d.,]+", row)) for row in page.splitlines() if row[:1] == "|"}
    for name, image, *cells in (
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in paper.splitlines()
        if row.startswith("| `")
    ):
        figures = re.findall(r"[\d.]+(?= x)|^[\d.]+$", "\n".join(cells), re.MULTILINE)
        sides = re.findall(r"\d+(?= x )|\d+$", image)
        assert any({*figures, *sides} <= {*row} for row in rows), (name, image)
    for figure in ("0.14 ms", "0.6 s", "3 s"):
        assert figure in paper
        assert figure.split()[0] in page


def test_what_the_paper_cites_is_in_its_list():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text("utf-8"), re.M)
    assert set(re.findall(r"@(\w+)", paper)) == set(listed)


def test_the_manifest_has_an_icon_that_is_in_the_package():
    package, _, name = read(ROOT / "napari.yaml")["icon"].partition(":")
    assert package == "equilabel"
    assert (Path(equilabel.__file__).parent / name).is_file()
