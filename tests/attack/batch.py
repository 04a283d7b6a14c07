"""Nights of `equilabel batch` that are disturbed, and end with the results of a quiet one.

A round is a folder of small images, some of them damaged or with odd names, and a few runs into
one output folder: killed as a whole or in part, interrupted at any moment, without room, files,
memory or an output; between them records and results are damaged. After every run, what has a
final name must be whole; after the last one, with ``--resume``, everything must be as after a run
that nothing happened to.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tifffile

from attack import Counts
from attack.disturbing import (
    after,
    outlived,
    pause,
    run,
    to_group,
    to_parent,
    to_workers,
)

PARAMETERS = ((), ("--spacing", "2"), ("--sigma", "1", "--no-overlay", "--min-size", "5"))
OURS = (".equilabel", ".unfinished", "run.json", "summary.csv", "report.html")
OBJECTS = "objects.csv"
NAMES = ("a", "b", "c", "sub/a", "=1+1", "a;=1+1;", "two words", "[1]", "é", "n" * 200)


def attack(seconds: float, seed: int) -> Counts:
    """Disturb runs for a while.

    Parameters
    ----------
    seconds : float
        To begin rounds in; the last one is finished.
    seed : int
        Of the images, and of what happens to runs; when it happens depends on the machine, too.
    """
    counts = Counts("disturbed batch runs")
    with tempfile.TemporaryDirectory(prefix="equilabel-attack-") as name:
        house = Path(name)
        make_images(house / "in", np.random.default_rng(seed))
        quiet = {}
        for number, parameters in enumerate(PARAMETERS):
            run(["batch", "in", "-r", "--out", f"quiet{number}", *parameters], house)
            quiet[parameters] = known(house / f"quiet{number}"), rows(house / f"quiet{number}")
        number, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            Round(house, quiet, counts, seed, number).go()
            number += 1
    return counts


def make_images(folder, rng):
    """Make images, and files that are none."""
    for number, name in enumerate(NAMES):
        image = rng.integers(0, 40, (96, 128)).astype(np.uint8)
        for y, x in rng.integers(0, 88, (12, 2)):
            image[y : y + 7, x : x + 9] = 200
        path = folder / f"{name}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        tifffile.imwrite(path, image, compression="zlib" if number % 2 else None)
    odd = os.fsencode(folder / "b.tif").replace(b"b.tif", b"\xff\n.tif")
    shutil.copy(folder / "b.tif", os.fsdecode(odd))
    (folder / "half.tif").write_bytes((folder / "a.tif").read_bytes()[:5000])
    (folder / "text.tif").write_text("no image")
    (folder / "none.tif").touch()
    (folder / "link.tif").symlink_to("nowhere")


def results(out):
    """List the results in a folder, by name."""
    found = (path for path in out.rglob("*") if not path.is_dir() or path.is_symlink())
    names = ((path.relative_to(out), path) for path in found)
    return {name.as_posix(): path for name, path in names if name.parts[0] not in OURS}


def is_part(table, whole):
    """Return whether a table has the heading and whole rows of another one, in their order."""
    rest = iter(whole.splitlines(keepends=True))
    lines = table.splitlines(keepends=True)
    return lines[:1] == [next(rest)] and all(line in rest for line in lines[1:])


def known(out):
    """Read all results of a run."""
    return {name: path.read_bytes() for name, path in results(out).items()}


def rows(out):
    """Read the summary, without what may differ from run to run."""
    try:
        with (out / "summary.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except FileNotFoundError:
        return {}
    for line in lines:
        line["status"] = line["status"].replace("skipped", "done")
        del line["seconds"], line["notes"]
    return {line["file"]: line for line in lines}


class Round:
    """Some runs into one folder."""

    damages, disks = 0.3, 0.15  # how often records or results are damaged, and disks are small

    def __init__(self, house, quiet, counts, seed, number):
        self.rng = random.Random(f"{seed}/{number}")
        self.house, self.quiet, self.counts = house, quiet, counts
        self.name, self.out = f"round {number} of seed {seed}", house / f"out{number}"
        self.parameters = self.rng.choice(PARAMETERS)
        self.used = {self.parameters}
        self.spoilt = set()  # results that were damaged on purpose
        self.story = []

    def go(self):
        """Disturb some runs, then let one end."""
        with self.place():
            for _ in range(self.rng.choice([1, 1, 2, 3])):
                self.disturb()
                if self.rng.random() < self.damages:
                    self.damage()
            self.finish()
        shutil.rmtree(self.out, ignore_errors=True)

    @contextmanager
    def place(self):
        """Give the results a folder: now and then one on a small disk of its own."""
        self.disk = False
        if self.rng.random() < self.disks and os.geteuid() == 0:
            self.out.mkdir()
            size = self.rng.choice([40, 100, 200, 300])
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(self.out)]
            self.disk = subprocess.run(mount, capture_output=True).returncode == 0
            self.story.append(f"a disk of {size} kB" if self.disk else "no disk")
        try:
            yield
        finally:
            if self.disk:
                subprocess.run(["umount", "-l", str(self.out)], check=True)

    def words(self, *more):
        """Put a call together: the folder is resumed where there is something in it."""
        jobs = ["--jobs", str(self.rng.choice([1, 2, 3]))]
        return ["batch", "in", "-r", "--out", self.out.name, *self.parameters, *jobs, *more]

    def report(self, verdict, why):
        """Count a mistake, and say how it came to it."""
        setattr(self.counts, verdict, getattr(self.counts, verdict) + 1)
        self.counts.notes.append(f"{self.name}: {verdict}: {why}. {'; '.join(self.story)}")

    # ------------------------------------------------------------------------------ disturbing

    def disturb(self):
        """Let a run be disturbed, and look at what it leaves."""
        rng = self.rng
        more = ["--resume"]
        if rng.random() < 0.2:
            self.parameters = rng.choice(PARAMETERS)
            self.used.add(self.parameters)
            more = ["--overwrite"]
        when = rng.uniform(0.03, 0.3) if rng.random() < 0.25 else rng.uniform(0.3, 4)
        what, keywords = rng.choice(self.disturbances(when))
        self.story.append(f"{what} at {when:.2f} s with {' '.join([*self.parameters, *more])}")
        happen = keywords.pop("happen", None)
        programs = []

        def watch(program):
            programs.append(program)
            if happen is not None:
                after(when, happen)(program)

        ended = run(self.words(*more), self.house, watch, **keywords)
        self.story[-1] += f": {ended.code}"
        if programs and rng.random() < 0.5 and outlived(programs[0]):
            ended.wrong = ended.wrong or "processes outlive it"
        self.counts.submitted += 1
        wrong = ended.wrong or self.torn()
        if wrong:
            last = " / ".join(ended.said.strip().splitlines()[-4:])
            self.report("lost" if "hangs" in wrong else "wrong", f"{wrong} ({last})")
        elif ended.code == 2:
            self.counts.refused += 1
        else:
            self.counts.correct += 1

    def disturbances(self, when):
        """List what may happen to a run."""
        import resource  # POSIX

        rng = self.rng
        signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
        kinds = [(f"{number.name} to all", {"happen": to_group(number)}) for number in signals]
        kinds += [(f"{number.name} to one", {"happen": to_parent(number)}) for number in signals]
        kinds += [("workers killed", {"happen": to_workers(rng, n)}) for n in (1, 1, 3, 8)]
        kinds += [("paused", {"happen": pause}), ("a rival", {"happen": self.rival})]
        shells = (">&-", ">/dev/full", "| head -n 2", "<&- >&- 2>&-")
        kinds += [(how, {"shell": how}) for how in shells]
        few = rng.randrange(8, 24)
        kinds.append((f"{few} files", {"limits": [(resource.RLIMIT_NOFILE, few)]}))
        most = int(10 ** rng.uniform(2, 5))
        kinds.append((f"files of {most} bytes", {"limits": [(resource.RLIMIT_FSIZE, most)]}))
        memory = rng.randrange(700, 2000)  # with less, OpenBLAS never comes to its end
        kinds.append((f"{memory} MB", {"limits": [(resource.RLIMIT_AS, memory << 20)]}))
        return kinds

    def rival(self, _):
        """Start another run into the same folder: it is refused, or comes too late."""
        ended = run(self.words("--resume"), self.house, texts="rival")
        self.story.append(f"the rival: {ended.code}")
        if ended.code not in (1, 2) or ended.wrong:
            self.counts.submitted += 1
            self.report("wrong", f"rival: {ended.code} {ended.wrong} {ended.said[-300:]}")

    def torn(self):
        """Say which result is none that a quiet run gives, if there is one."""
        for name, path in results(self.out).items():
            whole = {self.quiet[parameters][0].get(name) for parameters in self.used}
            if name in self.spoilt or path.read_bytes() in whole:
                continue
            if name != OBJECTS or not any(is_part(path.read_bytes(), all_) for all_ in whole):
                return f"{name} is torn"
        return ""

    def damage(self):
        """Damage records or results, as a disk or a person might."""
        files = [path for path in self.out.rglob("*") if path.is_file() and not path.is_symlink()]
        if not files:
            return
        for path in self.rng.sample(sorted(files), min(len(files), self.rng.randrange(1, 4))):
            how = self.rng.choice(["bit", "end", "gone", "json", "pipe"])
            name = path.relative_to(self.out).as_posix()
            self.story.append(f"{how} of {name!r}")
            self.spoilt.add(name)
            whole = path.read_bytes()
            if how == "bit" and whole:
                at = self.rng.randrange(len(whole))
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            elif how == "end":
                path.write_bytes(whole[: len(whole) // 2])
            elif how == "json" and path.suffix == ".json":
                values = [None, 3, "x", [], {}, {"files": 3}, {"format": 1, "parameters": 2}]
                path.write_text(json.dumps(self.rng.choice(values)))
            else:
                path.unlink()
                if how == "pipe":
                    os.mkfifo(path)

    # ------------------------------------------------------------------------------- finishing

    def finish(self):
        """Let a run end, and hold what is there against a quiet one."""
        if self.disk:
            grown = ["mount", "-o", "remount,size=100m", str(self.out)]
            subprocess.run(grown, check=True)
        claim = self.out / ".unfinished/claim"
        if claim.exists() and not claim.is_file():
            claim.unlink()  # the remedy that is named
        ended = run(self.words("--resume"), self.house)
        self.story.append(f"at last: {ended.code}")
        if ended.code == 2 and "resume needs" in ended.said:
            self.counts.submitted += 1
            self.counts.refused += 1
            self.story.append("overwritten")
            ended = run(self.words("--overwrite"), self.house)
        expected, lines = self.quiet[self.parameters]
        found, summary = known_safely(self.out), rows(self.out)
        self.counts.submitted += len(lines)
        if ended.code != 1 or ended.wrong:  # some files are no images
            self.report("lost", f"exit code {ended.code}, {ended.wrong}: {ended.said[-300:]}")
            self.counts.lost += len(lines) - 1
            return
        for file, line in lines.items():
            self.judge(file, line, summary.get(file), expected, found)
        if found.get(OBJECTS) != expected[OBJECTS]:
            self.counts.submitted += 1
            self.report("wrong", f"{OBJECTS} is another")
        extra = set(found) - set(expected)
        if extra or (self.out / ".unfinished").exists():
            self.counts.submitted += 1
            self.report("wrong", f"left over: {sorted(extra) or '.unfinished'}")

    def judge(self, file, line, got, expected, found):
        """Hold the results of one image against those of a quiet run."""
        name = file.removeprefix("in/").removesuffix(".tif").replace("'=", "=")
        ours = [each for each in expected if each.startswith(f"{name}_")]
        if name.startswith("\\udcff"):
            ours = [each for each in expected if each.startswith("\udcff")]
        if got is None or any(each not in found for each in ours):
            self.report("lost", f"{file}: {got}")
        elif got != line or any(found[each] != expected[each] for each in ours):
            self.report("wrong", f"{file}: {got} for {line}")
        elif line["status"] == "failed":
            self.counts.refused += 1
        else:
            self.counts.correct += 1


def known_safely(out):
    """Read all results that can be read."""
    return {name: path.read_bytes() for name, path in results(out).items() if path.is_file()}


if __name__ == "__main__":
    result = attack(float(sys.argv[1]), int(sys.argv[2]))
    print(*result.notes, result, result.holds, sep="\n")
