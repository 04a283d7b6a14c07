"""A run over many images: what is refused before it, what is kept whatever happens in it."""

from __future__ import annotations

import platform
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from threading import current_thread, main_thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

import equilabel

from . import progress
from .folder import claimed, refuse_losses, settle
from .inputs import find, printable, refuse_clashes
from .one import Job, explain
from .options import RefusedError
from .records import RUN, SUMMARY, Record, read_run, write_run, write_summary
from .workers import label_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .inputs import Input
    from .options import Options

PACKAGES = ("numpy", "numba", "scikit-image", "scipy", "pandas", "tifffile")


def run(
    words: Sequence[str],
    out: Path,
    options: Options,
    *,
    recursive: bool = False,
    jobs: int = 1,
    time_limit: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> int:
    """Label all images that `words` stand for, and write results and records into a folder.

    Parameters
    ----------
    words : sequence of str
        Files, folders and patterns.
    out : Path
        Folder of the results; made if needed.
    options : Options
        What to do with each image.
    recursive : bool
        Whether folders stand for everything below them.
    jobs : int
        Images at once.
    time_limit : float, optional
        Seconds after which an image is given up.
    resume : bool
        Keep what is complete and made from the same file with the same parameters.
    overwrite : bool
        Replace what is there.

    Returns
    -------
    int
        Exit code: 0, 1 if an image failed, 128 + the signal's number if interrupted.

    Raises
    ------
    RefusedError
        Before anything is computed or written.
    """
    if jobs < 1:
        message = f"jobs must be at least 1; got {jobs}."
        raise RefusedError(message)
    if time_limit is not None and not time_limit > 0:
        message = f"time_limit must be above 0 seconds; got {time_limit!r}. Leave it out for none."
        raise RefusedError(message)
    if resume and overwrite:
        message = "resume and overwrite must not be combined; got both. Leave one out."
        raise RefusedError(message)
    inputs, results = find(words, out, recursive=recursive)
    refuse_clashes(inputs)
    with claimed(out) as place:
        endings = options.endings().values()
        present = refuse_losses(out, inputs, endings, (SUMMARY, RUN), replace=resume or overwrite)
        earlier = read_run(out / RUN) if resume and present else {}
        for result in results:
            progress.say(f"{printable(result)}: left out, a result of an earlier run")
        return _Run(inputs, out, options, earlier).go(place, jobs, time_limit)


class _Run:
    """The records of a run while it goes on."""

    def __init__(
        self, inputs: Sequence[Input], out: Path, options: Options, earlier: dict[str, Record]
    ) -> None:
        self.inputs, self.out, self.options, self.earlier = inputs, out, options, earlier
        self.fingerprint = options.fingerprint(equilabel.__version__)
        self.records: dict[int, Record] = {}
        self.begun, self.clock = datetime.now().astimezone(), perf_counter()
        self.due = 0.0

    def go(self, place: Path, count: int, limit: float | None) -> int:
        """Do what is to do; return the exit code."""
        with interruptions() as heard:
            with progress.progress(len(self.inputs), self.out) as show:
                for number, item in enumerate(self.inputs):
                    if item.complaint:
                        self.records[number] = self.blank(item, "failed", item.complaint)
                        show(self.records[number])
                work = label_all(
                    self.jobs(place),
                    self.options,
                    self.fingerprint,
                    count=count,
                    limit=limit,
                    stop=lambda: bool(heard),
                )
                try:
                    for job, record in work:
                        show(self.keep(job, record))
                except KeyboardInterrupt:  # where signals are not ours to hear
                    heard.append(signal.SIGINT)
                finally:
                    work.close()
            return self.close(heard)

    def blank(self, item: Input, status: str, error: str = "") -> Record:
        """Describe an image of which nothing is known."""
        return Record(printable(item.path), printable(item.name), status, error=error)

    def jobs(self, place: Path) -> list[Job]:
        """List the images to label, and what may be known of them."""
        return [
            Job(number, item.path, item.name, place / str(number), self.known(item))
            for number, item in enumerate(self.inputs)
            if not item.complaint
        ]

    def known(self, item: Input) -> Record | None:
        """Find the record of an earlier run whose results are all there."""
        record = self.earlier.get(printable(item.name))
        if record is None or not record.complete or record.fingerprint != self.fingerprint:
            return None
        for kind, ending in self.options.endings().items():
            path = self.out / f"{item.name}{ending}"
            size = record.outputs.get(kind, {}).get("bytes")
            if not path.is_file() or path.stat().st_size != size:
                return None
        return record

    def keep(self, job: Job, record: Record) -> Record:
        """Give results their names, and note that they are there."""
        if not self.due:
            self.note()
        if record.status == "done":
            endings = self.options.endings().values()
            try:
                settle(job.place, self.out, [f"{job.name}{ending}" for ending in endings])
            except OSError as error:
                record = replace(record, status="failed", error=explain(error), outputs={})
        self.records[job.number] = record
        if perf_counter() > self.due:
            self.note()
        return record

    def note(self) -> None:
        """Write the record of the run so far; it is for resuming after a sudden end."""
        start = perf_counter()
        with suppress(OSError):  # a full disk: the images' own records say so
            write_run(self.out / RUN, self.facts("running"), self.all())
        now = perf_counter()
        self.due = now + max(1, 20 * (now - start))  # 5 % of the time at most

    def all(self) -> list[Record]:
        """List the records of this run, then those of an earlier one that it has not renewed."""
        records = [record for _, record in sorted(self.records.items())]
        renewed = {record.name for record in records}
        kept = (record for name, record in self.earlier.items() if name not in renewed)
        return records + [record for record in kept if record.complete]

    def close(self, heard: Sequence[int]) -> int:
        """Write the summary and the record, and say what happened."""
        for number, item in enumerate(self.inputs):
            if number not in self.records:
                known = self.known(item)
                unfinished = self.blank(item, "interrupted")
                self.records[number] = replace(known, status="skipped") if known else unfinished
        failed = any(record.status == "failed" for record in self.records.values())
        status = "interrupted" if heard else "failed" if failed else "done"
        for name in (RUN, SUMMARY):
            try:
                if name == RUN:
                    write_run(self.out / RUN, self.facts(status), self.all())
                else:
                    write_summary(self.out / SUMMARY, self.all())
            except OSError as error:
                print(f"equilabel: {explain(error)}", file=sys.stderr)
                failed = True
        seconds = perf_counter() - self.clock
        progress.close(list(self.records.values()), self.out, self.options, seconds)
        return 128 + heard[0] if heard else int(failed)

    def facts(self, status: str) -> dict[str, Any]:
        """Say what was run, where, and on what."""
        used = sorted({record.device for record in self.records.values() if record.device})
        return {
            "status": status,
            "command": [printable(word) for word in sys.argv],
            "folder": printable(Path.cwd()),
            "begun": self.begun.isoformat(timespec="seconds"),
            "ended": datetime.now().astimezone().isoformat(timespec="seconds"),
            "seconds": round(perf_counter() - self.clock, 3),
            "parameters": self.options.parameters(),
            "fingerprint": self.fingerprint,
            "versions": {
                "python": platform.python_version(),
                "equilabel": equilabel.__version__,
                **{name: _version(name) for name in PACKAGES},
            },
            "platform": platform.platform(),
            "device": {
                "asked": self.options.segment.get("device", "auto"),
                "used": used,
                "available": [asdict(report) for report in equilabel.devices()],
            },
        }


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """Collect Ctrl-C and requests to terminate in a list, instead of being torn out of work."""
    heard: list[int] = []
    if current_thread() is not main_thread():
        yield heard
        return
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, lambda number, _: heard.append(number))
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None
