"""Draw pictures of objects in docs/guide.md: ``python docs/images/objects.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import tifffile
from scipy.ndimage import distance_transform_edt
from skimage.color import label2rgb
from skimage.segmentation import find_boundaries

from equilabel import (
    binarize,
    contacts,
    filter_objects,
    grow,
    label,
    outlines,
    segment,
    split_touching,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
SIDE = 230  # pixels that are shown
ENLARGED = 3


RECIPE: dict[str, Any] = {"sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}


def bright(image: NDArray[Any]) -> NDArray[Any]:
    """Return an image as gray values from 0 to 1."""
    gray: NDArray[Any] = np.clip((image - 100.0) / (np.percentile(image, 99.8) - 100), 0, 1) ** 0.6
    return gray


def show(panel: Any, picture: NDArray[Any]) -> None:
    """Show a picture without axes."""
    panel.imshow(picture)
    panel.set_axis_off()


def outlined(gray: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Draw thin outlines of objects over an image, enlarged."""
    large = np.kron(gray, np.ones((ENLARGED, ENLARGED)))
    picture = np.repeat(large[..., None], 3, axis=-1)
    edges = find_boundaries(
        np.kron(labels, np.ones((ENLARGED, ENLARGED), labels.dtype)), mode="thick"
    )
    picture[edges] = (1.0, 0.75, 0.1)
    return picture


def draw_splitting() -> None:
    """Draw objects before and after splitting: of a sample, and drawn ones that overlap more."""
    from split import drawn

    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    mask = binarize(nuclei, threshold="triangle", sigma=1.5)
    rough, _ = drawn(1, 0.15)
    rough = np.roll(rough, -160, axis=1)
    figure, axes = plt.subplots(2, 2, figsize=(8, 8.4), layout="constrained")
    rows = ((bright(nuclei), mask, "sample nuclei"), (rough * 0.45, rough, "drawn nuclei"))
    for row, (image, foreground, name) in zip(axes, rows, strict=True):
        whole, parts = label(foreground), split_touching(foreground)
        place = np.s_[120 : 120 + SIDE, 120 : 120 + SIDE]
        for panel, labels, word in ((row[0], whole, "components"), (row[1], parts, "split")):
            show(panel, outlined(image[place], labels[place]))
            number = len(np.unique(labels[place])) - 1
            panel.set_title(f"{name}, {word}: {number} objects", fontsize=10)
    figure.savefig(HERE / "splitting.png", dpi=100)


def draw_per_object() -> None:
    """Draw what Otsu's threshold finds, and one for each object."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    place = np.s_[230 : 230 + SIDE, 240 : 240 + SIDE]
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
    for panel, threshold in zip(axes, ("otsu", "per_object"), strict=True):
        labels = segment(nuclei, threshold, **RECIPE).labels
        show(panel, outlined(bright(nuclei)[place], labels[place]))
        panel.set_title(threshold, fontsize=10)
    figure.savefig(HERE / "per_object.png", dpi=100)


def draw_relations() -> None:
    """Draw polygons with their contacts, cells grown from nuclei, and what a condition keeps."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")[:SIDE, 60 : 60 + SIDE]
    columns = ("label", "area", "centroid", "circularity")
    found = segment(nuclei, "per_object", **RECIPE, properties=columns)
    cells = grow(found.labels, 10)
    kept = filter_objects(found, "circularity > 0.9 and area > 250")
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    for panel, shown in zip(axes, (found.labels, cells, kept.labels), strict=True):
        panel.imshow(bright(nuclei), cmap="gray")
        panel.set_axis_off()
        for polygons in outlines(shown).values():
            for polygon in polygons:
                panel.fill(*polygon.outer.T[::-1], fill=False, edgecolor="orange", linewidth=1)
    for polygons in outlines(found.labels).values():
        axes[1].fill(*polygons[0].outer.T[::-1], fill=False, edgecolor="white", linewidth=0.6)
    middles = found.table.set_index("label")[["centroid-1", "centroid-0"]]
    touching = contacts(cells)
    for pair in touching.itertuples():
        axes[1].plot(*middles.loc[[pair.label, pair.neighbor]].to_numpy().T, "c-", linewidth=1)
    axes[0].set_title(f"outlines: {found.num} objects", fontsize=10)
    axes[1].set_title(f"grow by 10 pixels, contacts: {len(touching)} pairs", fontsize=10)
    axes[2].set_title(f"circularity > 0.9 and area > 250: {kept.num}", fontsize=10)
    figure.savefig(HERE / "relations.png", dpi=100)


def draw_seeds() -> None:
    """Draw components with markers in some, objects split at these, and cells grown from them."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")[:SIDE, 60 : 60 + SIDE]
    whole: Any = {**RECIPE, "split": False}
    points = [(45, 169), (34, 193), (63, 195), (53, 50), (79, 42), (101, 51), (127, 92), (146, 68)]
    markers = np.zeros(nuclei.shape, np.uint8)
    markers[tuple(np.transpose(points))] = 1
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    steps: Any = ({}, {"markers": markers}, {"markers": markers, "grow": 6})
    words = ("components, and markers", "markers=markers", "markers=markers, grow=6")
    for panel, step, word in zip(axes, steps, words, strict=True):
        found = segment(nuclei, "per_object", **whole, **step)
        show(panel, outlined(bright(nuclei), found.labels))
        panel.set_title(f"{word}: {found.num} objects", fontsize=10)
        rows, columns = np.transpose(points) * ENLARGED + 1
        if "grow" not in step:
            panel.plot(columns, rows, "c+", markersize=7)
    figure.savefig(HERE / "seeds.png", dpi=100)


def draw_sigma() -> None:
    """Draw what one threshold finds after no, some and too much smoothing."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    place = np.s_[230 : 230 + SIDE, 240 : 240 + SIDE]
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    for panel, sigma in zip(axes, (0, 1.5, 8), strict=True):
        labels = segment(nuclei, "triangle", sigma=sigma).labels[place]
        show(panel, outlined(bright(nuclei)[place], labels))
        panel.set_title(f"sigma={sigma}: {len(np.unique(labels)) - 1} objects", fontsize=10)
    figure.savefig(HERE / "sigma.png", dpi=80)


def draw_background() -> None:
    """Draw what is found on a tilted background, and after it is subtracted."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    tilted = nuclei + np.arange(512, dtype=np.uint16) * 3
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
    gray = tilted / np.percentile(tilted, 99.8)
    for panel, radius in zip(axes, (None, 40), strict=True):
        found = segment(tilted, sigma=2, min_size=30, background=radius)
        show(panel, np.clip(outlined(gray, found.labels), 0, 1))
        panel.set_title(f"background={radius}: {found.num} objects", fontsize=10)
    figure.savefig(HERE / "background.png", dpi=80)


def draw_connectivity() -> None:
    """Draw the components of a few pixels, by neighbors that share edges, and corners too."""
    mask = np.zeros((9, 12), bool)
    mask[1:4, 1:4] = mask[4:7, 4:7] = mask[1:3, 8:11] = mask[6:8, 1:3] = True
    mask[(3, 4, 5, 6, 7), (7, 8, 9, 10, 11)] = True
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for panel, connectivity in zip(axes, (1, 2), strict=True):
        labels, number = label(mask, connectivity=connectivity, return_num=True)
        panel.pcolormesh(
            np.ma.masked_equal(labels, 0), cmap="tab10", vmin=1, vmax=10, edgecolors="gray", lw=0.3
        )
        panel.set(aspect="equal", xticks=[], yticks=[], ylim=(9, 0))
        panel.set_title(f"connectivity={connectivity}: {number} objects", fontsize=10)
    figure.savefig(HERE / "connectivity.png", dpi=80)


def draw_faults() -> None:
    """Draw four faults, each above what mends it."""
    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    depth = distance_transform_edt(binarize(nuclei, "li", sigma=1))
    hollow = nuclei * np.where(depth > 5, 0.25, 1)
    noisy = nuclei + np.random.default_rng(0).normal(0, 70, nuclei.shape)
    light = nuclei.max() - nuclei.astype(float)
    plain = {"threshold": "triangle", "sigma": 1}
    faults: Any = {
        "objects that touch are one": (nuclei, {}, {"split": 0.5}),
        "rings instead of disks": (hollow, {}, {"fill_holes": True}),
        "specks": (noisy, {"sigma": 0, "threshold": "li"}, {"sigma": 2, "min_size": 30}),
        "all is one object": (light, {}, {"dark": True}),
    }
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.6), layout="constrained")
    place = np.s_[20:150, 60:190]
    for column, (fault, (image, wrong, right)) in zip(axes.T, faults.items(), strict=True):
        gray = image - np.percentile(image, 0.1)
        gray = np.clip(gray / np.percentile(gray, 99.8), 0, 1) ** 0.6
        for panel, options in zip(column, (wrong, right), strict=True):
            labels = segment(image, **{**plain, **options}).labels[place]
            show(panel, label2rgb(labels, gray[place], alpha=0.45, bg_label=0))
        column[0].set_title(fault, fontsize=10)
        column[1].set_title(", ".join(f"{k}={v}" for k, v in right.items()), fontsize=10)
    figure.savefig(HERE / "faults.png", dpi=80)


if __name__ == "__main__":
    draw_sigma()
    draw_background()
    draw_connectivity()
    draw_faults()
    draw_splitting()
    draw_per_object()
    draw_relations()
    draw_seeds()
