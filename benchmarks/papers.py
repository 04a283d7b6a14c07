"""Write results of `examples/papers` into ``docs/papers.md``, so that none is typed.

Run as ``python benchmarks/papers.py [DIR]``; with a folder, its JSON files are first copied to
``benchmarks/results/papers/``. The page says what goes where: ``<!-- komura: Figure 7 -->`` stands
before the table and the claims of that figure, ``<!-- komura: machine -->`` before where they were
measured, ``<!-- summary -->`` before the table of all figures, ``<!-- rules -->`` before what a
verdict means, and each ends at ``<!-- end -->``. Verdicts are those of `experiment.verdict`.
"""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples" / "papers"))

from experiment import RULES, read  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "papers"
PAGE = ROOT / "docs" / "papers.md"
NAMES = ("kalentev", "hawick_meshes", "hawick_graphs", "komura", "weigel", "apostolakis")
BLOCK = re.compile(r"<!-- (?:(\w+): ([^>]*?)|(summary|rules)) -->.*?<!-- end -->", re.DOTALL)
PRECISE = ("energy", "mean", "power", "standard error", "width")


@cache
def load(name: str) -> dict[str, Any]:
    """Read the results of an experiment, with what the paper prints and says beside them."""
    return read(RESULTS / f"{name}.json")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: Any) -> str:
    """Format a number in three digits, or a word as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (abs(value) >= 1000 and value == value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def machine(name: str) -> str:
    """Say where, when and with what an experiment was done."""
    about = load(name)["machine"]
    versions = ", ".join(f"{key} {value}" for key, value in about["versions"].items())
    where = f"{about['cores']} cores of an {about['cpu']}"
    if about["device"] == "cuda":
        where = f"one {about['card']}, in a machine with {where}"
    return f"Measured on {about['date']} on {where} (Python {about['python']}, {versions})."


def of_figure(name: str, figure: str) -> tuple[list[Any], list[Any]]:
    """Return the points and the claims of a figure."""
    points, claims = (
        [each for each in load(name)[part] if each["figure"] == figure]
        for part in ("rows", "claims")
    )
    return points, claims


def points_table(axis: str, points: list[Any]) -> str:
    """Tabulate series over x: ours, and where the paper prints a value, that and the factor."""
    columns = list(dict.fromkeys(point["series"] for point in points))
    cells = {(point["x"], point["series"]): point for point in points}
    head = [axis]
    printed = {
        key
        for key in columns
        if any(point["series"] == key and point["paper"] is not None for point in points)
    }
    for key in columns:
        unit = next(point["unit"] for point in points if point["series"] == key)
        head.append(f"{key}, {unit}" if unit else key)
        if key in printed:
            head += ["paper"] + ["factor"] * bool(unit)
    rows = []
    for x in dict.fromkeys(point["x"] for point in points):
        line = [f"{x:.5g}" if isinstance(x, float) else number(x)]
        for key in columns:
            line += cell(cells.get((x, key)), key in printed, head)
        rows.append(line)
    return table(head, rows)


def cell(point: Any, printed: bool, head: list[str]) -> list[str]:
    """Format a point: ours, and what the paper prints with the factor where the column has it."""
    if point is None:
        return ["-"] * (1 + 2 * printed)
    precise = point["series"] in PRECISE
    ours = f"{point['ours']:.5f}" if precise else number(point["ours"])
    line = [f"({ours})" if point["extrapolated"] else ours]
    if not printed:
        return line
    paper = point["paper"]
    shown = "-" if paper is None else f"{paper:.5f}" if precise else number(paper)
    line.append(shown)
    if point["unit"]:
        line.append("-" if paper is None else factor(paper / point["ours"]))
    return line


def factor(ratio: float) -> str:
    """Format how many times as fast as the paper ours is."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def judges(claims: list[Any]) -> bool:
    """Tell whether any claim has a verdict."""
    return any(each["holds"] is not None for each in claims)


def judged(claims: list[Any]) -> str:
    """Say how many claims hold, of those that were measured."""
    verdicts = [each["holds"] for each in claims]
    missing = verdicts.count(None)
    shown = f"{verdicts.count(True)} of {len(verdicts) - missing}"
    return shown + f", {missing} not measured" * bool(missing) if claims else "-"


def figure_block(name: str, figure: str) -> str:
    """Return the table of a figure, and its claims."""
    points, claims = of_figure(name, figure)
    parts = []
    if points:
        parts.append(points_table(load(name)["figures"][figure].x, points))
        if any(point["extrapolated"] for point in points):
            parts.append("Times in brackets are extrapolated.")
    if claims:
        said = {True: "yes", False: "**no**", None: "-"}
        rows = [
            [row["claim"], row["paper"], row["ours"], row["rule"], said[row["holds"]]]
            for row in claims
        ]
        parts.append(table(["what the paper says", "paper", "ours", "rule", "reproduced"], rows))
    return "\n\n".join(parts) or "Not measured."


def summary() -> str:
    """Tabulate all figures: what is reproduced, how many times as fast ours is, or why not."""
    rows = []
    for name in NAMES:
        results = load(name)
        device = "GPU" if results["machine"]["device"] == "cuda" else "CPU"
        for figure, about in results["figures"].items():
            points, claims = of_figure(name, figure)
            ratios = [
                point["paper"] / point["ours"]
                for point in points
                if point["paper"] is not None and point["unit"] and point["ours"]
            ]
            times = f"{factor(min(ratios))} to {factor(max(ratios))}" if ratios else "-"
            done = f"on a {device}" if points or judges(claims) else "not in these results"
            done = f"no, because {about.because}" if about.because else done
            title = f"{name.partition('_')[0].capitalize()}, {figure}"
            rows.append([title, about.title, done, judged(claims), times])
    head = ["figure or table", "what it shows", "repeated", "claims reproduced", "factor"]
    return table(head, rows)


def rules() -> str:
    """Say what a verdict means."""
    return table(["rule", "a claim is reproduced if"], [list(each) for each in RULES.items()])


def render(page: str) -> str:
    """Fill in all blocks of a page."""

    def fill(match: re.Match[str]) -> str:
        name, what, alone = match.groups()
        if alone:
            made, head = {"summary": summary, "rules": rules}[alone](), alone
        else:
            made = machine(name) if what == "machine" else figure_block(name, what)
            head = f"{name}: {what}"
        return f"<!-- {head} -->\n\n{made}\n\n<!-- end -->"

    return BLOCK.sub(fill, page)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        RESULTS.mkdir(parents=True, exist_ok=True)
        for file in Path(sys.argv[1]).glob("*.json"):
            shutil.copy(file, RESULTS / file.name)
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
