"""Time `split_touching`, and count what it finds, beside recipes of scikit-image.

The recipes work on the whole image: distance transform, `peak_local_max` with a least distance or
`h_maxima`, `watershed`. Masks are those of Otsu's threshold. Objects that were drawn are known, and
one counts as found if a part and it cover each other to more than 60 %. Run as
``python benchmarks/split.py [FOLDER OF IMAGES]``; results go to ``benchmarks/results/split.json``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.morphology import h_maxima
from skimage.segmentation import watershed

from equilabel import binarize, label, samples, split_touching
from equilabel.samples.nuclei import scatter
from harness import interleave, store

if TYPE_CHECKING:
    from collections.abc import Callable

SIDE = 2048
ROUNDS = 5
DEPTHS = (0.5, 0.8, 1.0, 1.5, 2.0)
DISTANCES = (5, 10)


def peaks(mask: Any, distance: int) -> Any:
    """Split by peaks that keep a least distance."""
    radii = ndimage.distance_transform_edt(mask)
    found = peak_local_max(radii, min_distance=distance, labels=ndimage.label(mask)[0])
    seeds = np.zeros(mask.shape, np.int32)
    seeds[tuple(found.T)] = np.arange(1, len(found) + 1)
    return watershed(-radii, seeds, mask=mask)


def heights(mask: Any, depth: float) -> Any:
    """Split by maxima of a least height."""
    radii = ndimage.distance_transform_edt(mask)
    seeds, _ = ndimage.label(h_maxima(radii, depth), np.ones((3,) * mask.ndim))
    return watershed(-radii, seeds, mask=mask)


def contenders() -> dict[str, Callable[[Any], Any]]:
    """Name all ways to split a mask."""
    ways: dict[str, Callable[[Any], Any]] = {"label": label}
    for depth in DEPTHS:
        ways[f"split_touching {depth}"] = lambda mask, h=depth: split_touching(mask, tolerance=h)
    for distance in DISTANCES:
        ways[f"peak_local_max {distance}"] = lambda mask, d=distance: peaks(mask, d)
    for depth in (0.5, 1.0, 2.0):
        ways[f"h_maxima {depth}"] = lambda mask, h=depth: heights(mask, h)
    return ways


def drawn(seed: int, overlap: float) -> tuple[Any, Any]:
    """Draw nuclei that overlap, with rough outlines; return their mask, and each of them."""
    rng = np.random.default_rng(seed)
    shape = (512, 512)
    taken, truth = np.zeros(shape, np.bool_), np.zeros(shape, np.int32)
    nuclei = scatter(taken, rng, fraction=0.25, radius=11, spacing=(1, 1), overlap=overlap)
    for number, (box, distance) in enumerate(nuclei, 1):
        truth[box][(distance <= 1) & (truth[box] == 0)] = number
    rough = ndimage.gaussian_filter(rng.standard_normal(shape), 1.2)
    inside, outside = map(ndimage.distance_transform_edt, (truth > 0, truth == 0))
    mask = ndimage.binary_fill_holes(inside - outside + 0.6 * rough / rough.std() > 0)
    return mask, np.where(mask, watershed(truth == 0, truth, mask=mask), 0)


def found(truth: Any, parts: Any) -> tuple[int, int, int]:
    """Count objects that were found, those that are there, and parts."""
    there, made = int(truth.max()), int(parts.max())
    common = np.zeros((there + 1, made + 1))
    np.add.at(common, (truth, parts), 1)
    union = common.sum(0)[None] + common.sum(1)[:, None] - common
    return int((common[1:, 1:] > 0.6 * union[1:, 1:]).sum()), there, made


def main(folder: str | None = None) -> None:
    """Measure, print and store."""
    ways, rows = contenders(), []
    images = {
        "nuclei_mask": samples.nuclei_mask((SIDE, SIDE)),
        "nuclei_2d": binarize(samples.nuclei_2d((SIDE, SIDE)), sigma=1),
        "separate disks": binarize(samples.nuclei_2d((SIDE, SIDE)), sigma=1),
    }
    clean = split_touching(images["nuclei_mask"])
    images["separate disks"] = (clean > 0) & (ndimage.grey_erosion(clean, 3) == clean)
    timed = ("label", "split_touching 0.8", "peak_local_max 5", "h_maxima 1.0")
    for name, mask in images.items():
        times = interleave({way: lambda w=way, m=mask: ways[w](m) for way in timed}, ROUNDS)
        rows += [{"image": name, "way": way, **seconds} for way, seconds in times.items()]
    for overlap in (0.05, 0.15):
        pairs = [drawn(seed, overlap) for seed in range(8)]
        for way, split in ways.items():
            counts = [found(truth, split(mask)) for mask, truth in pairs]
            right, there, made = np.sum(counts, axis=0).tolist()
            score = 2 * right / (there + made)
            row = {"overlap": overlap, "way": way, "objects": there, "parts": made, "f1": score}
            rows.append(row)
    if folder is not None:
        from skimage.io import imread

        for path in sorted(Path(folder).glob("*.tif")):
            mask = binarize(imread(path), sigma=1)
            numbers = {way: int(split(mask).max()) for way, split in ways.items()}
            rows.append({"file": path.name, **numbers})
    for row in rows:
        print(*(f"{key} {value}" for key, value in row.items()), sep="  ")
    print(store("split", rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
