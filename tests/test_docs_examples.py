"""What pages show is what happens: examples, commands and the scripts of the gallery are run."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

import pages
from equilabel import devices, label, samples
from equilabel import regionprops_table as table_of
from equilabel.cli import main

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide.md"
pytestmark = pytest.mark.slow  # whole images
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if pages.blocks(page, "pycon")]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sessions_of_python_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "sample_data", "sample_data")
    assert not (differences := pages.run_session(page, pages.blocks(page, "pycon"))), differences


def test_the_first_example_of_the_guide_needs_nothing_but_the_package(tmp_path, monkeypatch):
    """`make dist` runs it from a wheel alone."""
    monkeypatch.chdir(tmp_path)
    assert not pages.run_session(GUIDE, pages.blocks(GUIDE, "pycon")[:1])


def test_commands_of_the_guide_print_what_it_says(here, capsys):
    shutil.copytree(ROOT / "sample_data", "sample_data")
    whole = Path("sample_data", "porous_medium.tif").read_bytes()
    Path("truncated.tif").write_bytes(whole[:60_000])
    shown = [pair for _, block in pages.blocks(GUIDE, "console") for pair in pages.commands(block)]
    assert len(shown) > 1
    for command, expected in shown:
        main(shlex.split(command)[1:])
        printed = capsys.readouterr().out
        assert pages.prints(printed, expected), f"{command} printed:\n{printed}"


def test_every_batch_command_of_the_pages_is_understood(here, capsys):
    """There are no images here, which is the only fault of these commands."""
    written = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    lines = [line.strip() for page in written for line in page.read_text("utf-8").splitlines()]
    calls = [line for line in lines if re.match(r"(\$ )?equilabel batch .*--out", line)]
    assert len(calls) > 4
    for call in calls:
        assert main(shlex.split(call.removeprefix("$ "))[1:]) == 2
        missing = "--from needs the run.json" if " --from " in call else "INPUT"
        assert missing in capsys.readouterr().err, call


def run_blocks(page, on_a_gpu):
    """Run the blocks of a page that need a GPU, or the others; return the names they define."""
    image = samples.nuclei_2d()
    names = {"image": image, "mask": image > 300, "label": label, "regionprops_table": table_of}
    blocks = [block for _, block in pages.blocks(page, "python")]
    chosen = [block for block in blocks if bool(re.search("cupy|cuda", block)) == on_a_gpu]
    assert chosen
    for block in chosen:
        exec(block, names)
    return names


def test_what_the_readme_shows_in_python_runs():
    assert run_blocks(ROOT / "README.md", on_a_gpu=False)["found"].num > 20


@pytest.mark.long
def test_what_stands_beside_the_lines_of_other_programs_runs(here, capsys):
    page = ROOT / "docs" / "coming-from.md"
    names = {}
    exec(pages.blocks(page, "python")[0][1], names)
    Path("images").mkdir()
    shutil.copy(ROOT / "sample_data" / "nuclei_2d.tif", "images")
    rows = re.findall(r"^\| .+ \| `([^`]+)`[^`|]*\|$", page.read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 50
    for line in rows:
        shutil.rmtree("labels.zarr", ignore_errors=True)
        if line.startswith("equilabel "):
            assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
        else:
            exec(line, names)


@pytest.mark.gpu
@pytest.mark.parametrize("page", [ROOT / "README.md", GUIDE], ids=lambda page: page.name)
def test_what_pages_show_on_a_gpu_runs(page):
    report = devices()[1]
    if not report.available:
        pytest.skip(report.reason)
    names = run_blocks(page, on_a_gpu=True)
    assert len(names["table"]["area"]) == int(names["labels"].max())


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, marks=[pytest.mark.long] * (each.stem == "plot_spins"), id=each.stem)
        for each in EXAMPLES
    ],
)
def test_examples_of_the_gallery_draw_a_picture(example, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    drawn = []
    monkeypatch.setattr(pyplot, "show", lambda: drawn.append(pyplot.gcf()))
    monkeypatch.chdir(example.parent)  # as the gallery runs them
    runpy.run_path(str(example))
    assert len(drawn) == 1
    assert all(axes.has_data() for axes in drawn[0].axes)
    pyplot.close("all")


def test_there_are_twelve_examples_each_short_and_with_a_title():
    assert len(EXAMPLES) >= 12
    for example in EXAMPLES:
        lines = example.read_text(encoding="utf-8").splitlines()
        title, line = lines[1:3]
        assert line == "=" * len(title), example.name
        assert len(lines) < 70, example.name


def test_the_citation_tells_the_version_and_the_licence():
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    from equilabel import __version__

    assert f"\nversion: {__version__}\n" in said
    licence = re.search(r'^license = "(.+)"$', package, re.MULTILINE).group(1)
    assert f"\nlicense: {licence}\n" in said
    assert said.count("  - type: ") == 5
