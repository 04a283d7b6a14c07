"""What is measured, an image of labels or a table of runs, and which kernel counts it."""

from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import cupy
import numpy as np

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import Kernel, kernel, start
from equilabel.devices.cuda.transfers import download
from equilabel.measuring.counts import Layout
from equilabel.runs.cuda.passes import RunTable

# ---- The ImageLayout argument of the measuring kernels, see image_layout.cuh, and strips of images

AXES = 6
BLOCKS = 264  # enough to keep a GPU busy
MEASURERS = 256  # threads of a block that measures labels, as in walk.cuh
RUN_MEASURERS = 128  # threads of a block that measures runs, as in walk.cuh
STRIP = 32  # rows of labels for each block, or lane
Described: TypeAlias = tuple[np.ndarray, int]  # the argument, and the number of strips
GROUPS = ("sums", "lows", "highs", "seconds", "pairs", "euler_face", "euler_full", "outline")
FIELDS = ("axes", "rank", "tall", "segments", "strips", "width", *GROUPS)
IMAGE_LAYOUT = np.dtype([("sides", "i8", AXES), *((name, "i4") for name in FIELDS)], align=True)


@lru_cache(64)
def describe(sides: tuple[int, ...], layout: Layout, tall: int, wide: int) -> Described:
    """Return an image as `ImageLayout`, cut into strips of a size, and the number of strips."""
    image = np.zeros((), IMAGE_LAYOUT)
    image["sides"] = padded = (1,) * (AXES - len(sides)) + tuple(sides)
    image["axes"], image["rank"], image["width"] = layout.axes, layout.rank, layout.width
    image["tall"] = tall
    image["segments"], image["strips"] = -(-padded[5] // wide), -(-padded[4] // tall)
    for group in GROUPS:
        image[group] = layout[group].start if layout.widths[group] else -1
    blocks = prod(padded[:4]) * int(image["segments"]) * int(image["strips"])
    return image.view(f"V{IMAGE_LAYOUT.itemsize}"), blocks  # without names, which are slow to pass


@lru_cache(64)
def kinds_of(layout: Layout) -> tuple[str, bool]:
    """Return the template arguments for what counts.cuh counts, and whether slabs are compared."""
    euler = layout.euler_full + 2 * layout.euler_face
    deep = layout.rank == 3 and layout.compared != "none"
    steps = ("none", "faces", "all").index(layout.pairs)
    outline = {"none": 0, "equal": 2, "uneven": 3}[layout.outline]
    seconds = "true" if layout.seconds else "false"
    return f"{3 if deep else 2}, {steps}, {euler}, {outline}, {seconds}", deep


@lru_cache(64)
def describe_runs(sides: tuple[int, ...], layout: Layout, words: int) -> Described:
    """Return strips of runs in tiles of so many words: lower ones in a small image."""
    few = kinds_of(layout)[1] or (layout.outline != "none" and words < 16)
    tall = RUN_MEASURERS // words * (4 if few else 8)
    found = describe(sides, layout, tall, 32 * words)
    while tall > RUN_MEASURERS // words and found[1] < BLOCKS:
        tall //= 2
        found = describe(sides, layout, tall, 32 * words)
    return found


# ---- Which kernel counts an image of labels, and in which strips

QUAD = 4  # pixels of a lane, as in accumulate_quads.cu
WIDE = 32 * QUAD  # pixels of a warp
BESIDE = 4  # warps of a block side by side, at most
Counting: TypeAlias = tuple[Kernel, Described, int | np.ndarray]


def find_counting(
    labels: str,
    sides: tuple[int, ...],
    layout: Layout,
    address: int,
    under: tuple[str, np.ndarray],
) -> Counting:
    """Return the kernel that counts labels, the strips of its image, and its last argument.

    `labels` is their type as a template argument, `address` theirs modulo 16 at least, and `under`
    the result of `tell_grays`.
    """
    name, grays = under
    tall, columns = sides[-2] if len(sides) > 1 else 1, sides[-1]
    if name == "Nothing" and layout.compared == "none" and columns >= WIDE and tall >= STRIP // 4:
        # A lane takes four pixels of a row; they are read at once if all rows are aligned.
        fours = columns % QUAD == 0 and address % min(16, QUAD * int(labels[1:])) == 0
        types = f"{labels}, {str(layout.seconds).lower()}, {str(fours).lower()}"
        beside = min(BESIDE, 1 << (-(-columns // WIDE) - 1).bit_length())
        image = describe(sides, layout, STRIP * (MEASURERS // 32 // beside), WIDE * beside)
        return kernel("measuring/cuda/accumulate_quads", f"count_quads<{types}>"), image, beside
    kinds, deep = kinds_of(layout)
    words = 8 if deep or columns <= 256 else 32
    function = kernel(
        "measuring/cuda/accumulate", f"count_labels<{labels}, {words}, {kinds}, {name}>"
    )
    return function, describe(sides, layout, STRIP, 32 * words), grays


# ---- What is measured: an image of labels, or a table of labeled runs

GRAYS = np.dtype([("values", "u8"), ("sums", "u8"), ("aligned", "?")], align=True)
NOTHING = np.zeros((), "V1")
ROOM = 4  # rows of a table for each pixel, beyond which labels are numbered anew


def is_gray(values: Array) -> bool:
    """Return whether kernels read many values of a type at once: unsigned, of one or two bytes."""
    return values.dtype.kind in "bu" and values.itemsize <= 2


class LabelSource:
    """A C-contiguous image of labels of 1 to 6 axes, on the current device.

    `flat` are labels that index a table, `kind` their type without a sign, as a template argument.
    `ids` are the labels that they stand for, or None if they are the labels.
    """

    def __init__(self, labels: Array) -> None:
        self.sides, self.flat, self.kind = labels.shape, labels, f"u{labels.itemsize}"
        self.ids: np.ndarray | None = None

    def find_slots(self) -> int:
        """Return the rows of a table, 0 if a label is negative; wait for the greatest label."""
        self.flat, slots, self.ids = _place(self.flat.reshape(-1))
        self.kind = type_name(self.flat)
        return slots

    def count(
        self, layout: Layout, most: int, table: Any, values: Array = None, sums: int = 0
    ) -> None:
        """Add counts to a table of zeros, or its address, whose last row is that of label `most`.

        `values`, unsigned and of one or two bytes, are added to a table of 4 columns at the address
        `sums`.
        """
        if self.flat.size:
            address, under = self.flat.data.ptr, tell_grays(values, self.sides, sums)
            found = find_counting(self.kind, self.sides, layout, address, under)
            function, (image, blocks), last = found
            start(function, blocks, MEASURERS, self.flat, image, most, table, last)
            if layout.first:  # the smallest flat index of each label
                begins = cupy.flatnonzero(cupy.diff(self.flat, prepend=self.flat[:1] ^ 1))
                firsts = (self.flat.size - begins).astype(np.uint64)
                cupy.maximum.at(table[:, layout["first"].start], self.flat[begins], firsts)


class RunSource:
    """The rows of a run table after `number` and before `paint`.

    `full` tells whether pixels that share a corner have one label. There is no image of labels:
    `flat` is None.
    """

    flat: Array = None
    ids: np.ndarray | None = None

    def __init__(self, table: RunTable, sides: tuple[int, ...], *, full: bool = True) -> None:
        self.sides, self.table, self.full = sides, table, full

    def find_slots(self) -> int:
        """Return the rows of a table; wait for the number of labels."""
        return 1 + int(self.table.count)

    def suffices(self, layout: Layout, values: Array, *, moments: bool) -> bool:
        """Return whether runs tell all that is counted, so that no image of labels is needed.

        Neighbors have the same label where their bits are set; values must be of small types.
        """
        compared = layout.compared
        told = compared == "none" or (not self.table.many and (self.full or compared == "faces"))
        if moments or layout.first or not told:
            return False
        return values is None or (values.ndim == len(self.sides) and is_gray(values))

    def count(
        self, layout: Layout, most: int, table: Any, values: Array = None, sums: int = 0
    ) -> None:
        """Add counts to a table of zeros, as `LabelSource.count` does."""
        name, grays = tell_grays(values, self.sides, sums)
        function, (image, blocks) = self.find_counting(layout, name)
        start(function, blocks, RUN_MEASURERS, self.table.job, image, most, table, grays)

    def find_counting(self, layout: Layout, under: str) -> tuple[Kernel, Described]:
        """Return the kernel that counts runs, and the strips of the image.

        `under` is the type of values as a template argument, see `tell_grays`.
        """
        types = f"{self.table.node}, {self.table.tile}, {kinds_of(layout)[0]}, {under}"
        function = kernel("measuring/cuda/accumulate_runs", f"tally_runs<{types}>")
        return function, describe_runs(self.sides, layout, self.table.tiling.tile[0])


def _place(flat: Array) -> tuple[Array, int, np.ndarray | None]:
    """Return labels that index a table, its number of rows, and the labels if they are others."""
    if flat.size == 0:
        return flat, 1, None
    unsigned = flat.view(f"u{flat.itemsize}")
    most = int(unsigned.max())  # negative labels become the greatest
    if most > np.iinfo(np.int64 if flat.dtype.kind == "u" else flat.dtype).max:
        return flat, 0, np.array([-1], np.int64)
    if most <= ROOM * flat.size:
        return unsigned, most + 1, None
    ids, inverse = cupy.unique(flat, return_inverse=True)
    if int(ids[0]) != 0:
        ids = cupy.concatenate([cupy.zeros(1, ids.dtype), ids])
        inverse = inverse + 1
    return inverse.astype(np.uint32).reshape(-1), ids.size, download(ids).astype(np.int64)


def tell_grays(values: Array, sides: tuple[int, ...], sums: int) -> tuple[str, np.ndarray]:
    """Return the type of values that are added beside counts, and where they are, as arguments."""
    if values is None:
        return "Nothing", NOTHING
    aligned = values.data.ptr % 16 == 0 and sides[-1] * values.itemsize % 16 == 0  # all rows
    told = np.array((values.data.ptr, sums, aligned), GRAYS)
    return f"u{values.itemsize}", told.view(f"V{GRAYS.itemsize}")


def type_name(array: Array) -> str:
    """Return the type of an array as a template argument."""
    return str(array.dtype.str[1:])
