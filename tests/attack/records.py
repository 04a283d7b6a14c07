"""Records that others have written to: an image whose record does not read is labeled anew.

Values in the records of a finished run are replaced, and the records signed as their writer does.
A run with ``--resume`` must end well with the objects of the quiet run, and print no character that
a terminal takes for more than text.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import tempfile
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from unittest.mock import patch

from attack import Counts
from batches import label_here, picture, tiff
from equilabel.cli import batch, main, records

BATCH = ("batch", "in", "--out", "out", "--no-overlay", "--spacing", "0.5", "--unit", "um")
DIGITS, DEEP = "digits", "deep"  # stand for what the parser of Python does not take
NUMBERS = (float("inf"), float("-inf"), float("nan"), 10**400, -1, 2.5, 10**6, True, None, DIGITS)
TEXTS = ("", "x", "\x1b[31m", "\x9b2J\x07", "\u202e", "=1+1", "\ud800", "../../x", "\0")
NESTED = ([], {}, [[]], {"a": "x"}, {"\x1b]0;x\x07": 1}, [float("inf")], {"counts": []}, DEEP)
STEPS = ({"of": "area", "unit": "\x1b", "counts": {step: 1}} for step in ("1000000", "9" * 5000))
POISONS = (*NUMBERS, *TEXTS, *NESTED, *STEPS)


def attack(seconds: float, seed: int) -> Counts:
    """Poison records for a while, one after the other, each with a seed of its own."""
    counts = Counts("poisoned records")
    with tempfile.TemporaryDirectory() as name, chdir(name):
        quiet = prepare()
        number, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            wrong = judge(quiet, random.Random(f"{seed}/{number}"))
            counts.submitted += 1
            counts.correct += not wrong
            counts.wrong += bool(wrong)
            counts.notes += [f"record {number} of seed {seed}: {wrong}"] if wrong else []
            number += 1
    return counts


def prepare() -> list[dict[str, str]]:
    """Label two images; return their objects, and keep the folder as it was."""
    tiff("in/a.tif")
    tiff("in/b.tif", picture((3, 24, 32)), metadata={"axes": "TYX"}, imagej=True)
    code, said = run()
    assert code == 0, said
    shutil.move("out", "kept")
    return objects("kept")


def judge(quiet: list[dict[str, str]], rng: random.Random) -> str:
    """Poison a record and resume; return what is wrong with what comes of it, or ""."""
    shutil.rmtree("out", ignore_errors=True)
    shutil.copytree("kept", "out")
    path = rng.choice(sorted(Path("out/.equilabel").iterdir()))
    story = poison(path, rng)
    code, said = run("--resume")
    if code or not Path("out/objects.csv").exists():
        return f"{story}: exit code {code}, {said[-300:]}"
    pages = [Path("out", name).read_text("utf-8") for name in ("summary.csv", "report.html")]
    if bad := {letter for letter in "".join([said, *pages]) if not printed(letter)}:
        return f"{story}: {sorted(bad)} on the terminal or in a file"
    return "" if objects("out") == quiet else f"{story}: other objects"


def poison(path: Path, rng: random.Random) -> str:
    """Replace some values in a record, or add some; return what was done."""
    content = json.loads(path.read_text("utf-8"))
    story = []
    for _ in range(rng.choice([1, 1, 1, 3])):
        holder, key = rng.choice(list(places(content["record"])))
        value = deepcopy(rng.choice(POISONS))  # later poisons may go into it
        if isinstance(holder, dict) and rng.random() < 0.1:
            key = rng.choice(TEXTS)
        holder[key] = value
        story.append(f"{key!r}: {str(value)[:40]!r}")
    del content["sha256"]
    content["sha256"] = records._digest(content)
    text = json.dumps(content).replace(f'"{DIGITS}"', "9" * 5000)
    path.write_text(text.replace(f'"{DEEP}"', "[" * 10**5 + "]" * 10**5), "utf-8")
    return ", ".join(story)


def places(value):
    """Yield each holder of a value in the content of a record, with its key there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs):
        yield value, key
        if isinstance(each, (dict, list)):
            yield from places(each)


def run(*more: str) -> tuple[int, str]:
    """Run the command in this process; return its exit code, and what it said."""
    said = io.StringIO()
    in_here = patch.object(batch, "label_all", label_here)
    with in_here, redirect_stdout(said), redirect_stderr(said):
        code = main([*BATCH, *more])
    return code, said.getvalue()


def objects(out: str) -> list[dict[str, str]]:
    """Read the table of all objects; a unit may be replaced by another one unseen."""
    with Path(out, "objects.csv").open(encoding="utf-8", newline="") as file:
        return [{**row, "unit": ""} for row in csv.DictReader(file)]


def printed(letter: str) -> bool:
    """Return whether a character is only shown."""
    return letter.isprintable() or letter in "\r\n"
