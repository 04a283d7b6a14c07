"""Write the tables of ``docs/performance.md`` from the stored results, so that none is typed.

Run as ``python benchmarks/report.py``. A table stands between ``<!-- NAME -->`` and
``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def load(name: str) -> dict[str, Any]:
    """Read stored results."""
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return result


def table(head: list[str], rows: list[list[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine(results: dict[str, Any]) -> str:
    """Say where and with what something was measured."""
    about = results["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in about["versions"].items() if v)
    return (
        f"Measured on {about['date']} on {about['cores']} cores of an {about['cpu']} "
        f"({about['system']}, Python {about['python']}, {versions})."
    )


def label_cpu() -> str:
    """Tabulate the labeling benchmark: ratios to peers by all threads and by one."""
    results = load("label_cpu")
    rows = []
    for row in results["rows"]:
        best = {name: value["min"] for name, value in row["seconds"].items()}
        threads = max(int(name.split()[1]) for name in best if name.startswith("equilabel"))
        one, all_of = best["equilabel 1"], best[f"equilabel {threads}"]
        size = 1
        for side in row["shape"]:
            size *= side
        cells = [
            row["image"],
            str(row["neighbors"]),
            f"{all_of * 1e3:.1f}",
            f"{size / all_of / 1e9:.2f}",
            f"{all_of / best['astype']:.2f}",
        ]
        for peer in ("skimage", "scipy", "cc3d", "opencv"):
            shared, alone = f"{peer} {threads}", f"{peer} 1"
            if peer == "opencv":
                cells.append(
                    f"{best[shared] / all_of:.1f} / {best[alone] / one:.1f}"
                    if shared in best
                    else "-"
                )
            else:
                cells.append(
                    f"{best[peer] / all_of:.1f} / {best[peer] / one:.1f}" if peer in best else "-"
                )
        cells.append(f"{best[f'equilabel {threads} out='] * 1e3:.1f}")
        cells.append(f"{row['extra_bytes_per_pixel']:.2f}")
        rows.append(cells)
    head = [
        "image", "neighbors", "ms", "Gpx/s", "x astype",
        "skimage", "SciPy", "cc3d", "OpenCV", "ms, out=", "B/px",
    ]  # fmt: skip
    return machine(results) + "\n\n" + table(head, rows)


def measure_cpu() -> str:
    """Tabulate the measuring benchmark."""
    results = load("measure_cpu")
    rows = []
    for row in results["rows"]:
        best = {name: value["min"] for name, value in row["seconds"].items()}
        ours = best["equilabel"]
        rows.append(
            [
                row["image"],
                f"{row['labels']:,}",
                " ".join(row["columns"]),
                f"{ours * 1e3:.1f}",
                f"{best['skimage'] / ours:.0f}" if "skimage" in best else "-",
                f"{best['cc3d'] / ours:.1f}",
                f"{row['extra_bytes_per_pixel']:.2f}",
            ]
        )
    head = ["image", "labels", "columns", "ms", "skimage", "cc3d.statistics", "B/px"]
    return machine(results) + "\n\n" + table(head, rows)


def startup() -> str:
    """Tabulate the time to the first label."""
    rows = [[row["what"], f"{row['seconds']:.2f}"] for row in load("startup")["rows"]]
    return table(["what", "s"], rows)


def label_cuda() -> str:
    """Tabulate the kernels of `runs` on a GPU beside the null kernel and CuPy's label."""
    about, *measured = load("label_cuda")["rows"]
    rows = [
        [
            row["image"],
            " x ".join(map(str, row["shape"])),
            row["type"],
            str(row["connectivity"]),
            f"{row['us']:.0f}",
            f"{row['times null']:.2f}",
            f"{row['cupy us'] / row['us']:.0f}" if row.get("cupy us") else "-",
            " / ".join(f"{us:.0f}" for us in row["passes us"].values()),
            f"{row['temporary bytes per pixel']:.2f}",
        ]
        for row in measured
        if "us" in row
    ]
    head = ["image", "shape", "type", "hops", "us", "x null", "CuPy", "passes, us", "B/px"]
    where = f"Measured on one {about['card']} with CuPy {about['cupy']}."
    return where + "\n\n" + table(head, rows)


def main() -> None:
    """Write every table that has results."""
    page = PAGE.read_text()
    for make in (label_cpu, measure_cpu, startup, label_cuda):
        name = make.__name__
        if (RESULTS / f"{name}.json").exists():
            page = re.sub(
                rf"<!-- {name} -->.*?<!-- end -->",
                lambda _, name=name, make=make: f"<!-- {name} -->\n{make()}\n<!-- end -->",
                page,
                flags=re.DOTALL,
            )
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
