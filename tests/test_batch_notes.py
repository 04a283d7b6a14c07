"""What a batch run says about its images beside their results, and how much memory it takes."""

import warnings

import tifffile

from batches import picture, record, summary, tiff
from equilabel import segment
from equilabel.cli import main, parsing, progress
from equilabel.cli.records import Record
from equilabel.kernels.cpu.caching import CacheWarning


def test_an_image_over_the_memory_limit_costs_its_row_and_names_the_option(here):
    tiff("large.tif", picture((40, 40)))
    tiff("small.tif", picture((24, 32)))
    words = ["batch", "large.tif", "small.tif", "--out", "out", "--memory-limit"]
    assert main([*words, "1kB"]) == 1
    rows = summary()
    assert rows["small.tif"]["status"] == "done"
    assert "decode to 1 kB at most; got 1.6 kB" in rows["large.tif"]["error"]
    assert "--memory-limit" in rows["large.tif"]["error"]
    assert main([*words, "1GiB", "--resume"]) == 0  # it is none of the parameters
    assert summary()["small.tif"]["status"] == "skipped"


def test_images_at_once_share_half_of_the_free_memory(monkeypatch):
    monkeypatch.setattr("equilabel.storage.memory.free", lambda: 80)
    assert [parsing.memory_limit(None, jobs) for jobs in (1, 4)] == [40, 10]


def test_images_of_a_file_that_are_not_read_are_told_of(here, capsys):
    with tifffile.TiffWriter("several.tif") as writer:
        for size in (24, 28, 32):
            writer.write(picture((size, 32)))
    tiff("one.tif")
    assert main(["batch", "several.tif", "one.tif", "--out", "out"]) == 0
    note = "The file holds 3 images; number 0 was read and no other"
    assert summary()["several.tif"]["notes"].startswith(note)
    assert "holds" not in summary()["one.tif"]["notes"]
    assert capsys.readouterr().out.count(f"  note      {note} (choose with --series") == 1
    assert main(["batch", "several.tif", "--out", "other", "--series", "2"]) == 0
    assert summary("other")["several.tif"]["shape"] == "32 x 32"


def test_compiled_code_that_cannot_be_kept_is_told_once_and_for_no_image(here, capsys, monkeypatch):
    def label(*arguments, **keywords):
        warnings.warn("cannot be kept", CacheWarning, stacklevel=1)
        return segment(*arguments, **keywords)

    monkeypatch.setattr("equilabel.segment", label)
    monkeypatch.setattr(
        "equilabel.kernels.cpu.cache_folders.find_obstacle", lambda: "It cannot be kept."
    )
    for name in "ab":
        tiff(f"{name}.tif")
    assert main(["batch", "a.tif", "b.tif", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("cannot be kept") == 1
    assert not any("kept" in row["notes"] for row in summary().values())
    assert record()["device"]["available"][0]["note"] == "It cannot be kept."


def test_notes_are_told_by_how_many_images_have_them(capsys):
    notes = [("a",), ("a", "b"), *((f"{k}",) for k in range(6))]
    records = [Record("x.tif", "x", "done", objects=1, notes=each) for each in notes]
    progress.say_notes(records)
    said = capsys.readouterr().out
    assert "  note      a (2 images)\n" in said
    assert said.count("(1 image)") == 4
    assert "  notes     3 more are in the summary" in said
