"""Charts of YACCLAB: its datasets are read, slow methods end early, accesses are counted."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from equilabel import METHODS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def yacclab(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(BENCHMARKS)
    import yacclab

    return yacclab


def store(folder, **images):
    folder.mkdir(parents=True)
    (folder / "files.txt").write_text("".join(f"{name}.png\r\n" for name in images))
    for name, image in images.items():
        Image.fromarray(image).convert("1").save(folder / f"{name}.png")


def test_datasets_are_read_in_the_format_of_yacclab(yacclab, tmp_path):
    half = np.kron([[True, False], [False, True]], np.ones((8, 8), bool))
    store(tmp_path / "3dpes", a=half, b=~half)
    store(tmp_path / "random" / "classical", **{"16_50": half})
    store(tmp_path / "random" / "granularity", **{"08050_0": half, "03050_0": half})
    found = list(yacclab.stored(tmp_path, 100))
    assert [each[:2] for each in found] == [
        *[("average", "3dpes")] * 2,
        ("density", 50),
        ("size", 16),
        ("granularity 8", 50),
    ]
    for (_, _, image), expected in zip(found, (half, ~half, half, half, half), strict=True):
        np.testing.assert_array_equal(image, expected)
    assert len(list(yacclab.stored(tmp_path, 1))) == 4


def test_a_slow_method_has_no_more_points_and_none_that_lacks_an_image(yacclab):
    seconds = iter([0.1, 9.0, 0.2, 0.3])
    images = [("size", 32, None), ("size", 64, None), ("size", 64, None), ("size", 128, None)]
    rows = yacclab.measure(images, [METHODS["komura"]], lambda *_: next(seconds), 1)
    assert [(row["at"], row["ms"]) for row in rows] == [(32, pytest.approx(100))]
    seconds = iter([9.0, 0.2, 0.4])
    images = [("average", name, None) for name in ("slow", "slow", "quick", "quick")]
    rows = yacclab.measure(images, [METHODS["komura"]], lambda *_: next(seconds), 1)
    assert [(row["at"], row["ms"]) for row in rows] == [("quick", pytest.approx(300))]


def test_every_method_is_in_every_chart(yacclab, monkeypatch, tmp_path):
    names = [name for name, row in METHODS.items() if "grid" in row.domains]
    counted = [
        {"test": "accesses", "method": name, "image": 1.0, "labels": 2.0, "other": 0.0}
        for name in names
    ]
    monkeypatch.setattr(yacclab, "count_accesses", lambda: counted)
    monkeypatch.setattr(yacclab, "GRAINS", (1, 16))
    options = SimpleNamespace(charts=tmp_path, sides=[32], yacclab="", device="cpu", limit=1)
    yacclab.run(options, lambda method, image, words: 0.01 + image.mean())
    drawn = {path.stem for path in tmp_path.glob("*.png")}
    assert drawn == {"density", "size", "granularity", "tiles", "average", "accesses"}
    rows = json.loads((tmp_path / "yacclab.json").read_text())["rows"]
    for test in {row["test"] for row in rows} - set(yacclab.TILES):
        assert {row["method"] for row in rows if row["test"] == test} == set(names)


def test_accesses_to_memory_are_counted():
    program = """
import numpy as np
import accesses
from accesses import count, counted, counts
numbers = counted(np.zeros(100, np.int64), "labels")
numbers[3] = numbers[4] + 1  # one is read, one written
part = numbers[10:20]  # a view
part += 1  # ten are read, ten written
print(counts["labels"])
for name in ("hawick_a", "runs"):
    print(*count(name, np.zeros((64, 64), bool)).values())
print(count("hawick_a", np.ones((24, 24), bool))["labels"])
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(BENCHMARKS), *sys.path])}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    numbers, hawick, runs, full = done.stdout.splitlines()
    assert numbers == "22"
    assert hawick == "1.0 2.0 0.0"  # each pixel is read, its label written, and read once
    image, labels, other = map(float, runs.split())
    assert (image, labels) == (1, 1)
    assert 0 < other < 0.1  # words of 64 pixels
    # The label of the first pixel takes 23 rounds to the last one, and one more to be sure; in each
    # round a pixel reads its own label and those of its neighbors, 3 to 8.
    assert 24 * 9 < float(full) < 24 * 14
