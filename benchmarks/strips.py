"""Compare labels of `label_chunked` with components that cc3d finds strip by strip.

    python benchmarks/strips.py [--side 2048] [--strip 64]

The image is that of `scale.py`; neither it nor its labels are ever held as a whole. Components of
strips of planes are joined where they touch by SciPy's `connected_components`. Labels are the same
if each component has one label, no two have the same, and labels rise in the order of their first
voxels. 2048^3 voxels take about ten minutes on two cores, 4 GB of disk and 8 GB of memory.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import cc3d
import numpy as np
import zarr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from equilabel import label_chunked
from scale import make_image


def touching(before: Any, after: Any) -> Any:
    """List pairs of components of two planes, one upon the other, that touch (26 neighbors)."""
    pairs = []
    for shift in product((-1, 0, 1), repeat=2):
        one, two = (
            plane[tuple(slice(max(0, sign * s), plane.shape[0] + min(0, sign * s)) for s in shift)]
            for sign, plane in ((1, before), (-1, after))
        )
        both = (one > 0) & (two > 0)
        pairs.append(np.unique(np.stack([one[both], two[both]], axis=1), axis=0))
    return np.concatenate(pairs)


def compare(image: Any, labels: Any, num: int, strip: int) -> None:
    """Raise ValueError if labels are not those of the image."""
    of_component, pairs, found, highest, last = [], [], 0, 0, None
    for first in range(0, image.shape[0], strip):
        mask = image[first : first + strip] > 0
        ours = labels[first : first + strip].astype(np.int32)
        theirs, count = cc3d.connected_components(mask, connectivity=26, return_N=True)
        label_of = np.zeros(count + 1, np.int32)
        label_of[theirs.ravel()] = ours.ravel()
        if ((ours > 0) != mask).any() or (label_of[theirs] != ours).any():
            message = f"labels differ in planes {first} to {first + strip - 1}"
            raise ValueError(message)
        seen = np.maximum(np.maximum.accumulate(ours.ravel()), highest)
        if np.diff(seen, prepend=np.int32(highest)).max() > 1:
            message = f"labels do not rise in planes {first} to {first + strip - 1}"
            raise ValueError(message)
        highest = int(seen[-1])
        of_component.append(label_of[1:])
        ends = [np.where(plane > 0, plane.astype(np.int64) + found, 0) for plane in theirs[[0, -1]]]
        if last is not None:
            pairs.append(touching(last, ends[0]))
        last, found = ends[1], found + count
        print(f"{first + strip} planes, {found:,} components of strips", flush=True)
    joined = np.concatenate([*pairs, np.empty((0, 2), np.int64)]) - 1
    ones = np.ones(len(joined), np.bool_)
    edges = coo_array((ones, (joined[:, 0], joined[:, 1])), shape=(found, found))
    components, which = connected_components(edges, directed=False)
    expected = np.concatenate(of_component)
    label_of = np.zeros(components, np.int32)
    label_of[which] = expected
    distinct = len(np.unique(label_of))
    if not components == num == highest == distinct or (label_of[which] != expected).any():
        message = f"there are {components} components; got {distinct} labels up to {highest}"
        raise ValueError(message)


def main() -> None:
    """Make an image, label it in chunks, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--strip", type=int, default=64, help="planes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="equilabel-") as folder:
        image, out = Path(folder, "image.zarr"), Path(folder, "labels.zarr")
        make_image(image, options.side, min(256, options.side))
        _, num = label_chunked(str(image), out=str(out), return_num=True)
        arrays = (zarr.open_array(path, mode="r") for path in (image, out))
        compare(*arrays, num, options.strip)
    print(f"{num:,} labels are the same")


if __name__ == "__main__":
    main()
