"""Tables 1 to 4 of Kalentev et al. (2011): spiral, random and blob images by two methods.

Row-Col Unify ("RC") is `kalentev_rowcol`, label equivalence ("LE") is `kalentev`; with "SZ" it also
counts the sizes of components, and ours their perimeters. The paper's times are those of a Tesla
C1060. Run as ``python kalentev_tables.py --device cuda``.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from equilabel.samples import percolation, spiral
from experiment import (
    Clock,
    Figure,
    arguments,
    claim,
    labeler,
    mask_grid,
    near,
    row,
    show,
    store,
    values,
)
from paper_images import discs_in_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES, QUICK = (1024, 2048, 4096, 8128), (256, 512)
LE, SZ, RC = "LE", "LE with sizes", "RC"
FIGURES = {
    "Table 1": Figure("Images of the first of the sizes (1024 x 1024 in the paper)", "image"),
    "Table 2": Figure("Noise of the second of the sizes (2048 x 2048 in the paper)", "occupation"),
    "Table 3": Figure("Noise of occupation 0.5 over the size of the image", "side"),
    "Table 4": Figure("Noise of 0.5 over the threads of a block, second of the sizes", "threads"),
}
TABLE_1: dict[str, dict[str, float | None]] = {  # RC on discs of radius 10 cannot be read
    "discs of radius 10": {RC: None, LE: 5.60, SZ: 16.25},
    "discs of radius 20": {RC: 87.89, LE: 5.77, SZ: 16.28},
    "discs of radius 50": {RC: 87.27, LE: 5.89, SZ: 15.22},
    "discs of radius 100": {RC: 87.65, LE: 6.68, SZ: 17.30},
    "spiral": {RC: 4501.56, LE: 5.60, SZ: 38.86},
    "noise 0.5": {RC: 254.47, LE: 6.47, SZ: 14.23},
    "noise 0.1": {RC: 34.75, LE: 1.56, SZ: 2.11},
}
TABLE_2 = {  # occupation: LE, SZ, iterations
    0.2: (10.33, 16.74, 4),
    0.3: (15.50, 27.81, 5),
    0.4: (18.90, 38.84, 5),
    0.6: (39.34, 84.21, 8),
    0.7: (34.12, 95.70, 5),
    0.8: (33.91, 113.60, 4),
    0.9: (36.30, 137.95, 4),
    0.99: (24.42, 317.06, 3),
}
TABLE_3 = {1024: (6.50, 14.30), 2048: (24.98, 55.75), 4096: (97.88, 217.89), 8128: (388.24, 870.70)}
TABLE_4 = {
    512: (25.09, 55.41),
    256: (24.91, 55.73),
    64: (25.34, 55.13),
    16: (36.19, 62.13),
    4: (123.15, 154.91),
    1: (453.331, 522.085),
}
RC_ROUNDS = 514  # of the spiral of 1024 x 1024 (Section 4)


def run(device: str, sizes: tuple[int, ...], clock: Clock) -> list[dict[str, Any]]:
    """Measure all tables; the first size is for Table 1, the second for Tables 2 and 4."""
    small = mask_grid(spiral(15), device)
    clock.warm(
        labeler("kalentev", small, device),
        labeler("kalentev", small, device, accumulate=True),
        labeler("kalentev_rowcol", small, device),
    )
    rows = table_1(device, sizes[0], clock.share(0.4))
    rows += table_2(device, sizes[1], clock.share(0.5))
    rows += table_3(device, sizes, clock.share(0.6))
    if device == "cuda":
        rows += table_4(device, sizes[1], clock)
    return rows + claims(rows, sizes)


def images(side: int) -> dict[str, Callable[[], Any]]:
    """Name the makers of the images of Table 1; radii are those of an image of 1024 x 1024."""
    discs: dict[str, Callable[[], Any]] = {
        f"discs of radius {radius}": partial(discs_in_noise, side, max(radius * side // 1024, 1))
        for radius in (10, 20, 50, 100)
    }
    return discs | {
        "spiral": partial(spiral, side),
        "noise 0.5": partial(percolation, (side, side), 0.5),
        "noise 0.1": partial(percolation, (side, side), 0.1),
    }


def table_1(device: str, side: int, clock: Clock) -> list[dict[str, Any]]:
    """Label all images by both methods."""
    rows = []
    for name, make in images(side).items():
        grid = mask_grid(make(), device)
        for series, method, options in (
            (LE, "kalentev", {}),
            (SZ, "kalentev", {"accumulate": True}),
            (RC, "kalentev_rowcol", {}),
        ):
            if clock.left():
                ms, found = clock.time(labeler(method, grid, device, **options))
                printed = TABLE_1[name][series] if side == 1024 else None
                rows.append(row("Table 1", series, name, ms, printed))
                if series != SZ:
                    count = {LE: 3, RC: RC_ROUNDS}[series] if name == "spiral" else None
                    known = None if series == RC and side != 1024 else count
                    name_of = f"{series}, iterations"
                    rows.append(row("Table 1", name_of, name, found.rounds, known, unit=""))
    return rows


def table_2(device: str, side: int, clock: Clock) -> list[dict[str, Any]]:
    """Label noise of different occupation, with and without sizes."""
    rows = []
    for occupation, (plain, sized, iterations) in TABLE_2.items():
        if not clock.left():
            break
        grid = mask_grid(percolation((side, side), occupation), device)
        ms, found = clock.time(labeler("kalentev", grid, device))
        both, _ = clock.time(labeler("kalentev", grid, device, accumulate=True))
        same = side == 2048
        rows += [
            row("Table 2", LE, occupation, ms, plain if same else None),
            row("Table 2", SZ, occupation, both, sized if same else None),
            row("Table 2", "iterations", occupation, found.rounds, iterations, unit=""),
        ]
    return rows


def table_3(device: str, sizes: tuple[int, ...], clock: Clock) -> list[dict[str, Any]]:
    """Label noise of different sizes."""
    rows = []
    for side in sizes:
        if not clock.left():
            break
        grid = mask_grid(percolation((side, side), 0.5), device)
        plain, sized = TABLE_3.get(side, (None, None))
        ms, _ = clock.time(labeler("kalentev", grid, device))
        rows.append(row("Table 3", LE, side, ms, plain))
        ms, _ = clock.time(labeler("kalentev", grid, device, accumulate=True))
        rows.append(row("Table 3", SZ, side, ms, sized))
    return rows


def table_4(device: str, side: int, clock: Clock) -> list[dict[str, Any]]:
    """Label noise with blocks of different sizes."""
    rows = []
    grid = mask_grid(percolation((side, side), 0.5), device)
    for threads, (plain, sized) in TABLE_4.items():
        if not clock.left():
            break
        with blocks_of(threads):
            ms, _ = clock.time(labeler("kalentev", grid, device))
            rows.append(row("Table 4", LE, threads, ms, plain if side == 2048 else None))
            if threads >= 16:  # sums of a block are kept by seven of its threads
                ms, _ = clock.time(labeler("kalentev", grid, device, accumulate=True))
                rows.append(row("Table 4", SZ, threads, ms, sized if side == 2048 else None))
    return rows


@contextmanager
def blocks_of(threads: int) -> Iterator[None]:
    """Launch kernels in blocks of another size, which is fixed outside of this experiment."""
    from equilabel.kernels.cuda import _compile

    usual, _compile.THREADS = _compile.THREADS, threads
    try:
        yield
    finally:
        _compile.THREADS = usual


def claims(rows: list[dict[str, Any]], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Compare what the text of the paper concludes."""
    found = []
    ours, theirs = values(rows, "Table 1", LE), values(rows, "Table 1", RC)
    ratios = {name: theirs[name] / ours[name] for name in theirs if name != "spiral"}
    if ratios:
        low, high = min(ratios.values()), max(ratios.values())
        both = f"{low:.1f} to {high:.1f}"
        found.append(claim("Table 1", "LE is faster than RC on every image", "yes", both, low > 1))
        text = "factor between them on discs and noise (Section 4)"
        found.append(claim("Table 1", text, "15 to 35", both, near(low, 15) and near(high, 35)))
    rounds = values(rows, "Table 1", f"{LE}, iterations").get("spiral")
    if rounds:
        text = "LE takes 3 iterations on a spiral of any size"
        found.append(claim("Table 1", text, "3", f"{rounds}", rounds == 3))
    if "spiral" in theirs:
        text = "RC over LE on the spiral of 1024 x 1024"
        if sizes[0] != 1024:
            text += f" (ours: {sizes[0]} x {sizes[0]})"
        ratio = theirs["spiral"] / ours["spiral"]
        found.append(claim("Table 1", text, "804", f"{ratio:.0f}", near(ratio, 804)))
    counts = values(rows, "Table 2", "iterations")
    if len(counts) == len(TABLE_2):
        most = max(counts, key=lambda key: counts[key])
        text = "the occupation with most iterations, near the percolation threshold"
        found.append(claim("Table 2", text, "0.6", f"{most:g}", most == 0.6))
    times = values(rows, "Table 3", LE)
    if len(times) > 1:
        first, last = min(times), max(times)
        growth = (times[last] / times[first]) / (last / first) ** 2
        text = "time per pixel of the largest image over that of the smallest: linear"
        holds = growth < 1.5
        found.append(claim("Table 3", text, "0.95", f"{growth:.2f}", holds))
    blocks = values(rows, "Table 4", LE)
    if 1 in blocks and 256 in blocks:
        ratio = blocks[1] / blocks[256]
        text = "blocks of 1 thread over blocks of 256"
        found.append(claim("Table 4", text, "18.2", f"{ratio:.1f}", near(ratio, 18.2)))
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__, SIZES, QUICK)
    results = run(chosen.device, tuple(chosen.sizes), Clock(chosen.device, chosen.seconds))
    show(results)
    print(store(chosen.out, "kalentev", FIGURES, results, chosen.device))
