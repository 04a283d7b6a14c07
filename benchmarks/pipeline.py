"""Time `segment`, from an image to labels and a table, and its steps, beside other libraries.

Images are drawn nuclei of 16 bits; the recipe is that of the guide: a Gaussian of one pixel, Otsu,
filled holes, 30 pixels at least; area, box, centroid and intensities are measured; with and without
splitting. The peers are scikit-image, and the fastest functions of several libraries put together:
OpenCV (SciPy in 3D), cc3d, edt and scikit-image's watershed. On a GPU it is cuCIM, which has no
watershed. Run as::

    python benchmarks/pipeline.py cpu             # 20 minutes
    python benchmarks/pipeline.py cuda            # with CuPy, and cuCIM if it is there
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.measure import label, regionprops_table
from skimage.segmentation import watershed

from equilabel import samples, segment
from harness import interleave, peak_memory, store, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = ("label", "area", "bbox", "centroid", "intensity_mean", "intensity_min", "intensity_max")
RECIPE: dict[str, Any] = {"sigma": 1, "fill_holes": True, "min_size": 30, "properties": COLUMNS}
SHAPES = ((512, 512), (1024, 1024), (2048, 2048), (4096, 4096), (64, 256, 256), (128, 256, 256))
LARGE = ((8192, 8192), (512, 512, 512))  # on the CPU
ROUNDS = 5


def draw(shape: tuple[int, ...]) -> Any:
    """Draw nuclei, at most 4096 x 4096 or 64 x 256 x 256 pixels of them, repeated."""
    tile = samples.nuclei_2d((4096, 4096)) if len(shape) == 2 else samples.nuclei_3d((64, 256, 256))
    times = [-(-side // most) for side, most in zip(shape, tile.shape, strict=True)]
    image = np.tile(tile, times)[tuple(map(slice, shape))]
    return np.ascontiguousarray(image, np.uint16) * 17


def by_skimage(image: Any, split: bool) -> Any:
    """Do it with scikit-image and SciPy alone."""
    smooth = gaussian(image, 1, preserve_range=True)
    mask = ndimage.binary_fill_holes(smooth > threshold_otsu(smooth))
    labels = label(mask)
    if split:
        radii = ndimage.distance_transform_edt(mask)
        labels = flood(radii, labels, mask)
    sizes = np.bincount(labels.ravel())
    labels = label(np.where(sizes[labels] >= 30, labels, 0))
    return labels, regionprops_table(labels, image, properties=COLUMNS)


def flood(radii: Any, labels: Any, mask: Any) -> Any:
    """Split by the peaks of the distance to the background."""
    peaks = peak_local_max(radii, min_distance=5, labels=labels)
    seeds = np.zeros(mask.shape, np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-radii, seeds, mask=mask)


def by_peers(image: Any, split: bool) -> Any:
    """Do it with the fastest functions of several libraries, in threads where these have them."""
    import cc3d
    import cv2
    import edt

    if image.ndim == 2:
        smooth = cv2.GaussianBlur(image, (9, 9), 1, borderType=cv2.BORDER_REPLICATE)
        _, mask = cv2.threshold(smooth, 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    else:
        smooth = ndimage.gaussian_filter(image.astype(np.float32), 1, mode="nearest")
        mask = smooth > threshold_otsu(smooth)
    gaps = cc3d.connected_components(mask == 0, connectivity=4 if image.ndim == 2 else 6)
    inside = np.ones(int(gaps.max()) + 1, np.bool_)
    for axis in range(image.ndim):
        for end in (0, -1):
            inside[gaps.take(end, axis)] = False
    mask = inside[gaps] | (gaps == 0)
    labels = cc3d.connected_components(mask, connectivity=8 if image.ndim == 2 else 26)
    if split:
        labels = flood(edt.edt(mask, parallel=len(os.sched_getaffinity(0))), labels, mask)
    found = cc3d.statistics(labels)
    kept = found["voxel_counts"] >= 30
    kept[0] = False
    labels = (np.cumsum(kept) * kept)[labels]
    found = cc3d.statistics(labels)
    inside = labels > 0
    owners, values = labels[inside], image[inside]
    count = len(found["voxel_counts"])
    sums = np.bincount(owners, weights=values, minlength=count)
    lows, highs = np.full(count, 2**16 - 1, image.dtype), np.zeros(count, image.dtype)
    np.minimum.at(lows, owners, values)
    np.maximum.at(highs, owners, values)
    return labels, (found, sums / found["voxel_counts"], lows, highs)


def by_cucim(image: Any) -> Any:
    """Do it with cuCIM and CuPy, on the GPU that holds the image."""
    import cupy
    from cucim.skimage.filters import gaussian, threshold_otsu
    from cucim.skimage.measure import label, regionprops_table
    from cupyx.scipy.ndimage import binary_fill_holes

    smooth = gaussian(image, 1, preserve_range=True)
    labels = label(binary_fill_holes(smooth > threshold_otsu(smooth)))
    sizes = cupy.bincount(labels.ravel())
    labels = label(cupy.where(sizes[labels] >= 30, labels, 0))
    return labels, regionprops_table(labels, image, properties=COLUMNS)


def steps_of(run: Callable[..., Any], wait: Callable[[], None] = lambda: None) -> dict[str, float]:
    """Return the seconds of each step, the least of several calls."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        told: list[tuple[str, float]] = []

        def tell(step: str, told: list[tuple[str, float]] = told) -> None:
            wait()
            told.append((step, perf_counter()))

        run(progress=tell)
        tell("end")
        for (step, began), (_, ended) in pairwise(told):
            best[step] = min(best.get(step, np.inf), ended - began)
    return best


def with_threads(most: int, run: Callable[..., Any], **options: Any) -> Any:
    """Call with so many threads."""
    os.environ["EQUILABEL_NUM_THREADS"] = str(most)
    try:
        return run(**options)
    finally:
        del os.environ["EQUILABEL_NUM_THREADS"]


def measure_cpu() -> list[dict[str, Any]]:
    """Measure all images on the CPU."""
    rows = []
    cores = len(os.sched_getaffinity(0))
    for shape in (*SHAPES, *LARGE):
        image = draw(shape)
        for split in (False, True):
            ours = partial(segment, image, split=split, **RECIPE)
            contenders = {f"equilabel {n}": partial(with_threads, n, ours) for n in (1, cores)}
            if not (split and len(shape) == 3 and shape[0] > 64):
                contenders["scikit-image"] = partial(by_skimage, image, split)
                contenders["peers"] = partial(by_peers, image, split)
            contenders["astype"] = lambda image=image: image.astype(np.float32).astype(np.uint16)
            row = {"shape": shape, "split": split, "objects": ours().num}
            row |= {"seconds": interleave(contenders, ROUNDS), "steps": steps_of(ours)}
            row["extra_bytes_per_pixel"] = peak_memory(ours) / image.size
            rows.append(row)
            print(row, flush=True)
    return rows


def device_memory(run: Callable[[], Any]) -> int:
    """Return the bytes of GPU memory that a call takes from CuPy's pool, its results included."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.total_bytes()
    run()
    return int(pool.total_bytes() - before)


def measure_cuda() -> list[dict[str, Any]]:
    """Measure all images on a GPU that holds them."""
    import cupy

    def waiting(run: Callable[[], Any]) -> Any:
        found = run()
        cupy.cuda.Device().synchronize()
        return found

    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    cucim = find_spec("cucim")
    packages = ("cupy-cuda13x", "numpy", *(["cucim-cu13"] if cucim else []))
    known = {name: version(name) for name in packages}
    driver = cupy.cuda.runtime.driverGetVersion()
    about = {"card": device["name"].decode(), "versions": known, "driver": driver}
    rows: list[dict[str, Any]] = [about]
    warm_up(partial(waiting, partial(segment, cupy.asarray(draw(SHAPES[1])), split=True, **RECIPE)))
    for shape in (*SHAPES[1:4], (8192, 8192), (256, 512, 512)):
        image = cupy.asarray(draw(shape))
        for split in (False, True):
            ours = partial(segment, image, split=split, **RECIPE)
            row = {"shape": shape, "split": split, "objects": ours().num}
            contenders = {"equilabel": partial(waiting, ours)}
            if cucim and not split:
                contenders["cuCIM"] = partial(waiting, partial(by_cucim, image))
            row["seconds"] = interleave(contenders, 2 * ROUNDS)
            row["steps"] = steps_of(ours, cupy.cuda.Device().synchronize)
            row["extra_bytes_per_pixel"] = device_memory(ours) / image.size
            rows.append(row)
            print(row, flush=True)
    return rows


if __name__ == "__main__":
    where = sys.argv[1]
    print(store(f"pipeline_{where}", {"cpu": measure_cpu, "cuda": measure_cuda}[where]()))
