"""Pages that are written from the package say what the package says."""

import importlib
import re
from pathlib import Path

import pytest

from equilabel import PROPERTIES
from equilabel.measuring.counts import Layout
from equilabel.measuring.measurement import ON_HOST
from equilabel.measuring.properties import MOMENTS, VALUES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_every_property_stands_on_the_page_with_its_sentence():
    for name, row in PROPERTIES.items():
        assert row.name == name
        assert re.search(rf"^\| `{name}` \| {re.escape(row.summary)} \|", PAGE, re.MULTILINE)
        assert row.summary.endswith(".")


def test_the_page_lists_nothing_else():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert listed == list(PROPERTIES)


def test_properties_need_what_a_plan_knows():
    known = {*Layout(1).widths, "faces", "all", "box", *VALUES, *MOMENTS, *ON_HOST}
    assert {need for row in PROPERTIES.values() for need in row.needs} <= known


def test_every_property_of_skimage_is_known_by_its_name():
    from skimage.measure._regionprops import COL_DTYPES

    theirs = {name for name, row in PROPERTIES.items() if row.source == "skimage"}
    assert theirs == set(COL_DTYPES)


@pytest.mark.parametrize("program", ["report", "summary"])
def test_tables_of_benchmarks_are_those_of_the_stored_results(program, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    tables = importlib.import_module(program).TABLES
    for name, makers in tables.items():
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for make in makers:
            assert f"<!-- {make.__name__} -->\n{make()}\n<!-- end -->" in page, make.__name__


def test_times_in_the_readme_are_those_of_the_stored_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    summary = importlib.import_module("summary")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    cuda = {(name, shape[0]): seconds for name, shape, seconds in summary.labeled_cuda()}
    blobs = cuda["smooth blobs", 8192]
    assert f"67 megapixels of smooth blobs takes {blobs['equilabel'] * 1e3:.2f} ms" in readme
    times = f"{blobs['equilabel'] / blobs['null']:.1f}"
    assert f"{times} times as long as reading the mask and writing the labels" in readme


PAGES = [
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "lab-notes").glob("*.md"),
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "sample_data/README.md")
    ),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_links_to_exist(page):
    for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
        target = page.parent / link
        made = link.startswith("gallery/")  # when the site is built, from a script of this name
        assert made or target.exists(), link
        if made and link != "gallery/index":
            assert (ROOT / "examples" / f"{Path(link).name}.py").exists(), link


def contents(page):
    """Return the pages that the contents of a page list, as paths from docs/."""
    found = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip() for block in found for line in block.splitlines()]
    named = [re.sub(r"^.*<(.+)>$", r"\1", line) for line in lines if line and line[0] != ":"]
    folder = page.parent.relative_to(ROOT / "docs").as_posix()
    return [name if folder == "." else f"{folder}/{name}" for name in named]


def test_every_page_stands_once_in_the_contents_of_the_site():
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "lab-notes").glob("*.md")]
    listed = [name for page in pages for name in contents(page)]
    assert len(listed) == len(set(listed))
    names = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in pages}
    assert names | {"gallery/index"} == {"index", *listed}


def test_the_bar_at_the_top_leads_to_what_users_look_for():
    bar = contents(ROOT / "docs" / "index.md")
    assert bar[:6] == ["install", "guide", "gallery/index", "api", "napari", "batch"]


def named_files(page):
    """Yield each file that a page names, with the folder that its heading names."""
    folder = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            found = re.search(r"`([\w/]+/)`", line)
            folder = found.group(1) if found else ""
        for name in re.findall(r"`([\w/]+(?:\.(?:py|cuh?)|/))`", line):
            yield folder, name


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md", "methods.md"])
def test_files_of_the_package_that_a_page_names_exist(name):
    package = ROOT / "src" / "equilabel"
    named = list(named_files(ROOT / "docs" / name))
    assert named
    for folder, file in named:
        places = [package / folder / file, package / file, ROOT / file]
        assert any(place.exists() for place in places), f"{name} names {file}, in {folder or '.'}"


def test_the_page_about_the_architecture_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [
        path for path in (ROOT / "src" / "equilabel").iterdir() if (path / "__init__.py").exists()
    ]
    assert [room.name for room in rooms if f"`{room.name}/`" not in page] == []


def test_levels_of_the_page_about_the_architecture_are_those_that_are_checked():
    from test_architecture import LEVELS

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (-?\d+) \| (.+?) \|", page, re.MULTILINE)
    said = {
        room.split("/")[0].removesuffix(".py").replace("__init__", ""): int(level)
        for level, rooms in rows
        for room in re.findall(r"`([\w/.]+)`", rooms)
    }
    assert said == {room: level for room, level in LEVELS.items() if room != "__main__"}


def test_files_that_the_page_for_contributors_names_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+\.(?:py|md|toml)|[\w/]+/)`", page))
    named = {name for name in named if not re.search(r"\bx\.|_build|__pycache__", name)}
    assert len(named) > 20
    for name in named:
        assert (ROOT / name).exists() or list((ROOT / "src" / "equilabel").rglob(name)), name


def test_targets_that_the_page_for_contributors_names_are_in_the_makefile():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`make ([\w-]+)`", page)
    assert {"test", "docs", "dist"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_messages_that_the_guide_explains_are_in_the_sources():
    text = (ROOT / "docs" / "guide.md").read_text("utf-8")
    quoted = re.findall(
        r"^\| `([^`]+)` \|", text[text.index("## When something goes wrong") :], re.M
    )
    files = (ROOT / "src").rglob("*.py")
    lines = [re.sub(r'"\s*\n\s*f?"', "", file.read_text("utf-8")) for file in files]
    assert len(quoted) > 5
    for message in quoted:
        rule = message.partition(" must ")[2] or message
        literal = max(re.split(r"'[^']*'|\d+|\.\.\.|=", rule), key=len).strip()
        more = "" if message.endswith("...") else "(?! )"
        assert any(re.search(re.escape(literal) + more, each) for each in lines), message
