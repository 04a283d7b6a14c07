"""`equilabel batch --from run.json`: a run is repeated."""

import json
from pathlib import Path

import pytest

from batches import names, picture, record, refused, summary, tiff
from equilabel.cli import main

WORDS = ["--threshold", "30,100", "--min-size", "9", "--properties", "label,area", "--unit-row"]


@pytest.fixture
def first(here):
    tiff("in/a.tif")
    tiff("in/day1/b.tif", picture(objects=3))
    assert main(["batch", "in", "--recursive", "--out", "out", *WORDS]) == 0
    return here


def edited(**changes):
    content = {**record(), **changes}
    Path("edited.json").write_text(json.dumps(content), encoding="utf-8")
    return "edited.json"


def test_results_are_the_same(first):
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 0
    assert names("again") == names("out")
    for name in names("out"):
        if name not in ("run.json", "summary.csv", "report.html"):
            assert Path("again", name).read_bytes() == Path("out", name).read_bytes()
    assert record("again")["parameters"] == record()["parameters"]
    assert main(["batch", "--from", "out/run.json", "--out", "again", "--resume"]) == 0
    assert {row["status"] for row in summary("again").values()} == {"skipped"}


def test_options_and_images_that_are_typed_override_it(first):
    tiff("other/c.tif", picture(objects=1))
    words = ["--from", "out/run.json", "--out", "again", "--threshold", "otsu", "--no-overlay"]
    assert main(["batch", "other", *words]) == 0
    assert list(summary("again")) == ["other/c.tif"]
    now = record("again")["parameters"]
    assert now == {**record()["parameters"], "threshold": "otsu", "overlay": False}


def test_images_are_found_from_another_folder(first, monkeypatch):
    monkeypatch.chdir("in")
    assert main(["batch", "--from", "../out/run.json", "--out", "../again"]) == 0
    assert names("../again") == names("../out")


def test_an_image_that_is_gone_costs_its_row(first):
    Path("in/a.tif").unlink()
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 1
    assert "got 'in/a.tif', nothing. Pass its new path" in summary("again")["in/a.tif"]["error"]


def test_the_record_of_one_image_will_do(here):
    tiff("a.tif")
    assert main(["segment", "a.tif", "--threshold", "li", "--out", "one"]) == 0
    assert main(["batch", "--from", "one/a_record.json", "--out", "out"]) == 0
    assert record()["parameters"]["threshold"] == "li"


def test_other_versions_are_told(first, capsys):
    path = edited(versions={**record()["versions"], "numpy": "1.0"})
    capsys.readouterr()
    assert main(["batch", "--from", path, "--out", "again"]) == 0
    assert "where it was 1.0" in capsys.readouterr().out.splitlines()[0]


def test_options_of_another_version_are_refused_or_left_out(first, capsys):
    then = record()["parameters"]
    path = edited(parameters={**then, "wand": False})
    assert main(["batch", "--from", path, "--out", "again"]) == 0
    capsys.readouterr()
    path = edited(parameters={**then, "wand": "magic"})
    assert "got 'wand' in 'edited.json'" in refused(capsys, "batch", "--from", path, "--out", "b")
    del then["unit_row"], then["track"]
    path = edited(parameters=then)
    assert main(["batch", "--from", path, "--out", "c"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "which this version did not write"),
        (
            '{"format": 2, "parameters": {"command": "measure"}, "versions": {}}',
            "of `equilabel measure`",
        ),
        ('{"parameters": {}, "versions": {}, "format": 3}', "which this version did not write"),
        ('{"parameters": {}, "versions": {}, "format": 2, "files": []}', "got none in 'x.json'"),
    ],
)
def test_what_is_no_record_of_a_run_is_refused(here, capsys, text, said):
    Path("x.json").write_text(text, encoding="utf-8")
    assert said in refused(capsys, "batch", "--from", "x.json", "--out", "out")
    assert "INPUT..." in refused(capsys, "batch", "--out", "out")


IMPOSSIBLE = [
    *(("sigma", value) for value in ("x", ["x"], {}, [[1]], float("inf"), None)),
    *(("min_size", value) for value in ("many", ["x"], float("nan"), -1)),
    *(("spacing", value) for value in (["a"], [-1])),
    *(("series", "x"), ("connectivity", "two"), ("threshold", {"a": 1}), ("offset", "x")),
    *(("format", "xls"), ("labels_format", 3), ("unit", 3), ("unit", "parsec")),
    *(("overlay", "yes"), ("stacked", "no"), ("properties", [""])),
    *(("properties", [3]), ("device", 5), ("split", "x"), ("background", [[]])),
]


def test_values_that_an_option_cannot_have_are_refused_by_its_name(first, capsys):
    known = record()["parameters"]
    for name, value in IMPOSSIBLE:
        path = edited(parameters={**known, name: value})
        capsys.readouterr()
        said = refused(capsys, "batch", "--from", path, "--out", "again")
        assert f"--{name.replace('_', '-')} " in said, (name, value)
        assert "must" in said
        assert "memory" not in said
        assert "report this" not in said
        assert not Path("again").exists()


def test_words_of_a_record_that_are_printed_are_escaped(first, capsys):
    path = edited(versions={"numpy": "\x1b[31m1.0"}, files=3)
    capsys.readouterr()
    assert main(["batch", "in", "--from", path, "--recursive", "--out", "again"]) == 0
    assert r"where it was \x1b[31m1.0" in capsys.readouterr().out.splitlines()[0]
    assert "must name images" in refused(capsys, "batch", "--from", path, "--out", "b")


def test_one_image_takes_the_options_of_a_run(first, capsys):
    tiff("new.tif", picture(objects=3))
    words = ["--from", "out/run.json", "--out", "one"]
    assert main(["segment", "new.tif", *words]) == 0
    theirs, ours = record()["parameters"], json.loads(Path("one/new_record.json").read_text())
    assert ours["parameters"] == theirs
    assert (
        main(["segment", "new.tif", *words, "--overwrite", "--min-size", "0px", "--no-overlay"])
        == 0
    )
    ours = json.loads(Path("one/new_record.json").read_text())["parameters"]
    assert ours["threshold"] == theirs["threshold"]
    assert (ours["min_size"], ours["overlay"]) != (theirs["min_size"], theirs["overlay"])
    path = edited(versions={**record()["versions"], "numpy": "1.0"})
    capsys.readouterr()
    assert main(["segment", "new.tif", "--from", path, "--out", "two"]) == 0
    assert "edited.json: " in capsys.readouterr().err


def test_one_image_is_segmented_again_from_its_record(here, capsys):
    tiff("a.tif")
    assert main(["segment", "a.tif", "--out", "out", "--dark", "--fill-holes"]) == 0
    assert main(["segment", "--from", "out/a_record.json", "--out", "again"]) == 0
    before, after = (Path(out, "a_labels.tif").read_bytes() for out in ("out", "again"))
    assert before == after
    tiff("b.tif")
    assert main(["batch", "a.tif", "b.tif", "--out", "two"]) == 0
    capsys.readouterr()
    assert "got 2. Pass IMAGE" in refused(capsys, "segment", "--from", "two/run.json")
    assert "Missing argument 'IMAGE'" in refused(capsys, "segment")


def test_flags_and_a_condition_of_a_record_are_switched_off(here):
    tiff("a.tif")
    flags = ["fill-holes", "dark", "exclude-border", "unit-row"]
    words = ["--keep", "area > 0", *(f"--{flag}" for flag in flags)]
    assert main(["batch", "a.tif", "--out", "out", *words]) == 0
    words = ["--from", "out/run.json", "--keep", "", *(f"--no-{flag}" for flag in flags)]
    assert main(["batch", *words, "--out", "again"]) == 0
    assert main(["batch", "a.tif", "--out", "plain"]) == 0
    assert record("again")["parameters"] == record("plain")["parameters"]
