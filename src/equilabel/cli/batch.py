"""`equilabel batch`: check the arguments, lock the output folder, and run."""

from __future__ import annotations

import platform
import signal
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import equilabel
from equilabel.storage.files import flush_folder, replacing
from equilabel.storage.memory import readable
from equilabel.storage.table import merge_tables

from . import folder, records, streams, trial
from .inputs import Input, add_files, expanded, find, find_pairs, printable, refuse_clashes
from .one import Job, examine
from .options import Options, RefusedError, RunOptions, refuse, refuse_both
from .records import REPORT, RUN, SUMMARY, Earlier, Facts, Record, provenance, write_run
from .report import compare, page, read_groups, read_thumbnails
from .results import write_summary
from .streams import collecting, complain, explain, images, say
from .workers import Run, check_scheduler, label_all, label_on_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .report import Groups


def run(
    words: Sequence[str],
    out: Path | str,
    options: Options,
    how: RunOptions,
    *,
    image: str | None = None,
    earlier: Earlier | None = None,
) -> int:
    """Label many images, or measure labels, write the results to `out`, and return the exit code.

    Without `words`, the images of `earlier` are used. `image` is an image, or a folder of images,
    in which labels are measured. Raises RefusedError before anything is computed or written.
    """
    _check(how)
    trial.check_formats(options)
    check_scheduler(how.scheduler, jobs=how.jobs)
    out = expanded(out, "--out")
    skipped: list[str] = []
    if earlier is not None and not words:
        inputs = list(earlier.inputs)
    elif options.command == "measure":
        inputs, skipped = find_pairs(words, image, out, recursive=how.recursive)
    else:
        inputs, skipped = find(words, out, recursive=how.recursive, slices=options.slices)
    inputs = add_files(inputs, options)
    skipped = [*(earlier.notes if earlier else ()), *skipped]
    refuse_clashes(inputs, options.endings())
    if how.group is None and (earlier is not None or how.resume):
        group = earlier.group if earlier else records.group_of(records.facts_of(out / RUN))
        how = replace(how, group=group)
    groups = read_groups(how.group, [printable(item.path) for item in inputs])
    files = [printable(item.path) for item in inputs if how.group and not item.complaint]
    if lacking := [file for file in files if not any(groups(file).values())]:
        which = f"{images(len(lacking))}, such as {lacking[0]!r}"
        skipped.append(f"--group names no condition for {which}.")
    if how.dry_run:
        _check_folder(out, inputs, options, how)
        return rehearse(inputs, out, options, how, skipped)
    with folder.claimed(out) as place:
        made_with = _check_folder(out, inputs, options, how)
        return Batch(inputs, out, options, how, made_with, place, skipped, groups).go()


def _check(how: RunOptions) -> None:
    if how.jobs < 1:
        refuse(f"--jobs must be at least 1; got {how.jobs}.")
    limit = how.time_limit
    if limit is not None and not limit > 0:
        refuse(f"--time-limit must be above 0 seconds; got {limit!r}. Leave it out for none.")
    refuse_both(how.resume, how.overwrite)
    try:
        Path.cwd()
    except OSError:
        refuse("the working directory must exist; got none. Change to another folder.")


def _check_folder(
    out: Path, inputs: Sequence[Input], options: Options, how: RunOptions
) -> records.Provenance:
    """Return parameters and versions; raise RefusedError if results would be lost or mixed."""
    present = folder.refuse_losses(out, inputs, options, replace=how.resume or how.overwrite)
    made_with = provenance(options)
    if how.resume and (present or folder.count_others(out, [item.name for item in inputs])):
        folder.refuse_difference(out, made_with)
    return made_with


# ---- A run: it labels images, keeps their records, and writes the summary however it ends

THREADS = 8  # that flush results to the disk, at most


@dataclass
class Batch:
    """A run over many images, with the record of each."""

    inputs: Sequence[Input]  # and arguments without an image
    out: Path  # the output folder, locked for this run
    options: Options
    how: RunOptions
    provenance: records.Provenance
    place: Path  # the folder in `out` for unfinished files
    skipped: Sequence[str]  # lines about files that are left out, printed when work begins
    groups: Groups
    records: dict[int, Record] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now().astimezone())
    clock: float = field(default_factory=perf_counter)
    folder: Path = field(default_factory=Path.cwd)
    declared: bool = False
    pictures: dict[str, str] = field(default_factory=dict)  # thumbnails of an earlier report

    def go(self) -> int:
        """Label all images; return the exit code."""
        with collecting() as heard:
            trouble = ""
            for number, item in enumerate(self.inputs):
                if item.complaint:
                    self.records[number] = self.blank(item, "failed", item.complaint)
            shown = streams.Progress(len(self.inputs), self.out)
            try:
                if jobs := self.jobs(heard, shown.tell):
                    self.label(jobs, shown, heard)
                elif not heard:
                    self.begin(shown)
            except KeyboardInterrupt:  # not in the main thread, so signals are not handled
                heard.append(signal.SIGINT)
            except RefusedError:
                raise
            except Exception as error:  # an error of this process, not of an image
                trouble = explain(error)
            return self.close(heard, trouble)

    def label(self, jobs: Sequence[Job], shown: streams.Progress, heard: Sequence[int]) -> None:
        """Label images in processes, or on a cluster, and keep their results."""
        count, where = self.how.jobs, self.how.scheduler
        given = self.options, self.provenance, self.folder, self.place, count, self.how.time_limit
        label: Any = label_all if where is None else partial(label_on_cluster, address=where)
        threads = min(THREADS, count) if where is None else THREADS  # one thread keeps the order
        calls: Any = {"stop": lambda: bool(heard), "begin": partial(self.begin, shown)}
        shown.tell("starting processes (in a new installation, this compiles for some time)")
        work = label(jobs, Run(*given), **calls)
        turn, under_way = Lock(), deque[Future[None]]()

        def settle(job: Job, record: Record) -> None:
            record = self.keep(job, record)
            with turn:
                shown.show(record)

        with closing(work), ThreadPoolExecutor(threads, "settling") as pool:
            for job, record in work:
                if not self.declared:
                    self.declare()
                while len(under_way) >= threads or (under_way and under_way[0].done()):
                    under_way.popleft().result()
                under_way.append(pool.submit(settle, job, record))
        for each in under_way:
            each.result()

    def begin(self, shown: streams.Progress) -> None:
        """Clear what killed runs left, and print the heading, what is left out and what is kept."""
        if shown.begun:
            return
        folder.clear_others(self.place)
        for line in self.skipped:
            say(line)
        shown.begin()
        if any(record.complete for record in self.records.values()):
            self.declare()
        for _, record in sorted(self.records.items()):
            shown.show(record)

    def blank(self, item: Input, status: str, error: str = "") -> Record:
        """Return the record of an image that was not labeled."""
        return Record(printable(item.path), printable(item.name), status, error=error)

    def jobs(self, heard: Sequence[int], tell: Callable[[str], None]) -> list[Job]:
        """List the images to label; with --resume, keep those that are complete and unchanged."""
        jobs = [
            Job(**vars(item), number=number, place=self.place / str(number))
            for number, item in enumerate(self.inputs)
            if not item.complaint
        ]
        if not self.how.resume:
            return jobs

        facts = records.facts_of(self.out / RUN)

        def find(job: Job) -> Record | None:
            given = self.out, self.options, self.provenance.fingerprint, facts
            return None if heard else folder.find_kept(job, *given)

        with ThreadPoolExecutor(THREADS) as pool:
            for job, kept in zip(jobs, pool.map(find, jobs), strict=True):
                tell(f"comparing image {job.number + 1} of {len(self.inputs)}")
                if kept is not None:
                    file = printable(job.path)
                    self.records[job.number] = replace(kept, status="skipped", file=file)
        tell("")
        return [job for job in jobs if job.number not in self.records]

    def keep(self, job: Job, record: Record) -> Record:
        """Move the results of an image, and its record, to their final names."""
        if record.status == "done":
            try:
                own = records.record_path(self.out, job.name)
                finals = {**self.options.finals(self.out, job.name), "record": own}
                every = [self.out / f"{job.name}{each}" for each in self.options.all_endings()]
                folder.settle(job.place, finals, every)
            except OSError as error:
                record = record.failed(explain(error))
        self.records[job.number] = record
        return record

    def declare(self) -> None:
        """Write run.json before the first result, and remove what would not fit the new results."""
        try:
            self.publish(RUN, "running", [])
            self.pictures = read_thumbnails(self.out / REPORT) if self.how.resume else {}
            for name in set(records.OF_RUN) - {RUN}:
                (self.out / name).unlink(missing_ok=True)
            (self.out / records.STATE).mkdir(exist_ok=True)
        except OSError as error:
            refuse(explain(error))
        self.declared = True

    def publish(self, name: str, status: str, entries: list[Record]) -> None:
        """Write a file of the run; it gets its final name when it is complete."""
        if name == RUN:
            write_run(self.place / name, self.facts(status), entries)
        elif name == REPORT:
            names = [item.name for item in self.inputs]
            tables = compare(entries, self.groups)
            parts = page(self.facts(status), entries, names, self.out, self.pictures, tables)
            with replacing(self.place / name) as unfinished:
                unfinished.write_text("".join(parts), "utf-8", "backslashreplace")
        elif name in records.OBJECTS:
            self.merge(self.place / name)
        else:
            write_summary(self.place / name, entries, self.groups)
        (self.place / name).replace(self.out / name)
        flush_folder(self.out)

    def merge(self, path: Path) -> None:
        """Write the objects of all images into one table, in the order of the images."""
        ending = self.options.endings()["table"]
        parts = [
            (
                self.out / f"{self.inputs[number].name}{ending}",
                {"file": record.file, "unit": record.length, **self.groups(record.file)},
            )
            for number, record in sorted(self.records.items())
            if record.complete
        ]
        merge_tables(path, parts, unit_row=self.options.unit_row)

    def close(self, heard: Sequence[int], trouble: str) -> int:
        """Write summary and record of the run, print how it ended, and return the exit code."""
        if not self.declared and (heard or trouble):
            complain(
                trouble or "interrupted before the first image was finished; nothing was written."
            )
            return 128 + heard[0] if heard else 1
        for number, item in enumerate(self.inputs):
            if number not in self.records:
                self.records[number] = self.blank(item, "interrupted")
        failed = any(record.status == "failed" for record in self.records.values())
        status = "interrupted" if heard else "failed" if failed or trouble else "done"
        entries = [record for _, record in sorted(self.records.items())]
        found = any(record.complete for record in entries)
        tables = [f"objects.{self.options.format}"] if found else []
        for name in (RUN, SUMMARY, REPORT, *tables):
            try:
                self.publish(name, status, entries)
            except Exception as error:  # whatever is wrong, write the other files
                trouble = trouble or explain(error)
        names = {item.name for item in self.inputs if not item.complaint}
        others = folder.count_others(self.out, names)
        seconds = perf_counter() - self.clock
        streams.close(entries, self.out, self.options, seconds=seconds, others=others)
        if trouble:
            complain(trouble)
        return 128 + heard[0] if heard else int(failed or bool(trouble))

    def facts(self, status: str) -> Facts:
        """Return the facts of a run: command, folder, times, parameters, versions and devices."""
        used = sorted({record.device for record in self.records.values() if record.device})
        reports: list[Facts] = []
        with suppress(OSError):  # no file can be opened, as there are too many open files
            reports = [asdict(report) for report in equilabel.devices()]
        return {
            "status": status,
            **records.written_by(self.folder),
            "begun": self.begun.isoformat(timespec="seconds"),
            "ended": datetime.now().astimezone().isoformat(timespec="seconds"),
            "seconds": round(perf_counter() - self.clock, 3),
            "parameters": self.provenance.parameters,
            "group": self.how.group,
            "fingerprint": self.provenance.fingerprint,
            "versions": {"python": platform.python_version(), **self.provenance.versions},
            "platform": platform.platform(),
            "device": {
                "asked": self.options.segment.get("device", "auto"),
                "used": used,
                "available": reports,
            },
        }


# ---- `--dry-run`: what a run would do; nothing is written


def rehearse(
    inputs: Sequence[Input], out: Path, options: Options, how: RunOptions, skipped: Sequence[str]
) -> int:
    """Print what a run would do with each image, and its memory; return the exit code."""
    complaint = trial.check(options)
    if complaint:
        refuse(complaint)
    for line in skipped:
        say(line)
    say(f"dry run: {images(len(inputs))}, results would be in {printable(out)}")
    count = dict.fromkeys(("labeled", "kept", "fail"), 0)
    made_with, facts = provenance(options).fingerprint, records.facts_of(out / RUN)
    for item in inputs:
        what, text = "kept", "complete and unchanged; kept"
        wanted = how.resume and not item.complaint
        if not (wanted and folder.find_kept(item, out, options, made_with, facts)):
            try:
                what, text = "labeled", _describe(item, out, options)
            except Exception as error:
                what, text = "fail", f"would fail: {explain(error)}"
        say(f"{printable(item.path)}: {text}")
        count[what] += 1
    done = "measured" if options.command == "measure" else "labeled"
    parts = [f"{count['labeled']} would be {done}", f"{count['kept']} kept"]
    parts = [part for part in (*parts, f"{count['fail']} would fail") if part[0] != "0"]
    say(f"\n{images(len(inputs))}: {', '.join(parts)}")
    say("  nothing was computed or written")
    return int(count["fail"] > 0)


def _describe(item: Input, out: Path, options: Options) -> str:
    """Return the size of an image and the memory that it takes; raise the errors of reading."""
    if item.complaint:
        raise ValueError(item.complaint)
    if why := trial.why_in_blocks(item.path, options):
        from .chunked import describe_blocks

        text, need = describe_blocks(item.path, out, options, why)
    else:
        headers = examine(item.files, options)
        text = f"{headers[0]}, {readable(sum(header.nbytes for header in headers))}"
        need = max(trial.forecast(header, options) for header in headers)
    return f"{text}, takes about {readable(need)} of memory"
