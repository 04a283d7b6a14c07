"""Tables 1 to 4 of Kalentev et al. (2011): spiral, random and blob images by two methods.

Row-Col Unify ("RC") is `kalentev_rowcol`, label equivalence ("LE") is `kalentev`; with "SZ" it also
counts the sizes of components, and ours their perimeters. The paper's times are those of a Tesla
C1060. Listing 4 also gives exponents of percolation clusters, which the paper does not have. Run as
``python kalentev.py --device cuda``.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import percolation_clusters
from equilabel.samples import percolation, spiral
from experiment import Clock, Figure, claim, labeler, main, mask_grid, over, row, values
from paper_images import discs_in_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES, QUICK = (1024, 2048, 4096, 8128), (256, 512)
LE, SZ, RC = "LE", "LE with sizes", "RC"
DRAWING = "it is a drawing of the method"
FIGURES = {
    "Figure 1": Figure("Labels before and after a row and a column unification", because=DRAWING),
    "Figure 2": Figure("Row-Col Unify: first step of the reduction", because=DRAWING),
    "Figure 3": Figure("Row-Col Unify: third step of the reduction", because=DRAWING),
    "Figure 4": Figure("Label equivalence: labels before and after a scan", because=DRAWING),
    "Figure 5": Figure("Label equivalence: how a chain is followed", because=DRAWING),
    "Table 1": Figure("Images of 1024 x 1024", "image"),
    "Table 2": Figure("Noise of 2048 x 2048 over the occupation", "occupation"),
    "Table 3": Figure("Noise of occupation 0.5 over the size of the image", "side"),
    "Table 4": Figure("Noise of 0.5 over the threads of a block, 2048 x 2048", "threads"),
    "Listing 4": Figure("Percolation clusters by accumulated sizes", "quantity", "power"),
}
TABLE_1: dict[str, dict[str, Any]] = {  # RC on discs of radius 10 cannot be read
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
PRINTED: dict[tuple[str, str, Any], float | None] = {
    ("Table 1", f"{LE}, iterations", "spiral"): 3,  # Section 4
    ("Table 1", f"{RC}, iterations", "spiral"): 514,
    ("Listing 4", "power", "tau"): percolation_clusters.TAU,  # exact, not of the paper
    ("Listing 4", "power", "perimeter"): 1.0,
}
PRINTED |= {("Table 1", key, x): ms for x, line in TABLE_1.items() for key, ms in line.items()}
for table, lines, names in (
    ("Table 2", TABLE_2, (LE, SZ, "iterations")),
    ("Table 3", TABLE_3, (LE, SZ)),
    ("Table 4", TABLE_4, (LE, SZ)),
):
    for x, line in lines.items():
        PRINTED |= {(table, name, x): ms for name, ms in zip(names, line, strict=True)}


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
    return rows + clusters(device, sizes[-1])


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
                rows.append(row("Table 1", series, name, ms))
                if series != SZ:
                    name_of = f"{series}, iterations"
                    rows.append(row("Table 1", name_of, name, found.rounds, unit=""))
    return rows


def table_2(device: str, side: int, clock: Clock) -> list[dict[str, Any]]:
    """Label noise of different occupation, with and without sizes."""
    rows = []
    for occupation in TABLE_2:
        if clock.left():
            grid = mask_grid(percolation((side, side), occupation), device)
            ms, found = clock.time(labeler("kalentev", grid, device))
            rows.append(row("Table 2", LE, occupation, ms))
            rows.append(row("Table 2", "iterations", occupation, found.rounds, unit=""))
            ms, _ = clock.time(labeler("kalentev", grid, device, accumulate=True))
            rows.append(row("Table 2", SZ, occupation, ms))
    return rows


def table_3(device: str, sizes: tuple[int, ...], clock: Clock) -> list[dict[str, Any]]:
    """Label noise of several sizes."""
    rows = []
    for side in sizes:
        if clock.left():
            grid = mask_grid(percolation((side, side), 0.5), device)
            for series, options in ((LE, {}), (SZ, {"accumulate": True})):
                ms, _ = clock.time(labeler("kalentev", grid, device, **options))
                rows.append(row("Table 3", series, side, ms))
    return rows


def table_4(device: str, side: int, clock: Clock) -> list[dict[str, Any]]:
    """Label noise with blocks of different sizes."""
    rows = []
    grid = mask_grid(percolation((side, side), 0.5), device)
    for threads in TABLE_4:
        if clock.left():
            with blocks_of(threads):
                ms, _ = clock.time(labeler("kalentev", grid, device))
                rows.append(row("Table 4", LE, threads, ms))
                if threads >= 16:  # sums of a block are kept by seven of its threads
                    ms, _ = clock.time(labeler("kalentev", grid, device, accumulate=True))
                    rows.append(row("Table 4", SZ, threads, ms))
    return rows


@contextmanager
def blocks_of(threads: int) -> Iterator[None]:
    """Launch kernels in blocks of another size, which is fixed outside of this experiment."""
    from equilabel.devices.cuda import kernels

    usual, kernels.THREADS = kernels.THREADS, threads
    try:
        yield
    finally:
        kernels.THREADS = usual


def clusters(device: str, largest: int) -> list[dict[str, Any]]:
    """Fit the exponents of sizes and perimeters of percolation clusters."""
    side, repeats, smallest = 512, 8, 32
    if device == "cuda" and largest >= 2048:
        side, repeats, smallest = 8192, 4, 256
    rows = []
    found = percolation_clusters.exponents(side, repeats, smallest, device)
    for name, (power, error) in found.items():
        rows.append(row("Listing 4", "power", name, power, unit=""))
        rows.append(row("Listing 4", "standard error", name, error, unit=""))
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the tables and the text of the paper say."""
    of = partial(values, rows)
    quick, slow = of("Table 1", LE), of("Table 1", RC)
    discs = [name for name in TABLE_1 if name.startswith("discs")]
    turns = of("Table 1", f"{LE}, iterations")
    power, error = (of("Listing 4", key) for key in ("power", "standard error"))

    def ratios() -> list[float]:
        found = [slow[name] / quick[name] for name in TABLE_1 if name != "spiral"]
        return [min(found), max(found)]

    def radius() -> float:
        return max(quick[name] for name in discs) / min(quick[name] for name in discs)

    spiral_ratio = TABLE_1["spiral"][RC] / TABLE_1["spiral"][LE]
    found = [
        claim("Table 1", text, rule, measured, theirs)
        for text, rule, measured, theirs in (
            ("RC over LE, least and most on discs and noise: LE is faster", "more", ratios, 1),
            ("the same in numbers (Section 4)", "ratio", ratios, [15, 35]),
            ("RC over LE on the spiral", "ratio", over(slow, quick, "spiral"), spiral_ratio),
            ("iterations of LE on a spiral of any size", "same", lambda: turns["spiral"], 3),
            ("LE on discs, longest over shortest: radii do not matter", "ratio", radius, 1),
        )
    ]
    for text, series, column in (
        ("most iterations", "iterations", 2),
        ("the longest time of LE", LE, 0),
        ("the longest time of LE with sizes", SZ, 1),
    ):
        line, theirs = of("Table 2", series), max(TABLE_2, key=lambda x: TABLE_2[x][column])
        longest = partial(max, line, key=line.get)
        found.append(claim("Table 2", f"occupation with {text}", "same", longest, theirs))
    times, (first, *_, last) = of("Table 3", LE), SIZES
    pixels = (last / first) ** 2
    text = f"time for each pixel at {last} over that at {first}: linear"
    theirs = TABLE_3[last][0] / TABLE_3[first][0] / pixels
    found.append(
        claim("Table 3", text, "ratio", lambda: times[last] / times[first] / pixels, theirs)
    )
    blocks = of("Table 4", LE)
    for few, many in ((16, 64), (1, 256)):
        text, theirs = f"blocks of {few} over blocks of {many}", TABLE_4[few][0] / TABLE_4[many][0]
        found.append(claim("Table 4", text, "ratio", over(blocks, blocks, few, many), theirs))
    for name, text in (("tau", "tau (exact: 187/91)"), ("perimeter", "power of the perimeter")):
        found.append(
            claim(
                "Listing 4",
                text,
                "error",
                partial(power.__getitem__, name),
                PRINTED["Listing 4", "power", name],
                error=partial(error.__getitem__, name),
                paper=f"{PRINTED['Listing 4', 'power', name]:.4f}",
                shown=lambda name=name: f"{power[name]:.4f} +- {error[name]:.4f}",
            )
        )
    return found


if __name__ == "__main__":
    main("kalentev")
