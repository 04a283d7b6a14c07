"""Options of `equilabel batch`: the same as those of `segment`, and refused before work."""

import inspect
from pathlib import Path

import pytest

from batches import names, picture, results, summary, tiff
from equilabel import METHODS, segment
from equilabel.cli import commands, main, options, trial
from equilabel.cli.options import Options
from equilabel.storage.table import read_table


def test_every_option_of_segment_has_its_name_and_default():
    ours = inspect.signature(commands.batch).parameters
    theirs = inspect.signature(segment).parameters
    decided_by_the_file = {"image", "channel_axis", "progress"}  # or shown by the command itself
    assert set(theirs) - decided_by_the_file <= set(ours)
    readers = {"threshold": options.threshold, "sigma": options.sigma}
    for name in set(theirs) - decided_by_the_file - {"stacked"}:
        default = readers.get(name, lambda value: value)(ours[name].default)
        assert default == theirs[name].default, name
    assert ours["stacked"].default is None  # by the axes of the file


def test_devices_and_methods_are_those_there_are():
    from typing import get_args, get_type_hints

    from equilabel.devices import DEVICES

    hints = get_type_hints(commands.batch, include_extras=True)
    assert get_args(get_args(hints["device"])[0]) == DEVICES
    assert all(name in hints["method"].__metadata__[0].help for name in METHODS)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--threshold", "magic"], "threshold must be"),
        (["--threshold", "1,2,3"], "threshold must be"),
        (["--threshold", "nan"], "threshold must be"),
        (["--threshold", "20,10"], "threshold"),
        (["--threshold", "local", "--block-size", "4"], "block_size"),
        (["--offset", "nan"], "offset must be"),
        (["--sigma", "x"], "sigma must be"),
        (["--sigma", "-1"], "sigma must be"),
        (["--connectivity", "0"], "connectivity must be"),
        (["--connectivity", "9"], "connectivity must be"),
        (["--min-size", "-1"], "min_size must be"),
        (["--min-size", "9", "--max-size", "3"], "max_size must be"),
        (["--properties", "label,beauty"], "beauty"),
        (["--properties", ","], "properties must be"),
        (["--method", "magic"], "method must be"),
        (["--device", "abacus"], "abacus"),
        (["--spacing", "0,1"], "spacing must be"),
        (["--spacing", "1,1,1,1"], "spacing must be"),
        (["--unit", "parsec"], "unit must be"),
        (["--jobs", "0"], "jobs must be"),
        (["--time-limit", "0"], "time_limit must be"),
        (["--memory-limit", "0 GB"], "memory_limit must be"),
        (["--memory-limit", "much"], "memory_limit must be"),
        (["--format", "xls"], "xls"),
        (["--series", "x"], "series"),
        (["--resume", "--overwrite"], "resume and overwrite"),
        (["--tresh", "1"], "--tresh"),
    ],
)
def test_bad_options_are_refused_in_one_line_before_work(here, capsys, words, complaint):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", *words]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not Path("out").exists()


def test_bad_options_leave_earlier_results(here, capsys):
    tiff("a.tif")
    main(["batch", "a.tif", "--out", "out"])
    before = Path("out/run.json").read_bytes()
    assert main(["batch", "a.tif", "--out", "out", "--overwrite", "--method", "magic"]) == 2
    assert Path("out/run.json").read_bytes() == before
    assert names() == results("a")


@pytest.mark.parametrize("method", ["otsu", "li", "triangle", "yen", "isodata", "mean", "minimum"])
def test_every_threshold_passes_the_trial_of_options(method):
    assert trial.check(Options({"threshold": method})) == ""


@pytest.mark.parametrize(
    "keywords",
    [
        {"connectivity": 3},
        {"connectivity": 1},
        {"sigma": (0.0, 1.0)},
        {"sigma": (0.0, 1.0, 1.0)},
        {"properties": ("label", "perimeter")},
        {"properties": ("label", "surface_area_faces")},
        {"threshold": "local", "block_size": 11},
        {"threshold": 1e9},
        {"properties": ("label", "frame")},
        {"properties": ("perimeter", "frame")},
        {"properties": ("surface_area_faces", "frame")},
        {"sigma": (0.0, 1.0), "properties": ("frame",)},
    ],
)
def test_what_suits_images_of_one_kind_passes_the_trial_of_options(keywords):
    assert trial.check(Options(keywords)) == ""


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (Options({"properties": ("frame",)}, stacked=False), "'frame' is defined for a stack"),
        (Options({"properties": ("perimeter", "sphericity")}), "sphericity"),
        (Options({"connectivity": 4}, stacked=True), "connectivity must be"),
        (Options({"sigma": (1.0, 1.0)}, spacing=(1.0, 1.0, 1.0)), "sigma must be"),
    ],
)
def test_what_suits_no_image_does_not_pass_the_trial_of_options(options, complaint):
    assert complaint in trial.check(options)


def test_a_column_that_stacks_alone_have_may_be_asked_for(here):
    tiff("in/movie.tif", picture((3, 24, 32)), ome=True, metadata={"axes": "TYX"})
    tiff("in/single.tif")
    assert main(["batch", "in", "--out", "out", "--properties", "label,frame"]) == 1
    assert list(read_table(Path("out/movie_table.csv"))) == ["label", "frame"]
    assert "'frame' is defined for a stack" in summary()["in/single.tif"]["error"]


@pytest.mark.parametrize("error", [MemoryError(), OSError(24, "Too many open files")])
def test_what_is_no_fault_of_the_options_passes_their_trial(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("equilabel.segment", fail)
    assert trial.check(Options()) == ""


@pytest.mark.parametrize(
    ("words", "complaint"), [([], "INPUT"), (["a.tif"], "--out"), (["--help", "x"], "")]
)
def test_missing_words_are_told(here, capsys, words, complaint):
    code = main(["batch", *words])
    assert code == (2 if complaint else 0)
    assert complaint in capsys.readouterr().err
