"""Messages with a remedy: what they say is done, and then it works."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from batches import picture, tiff
from equilabel import binarize, segment, smooth
from equilabel.cli import main

IMAGE = picture()
CHANNELS = np.stack([IMAGE, IMAGE])


@pytest.mark.parametrize(
    ("function", "wrong", "remedy", "right"),
    [
        (binarize, {"threshold": "triangel"}, "Did you mean 'triangle'", {"threshold": "triangle"}),
        (binarize, {"threshold": "magic"}, "Pass 'otsu' if unsure", {"threshold": "otsu"}),
        (binarize, {"threshold": (9, 5)}, "Swap them", {"threshold": (5, 9)}),
        (
            binarize,
            {"threshold": "local"},
            "Pass an odd number of pixels larger than the objects, such as 51",
            {"threshold": "local", "block_size": 51},
        ),
        (binarize, {"threshold": "otsu", "offset": 3}, "Leave it out, or pass 'local'", {}),
        (
            binarize,
            {"threshold": "otsu", "block_size": 5},
            "Leave it out, or pass 'local'",
            {"threshold": "local", "block_size": 5},
        ),
        (smooth, {"sigma": -1}, "Pass 0 for none", {"sigma": 0}),
        (
            smooth,
            {"sigma": "3nmm"},
            "Did you mean 'nm'",
            {"sigma": "3nm", "spacing": 9, "unit": "nm"},
        ),
        (smooth, {"sigma": "1um"}, "such as '2px'", {"sigma": "2px"}),
        (
            smooth,
            {"sigma": "1um"},
            "spacing=0.1 with unit='µm'",
            {"sigma": ".1um", "spacing": 0.1, "unit": "µm"},
        ),
        (
            segment,
            {"min_size": "3um"},
            "Pass for instance '3µm2'",
            {"min_size": "3µm2", "spacing": 1, "unit": "µm"},
        ),
        (smooth, {"sigma": 2, "spacing": 0}, "Leave it out", {"sigma": 2}),
        (smooth, {"sigma": (1, 2, 3)}, "Give one for all axes", {"sigma": 1}),
        (segment, {"channel": 1}, "leave channel out", {}),
        (segment, {"method": "komora"}, "Did you mean 'komura'", {"method": "komura"}),
        (segment, {"properties": ["aera"]}, "Did you mean 'area'", {"properties": ["area"]}),
        (
            segment,
            {"properties": ["surface_area_faces"]},
            "In 2D, ask for 'perimeter_edges'",
            {"properties": ["perimeter_edges"]},
        ),
    ],
)
def test_a_remedy_in_python_works(function, wrong, remedy, right):
    with pytest.raises(ValueError, match=re.escape(remedy)):
        function(IMAGE, **wrong)
    function(IMAGE, **right)


@pytest.mark.parametrize(
    ("image", "wrong", "remedy", "right"),
    [
        (CHANNELS, {"channel_axis": 0}, "Pass channel=0", {"channel_axis": 0, "channel": 0}),
        (CHANNELS, {"channel": 1}, "Pass channel_axis, such as", {"channel_axis": 0, "channel": 1}),
        (
            CHANNELS,
            {"properties": ["frame"]},
            "Pass stacked=True",
            {"properties": ["frame"], "stacked": True},
        ),
    ],
)
def test_a_remedy_for_several_images_in_python_works(image, wrong, remedy, right):
    with pytest.raises(ValueError, match=re.escape(remedy)):
        segment(image, **wrong)
    assert segment(image, **right).num


def no_cupy(name):
    """Import like a machine without CuPy."""
    raise ModuleNotFoundError(name=name)


@pytest.mark.parametrize(
    ("wrong", "remedy", "right"),
    [
        ("--threshold 1,2,3", "Try 'otsu'", "--threshold otsu"),
        ("--threshold 9,5", "Swap them", "--threshold 5,9"),
        ("--threshold local", "such as 51", "--threshold local --block-size 51"),
        ("--block-size 5", "Leave it out, or pass 'local'", "--block-size 5 --threshold local"),
        ("--sigma x", "Write '2px' or", "--sigma 2px"),
        ("--sigma=-1", "Pass 0 for none", "--sigma 0"),
        ("--sigma 0,3um", "or '0px,...'", "--sigma 0px,3px"),
        ("--sigma 3um", "such as '2px', or", "--sigma 2px"),
        ("--sigma 3um", "--spacing 0.1 with --unit µm", "--sigma .3um --spacing 0.1 --unit µm"),
        ("--sigma 3um --spacing 9", "such as --unit µm", "--sigma 3um --spacing 9 --unit µm"),
        ("--min-size 2um --spacing 1", "'2µm2'", "--min-size 2µm2 --spacing 1 --unit um"),
        ("--min-size 2.5", "Try '2'", "--min-size 2"),
        ("--offset nan", "Try '0'", "--offset 0"),
        ("--spacing 0,1", "Try '0.1', or", "--spacing 0.1"),
        ("--spacing x", "Try '0.1'", "--spacing 0.1"),
        ("--spacing 1,2,3", "Pass one number for all axes", "--spacing 1"),
        ("--unit parsec", "'µm'", "--unit µm"),
        ("--properties ,", "Try 'label,area'", "--properties label,area"),
        ("--memory-limit much", "Try '4GB'", "--memory-limit 4GB"),
        ("--memory-limit 9kB", "Pass a larger --memory-limit", "--memory-limit 1GB"),
        ("--time-limit 0", "Leave it out for none", ""),
        ("--resume --overwrite", "Leave one out", "--overwrite"),
        ("--channel 1", "Leave it out", ""),
        ("--device cuda", "Pass --device cpu", "--device cpu"),
        ("--method komora", "Did you mean 'komura'", "--method komura"),
        ("--format exel", "Pass 'csv' if unsure", "--format csv"),
        ("--too-large chunky", "Did you mean 'chunked'", "--too-large chunked"),
        ("--jobs x", "--jobs must be a whole number; got 'x'. Try '4'", "--jobs 4"),
        ("--series 0.5", "Try '0'", "--series 0"),
        ("--offset x", "Try '0'", "--threshold local --block-size 51 --offset -20"),
        ("--time-limit soon", "Try '600'", "--time-limit 600"),
    ],
)
def test_a_remedy_on_the_command_line_works(here, capsys, monkeypatch, wrong, remedy, right):
    if "cuda" in wrong:
        monkeypatch.setattr(import_module("equilabel.devices.choosing"), "import_module", no_cupy)
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", *wrong.split()]) in (1, 2)
    said = capsys.readouterr()
    assert remedy in said.out + said.err
    words = [*right.split(), *(["--overwrite"] if Path("out").exists() else [])]
    assert main(["batch", "a.tif", "--out", "out", *dict.fromkeys(words)]) == 0


@pytest.mark.parametrize("remedy", ["--resume", "--overwrite"])
def test_a_folder_with_results_is_used_with_the_options_that_are_named(here, capsys, remedy):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    assert main(["batch", "a.tif", "--out", "out"]) == 2
    assert remedy in capsys.readouterr().err
    assert main(["batch", "a.tif", "--out", "out", remedy]) == 0


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (["in/a/x.tif", "in/b/x.tif"], "in"),
        (["in/a", "in/b", "--recursive"], "in"),
        (["in/a/x.tif", "x.tif"], "."),
        (["in/a", "in/a/c/x.tif"], "in/a"),
        (["in/b/../a/x.tif", "in/b/x.tif"], "{here}/in"),
    ],
)
def test_images_of_one_name_in_two_folders_need_recursive(here, capsys, words, folder):
    for name in ("in/a/x", "in/b/x", "in/a/c/x", "x"):
        tiff(f"{name}.tif")
    folder = folder.format(here=here)
    assert main(["batch", *words, "--out", "out"]) == 2
    assert "below one folder, --recursive keeps subfolders apart." in capsys.readouterr().err
    assert main(["batch", folder, "--out", "out", "--recursive"]) == 0


@pytest.mark.parametrize("other", ["in/x.tiff", "in/X.ome.tif", "in/.hidden/x.tif", "link/x.tif"])
def test_images_of_one_name_that_recursive_does_not_keep_apart_are_renamed(here, capsys, other):
    tiff("in/x.tif")
    if other.startswith("link"):
        Path("link").symlink_to("in")
    else:
        tiff(other)
    words = ["batch", "in/x.tif", other, "--out", "out"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "Rename one, or use another --out for it;" in said
    assert main(["batch", "in/x.tif", "--out", "out"]) == 0
    assert main(["batch", other, "--out", "other"]) == 0


def test_images_below_a_folder_need_recursive(here, capsys):
    tiff("in/a/x.tif")
    assert main(["batch", "in", "--out", "out"]) == 2
    assert "--recursive" in capsys.readouterr().err
    assert main(["batch", "in", "--out", "out", "--recursive"]) == 0


@pytest.mark.parametrize("words", [[], ["--channel", "Dapi"]])
def test_a_channel_is_found_by_the_message_that_asks_for_it(here, capsys, words):
    names = {"axes": "CYX", "Channel": {"Name": ["GFP", "DAPI"]}}
    tiff("a.tif", CHANNELS, ome=True, metadata=names)
    assert main(["batch", "a.tif", "--out", "out", *words]) == 1
    said = capsys.readouterr().out
    remedy = re.search(r"Pass --channel (\w+)|Did you mean '(\w+)'", said)
    channel = remedy[1] or remedy[2]
    assert channel == ("DAPI" if words else "0")
    assert main(["batch", "a.tif", "--out", "other", "--channel", channel]) == 0


def test_frames_are_measured_with_the_option_that_is_named(here, capsys):
    tiff("a.tif", CHANNELS, metadata={"axes": "ZYX"}, imagej=True)
    words = ["batch", "a.tif", "--out", "out", "--properties", "label,frame"]
    assert main([*words, "--no-stacked"]) == 2
    assert "got --no-stacked. Pass --stacked." in capsys.readouterr().err
    assert main([*words, "--stacked"]) == 0
