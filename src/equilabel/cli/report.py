"""`report.html`: the results of a run on one page, without network or other files."""

from __future__ import annotations

import csv
import math
import os
import re
from base64 import b64encode
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from html import escape
from io import BytesIO
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote

from equilabel import PROPERTIES
from equilabel.storage.files import open_regular

from .inputs import expanded, quoted, refuse_kind
from .options import refuse
from .results import BINS, add_sizes
from .streams import images, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .records import Facts, Record

    Groups = Callable[[str], dict[str, str]]

# ---- Histograms of sizes as SVG, on a logarithmic axis

WIDE, HIGH, FOOT = 640, 160, 34  # of a histogram, and of its axis
MOST_TICKS = 6


def histogram(counts: Mapping[int, int], unit: str) -> str:
    """Return a histogram with its axis."""
    low, high = min(counts), max(counts) + 1
    most = max(counts.values())
    scale = WIDE / (high - low)
    bars = "".join(
        f'<rect x="{(k - low) * scale:.1f}" y="{HIGH * (1 - n / most):.1f}" '
        f'width="{max(1.0, scale - 1):.1f}" height="{HIGH * n / most:.1f}">'
        f"<title>{_size(k)} to {_size(k + 1)} {escape(unit)}: {n:,}</title></rect>"
        for k, n in sorted(counts.items())
    )
    step = BINS * math.ceil((high - low) / BINS / MOST_TICKS) if high - low >= BINS else 1
    ticks = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HIGH}" y2="{HIGH + 5}"/>'
        f'<text x="{x:.1f}" y="{HIGH + 20}" text-anchor="middle">{_size(k)}</text>'
        for k in range(math.ceil(low / step) * step, high + 1, step)
        for x in [(k - low) * scale]
    )
    return (
        f'<svg class="sizes" viewBox="-20 -4 {WIDE + 40} {HIGH + FOOT}">'
        f'<g class="bars" role="img" aria-label="sizes">{bars}</g>'
        f'<line x1="0" x2="{WIDE}" y1="{HIGH}" y2="{HIGH}"/>{ticks}</svg>\n'
    )


def _size(number: int) -> str:
    value: float = 2 ** (number / BINS)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# ---- Thumbnails of overlays, as data URIs

PICTURE_SIDE = 144  # pixels; the page shows them at half that size
MOST_PICTURES = 500  # limits the size of reports of many images
QUALITY = 70
LARGEST = 2**16  # characters of a thumbnail
SHOWN = re.compile(
    rf'<img src="(data:image/jpeg;base64,[A-Za-z0-9+/=]{{1,{LARGEST}}})" data-of="([0-9a-f]{{64}})"'
)


def read_thumbnails(report: Path) -> dict[str, str]:
    """Return the thumbnails in an earlier report by the checksums of the overlays."""
    try:
        with os.fdopen(open_regular(report), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * MOST_PICTURES * LARGEST)
    except OSError:
        return {}
    return {checksum: uri for uri, checksum in SHOWN.findall(text)}


def thumbnails(
    overlays: Sequence[tuple[str, str] | None], out: Path, known: Mapping[str, str]
) -> Iterator[str]:
    """Yield a thumbnail for each overlay (path and checksum), and "" after `MOST_PICTURES`."""
    shown = set(islice(filter(None, overlays), MOST_PICTURES))

    def picture(overlay: tuple[str, str] | None) -> str:
        if overlay is None or overlay not in shown:
            return ""
        uri = known.get(overlay[1]) or _thumbnail(out / overlay[0])
        return f'<img src="{uri}" data-of="{overlay[1]}" alt="" loading="lazy">' if uri else ""

    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(picture, overlays)


def _thumbnail(path: Path) -> str:
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as picture:
            small = picture.convert("RGB")
        small.thumbnail((PICTURE_SIDE, PICTURE_SIDE), reducing_gap=2.0)
        buffer = BytesIO()
        small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # the file has changed
        return ""
    return f"data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}"


# ---- The table of images, and the lists of failures and notes above it

MOST_FILES = 20  # listed under a note
COLUMNS = ("", "image", "status", "objects", "mean size", "shape", "seconds", "results")
SORTED_BY_NUMBER = ("objects", "mean size", "shape", "seconds")
UNSORTED = ("", "results")
WORDS = {"done": "finished", "skipped": "kept", "failed": "failed", "interrupted": "not begun"}


def failures(records: Sequence[Record]) -> Iterator[str]:
    """Yield the images that failed, with the reason for each."""
    if failed := [each for each in records if each.status == "failed"]:
        yield f'<section class="failures">\n<h2>{images(len(failed))} failed</h2>\n<ul>\n'
        for each in failed:
            yield f"<li><b>{escape(each.file)}</b> {escape(each.error)}</li>\n"
        yield "</ul>\n</section>\n"


def notes(records: Sequence[Record]) -> Iterator[str]:
    """Yield the notes, each with its images; the most frequent first."""
    having = defaultdict(list)
    for each in records:
        for note in each.notes:
            having[note].append(each.file)
    if not having:
        return
    yield '<section class="notes">\n<h2>What to know of the results</h2>\n'
    for note, files in sorted(having.items(), key=lambda item: -len(item[1])):
        names = "".join(f"<li>{escape(name)}</li>" for name in files[:MOST_FILES])
        more = f"<li>and {len(files) - MOST_FILES:,} more</li>" if len(files) > MOST_FILES else ""
        yield f"<details><summary>{escape(note)} <span>{images(len(files))}</span></summary>"
        yield f"<ul>{names}{more}</ul></details>\n"
    yield "</section>\n"


def rows(
    records: Sequence[Record], names: Sequence[str], out: Path, known: Mapping[str, str]
) -> Iterator[str]:
    """Yield the table of all images; `known` are thumbnails of an earlier report."""
    yield "<section>\n<h2>Images</h2>\n"
    yield '<p class="tools"><label>Show <input id="filter" '
    yield 'type="search" placeholder="part of a name, or a status"></label> '
    yield '<span id="shown"></span></p>\n<div class="scroll"><table id="images">\n<thead><tr>'
    for name in COLUMNS:
        kind = ' class="number"' if name in SORTED_BY_NUMBER else ""
        text = name if name in UNSORTED else f'<button type="button">{name}</button>'
        yield f"<th{kind}>{text}</th>"
    yield "</tr></thead>\n<tbody>\n"
    found = [places(each, name) for each, name in zip(records, names, strict=True)]
    overlays = [
        (one["overlay"], each.outputs["overlay"]["sha256"]) if "overlay" in one else None
        for one, each in zip(found, records, strict=True)
    ]
    pictures = thumbnails(overlays, out, known)
    for each, files, picture in zip(records, found, pictures, strict=True):
        yield _row(each, files, picture)
    yield "</tbody>\n</table></div>\n</section>\n"


def places(record: Record, name: str) -> dict[str, str]:
    """Return the paths of the results of an image below the output folder, by kind.

    `name` is that of the results as it is on disk; names in the record are escaped.
    """
    files = ((kind, str(known.get("file", ""))) for kind, known in record.outputs.items())
    return {kind: name + file.removeprefix(record.name) for kind, file in files if file}


def _row(record: Record, files: Mapping[str, str], picture: str) -> str:
    """Return the row of an image; `files` are its results below the output folder, by kind."""
    mean, text = _mean(record)
    objects = "" if record.objects is None else record.objects
    note = f' <i title="{escape(" ".join(record.notes))}">note</i>' if record.notes else ""
    links = " ".join(
        f'<a href="./{escape(quote(os.fsencode(file)))}">{escape(kind)}</a>'
        for kind, file in files.items()
    )
    cells = [
        f'<td class="picture">{picture}</td>',
        f'<th scope="row">{escape(record.file)}{note}</th>',
        f'<td class="{record.status}">{WORDS[record.status]}</td>',
        f'<td data-value="{objects}">{objects}</td>',
        f'<td data-value="{mean}">{escape(text)}</td>',
        f'<td data-value="{math.prod(record.shape) if record.shape else ""}">'
        f"{' &times; '.join(map(str, record.shape))}</td>",
        f'<td data-value="{record.seconds:.3f}">{record.seconds:.2f}</td>',
        f"<td>{links}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _mean(record: Record) -> tuple[str, str]:
    """Return the mean size of objects as a number, and with its unit."""
    name = record.sizes.get("of", "")
    value = record.statistics.get(f"{name}_mean")
    if value is None:
        return "", ""
    short = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{value:.6g}", f"{short} {record.sizes.get('unit') or 'px'}"


# ---- The page

HERE = Path(__file__).parent
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
"""
ENDED = {
    "done": "All images are finished.",
    "failed": "Some images failed.",
    "interrupted": "The run was interrupted: --resume continues it.",
}


def page(
    facts: Facts,
    records: Sequence[Record],
    names: Sequence[str],
    out: Path,
    known: Mapping[str, str],
    tables: Iterable[str],
) -> Iterator[str]:
    """Yield the report of a run; `names` are those of results, `known` earlier thumbnails."""
    yield HEAD
    yield f"<title>{escape(out.resolve().name)}: {images(len(records))}</title>\n"
    yield f"<style>\n{(HERE / 'report.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
    yield "<header>\n"
    yield f"<h1>{escape(out.resolve().name)}</h1>\n"
    yield f"<p>{ENDED[facts['status']]} Begun {_when(facts['begun'])}, ended "
    yield f"{_when(facts['ended'])}, {spoken(facts['seconds'])}.</p>\n</header>\n<main>\n"
    yield from _counts(records)
    yield from failures(records)
    yield from notes(records)
    yield from tables
    yield from _histograms(records)
    yield from rows(records, names, out, known)
    yield from _made_with(facts)
    yield "</main>\n"
    script = (HERE / "report.js").read_text(encoding="utf-8")
    yield f"<script>\n{script}</script>\n</body>\n</html>\n"


def _counts(records: Sequence[Record]) -> Iterator[str]:
    """Yield the number of images by status, and the number of objects."""
    count = {word: sum(each.status == word for each in records) for word in WORDS}
    objects = sum(each.objects or 0 for each in records)
    yield '<dl class="counts">\n'
    yield f"<div><dt>objects</dt><dd>{objects:,}</dd></div>\n"
    for word, text in WORDS.items():
        if count[word] or word == "done":
            yield f'<div class="{word}"><dt>{text}</dt><dd>{count[word]:,}</dd></div>\n'
    yield "</dl>\n"


def _histograms(records: Sequence[Record]) -> Iterator[str]:
    """Yield histograms of the sizes of all objects, by name and unit."""
    for (name, unit), counts in add_sizes(each.sizes for each in records).items():
        what = "Volumes" if name == "volume" or unit.endswith("³") else "Areas"
        what = what if unit else "Sizes"
        of = f"{sum(counts.values()):,} objects, in {escape(unit or 'pixels')}"
        yield f"<section>\n<h2>{what} of {of}</h2>\n"
        yield histogram(counts, unit or "px")
        yield "</section>\n"


def _made_with(facts: Facts) -> Iterator[str]:
    """Yield command, options and versions."""
    used = {name: value for name, value in facts["parameters"].items() if value not in (None, "")}
    yield '<section class="made">\n<h2>How it was made</h2>\n'
    yield f"<pre>{escape(' '.join(map(str, facts['command'])))}</pre>\n"
    for title, pairs in (("Options", used), ("Versions", facts["versions"])):
        cells = (
            f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>" for k, v in pairs.items()
        )
        yield f"<details><summary>{title}</summary><dl>{''.join(cells)}</dl></details>\n"
    yield "</section>\n"


def _when(text: str) -> str:
    return escape(text[:16].replace("T", " "))


# ---- Conditions of images, such as drug and well: from their names, or from a table of files

FIELD = re.compile(r"\{([^{}]*)\}")
TAKEN = ("file", "unit", "frame", "label", "status", "objects")  # columns of the tables


def read_groups(text: str | None, files: Sequence[str]) -> Groups:
    """Return a function from the path of a file to its conditions.

    `text` is a pattern for the end of paths, or the path of a CSV file with a column "file".

    >>> of = read_groups("{drug}/{well}_*.tif", ["plate/DMSO/A1_001.tif"])
    >>> of("plate/DMSO/A1_001.tif"), of("other.tif")
    ({'drug': 'DMSO', 'well': 'A1'}, {'drug': '', 'well': ''})
    """
    if text is None:
        return lambda _: {}
    found = _of_pattern(text) if FIELD.search(text) else _of_table(text)
    if files and not any(any(found(file).values()) for file in files):
        refuse(
            f"--group must fit a file of the run; got {text!r} for files such as "
            f"{quoted(files[0])}. Write what varies in braces, as in '{{condition}}_{{well}}.tif'."
        )
    return found


def _of_pattern(text: str) -> Groups:
    names = FIELD.findall(text)
    _check(text, names)
    pieces = [re.escape(piece).replace(r"\*", "[^/]*") for piece in FIELD.split(text)[::2]]
    fields = [*(f"(?P<g{k}>[^/]+?)" for k in range(len(names))), ""]
    pattern = "".join(piece + field for piece, field in zip(pieces, fields, strict=True))
    matching = re.compile(rf"(?:.*/)?{pattern}")

    def of(file: str) -> dict[str, str]:
        found = matching.fullmatch(file.replace("\\", "/"))
        return {name: found[f"g{k}"] if found else "" for k, name in enumerate(names)}

    return of


def _of_table(text: str) -> Groups:
    path = expanded(text, "--group")
    if path.suffix.lower() != ".csv":
        refuse(
            f"--group must be a pattern with names in braces, or a CSV file; got {text!r}. Try "
            "'{condition}_{well}.tif'."
        )
    refuse_kind("--group", path, "a CSV file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, ValueError, csv.Error) as error:
        refuse(f"--group must be a CSV file that can be read; got {quoted(path)}: {error}.")
    rows = [dict(zip_longest(head, line[: len(head)], fillvalue="")) for line in lines if line]
    if not rows or "file" not in head:
        refuse(f"--group must have rows with a column 'file'; got none in {quoted(path)}.")
    names = [name for name in head if name != "file"]
    _check(text, names)
    known: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        values = {name: row[name] for name in names}
        if known.setdefault(_parts(row["file"]), values) != values:
            refuse(
                f"--group must have one row for a file; got two that differ for "
                f"{quoted(row['file'])} in {quoted(path)}. Write the folder too, as in "
                "'day1/A01.tif'."
            )

    def of(file: str) -> dict[str, str]:
        parts = _parts(os.path.abspath(file))  # noqa: PTH100 - links stay
        ends = (known.get(parts[k:]) for k in range(len(parts)))  # the longest first
        return next(filter(None, ends), dict.fromkeys(names, ""))

    return of


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.replace("\\", "/")).parts


def _check(text: str, names: Sequence[str]) -> None:
    """Raise RefusedError unless names of conditions can be names of columns."""
    wrong = [
        name
        for name in names
        if not name.strip() or name in TAKEN or name in PROPERTIES or names.count(name) > 1
    ]
    if wrong or not names:
        refuse(
            "--group must name conditions, each once, and none like a column of the tables; got "
            f"{text!r}. Try '{{condition}}_{{well}}.tif'."
        )


# ---- The conditions in the report of a run: a point for each image, and medians

STRIP, DOT = (160, 22), 4.0
MOST = 5  # columns that are compared


def compare(records: Sequence[Record], groups: Groups) -> Iterator[str]:
    """Yield a table for each condition that several images share, a row for each of its values."""
    known = [each for each in records if each.complete]
    columns = ["objects", *dict.fromkeys(name for each in known for name in each.statistics)]
    columns = [name for name in columns if not name.endswith("_total")][:MOST]
    for condition in groups(""):
        rows: dict[str, list[Record]] = {}
        for each in known:
            rows.setdefault(groups(each.file)[condition], []).append(each)
        if not 1 < len(rows) < len(known):
            continue
        yield f"<section>\n<h2>Images by {escape(condition)}</h2>\n"
        yield '<div class="scroll"><table class="groups">\n<thead><tr>'
        words = (condition, "images", *(name.replace("_", " ") for name in columns))
        yield "".join(f"<th>{escape(word)}</th>" for word in words)
        yield "</tr></thead>\n<tbody>\n"
        for value, own in sorted(rows.items()):
            yield f'<tr><th scope="row">{escape(value or "-")}</th><td>{len(own):,}</td>'
            for name in columns:
                every = _values(known, name) or [0.0]
                ends = min(0.0, *every), max(every)
                yield f"<td>{_strip(_values(own, name), *ends)}</td>"
            yield "</tr>\n"
        yield "</tbody>\n</table></div>\n</section>\n"


def _values(records: Sequence[Record], name: str) -> list[float]:
    """Return what is known of one column, for complete images."""
    found = (each.objects if name == "objects" else each.statistics.get(name) for each in records)
    return [float(value) for value in found if value is not None]


def _strip(values: Sequence[float], low: float, high: float) -> str:
    """Return points on a line from `low` to `high`, and the median as a stroke and a number."""
    if not values:
        return ""
    width, height = STRIP
    scale = (width - 2 * DOT) / ((high - low) or 1)
    middle = median(values)
    points = "".join(
        f'<circle cx="{DOT + (value - low) * scale:.1f}" cy="{height / 2:g}" r="{DOT:g}" '
        f'fill-opacity=".35"><title>{value:,.6g}</title></circle>'
        for value in sorted(values)
    )
    at = DOT + (middle - low) * scale
    return (
        f'<svg viewBox="0 0 {width} {height}" class="strip" role="img" aria-label="median '
        f'{middle:,.4g}, {len(values)} images">{points}'
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="{height - 1}"/></svg> {middle:,.4g}'
    )
