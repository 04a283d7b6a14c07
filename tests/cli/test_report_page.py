"""`report.html`: what came of a run, on one page; and what is told before and during a run."""

import os
import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
import pytest
import tifffile
from PIL import Image

from batches import names, ome_zarr, picture, posix, record, refused, sizes, tiff
from equilabel.cli import main, one, report, streams
from equilabel.cli.options import Options
from equilabel.cli.records import Record, provenance
from equilabel.cli.trial import drawing, forecast
from equilabel.storage.images import read_header
from equilabel.storage.metadata import Header


class Page(HTMLParser):
    """Tags and texts of a page, and whether each tag that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def page(here):
    tiff("in/a.tif", picture(objects=3))
    tiff("in/<script>alert(1)</script>.tif".replace("/script", "\\script"))
    Path("in/c&d.tif").write_bytes(b"nothing")
    assert main(["batch", "in", "--out", "out"]) == 1
    return Path("out/report.html").read_text(encoding="utf-8")


def test_the_report_needs_no_network_and_no_other_file(page):
    found = Page(page)
    sources = [each.get("src", "") for _, each in found.tags if "src" in each]
    assert [each[:23] for each in sources] == ["data:image/jpeg;base64,"] * 2
    assert not re.search(r"https?:|@import|url\(", page)
    policy = [each["content"] for tag, each in found.tags if each.get("http-equiv")]
    assert policy[0].startswith("default-src 'none'; img-src data:")


def test_names_and_errors_are_text_not_markup(page):
    found = Page(page)
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert any(text.startswith("in/<script>alert(1)<") for text in found.texts)
    assert any(text.startswith(" image file must be a TIFF") for text in found.texts)


def test_the_report_has_counts_sizes_and_links_that_lead_to_results(page):
    found = Page(page)
    assert re.findall(r"<dt>([a-z ]+)</dt><dd>(\d+)</dd>", page.split("</dl>")[0]) == [
        ("objects", "5"),
        ("finished", "2"),
        ("failed", "1"),
    ]
    assert "Areas of 5 objects, in px²" in found.texts
    assert sum("28 px²" in text or "48 px²" in text for text in found.texts) == 2
    links = [each["href"] for tag, each in found.tags if tag == "a"]
    assert len(links) == 6
    assert "./a_labels.tif" in links


@posix
def test_links_and_pictures_are_of_files_whose_names_cannot_be_printed(here):
    for name in ("a\tb", "\x1b[31mred", os.fsdecode(b"\xff"), "sub/50%#?"):
        tiff(f"in/{name}.tif")
    assert main(["batch", "in", "--recursive", "--out", "out"]) == 0
    found = Page(Path("out/report.html").read_text(encoding="utf-8"))
    links = [each["href"] for tag, each in found.tags if tag == "a"]
    files = [Path("out", os.fsdecode(unquote_to_bytes(link))) for link in links]
    assert len(files) == 12
    assert all(map(Path.is_file, files))
    assert [tag for tag, _ in found.tags].count("img") == 4


def test_pictures_are_left_out_of_a_report_that_has_many(here, monkeypatch):
    monkeypatch.setattr(report, "MOST_PICTURES", 1)
    for name in "abc":
        tiff(f"in/{name}.tif")
    assert main(["batch", "in", "--out", "out"]) == 0
    assert Path("out/report.html").read_text(encoding="utf-8").count("<img") == 1


def test_pictures_are_taken_from_an_earlier_report_while_overlays_stay_the_same(here, monkeypatch):
    for number, name in enumerate("ab"):
        tiff(f"in/{name}.tif", picture(objects=1 + number))
    assert main(["batch", "in", "--out", "out"]) == 0
    found, before = [], pictures()
    make = report._thumbnail
    monkeypatch.setattr(report, "_thumbnail", lambda path: found.append(path) or make(path))
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert (found, pictures()) == ([], before)
    tiff("in/b.tif", picture(objects=0))
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert found == [Path("out/b_overlay.png")]
    assert pictures()[0] == before[0] != pictures()[1] != before[1]


@pytest.mark.parametrize("poison", ['" onload="x', "<script>", "AAAA" * 2**15, "\x1b[31m"])
def test_nothing_else_is_taken_from_an_earlier_report(here, poison):
    tiff("in/a.tif")
    assert main(["batch", "in", "--out", "out"]) == 0
    page, before = Path("out/report.html"), pictures()
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("base64,", f"base64,{poison}"), encoding="utf-8")
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert pictures() == before


def pictures():
    found = Page(Path("out/report.html").read_text(encoding="utf-8"))
    return [each["src"] for tag, each in found.tags if tag == "img"]


def test_a_dry_run_tells_sizes_and_memory_and_writes_nothing(here, capsys):
    for name, sides in (("a", (24, 32)), ("b", (1000, 1000))):
        tiff(f"in/{name}.tif", picture(sides).astype("u2"))
    Path("in/c.tif").write_bytes(b"nothing")
    words = ["batch", "in", "--out", "out", "--dry-run", "--memory-limit", "90MB"]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "in/a.tif: 24 x 32 of uint16 (YX), 1.54 kB, takes about 87.2 MB of memory" in said
    assert "in/b.tif: would fail: image must be labeled within --memory-limit, 90 MB; got" in said
    assert "in/c.tif: would fail: image file must be a TIFF" in said
    assert "3 images: 1 would be labeled, 2 would fail" in said
    assert not Path("out").exists()
    assert main(["batch", "in/a.tif", "--out", "out"]) == 0
    before = names()
    assert main(["batch", "in/a.tif", "in/b.tif", "--out", "out", "--resume", "--dry-run"]) == 0
    assert "1 would be labeled, 1 kept" in capsys.readouterr().out
    assert names() == before
    assert "--resume" in refused(capsys, "batch", "in/a.tif", "--out", "out", "--dry-run")


def nasty(folder):
    """Make images of which a run refuses some, most by what only their pixels tell."""
    Path(folder).mkdir()
    gray = picture((40, 48))
    color = np.dstack([gray, gray, gray // 2])
    for name, pixels in (("gray", gray), ("equal", np.dstack([gray] * 3)), ("color", color)):
        for ending in (".png", ".jpg", ".bmp"):
            Image.fromarray(pixels).save(f"{folder}/{name}{ending}")
    Image.fromarray(color).convert("CMYK").save(f"{folder}/print.jpg")
    Image.fromarray(color).convert("P").save(f"{folder}/palette.png")
    whole = Path(f"{folder}/gray.png").read_bytes()
    Path(f"{folder}/cut.png").write_bytes(whole[:-30])
    tiff(f"{folder}/plain.tif", gray)
    tiff(f"{folder}/known.tif", gray, ome=True, metadata={"axes": "YX", **sizes(0.5, 0.5)})
    tiff(f"{folder}/movie.tif", np.stack([gray] * 3), imagej=True, metadata={"axes": "TYX"})
    path = tiff(
        f"{folder}/middle.tif",
        np.stack([gray] * 3),
        compression="zlib",
        metadata=None,
        photometric="minisblack",
    )
    whole = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        start = file.pages[1].dataoffsets[0]
    whole[start + 5 : start + 15] = bytes(10)
    path.write_bytes(whole)
    ome_zarr(f"{folder}/store.zarr", gray, ["", ""], [1, 1])


@pytest.mark.parametrize(
    "words",
    [("--channel", "0"), ("--sigma", "1um", "--track"), ("--spacing", "1,2,3")],
    ids=" ".join,
)
def test_a_dry_run_foretells_which_images_fail_and_why(here, capsys, words):
    nasty("in")
    assert main(["batch", "in", "--out", "out", *words, "--dry-run"]) == 1
    told = dict(re.findall(r"^(in/\S+): would fail: (.*)", capsys.readouterr().out, re.MULTILINE))
    assert main(["batch", "in", "--out", "out", *words]) == 1
    assert told == {one["file"]: one["error"] for one in record()["files"] if one["error"]}
    assert len(told) >= 3


def test_a_dry_run_foretells_which_labels_cannot_be_measured(here, capsys):
    tiff("in/mask.tif", picture() > 99)
    tiff("in/halves.tif", picture().astype("f4") / 3)
    tiff("in/good.tif", picture())
    tiff("in/small.tif", picture((20, 20)))
    for name in ("mask", "halves", "good", "small"):
        tiff(f"images/{name}.tif")
    for words in ((), ("--image", "images"), ("--track",)):
        call = ["measure", "in", "--out", "out", *words, "--overwrite"]
        assert main([*call, "--dry-run"]) == 1
        said = capsys.readouterr().out
        told = dict(re.findall(r"^(in/\S+): would fail: (.*)", said, re.MULTILINE))
        assert main(call) == 1
        assert told == {one["file"]: one["error"] for one in record()["files"] if one["error"]}
        assert len(told) == {(): 2, ("--track",): 4}.get(words, 3)


def test_a_dry_run_tells_that_an_image_has_no_such_channel(here, capsys):
    color = np.zeros((24, 32, 3), np.uint8)
    color[..., 1] = 7
    tiff("in/color.tif", color, photometric="rgb")
    tiff("in/gray.tif")
    assert main(["batch", "in", "--out", "out", "--dry-run"]) == 1
    said = capsys.readouterr().out
    assert "color.tif: would fail: --channel must be one of gray, red, green, blue, hema" in said
    assert "2 images: 1 would be labeled, 1 would fail" in said
    assert main(["batch", "in", "--out", "out", "--dry-run", "--channel", "green"]) == 1
    assert "gray.tif: would fail: --channel must be 0" in capsys.readouterr().out


def test_an_overlay_of_one_channel_takes_the_memory_of_one():
    sides = (2000, 2000)
    one_channel, three = Header(sides, "YX", "uint8"), Header((3, *sides), "CYX", "uint8")
    assert drawing(three, Options(overlay=True)) == drawing(one_channel, Options(overlay=True))


@pytest.mark.parametrize(
    "keywords", [{}, {"min_size": 5}, {"sigma": 2.0}, {"opening": 1.0}, {"overlay": True}]
)
@pytest.mark.long
def test_images_take_about_the_memory_that_was_forecast(here, keywords):
    path, overlay = tiff("a.tif", np.tile(picture(), (60, 45))), keywords.pop("overlay", False)
    options = Options(keywords, overlay=overlay)
    jobs = [one.Job(path, "a", number=k, place=here / str(k)) for k in range(2)]
    assert one.label_one(jobs[0], options, provenance(options)).status == "done"  # compiled
    tracemalloc.start()
    one.label_one(jobs[1], options, provenance(options))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.2 < peak / forecast(read_header(path), options) < 1


def test_the_pace_of_a_run_leaves_out_what_was_skipped():
    now = [0.0]
    shown = streams.Progress(100, Path("out"), clock=lambda: now[0])
    for status in ["skipped"] * 40 + ["done"] * 19 + ["failed"]:
        shown.show(Record("a", "a", status))
    now[0] = 600.0
    assert shown.pace() == ["2 images/min", "1 failed", "20 min left"]


def test_a_long_run_without_a_terminal_tells_now_and_then_how_far_it_is(capsys):
    now = [0.0]
    shown = streams.Progress(9, Path("out"), clock=lambda: now[0])
    for _ in range(3):
        now[0] += 40
        shown.show(Record("a", "a", "done", objects=1, threshold=1.0))
    lines = [line for line in capsys.readouterr().out.splitlines() if line[:3] == "---"]
    assert lines == ["--- 2 of 9, 1.5 images/min, 5 min left"]


def test_objects_are_counted_by_size_for_the_report_and_for_resumed_runs(here):
    tiff("in/a.tif", picture(objects=3))
    for words in ([], ["--resume"]):
        assert main(["batch", "in", "--out", "out", *words]) == 0
        (entry,) = record()["files"]
        assert entry["sizes"] == {"of": "area", "unit": "px²", "counts": {"22": 3}}
