"""Runs of the real program, and what happens to them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
LONGEST = 120  # seconds of a run, before it counts as one that hangs
STARTING = re.compile(r"equilabel/(__init__|starting)\.py")


@dataclass
class Ended:
    """How a run ended: its exit code, what it said, and what is wrong with that."""

    code: int
    said: str
    wrong: str = ""


def run(words, folder, happen=None, *, limits=(), shell="", texts="run"):
    """Run the program in a group of its own, and let something happen to it.

    Parameters
    ----------
    words : sequence of str or bytes
        For the command line.
    folder : Path
        Working directory.
    happen : callable, optional
        Called with the process that was started.
    limits : sequence of (int, int)
        Resources and their limits.
    shell : str
        What a shell does with its streams, such as ``>&-``.
    texts : str
        Name of the files for what it says.
    """

    def limit():
        import resource  # POSIX

        for name, most in limits:
            resource.setrlimit(name, (most, most))

    command = [sys.executable, "-m", "equilabel", *words]
    if shell:
        command = ["bash", "-c", f'"$@" {shell}', "bash", *command]
    files = [folder / f"{texts}.{name}" for name in ("stdout", "stderr")]
    with files[0].open("wb") as out, files[1].open("wb") as err:
        program = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            start_new_session=True,
            preexec_fn=limit if limits else None,
        )
        wrong = ""
        try:
            if happen is not None:
                happen(program)
            program.wait(LONGEST)
        except subprocess.TimeoutExpired:
            wrong = "hangs"
        code = program.poll()
        if wrong or code is None:
            stop(program)
    said = "".join(text.read_text(encoding="utf-8", errors="replace") for text in files)
    return Ended(program.wait(), said, wrong or complaint(code, said, bool(shell)))


def complaint(code, said, silenced):
    """Say what is wrong with the end of a run."""
    if "Traceback" in said or "Exception ignored" in said:
        frames = [line for line in said.splitlines() if line.strip().startswith("File ")]
        ours = [frame for frame in frames if "equilabel/" in frame and not STARTING.search(frame)]
        if ours or "KeyboardInterrupt" not in said:
            return "a traceback"  # Python takes its own first 20 ms
    if code not in (0, 1, 2, 129, 130, 143, -1, -2, -9, -15):
        return f"exit code {code}"
    if code in (1, 2, 130) and not said.strip() and not silenced:
        return f"exit code {code} without a word"
    return ""


def stop(program):
    """Kill all processes of a run: its group has the number of the program."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


def alive(group):
    """List the processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, pgrp = path.read_text().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state != "Z":
                found.append(int(path.parent.name))
    return found


def outlived(program, seconds=15):
    """Return whether processes of a run are there long after it has ended."""
    end = time.monotonic() + seconds
    while alive(program.pid):
        if time.monotonic() > end:
            stop(program)
            return True
        time.sleep(0.05)
    return False


# ------------------------------------------------------------------------------ what may happen


def after(seconds, act):
    """Let something happen a while after the start."""

    def happen(program):
        time.sleep(seconds)
        act(program)

    return happen


def to_parent(number):
    """Send a signal to the program alone."""
    return lambda program: program.send_signal(number)


def to_group(number):
    """Send a signal to the program and its workers, as a terminal or a scheduler does."""

    def act(program):
        with suppress(ProcessLookupError):
            os.killpg(program.pid, number)

    return act


def to_workers(rng, times):
    """Kill some of the processes that were started by the program, one after the other."""

    def act(program):
        for _ in range(times):
            others = [number for number in alive(program.pid) if number != program.pid]
            if others:
                with suppress(ProcessLookupError):
                    os.kill(rng.choice(others), rng.choice([signal.SIGKILL, signal.SIGSEGV]))
            time.sleep(rng.uniform(0, 0.6))

    return act


def pause(program):
    """Stop all processes for a moment, as Ctrl-Z and `fg` do."""
    to_group(signal.SIGSTOP)(program)
    time.sleep(0.3)
    to_group(signal.SIGCONT)(program)
