"""`equilabel batch`: check the arguments, lock the output folder, start the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .chunk_choices import check_formats
from .clusters import check_scheduler
from .folder import claimed, refuse_losses
from .inputs import find, find_pairs, find_stacks, refuse_clashes
from .names import expanded
from .options import RefusedError
from .records import provenance
from .rehearsal import rehearse
from .resume import count_others, refuse_difference
from .running import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .inputs import Input
    from .options import Options
    from .records import Provenance
    from .repeat import Earlier


def run(
    words: Sequence[str],
    out: Path,
    options: Options,
    *,
    image: str | None = None,
    earlier: Earlier | None = None,
    recursive: bool = False,
    jobs: int = 1,
    time_limit: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    scheduler: str | None = None,
) -> int:
    """Label many images, or measure labels, write the results to `out`, and return the exit code.

    The exit code is 0, 1 if an image failed, or 128 plus the number of the signal that interrupted
    the run. `words` are files, folders and patterns; if there are none, the images of `earlier` are
    used. `image` is the image, or the folder of images, in which labels are measured. `time_limit`
    is in seconds for each image, and `scheduler` is the address of a Dask scheduler. Raises
    RefusedError before anything is computed or written.
    """
    _check(jobs, time_limit, resume, overwrite)
    check_formats(options)
    check_scheduler(scheduler, jobs=jobs)
    out = expanded(out, "--out")
    skipped: list[str] = []
    if earlier is not None and not words:
        inputs = list(earlier.inputs)
    elif options.command == "measure":
        inputs, skipped = find_pairs(words, image, out, recursive=recursive)
    elif options.slices:
        inputs, skipped = find_stacks(words, out, recursive=recursive)
    else:
        inputs, skipped = find(words, out, recursive=recursive)
    skipped = [*(earlier.notes if earlier else ()), *skipped]
    refuse_clashes(inputs, options.endings())
    if dry_run:
        _check_folder(out, inputs, options, resume=resume, overwrite=overwrite)
        return rehearse(inputs, out, options, jobs=jobs, resume=resume, skipped=skipped)
    with claimed(out) as place:
        made_with = _check_folder(out, inputs, options, resume=resume, overwrite=overwrite)
        how: Any = {"place": place, "resume": resume, "scheduler": scheduler}
        batch = Batch(inputs, out, options, made_with, skipped=skipped, **how)
        return batch.go(jobs, time_limit)


def _check(jobs: int, time_limit: float | None, resume: bool, overwrite: bool) -> None:
    if jobs < 1:
        message = f"--jobs must be at least 1; got {jobs}."
        raise RefusedError(message)
    if time_limit is not None and not time_limit > 0:
        message = (
            f"--time-limit must be above 0 seconds; got {time_limit!r}. Leave it out for none."
        )
        raise RefusedError(message)
    if resume and overwrite:
        message = "--resume and --overwrite must not be combined; got both. Leave one out."
        raise RefusedError(message)
    try:
        Path.cwd()
    except OSError as error:
        message = (
            f"the working directory must exist; got {error.strerror!r} for it. "
            "Change to another folder."
        )
        raise RefusedError(message) from error


def _check_folder(
    out: Path, inputs: Sequence[Input], options: Options, *, resume: bool, overwrite: bool
) -> Provenance:
    """Return parameters and versions; raise RefusedError if results would be lost or mixed."""
    present = refuse_losses(out, inputs, options, replace=resume or overwrite)
    made_with = provenance(options)
    if resume and (present or count_others(out, [item.name for item in inputs])):
        refuse_difference(out, made_with)
    return made_with
