"""`--dry-run`: print what a run would do, with sizes and memory; write nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from equilabel.storage.memory import free, readable

from .errors import explain
from .names import printable
from .one import examine
from .options import RefusedError
from .progress import images
from .records import provenance
from .resume import find_earlier, find_finished
from .streams import say
from .trial import check, forecast, is_in_blocks, try_axes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from equilabel.storage.axes import Header

    from .inputs import Input
    from .options import Options


def rehearse(
    inputs: Sequence[Input],
    out: Path,
    options: Options,
    *,
    jobs: int,
    resume: bool,
    skipped: Sequence[str],
) -> int:
    """Print what a run would do with each image, and its memory; return the exit code.

    The exit code is 0, or 1 if an image would fail. `skipped` are lines about files that are left
    out. Raises RefusedError if the options fit no image.
    """
    complaint = check(options)
    if complaint:
        raise RefusedError(complaint)
    for line in skipped:
        say(line)
    say(f"dry run: {images(len(inputs))}, results would be in {printable(out)}")
    needs, sizes, kept, failed = [0], 0, 0, 0
    names = [item.name for item in inputs if resume and not item.complaint]
    complete = _complete(names, out, options)
    for item in inputs:
        name = printable(item.path)
        if item.name in complete and not item.complaint:
            say(f"{name}: complete; kept if the file is unchanged")
            kept += 1
            continue
        try:
            size, need, text = _describe(item, out, options)
        except Exception as error:
            say(f"{name}: would fail: {explain(error)}")
            failed += 1
            continue
        say(f"{name}: {text}, takes about {readable(need)} of memory")
        needs.append(need)
        sizes += size
    words = "measured" if options.command == "measure" else "labeled"
    parts = [f"{len(needs) - 1} would be {words}", f"{kept} kept", f"{failed} would fail"]
    say(f"\n{images(len(inputs))}: {', '.join(part for part in parts if part[0] != '0')}")
    allowed = readable(free() if options.memory_limit is None else options.memory_limit)
    at_once = sum(sorted(needs)[-jobs:])
    say(f"  pixels    {readable(sizes)} when decoded")
    say(f"  memory    about {readable(max(needs))} for the largest image, of {allowed} allowed")
    if jobs > 1:
        say(f"            about {readable(at_once)} for the {jobs} largest, if they meet")
    say("  nothing was computed or written")
    return int(failed > 0)


def _complete(names: Collection[str], out: Path, options: Options) -> set[str]:
    """Return images with complete results, judged by sizes, or finished by a killed run."""
    made_with = provenance(options).fingerprint
    found = {one.name for one in find_finished(out, names, options, made_with)}
    return found | {
        name for name in names if find_earlier(out, name, options, made_with, hashed=False)
    }


def _describe(item: Input, out: Path, options: Options) -> tuple[int, int, str]:
    """Return bytes of pixels, bytes of memory, and a description; raise the errors of reading."""
    if item.complaint:
        raise ValueError(item.complaint)
    if is_in_blocks(item.path, options):
        from .in_blocks import describe_blocks

        return describe_blocks(item.path, out, options)
    headers = _examine([path for path in (item.path, item.image) if path is not None], options)
    need = max(forecast(header, options) for header in headers)
    size = sum(header.nbytes for header in headers)
    return size, need, f"{headers[0]}, {readable(size)}"


def _examine(files: Sequence[Path], options: Options) -> Sequence[Header]:
    """Read an image as a run does, and try the options with its axes and pixel size."""
    with warnings.catch_warnings(action="ignore"):
        headers, known = examine(files, options)
    rank, unit = len(known.axes) - known.stacked, None if known.distances is None else known.unit
    try_axes(options, rank, stacked=known.stacked, spacing=known.distances, unit=unit)
    return headers
