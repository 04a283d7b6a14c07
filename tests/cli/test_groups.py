"""`equilabel batch --group`: conditions of images, in the tables and the report of a run."""

import pandas as pd
import pytest

from batches import picture, refused, tiff
from equilabel.cli import main
from equilabel.cli.records import Record
from equilabel.cli.report import compare, read_groups


@pytest.mark.parametrize(
    ("pattern", "file", "wanted"),
    [
        ("{a}_{b}.tif", "in/DMSO_A1.tif", ["DMSO", "A1"]),
        ("{a}_{b}.tif", "in/DMSO_A1_2.tif", ["DMSO", "A1_2"]),
        ("{a}/{b}_*.tif", "x/y/drug 1/A1_001.tif", ["drug 1", "A1"]),
        ("{a}/*.tif", r"x\drug\A1.tif", ["drug"]),
        ("plate.{a}.tif", "plateX1.tif", [""]),
        ("{a}_{b}.tif", "a.tif", ["", ""]),
        ("{the well}.tif", "a/b.tif", ["b"]),
    ],
)
def test_patterns(pattern, file, wanted):
    assert list(read_groups(pattern, [])(file).values()) == wanted


def fill(here, count=2):
    for k, drug in enumerate(("none", "high")):
        for well in range(count):
            tiff(here / f"in/{drug}_W{well}.tif", picture(objects=1 + k + well % 2))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_conditions_are_columns_of_the_tables(here, ending):
    fill(here)
    tiff("in/other.tif")
    words = ["batch", "in", "--out", "out", "--group", "{drug}_{well}.tif", "--format", ending]
    assert main(words) == 0
    summary = pd.read_csv("out/summary.csv", keep_default_na=False)
    assert list(summary)[:4] == ["file", "drug", "well", "frame"]
    assert summary.drug.tolist() == ["high", "high", "none", "none", ""]
    read = pd.read_parquet if ending == "parquet" else pd.read_csv
    objects = read(f"out/objects.{ending}").fillna("")
    assert list(objects)[:5] == ["file", "unit", "drug", "well", "label"]
    assert objects.groupby("drug").size().to_dict() == {"": 2, "high": 5, "none": 3}
    page = (here / "out/report.html").read_text()
    assert "<h2>Images by drug</h2>" in page
    assert page.index("Images by drug") < page.index('id="images"')
    assert 'aria-label="median 2.5, 2 images"' in page
    before = (here / f"out/objects.{ending}").read_bytes()
    assert main([*words, "--resume"]) == 0
    assert (here / f"out/objects.{ending}").read_bytes() == before


def test_a_run_that_is_repeated_has_the_conditions_of_its_record(here):
    fill(here)
    assert main(["batch", "in", "--out", "out", "--group", "{drug}_{well}.tif"]) == 0
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 0
    assert (here / "again/objects.csv").read_bytes() == (here / "out/objects.csv").read_bytes()
    assert main(["batch", "--from", "out/run.json", "--out", "one", "--group", "{all}.tif"]) == 0
    assert pd.read_csv("one/objects.csv")["all"][0] == "high_W0"


def test_conditions_from_a_table(here, monkeypatch):
    fill(here)
    files = ["none_W0.tif", r"in\none_W1.tif", "high_W0.tif", str(here / "in/high_W1.tif")]
    pd.DataFrame({"dose": [0, 0, 5, 5], "file": files}).to_csv("plan.csv", index=False)
    with open("plan.csv", "a") as plan:  # noqa: PTH123
        plan.write("7,no.tif,more\n8\n")  # cells too many and too few
    assert main(["batch", "in", "--out", "out", "--group", "plan.csv"]) == 0
    assert pd.read_csv("out/summary.csv").dose.tolist() == [5, 5, 0, 0]
    before = (here / "out/objects.csv").read_bytes()
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert (here / "out/objects.csv").read_bytes() == before
    (here / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert main(["batch", "--from", "../out/run.json", "--out", "again"]) == 0
    assert pd.read_csv("again/summary.csv").dose.tolist() == [5, 5, 0, 0]


def test_conditions_are_those_of_the_longest_path_that_fits(here, capsys):
    for day in "123":
        tiff(f"in/day{day}/w1.tif")
    plan = "file,drug\nday1/w1.tif,none\nday2/w1.tif,high\n"
    (here / "plan.csv").write_text(plan)
    words = ["batch", "in", "-r", "--out", "out", "--group", "plan.csv"]
    assert main(words) == 0
    assert pd.read_csv("out/summary.csv", keep_default_na=False).drug.tolist() == [
        "none",
        "high",
        "",
    ]
    assert "no condition for 1 image, such as 'in/day3/w1.tif'" in capsys.readouterr().out
    (here / "plan.csv").write_text(f"{plan}w1.tif,low\n")
    assert main([*words, "--overwrite"]) == 0
    assert pd.read_csv("out/summary.csv").drug.tolist() == ["none", "high", "low"]
    capsys.readouterr()
    (here / "plan.csv").write_text(f"{plan}day1/w1.tif,low\n")
    assert "must have one row for a file; got" in refused(capsys, *words, "--overwrite")


def test_without_conditions_nothing_changes(here):
    fill(here)
    assert main(["batch", "in", "--out", "out"]) == 0
    assert list(pd.read_csv("out/summary.csv"))[:2] == ["file", "frame"]
    assert "Images by" not in (here / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("{a}-{b}.tif", "--group must fit a file of the run; got '{a}-{b}.tif'"),
        ("{a}_{a}.tif", "--group must name conditions, each once"),
        ("{file}_{a}.tif", "none like a column of the tables"),
        ("{area}_{a}.tif", "none like a column of the tables"),
        ("{}_{a}.tif", "--group must name conditions"),
        ("no.csv", "--group must be a CSV file; got 'no.csv', nothing. Check the path."),
        ("plain.tif", "--group must be a pattern"),
        ("empty.csv", "--group must have rows with a column 'file'"),
        ("twice.csv", "--group must name conditions, each once"),
        ("other.csv", "--group must have rows with a column 'file'"),
        ("bytes.csv", "--group must be a CSV file that can be read"),
    ],
)
def test_refusals(here, capsys, group, text):
    fill(here, 1)
    (here / "empty.csv").write_text("")
    (here / "other.csv").write_text("name,drug\na,b\n")
    (here / "twice.csv").write_text("file,drug,drug\na,b,c\n")
    (here / "bytes.csv").write_bytes(b"file,drug\n\xff\xfe,\x00\n")
    assert text in refused(capsys, "batch", "in", "--out", "out", "--group", group)
    assert not (here / "out").exists()


def test_the_comparison_shows_what_is_known():
    def record(file, objects, **statistics):
        return Record(file, file, "done", objects=objects, statistics=statistics)

    records = [
        record("<a>_1.tif", 4, area_mean=2.0, area_total=8.0),
        record("<a>_2.tif", 6, area_mean=None),
        record("b_1.tif", 1, area_mean=7.0),
        Record("b_2.tif", "b_2.tif", "failed"),
    ]
    page = "".join(compare(records, read_groups("{drug}_{n}.tif", [])))
    assert page.count("<h2>") == 2
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert "area total" not in page
    assert 'aria-label="median 5, 2 images"' in page
    assert 'aria-label="median 2, 1 images"' in page
    assert not "".join(compare(records[:1], read_groups("{drug}_{n}.tif", [])))
