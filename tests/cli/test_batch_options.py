"""Options of `equilabel batch`: the same as those of `segment`, and refused before work."""

import inspect
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

from batches import names, picture, record, refused, results, summary, tiff
from equilabel import segment, segment_chunked
from equilabel.cli import commands, main, parsing, trial
from equilabel.cli.options import Options
from equilabel.cli.streams import explain
from equilabel.devices import DeviceReport
from equilabel.options import ImageOptions, SegmentOptions, option, options_of
from equilabel.storage.table import read_table
from references import GRID_METHODS

OURS, IMAGE = options_of(SegmentOptions), options_of(ImageOptions)


def test_segment_has_the_options_and_their_defaults():
    theirs = {name: each.default for name, each in inspect.signature(segment).parameters.items()}
    decided_by_the_file = {"image", "channel_axis", "progress"}  # or shown by the command itself
    assert set(theirs) - decided_by_the_file == {*OURS, *IMAGE}
    assert {name: default for name, (default, _) in OURS.items()} == {
        name: theirs[name] for name in OURS
    }


def test_segment_chunked_has_their_defaults():
    chunked = inspect.signature(segment_chunked).parameters
    for name in chunked.keys() & OURS.keys():
        assert chunked[name].default == OURS[name][0], name


@pytest.mark.parametrize("command", ["batch", "segment", "measure"])
def test_options_are_read_as_their_defaults(command):
    shown = inspect.signature(getattr(commands, command)).parameters
    given = {name: shown[name].default for name in shown}
    for cls in (SegmentOptions, Options):
        known = options_of(cls)
        for name, value in parsing.read(cls, given).items():
            assert value == known[name][0], name


def test_an_option_is_one_field(monkeypatch):
    """A new field is an option of the command, is read, passed on, recorded, and repeated."""

    @dataclass(frozen=True)
    class More(SegmentOptions):
        roundness: float = option(0.5, "number", "Drop objects less round.", example="0.7")

    monkeypatch.setattr(parsing, "OPTIONS", (More, *parsing.OPTIONS[1:]))
    monkeypatch.setattr(parsing, "SegmentOptions", More)
    added = {each.name: each for each in parsing._parameters("batch")}["roundness"]
    assert added.default == "0.5"
    assert added.annotation.__metadata__[0].help == "Drop objects less round."
    assert parsing.read_options({"roundness": "0.25"}).parameters()["roundness"] == 0.25
    monkeypatch.setattr(parsing, "KNOWN", options_of(More))
    assert parsing.as_text("roundness", 0.25) == "0.25"


def test_the_help_names_all_methods_and_devices():
    from typing import get_type_hints

    from equilabel.devices import DEVICES

    hints = get_type_hints(commands.batch, include_extras=True)
    for name, words in (("method", GRID_METHODS), ("device", DEVICES)):
        assert all(word in hints[name].__metadata__[0].help for word in words)


def test_every_device_that_is_listed_can_be_passed_on(here, monkeypatch):
    """As on a machine with two GPUs: `segment` is told the word, and the CPU does the work."""
    tiff("a.tif")
    told = []

    def stand_in(image, *, device, **options):
        told.append(device)
        return replace(segment(image, **options), device=device)

    monkeypatch.setattr("equilabel.segment", stand_in)
    reports = [DeviceReport(name, True, "stand-in") for name in ("cpu", "cuda", "cuda:1")]
    for report in reports:
        told.clear()
        words = ["--device", report.name, "--overwrite"]
        assert main(["batch", "a.tif", "--out", "out", *words]) == 0
        assert set(told) == {report.name}
        assert record()["device"]["used"] == [report.name]


def test_a_device_that_cannot_be_used_is_refused_with_what_would_help(here, capsys, monkeypatch):
    choosing = import_module("equilabel.devices.choosing")  # `equilabel.devices` is a function
    monkeypatch.setattr(choosing, "find_obstacle", lambda: "")
    monkeypatch.setattr(choosing, "count_gpus", lambda: 1)
    tiff("a.tif")
    for device, complaint in (
        ("cuda:1", "--device cuda:1 needs 2 GPUs; got 1. Pass one of ['cuda']."),
        (
            "cuda:x",
            "--device must be one of ['auto', 'cpu', 'cuda', 'cuda:<index>']; got 'cuda:x'.",
        ),
    ):
        assert main(["batch", "a.tif", "--out", "out", "--device", device]) == 2
        assert capsys.readouterr().err == f"equilabel: {complaint}\n"
        assert not Path("out").exists()


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        (
            "device='cuda' needs CuPy. Pass device='cpu'.",
            "--device cuda needs CuPy. Pass --device cpu.",
        ),
        (
            "max_size must be at least min_size; got 4.",
            "--max-size must be at least --min-size; got 4.",
        ),
        ("got stacked=False. Pass stacked=True.", "got --no-stacked. Pass --stacked."),
        ("image must have a threshold in 'my_min_size.tif'.",) * 2,
        ("the method must be kept, the threshold must not.",) * 2,
    ],
)
def test_messages_name_options_as_they_are_typed(python, typed):
    assert explain(ValueError(python)) == typed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--threshold", "magic"], "--threshold must be"),
        (["--threshold", "1,2,3"], "--threshold must be"),
        (["--threshold", "nan"], "--threshold must be"),
        (["--threshold", "20,10"], "--threshold must be (low, high) with low <= high"),
        (["--threshold", "local", "--block-size", "4"], "--block-size must be"),
        (["--offset", "nan"], "--offset must be"),
        (["--sigma", "x"], "--sigma must be"),
        (["--sigma", "-1"], "--sigma must be"),
        (["--sigma", "3um2"], "--sigma must be a length; got '3µm²'"),
        (["--sigma", "3 parsec"], "--sigma must be in px or one of"),
        (["--sigma", "0,3um"], "got '0,3um'. Write a point in place of the comma"),
        (["--sigma", "5000px"], "--sigma must be at most 1000 pixels"),
        (["--sigma", "500um", "--spacing", "0.1", "--unit", "um"], "'500µm', 5000 pixels"),
        (["--sigma", "1um", "--spacing", "0.1", "--unit", "px"], "--unit must be"),
        (["--block-size", "5um2", "--threshold", "local"], "--block-size must be a length"),
        (["--min-size", "5um"], "--min-size must be"),
        (["--min-size", "2.5"], "--min-size must be whole pixels; got '2.5'. Try '2'"),
        (["--min-size", "5um2", "--max-size", "4um2"], "--max-size must be at least --min-size"),
        (["--connectivity", "0"], "--connectivity must be"),
        (["--connectivity", "9"], "--connectivity must be"),
        (["--connectivity", "26"], "For 26 neighbors, in 3D, pass 3"),
        (["--min-size", "-1"], "--min-size must be"),
        (["--min-size", "9", "--max-size", "3"], "--max-size must be"),
        (["--properties", "label,beauty"], "beauty"),
        (["--properties", ","], "--properties must be"),
        (["--method", "magic"], "--method must be"),
        (["--device", "abacus"], "--device must be"),
        (["--spacing", "0,1"], "--spacing must be"),
        (["--spacing", "1,1,1,1"], "--spacing must be"),
        (["--unit", "parsec"], "--unit must be"),
        (["--jobs", "0"], "--jobs must be"),
        (["--time-limit", "0"], "--time-limit must be"),
        (["--memory-limit", "0 GB"], "--memory-limit must be"),
        (["--memory-limit", "much"], "--memory-limit must be"),
        (["--memory-limit", "5"], "--memory-limit must be 1 kB or more; got '5'"),
        (["--format", "xls"], "xls"),
        (["--series", "x"], "series"),
        (["--resume", "--overwrite"], "--resume and --overwrite"),
        (["--tresh", "1"], "--tresh"),
    ],
)
def test_bad_options_are_refused_in_one_line_before_work(here, capsys, words, complaint):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert complaint in shown.err
    assert shown.err.count("\n") == 1
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
        (Options({"connectivity": 4}, stacked=True), "--connectivity must be"),
        (Options({"sigma": (1.0, 1.0)}, spacing=(1.0, 1.0, 1.0)), "--sigma must be"),
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
    ("words", "complaint"),
    [(["--out", "out"], "INPUT"), (["a.tif"], "--out"), (["--help", "x"], "")],
)
def test_missing_words_are_told(here, capsys, words, complaint):
    code = main(["batch", *words])
    assert code == (2 if complaint else 0)
    said = capsys.readouterr().err
    assert complaint in said
    assert not complaint or "See `equilabel batch --help`." in said


def test_a_word_that_is_no_command_leads_to_the_help_of_the_program(capsys):
    assert main(["bacth"]) == 2
    assert "See `equilabel --help`." in capsys.readouterr().err


def test_parquet_without_pyarrow_is_refused_before_work(here, capsys, monkeypatch):
    tiff("a.tif")
    words = ("batch", "a.tif", "--out", "out", "--format")
    with monkeypatch.context() as patch:
        patch.setattr("equilabel.cli.trial.find_spec", lambda name: None)
        said = refused(capsys, *words, "parquet")
    assert "--format parquet needs pyarrow; got none installed" in said
    assert "or pass --format csv" in said
    assert main([*words, "csv"]) == 0


def test_a_connectivity_is_refused_for_the_axes_of_the_image(here, capsys):
    for shape, most in ((24, 32), 2), ((3, 24, 32), 3):
        tiff("a.tif", picture(shape), photometric="minisblack")
        assert f"must be 1 to {most} for" in refused(
            capsys, "segment", "a.tif", "--connectivity", "26"
        )


def test_a_channel_whose_name_another_has_is_refused(here):
    channels = {"Name": ["DAPI", "DAPI"]}
    known = {"axes": "CYX", "Channel": channels}
    tiff("a.tif", picture((2, 24, 32)), ome=True, photometric="minisblack", metadata=known)
    assert main(["batch", "a.tif", "--out", "out", "--channel", "DAPI"]) == 1
    assert "one of 0 'DAPI', 1 'DAPI'" in summary()["a.tif"]["error"]
    assert "Pass --channel 0" in summary()["a.tif"]["error"]


def test_a_file_as_folder_of_results_is_named_in_the_refusal(here, capsys):
    tiff("a.tif")
    said = refused(capsys, "batch", "a.tif", "--out", "a.tif")
    assert "got 'a.tif': Not a directory" in said
