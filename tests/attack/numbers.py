"""Labels and tables of random images against scikit-image, SciPy and Python's own integers.

An input is a question from one seed: ``python -m attack.numbers SECONDS SEED`` runs the attack,
``judge(seed)`` repeats one input. Images have any type, layout, rank and shape, those around the
ends of 64-bit words above all; labels go into new arrays and into memory with guarded margins.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from skimage import measure

from equilabel import (
    METHODS,
    PROPERTIES,
    label,
    measure_components,
    regionprops_table,
    split_touching,
)
from references import GRID_METHODS, expected_labels, label_each_value, number_in_raster_order
from strategies import DTYPES, LAYOUTS, WORDS, blobs

from . import Counts

GUARD = 0xA5
TYPES = {
    "images": DTYPES,
    "floats": ("f4", "f8"),
    "out": ("i2", "u2", "i4", "u4", "i8", "u8"),
    "intensities": ("u1", "i4", "f4", "f8"),
    "sums": ("u1", "i2", "u4", "i4", "u8", "i8"),
}
MERGED = [name for name, row in PROPERTIES.items() if row.counted and row.source == "skimage"]


def judge(seed):
    """Answer one question; return "correct", "refused", "wrong" or "lost", and why."""
    rng = np.random.default_rng(seed)
    attack = ATTACKS[seed % len(ATTACKS)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # but for NumPy 2.5's about scikit-image
            warnings.filterwarnings(
                "ignore", "Setting the shape on a NumPy array", module="skimage"
            )
            verdict = attack(rng)
    except Exception as error:  # whatever ends a call without an answer
        return "lost", f"judge({seed}): {type(error).__name__}: {error}"
    return verdict, f"judge({seed}): {attack.__name__}"


def draw_shape(rng, most=6):
    """Draw a shape of up to some thousand pixels."""
    axes = int(rng.integers(1, most + 1))
    side = {1: 5000, 2: 90, 3: 20, 4: 9, 5: 5, 6: 4}[axes]
    shape = rng.integers(1, side + 1, axes)
    if rng.random() < 0.3:
        shape[-1] = rng.choice(WORDS)
        shape[: max(0, axes - 3)] = np.minimum(shape[: max(0, axes - 3)], 2)
    return tuple(int(n) for n in shape)


def draw_image(rng, dtypes=None, most=6):
    """Draw an image of few values, among them the least and greatest of its type."""
    dtype = np.dtype(str(rng.choice(dtypes or TYPES["images"])))
    values = [0, 1]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [0, 1, 2, limits.max, limits.min][: int(rng.integers(2, 6))]
    chosen = blobs(
        draw_shape(rng, most), "i8", len(values), int(rng.integers(2**31)), int(rng.integers(1, 5))
    )
    image = np.array(values, dtype)[chosen]
    return LAYOUTS[str(rng.choice(list(LAYOUTS)))](image)


def draw_background(rng, image):
    """Draw a background: a value of the image, another, or none that its type can hold."""
    some = [None, 0, 1, -1, 7, 300, -(2**40), 2**70, image.flat[0].item()]
    return some[int(rng.integers(len(some)))]


def expected(image, background, connectivity, stacked):
    """Label by other libraries, image by image if stacked."""
    if background == 2**70:  # scikit-image takes what 64 bits hold; this is no pixel's value
        background = -(2**50)
    if not stacked:
        return expected_labels(image, background, connectivity)
    labels = np.zeros(image.shape, np.int64)
    for part, plane in zip(labels, image, strict=True):
        found = expected_labels(plane, background, connectivity)
        part[...] = np.where(found > 0, found + labels.max(), 0)
    return labels


def attack_labels(rng):
    """Label by the default and another method, in new arrays and pass by pass."""
    image = draw_image(rng)
    stacked = image.ndim > 1 and bool(rng.integers(2))
    connectivity = int(rng.integers(1, image.ndim - stacked + 1))
    background = draw_background(rng, image)
    truth = expected(image, background, connectivity, stacked)
    options = {"connectivity": connectivity, "stacked": stacked, "return_num": True}
    rank = image.ndim - stacked
    others = [name for name in GRID_METHODS[1:] if rank in METHODS[name].ranks]
    for method in (GRID_METHODS[0], str(rng.choice(others))):
        for out in (None, np.full(image.shape, 77, np.int64)):
            labels, count = label(image, background, method=method, out=out, **options)
            if not np.array_equal(labels, truth) or count != truth.max(initial=0):
                return "wrong"
    return "correct"


def attack_floats(rng):
    """Label whole floats, and refuse those with a fraction wherever it is."""
    image = draw_image(rng, ("i1", "u1", "i2"))
    floats = image.astype(str(rng.choice(TYPES["floats"])))
    truth = expected_labels(image)
    if not np.array_equal(label(floats), truth):
        return "wrong"
    floats.flat[int(rng.integers(floats.size))] = rng.choice([0.5, np.nan, np.inf, 1e-30])
    try:
        label(floats, out=np.empty(floats.shape, np.int32) if rng.integers(2) else None)
    except ValueError as error:
        return "refused" if "must hold whole numbers; got" in str(error) else "lost"
    return "wrong"


def attack_out(rng):
    """Write labels to the middle of guarded memory, at any address and of any type."""
    image = draw_image(rng, most=3)
    dtype = np.dtype(str(rng.choice(TYPES["out"])))
    truth = label(image)
    if truth.max(initial=0) > np.iinfo(dtype).max:
        return "correct"
    size = image.size * dtype.itemsize
    memory = np.full(size + 256, GUARD, np.uint8)
    begin = -memory.ctypes.data % 64 + 64 + int(rng.integers(64)) // dtype.itemsize * dtype.itemsize
    out = memory[begin : begin + size].view(dtype).reshape(image.shape)
    label(image, out=out)
    kept = (memory[:begin] == GUARD).all() and (memory[begin + size :] == GUARD).all()
    return "correct" if kept and np.array_equal(out, truth) else "wrong"


def attack_table(rng):
    """Measure labels, and a mask from its runs, as scikit-image measures labels."""
    rank = int(rng.integers(2, 4))
    shape = draw_shape(rng, rank)
    shape = (1,) * (rank - len(shape)) + shape[:rank]
    labels = blobs(shape, "i8", 6, int(rng.integers(2**31)), int(rng.integers(1, 6)))
    values = rng.integers(0, 200, shape).astype(str(rng.choice(TYPES["intensities"])))
    names = [
        name for name in MERGED if not PROPERTIES[name].ranks or rank in PROPERTIES[name].ranks
    ]
    names = [name for name in names if name != "orientation" and not name.endswith("hu")]
    if rank == 3:  # scikit-image has no hulls of flat objects
        names = [name for name in names if PROPERTIES[name].mergeable]
    spacing = float(rng.choice([1, 0.25, 3]))
    ours = regionprops_table(labels, values, names, spacing=spacing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = measure.regionprops_table(labels, values, names, spacing=spacing)
    for name, column in theirs.items():
        if not np.allclose(
            ours[name], column, rtol=0, atol=tolerance(name, theirs, values), equal_nan=True
        ):
            return "wrong"
    counted = [name for name in names if PROPERTIES[name].mergeable]
    mask = labels > 2
    connectivity = int(rng.integers(1, rank + 1))
    direct = measure_components(mask, counted, intensity_image=values, connectivity=connectivity)
    regions = label_each_value(mask.astype(np.uint8), 0, connectivity)
    other = regionprops_table(number_in_raster_order(regions), values, counted)
    same = all(np.allclose(direct[name], other[name], equal_nan=True) for name in other)
    return "correct" if same else "wrong"


def tolerance(name, table, values):
    """Return how far a column may be from another: a part of the greatest of its property.

    Where the true number is 0, what others return is rounding; they sum float32 in float32.
    """
    start = name.split("-")[0].replace("minor", "major")
    columns = np.stack([np.abs(table[key]) for key in table if key.startswith(start)])
    greatest = columns[np.isfinite(columns)].max(initial=1)
    return greatest * (2e-4 if values.dtype == "f4" else 1e-6)


def attack_sums(rng):
    """Sum integers of every type as Python does."""
    dtype = np.dtype(str(rng.choice(TYPES["sums"])))
    labels = rng.integers(0, 4, (int(rng.integers(1, 40)), int(rng.integers(1, 200))))
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, labels.shape, dtype, endpoint=True)
    table = regionprops_table(labels, values, ("label", "intensity_sum"))
    sums = [sum(map(int, values[labels == number])) for number in table["label"]]
    fits = all(-(2**63) <= total < 2**63 for total in sums)
    if not fits:
        sums = [float(total) for total in sums]
    same = table["intensity_sum"].tolist() == sums
    return "correct" if same and (table["intensity_sum"].dtype == np.int64) == fits else "wrong"


def attack_split(rng):
    """Split the components of noise, or of labels, as the law of splitting says."""
    rank, stacked = int(rng.integers(2, 5)), bool(rng.integers(2))
    shape = (*[3] * stacked, *rng.integers(1, {2: 40, 3: 14, 4: 7}[rank], rank).tolist())
    image = rng.random(shape) < rng.choice([0.3, 0.5, 0.7, 0.9])
    image = image * rng.integers(1, 4, shape) if rng.integers(2) else image
    options = {"connectivity": int(rng.integers(1, rank + 1)), "stacked": stacked}
    spacing = rng.choice([0.5, 1, 2], rank).tolist()
    tolerance = float(rng.choice([0, 0.3, 0.8, 2]))
    parts = split_touching(image, tolerance=tolerance, spacing=spacing, **options)
    return "correct" if is_split(image, parts, **options) else "wrong"


def is_split(image, parts, connectivity, stacked=False):
    """Return whether each component is one part or more, all connected, in raster order."""
    whole = expected(image, None, connectivity, stacked)
    pairs = np.unique(np.stack([parts, whole]).reshape(2, -1), axis=1)
    again = number_in_raster_order(expected(parts, None, connectivity, stacked))
    # As many pairs as parts: none lies in two components, or in a component and outside.
    return np.array_equal(again, parts) and pairs.shape[1] == len(np.unique(parts))


ATTACKS = (attack_labels, attack_floats, attack_out, attack_table, attack_sums, attack_split)


def attack(seconds, seed=0):
    """Ask questions for some seconds.

    Returns
    -------
    Counts
    """
    counts = Counts("random images and options")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        verdict, about = judge(seed + counts.submitted)
        counts.submitted += 1
        setattr(counts, verdict, getattr(counts, verdict) + 1)
        if verdict in ("wrong", "lost"):
            counts.notes.append(about)
    return counts


if __name__ == "__main__":
    print(attack(float(sys.argv[1]), int(sys.argv[2])))
