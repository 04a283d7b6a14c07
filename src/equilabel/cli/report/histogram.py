"""Histograms of sizes as SVG: bars of one color on a logarithmic axis."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from equilabel.cli.results import BINS

if TYPE_CHECKING:
    from collections.abc import Mapping

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
