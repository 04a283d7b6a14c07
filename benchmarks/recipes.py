"""Count the nuclei that recipes for a first try find: in annotated images, and in drawn ones.

A nucleus is found if it and an object share more than half (0.7) of the pixels that either has; F1
is twice the number found, by nuclei and objects together. Annotated images are those of a file of
arrays ``00_image``, ``00_truth`` and ``00_dark`` and so on, 41 images of BBBC038v1 with corrected
annotations here; drawn ones are those of `equilabel.samples`, whose truth is known, in 2D and 3D.
The recipe of scikit-image is Otsu's threshold and a watershed from the peaks of the smoothed
distance. Run as ``python benchmarks/recipes.py annotated_nuclei.npz``.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.measure import label
from skimage.segmentation import watershed

from equilabel import samples, segment
from equilabel.samples import nuclei
from harness import store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARES = (0.5, 0.7)
THRESHOLDS = ("otsu", "li", "triangle", "per_object")
RECIPE: dict[str, Any] = {"sigma": 1, "fill_holes": True, "min_size": 30, "split": 0.5}


def annotated(path: str) -> Iterator[tuple[Any, Any, bool, None]]:
    """Yield images with the nuclei that persons outlined, and whether they are dark."""
    known = np.load(path)
    for name in sorted(key.partition("_")[0] for key in known if key.endswith("_image")):
        truth = np.unique(known[f"{name}_truth"], return_inverse=True)[1]
        image = known[f"{name}_image"]
        yield image, truth.reshape(image.shape), bool(known[f"{name}_dark"]), None


def drawn(sample: Callable[..., Any], shape: tuple[int, ...], count: int) -> Iterator[Any]:
    """Yield samples with the nuclei that were drawn: those pixels where each is brightest."""
    for seed in range(count):
        truth = np.zeros(shape, np.int32)

        def scatter(*given: Any, truth: Any = truth, **options: Any) -> Iterator[Any]:
            for number, (box, distance) in enumerate(nuclei_scatter(*given, **options), 1):
                truth[box][(distance <= 1) & (truth[box] == 0)] = number
                yield box, distance

        with patch.object(nuclei, "scatter", scatter):
            image = sample(shape, seed)
        yield image, truth, False, (4, 1, 1) if len(shape) == 3 else None


nuclei_scatter = nuclei.scatter


def by_skimage(image: Any, dark: bool, spacing: Any) -> Any:
    """Find nuclei with scikit-image and SciPy, as their examples do."""
    smooth = gaussian(image, 1, preserve_range=True)
    level = threshold_otsu(smooth)
    mask = ndimage.binary_fill_holes(smooth <= level if dark else smooth > level)
    radii = gaussian(ndimage.distance_transform_edt(mask, spacing), 1, preserve_range=True)
    peaks = peak_local_max(radii, min_distance=5, labels=label(mask))
    seeds = np.zeros(mask.shape, np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    labels = watershed(-radii, seeds, mask=mask)
    kept = np.bincount(labels.ravel()) >= 30
    kept[0] = False
    return (np.cumsum(kept) * kept)[labels]


def by_us(threshold: str, image: Any, dark: bool, spacing: Any) -> Any:
    """Find nuclei with the recipe of the guide and a threshold."""
    return segment(image, threshold, dark=dark, spacing=spacing, **RECIPE).labels


def along_lines(image: Any, dark: bool, spacing: Any) -> Any:
    """Find nuclei with the recipe of the guide, split along dark lines of a smoother image."""
    options = {**RECIPE, "sigma": 2, "split": True, "split_by": "intensity"}
    return segment(image, "per_object", dark=dark, spacing=spacing, **options).labels


def by_brightness(image: Any, dark: bool, spacing: Any) -> Any:
    """Split the same foreground by scikit-image, from the peaks of the smoothed image."""
    options = {**RECIPE, "sigma": 2, "split": False}
    mask = segment(image, "per_object", dark=dark, spacing=spacing, **options).labels > 0
    smooth = gaussian(image, 2, preserve_range=True) * (-1 if dark else 1)
    peaks = peak_local_max(smooth, min_distance=5, labels=label(mask), exclude_border=False)
    seeds = np.zeros(mask.shape, np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-smooth, seeds, mask=mask)


def score(find: Callable[..., Any], images: list[Any]) -> dict[str, float]:
    """Return F1 of all images together, for both shares, and how many objects there are."""
    right, there, made = np.zeros(len(SHARES)), 0, 0
    for image, truth, dark, spacing in images:
        labels = find(image, dark, spacing)
        most = int(labels.max()) + 1
        pairs = truth.ravel().astype(np.int64) * most + labels.ravel()
        common = np.bincount(pairs, minlength=(truth.max() + 1) * most).reshape(-1, most)
        union = common.sum(0)[None] + common.sum(1)[:, None] - common
        for k, share in enumerate(SHARES):
            right[k] += np.count_nonzero(common[1:, 1:] > share * union[1:, 1:])
        there, made = there + len(np.unique(truth)) - 1, made + most - 1
    found = {str(share): 2 * right[k] / (there + made) for k, share in enumerate(SHARES)}
    return {**found, "objects": made, "nuclei": there}


def main(path: str) -> None:
    """Count and store."""
    sets = {
        "annotated": list(annotated(path)),
        "drawn 2D": list(drawn(samples.nuclei_2d, (512, 512), 8)),
        "drawn 3D": list(drawn(samples.nuclei_3d, (32, 192, 192), 8)),
    }
    ways: dict[str, Callable[..., Any]] = {"scikit-image": by_skimage}
    ways |= {name: partial(by_us, name) for name in THRESHOLDS}
    ways |= {"per_object, dark lines": along_lines, "per_object, scikit-image": by_brightness}
    rows = [
        {"set": name, "way": way, **score(find, images)}
        for name, images in sets.items()
        for way, find in ways.items()
    ]
    for row in rows:
        print(*row.values())
    print(store("recipes", rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
