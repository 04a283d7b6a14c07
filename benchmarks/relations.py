"""Time what follows from labels, beside cc3d, OpenCV and scikit-image.

Labels are those of drawn nuclei that were grown until they touch, like cells. Run as
``python benchmarks/relations.py``; results go to ``benchmarks/results/relations.json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import contacts, grow, neighbors, outlines, relate, samples, segment
from harness import interleave, store

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


def draw(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return nuclei, and cells that touch."""
    sample = samples.nuclei_2d if len(shape) == 2 else samples.nuclei_3d
    nuclei = segment(sample(shape), "li", sigma=1, fill_holes=True, min_size=30, split=0.5).labels
    return nuclei, grow(nuclei, 12)


def outlines_by_opencv(cells: Any) -> Any:
    """Trace each object in its box: all at once would join those that touch."""
    import cv2
    from scipy.ndimage import find_objects

    found = []
    for number, box in enumerate(find_objects(cells), 1):
        if box is not None:
            mask = (cells[box] == number).astype(np.uint8)
            found.append(cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE))
    return found


def outlines_by_skimage(cells: Any) -> Any:
    """Trace each object in its box at half its height."""
    from scipy.ndimage import find_objects
    from skimage.measure import find_contours

    return [
        find_contours(np.pad(cells[box] == number, 1), 0.5)
        for number, box in enumerate(find_objects(cells), 1)
        if box is not None
    ]


def relate_by_numpy(nuclei: Any, cells: Any) -> Any:
    """Count common pixels as CellProfiler does, with a histogram of pairs."""
    both = (nuclei > 0) & (cells > 0)
    pairs, counts = np.unique(np.stack([nuclei[both], cells[both]]), axis=1, return_counts=True)
    best = np.zeros(nuclei.max() + 1, int)
    best[pairs[0, np.argsort(counts)]] = pairs[1, np.argsort(counts)]
    return best


def ways_to(nuclei: Any, cells: Any) -> dict[str, dict[str, Callable[[], Any]]]:
    """Name all that is timed for an image."""
    import cc3d

    full, side = (8, 4) if cells.ndim == 2 else (26, 6)
    work: dict[str, dict[str, Callable[[], Any]]] = {
        "contacts": {
            "equilabel": lambda: contacts(cells),
            "cc3d": lambda: cc3d.contacts(cells, connectivity=full),
        },
        "contacts, faces": {
            "equilabel": lambda: contacts(cells, connectivity=1),
            "cc3d": lambda: cc3d.contacts(cells, connectivity=side),
        },
        "neighbors": {"equilabel": lambda: neighbors(cells)},
        "relate": {
            "equilabel": lambda: relate(nuclei, cells),
            "NumPy, overlap alone": lambda: relate_by_numpy(nuclei, cells),
        },
    }
    if cells.ndim == 2:
        work["outlines"] = {
            "equilabel": lambda: outlines(cells),
            "OpenCV": lambda: outlines_by_opencv(cells),
            "scikit-image": lambda: outlines_by_skimage(cells),
        }
    return work


def main() -> None:
    """Measure, print and store."""
    rows = []
    for shape in ((2048, 2048), (4096, 4096), (64, 256, 256)):
        nuclei, cells = draw(shape)
        for name, ways in ways_to(nuclei, cells).items():
            row = {"shape": shape, "objects": int(cells.max()), "work": name}
            rows.append(row | {"seconds": interleave(ways, ROUNDS)})
            print(rows[-1], flush=True)
    print(store("relations", rows))


if __name__ == "__main__":
    main()
