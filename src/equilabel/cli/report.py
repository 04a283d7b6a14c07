"""`report.html`: the results of a run on one page, without network or other files."""

from __future__ import annotations

import math
import os
import re
from base64 import b64encode
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from html import escape
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from equilabel.cli.progress import images
from equilabel.cli.results import BINS, add_sizes
from equilabel.storage.files import open_regular, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from equilabel.cli.records import Facts, Record

# ---- Histograms of sizes as SVG, on a logarithmic axis

WIDE, HIGH, FOOT = 640, 160, 34  # of the large histogram, and of its axis
SMALL = 96, 24
MOST_TICKS = 6


def histogram(counts: Mapping[int, int], unit: str) -> str:
    """Return a histogram with its axis and a sentence about it.

    `counts` are numbers of objects by bin (see `count_sizes`), not empty; `unit` is that of sizes.
    """
    low, high = min(counts), max(counts) + 1
    most = max(counts.values())
    scale = WIDE / (high - low)
    bars = "".join(
        f'<rect x="{(k - low) * scale:.1f}" y="{HIGH * (1 - n / most):.1f}" '
        f'width="{max(1.0, scale - 1):.1f}" height="{HIGH * n / most:.1f}">'
        f"<title>{_size(k)} to {_size(k + 1)} {escape(unit)}: {n:,}</title></rect>"
        for k, n in sorted(counts.items())
    )
    ticks = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HIGH}" y2="{HIGH + 5}"/>'
        f'<text x="{x:.1f}" y="{HIGH + 20}" text-anchor="{anchor}">{escape(text)}</text>'
        for x, text, anchor in _ticks(low, high, scale)
    )
    middle = _median(counts)
    words = f"Half of them are below {_size(middle)} {escape(unit)}; the fullest bar has {most:,}."
    return (
        f'<svg class="sizes" viewBox="-20 -4 {WIDE + 40} {HIGH + FOOT}" role="img" '
        f'aria-label="{words}"><g class="bars">{bars}</g>'
        f'<line x1="0" x2="{WIDE}" y1="{HIGH}" y2="{HIGH}"/>{ticks}</svg>\n<p>{words}</p>\n'
    )


def sparkline(counts: Mapping[int, int], low: int, high: int) -> str:
    """Return a small histogram without an axis, from the bin `low` to `high` of all images."""
    width, height = SMALL
    most, scale = max(counts.values()), width / (high - low + 1)
    path = "".join(
        f"M{(k - low) * scale:.1f} {height}v-{height * n / most:.1f}h{scale:.1f}V{height}z"
        for k, n in sorted(counts.items())
    )
    return f'<svg viewBox="0 0 {width} {height}" class="spark"><path d="{path}"/></svg>'


def _ticks(low: int, high: int, scale: float) -> list[tuple[float, str, str]]:
    """Return positions, texts and anchors of ticks: powers of ten, or both ends."""
    decades = range(
        math.ceil(low / BINS * math.log10(2)), math.floor(high / BINS * math.log10(2)) + 1
    )
    places = [(BINS * k / math.log10(2), 10.0**k) for k in decades]
    if len(places) < 2:
        ends = ((low, "start"), (high, "end"))
        return [((k - low) * scale, _size(k), anchor) for k, anchor in ends]
    places = places[:: math.ceil(len(places) / MOST_TICKS)]
    return [((place - low) * scale, f"{value:,.10g}", "middle") for place, value in places]


def _median(counts: Mapping[int, int]) -> int:
    """Return the end of the bin that contains the median."""
    half, seen = sum(counts.values()) / 2, 0
    for number, count in sorted(counts.items()):
        seen += count
        if seen >= half:
            return number + 1
    return max(counts) + 1


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


class Picture(NamedTuple):
    """A thumbnail in a report."""

    uri: str  # "" if there is none
    checksum: str  # of the overlay

    def __str__(self) -> str:
        """Return the thumbnail as HTML."""
        if not self.uri:
            return ""
        return f'<img src="{self.uri}" data-of="{self.checksum}" alt="" loading="lazy">'


def read_thumbnails(report: Path) -> dict[str, str]:
    """Return the thumbnails in an earlier report by the checksums of the overlays.

    To decode an overlay takes longer than all else in a resumed run that finds nothing to do.
    """
    try:
        with os.fdopen(open_regular(report), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * MOST_PICTURES * LARGEST)
    except OSError:
        return {}
    return {checksum: uri for uri, checksum in SHOWN.findall(text)}


def thumbnails(
    overlays: Sequence[tuple[str, str] | None], out: Path, known: Mapping[str, str]
) -> Iterator[Picture]:
    """Yield a thumbnail for each overlay, of which path below `out` and checksum are given.

    Only the first `MOST_PICTURES` images with an overlay get one; those in `known` are not made
    again.
    """
    shown = [each for each in overlays if each][:MOST_PICTURES]
    new = [out / path for path, checksum in shown if checksum not in known]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(_thumbnail, new)
        left = len(shown)
        for each in overlays:
            if each is None or not left:
                yield Picture("", "")
                continue
            left -= 1
            yield Picture(known.get(each[1]) or next(made), each[1])


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
COLUMNS = ("", "image", "status", "objects", "mean size", "sizes", "shape", "seconds", "results")
SORTED_BY_NUMBER = ("objects", "mean size", "shape", "seconds")
UNSORTED = ("", "sizes", "results")
WORDS = {"done": "finished", "skipped": "kept", "failed": "failed", "interrupted": "not begun"}


def failures(records: Sequence[Record]) -> Iterator[str]:
    """Yield the images that failed, with the reason for each."""
    failed = [each for each in records if each.status == "failed"]
    if failed:
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
    folder = _folder(records)
    yield f"<section>\n<h2>Images{f' in {escape(folder)}' if folder else ''}</h2>\n"
    yield '<p class="tools"><label>Show <input id="filter" '
    yield 'type="search" placeholder="part of a name, or a status"></label> '
    yield '<span id="shown"></span></p>\n<div class="scroll"><table id="images">\n<thead><tr>'
    for name in COLUMNS:
        kind = ' class="number"' if name in SORTED_BY_NUMBER else ""
        text = name if name in UNSORTED else f'<button type="button">{name}</button>'
        yield f"<th{kind}>{text}</th>"
    yield "</tr></thead>\n<tbody>\n"
    bins = [int(k) for each in records for k in each.sizes.get("counts", {})]
    low, high = min(bins, default=0), max(bins, default=0)
    found = [places(each, name) for each, name in zip(records, names, strict=True)]
    overlays = [
        (one["overlay"], each.outputs["overlay"]["sha256"]) if "overlay" in one else None
        for one, each in zip(found, records, strict=True)
    ]
    pictures = thumbnails(overlays, out, known)
    for each, files, picture in zip(records, found, pictures, strict=True):
        yield _row(each, files, str(picture), low, high, folder)
    yield "</tbody>\n</table></div>\n</section>\n"


def places(record: Record, name: str) -> dict[str, str]:
    r"""Return the paths of the results of an image below the output folder, by kind.

    `name` is that of the results without endings, as it is on disk; names in the record are
    escaped.

    >>> from equilabel.cli.records import Record
    >>> outputs = {"labels": {"file": "a\\tb_labels.tif"}}
    >>> places(Record("a\\tb.tif", "a\\tb", "done", outputs=outputs), "a\tb")
    {'labels': 'a\tb_labels.tif'}
    """
    files = ((kind, str(known.get("file", ""))) for kind, known in record.outputs.items())
    return {kind: name + file.removeprefix(record.name) for kind, file in files if file}


def _folder(records: Sequence[Record]) -> str:
    """Return the common folder of all images; "" if there is none except the root."""
    try:
        found = PurePath(os.path.commonpath([str(PurePath(each.file).parent) for each in records]))
    except ValueError:  # absolute and relative paths, or no paths
        return ""
    return "" if found in (PurePath(), PurePath(found.anchor)) else str(found)


def _row(
    record: Record, files: Mapping[str, str], picture: str, low: int, high: int, folder: str
) -> str:
    counts = {int(k): n for k, n in record.sizes.get("counts", {}).items()}
    mean, text = _mean(record)
    name = record.file.removeprefix(f"{folder}/") if folder else record.file
    pixels = 1
    for side in record.shape:
        pixels *= side
    objects = "" if record.objects is None else record.objects
    note = f' <i title="{escape(" ".join(record.notes))}">note</i>' if record.notes else ""
    cells = [
        f'<td class="picture">{picture}</td>',
        f'<th scope="row">{escape(name)}{note}</th>',
        f'<td class="{record.status}">{WORDS[record.status]}</td>',
        f'<td data-value="{objects}">{objects}</td>',
        f'<td data-value="{mean}">{escape(text)}</td>',
        f"<td>{sparkline(counts, low, high) if counts else ''}</td>",
        f'<td data-value="{pixels if record.shape else ""}">'
        f"{' &times; '.join(map(str, record.shape))}</td>",
        f'<td data-value="{record.seconds:.3f}">{record.seconds:.2f}</td>',
        f"<td>{_links(files)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _mean(record: Record) -> tuple[str, str]:
    """Return the mean size of objects as a number, and with its unit."""
    name = record.sizes.get("of", "")
    value = record.statistics.get(f"{name}_mean")
    if value is None:
        return "", ""
    return f"{value:.6g}", f"{_short(value)} {record.sizes.get('unit') or 'px'}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _links(files: Mapping[str, str]) -> str:
    """Return links to the results, relative to the report."""
    return " ".join(
        f'<a href="./{escape(quote(os.fsencode(file)))}">{escape(kind)}</a>'
        for kind, file in files.items()
    )


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


def write_report(
    path: Path,
    facts: Facts,
    records: Sequence[Record],
    names: Sequence[str],
    out: Path,
    known: Mapping[str, str],
    tables: Iterable[str] = (),
) -> None:
    """Write the report of a run.

    `facts` are those in run.json. `names` are the names of the results of each record below `out`,
    without endings, as they are on disk; thumbnails that are not in `known` (see `read_thumbnails`)
    are made from the overlays in `out`. `tables` are further parts of the page.
    """
    with (
        replacing(path) as unfinished,
        unfinished.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        for part in _parts(facts, records, names, out, known, tables):
            file.write(part)


def _parts(
    facts: Facts,
    records: Sequence[Record],
    names: Sequence[str],
    out: Path,
    known: Mapping[str, str],
    tables: Iterable[str],
) -> Iterator[str]:
    yield HEAD
    yield f"<title>{escape(out.resolve().name)}: {images(len(records))}</title>\n"
    yield f"<style>\n{(HERE / 'report.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
    yield "<header>\n"
    yield f"<h1>{escape(out.resolve().name)}</h1>\n"
    yield f"<p>{ENDED[facts['status']]} Begun {_when(facts['begun'])}, ended "
    yield f"{_when(facts['ended'])}, {_duration(facts['seconds'])}.</p>\n</header>\n<main>\n"
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
    words = {"done": "finished", "skipped": "kept", "failed": "failed", "interrupted": "not begun"}
    count = {word: sum(each.status == word for each in records) for word in words}
    objects = sum(each.objects or 0 for each in records)
    yield '<dl class="counts">\n'
    yield f"<div><dt>objects</dt><dd>{objects:,}</dd></div>\n"
    for word, text in words.items():
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


def _duration(seconds: float) -> str:
    """Return a time with its unit.

    >>> _duration(8.04), _duration(500), _duration(40_000)
    ('8.0 s', '8 min', '11.1 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
