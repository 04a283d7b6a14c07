"""What is measured, an image of labels or a table of runs, and which kernel counts it."""

from functools import lru_cache
from math import prod
from typing import TypeAlias

import cupy
import numpy as np

from equilabel.array_types import Array
from equilabel.devices.cuda.kernels import Kernel, kernel, launch, start
from equilabel.devices.cuda.transfers import download
from equilabel.measuring.counts import Layout
from equilabel.runs.cuda.passes import RunTable

# ---- The ImageLayout argument of the measuring kernels, see image_layout.cuh, and strips of images

AXES = 6
WARPS = 1 << 14  # enough to keep a GPU busy
BLOCKS = 264  # enough to keep a GPU busy
TALLEST = 256  # rows of a warp, at most
MEASURERS = 256  # threads of a block that measures labels, as in walk.cuh
RUN_MEASURERS = 128  # threads of a block that measures runs, as in walk.cuh
STRIP = 32  # rows of labels for each block, or lane
Described: TypeAlias = tuple[np.ndarray, int]  # the argument, and the number of strips
IMAGE_LAYOUT = np.dtype(
    [
        ("sides", "i8", AXES),
        *((name, "i4") for name in ("axes", "rank", "tall", "segments", "strips", "width")),
        *((name, "i4") for name in ("sums", "lows", "highs", "seconds", "pairs")),
        *((name, "i4") for name in ("euler_face", "euler_full", "outline")),
    ],
    align=True,
)


@lru_cache(64)
def describe(sides: tuple[int, ...], layout: Layout, tall: int, wide: int) -> Described:
    """Return an image as `ImageLayout`, cut into strips of a size, and the number of strips."""
    image = np.zeros((), IMAGE_LAYOUT)
    image["sides"] = padded = (1,) * (AXES - len(sides)) + tuple(sides)
    image["axes"], image["rank"], image["width"] = layout.axes, layout.rank, layout.width
    image["tall"] = tall
    image["segments"], image["strips"] = -(-padded[5] // wide), -(-padded[4] // tall)
    for group in ("sums", "lows", "highs", "seconds", "pairs", "euler_face", "euler_full"):
        image[group] = layout[group].start if layout.widths[group] else -1
    image["outline"] = layout["outline"].start if layout.widths["outline"] else -1
    blocks = prod(padded[:4]) * int(image["segments"]) * int(image["strips"])
    return image.view(f"V{IMAGE_LAYOUT.itemsize}"), blocks  # without names, which are slow to pass


def columns_of_warps(sides: tuple[int, ...], wide: int) -> tuple[int, int]:
    """Return how many rows of `wide` columns a warp takes, and the number of warps."""
    rows = sides[-2] if len(sides) > 1 else 1
    beside = -(-sides[-1] // wide) * prod(sides[:-2])
    tall = min(TALLEST, max(8, -(-rows * beside // WARPS)))
    return tall, beside * -(-rows // tall)


def words_of(sides: tuple[int, ...]) -> int:
    """Return how many words of a row of labels a block takes."""
    return 32 if sides[-1] > 256 else 8


@lru_cache(64)
def kinds_of(layout: Layout) -> tuple[str, bool]:
    """Return the template arguments for what counts.cuh counts, and whether slabs are compared."""
    euler = layout.euler_full + 2 * layout.euler_face
    deep = layout.rank == 3 and layout.compared != "none"
    steps = ("none", "faces", "all").index(layout.pairs)
    outline = {"none": 0, "equal": 2, "uneven": 3}[layout.outline]
    seconds = "true" if layout.seconds else "false"
    return f"{3 if deep else 2}, {steps}, {euler}, {outline}, {seconds}", deep


def count_strips(sides: tuple[int, ...], wide: int, tall: int) -> int:
    """Return how many strips of a size an image has."""
    rows = sides[-2] if len(sides) > 1 else 1
    return prod(sides[:-2]) * -(-rows // tall) * -(-sides[-1] // wide)


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
    *,
    sizes: bool = False,
) -> Counting:
    """Return the kernel that counts labels, the strips of its image, and its last argument.

    `labels` is their type as a template argument, `address` theirs modulo 16 at least, and `under`
    the result of `tell_grays`. `sizes` says that only numbers of pixels are needed.
    """
    name, grays = under
    if name == "Nothing" and take_quads(sides, layout):
        # Four labels of a row can be read at once if all rows are aligned.
        fours = sides[-1] % QUAD == 0 and address % min(16, QUAD * int(labels[1:])) == 0
        what = 0 if sizes else 2 if layout.seconds else 1
        types = f"{labels}, {what}, {str(fours).lower()}"
        beside = warps_beside(sides[-1])
        image = describe(sides, layout, STRIP * (MEASURERS // 32 // beside), WIDE * beside)
        return kernel("measuring/cuda/accumulate_quads", f"count_quads<{types}>"), image, beside
    kinds, deep = kinds_of(layout)
    words = 8 if deep else words_of(sides)
    function = kernel(
        "measuring/cuda/accumulate", f"count_labels<{labels}, {words}, {kinds}, {name}>"
    )
    return function, describe(sides, layout, STRIP, 32 * words), grays


def take_quads(sides: tuple[int, ...], layout: Layout) -> bool:
    """Return whether lanes take quads of pixels: no neighbors are compared, and rows are many."""
    tall = sides[-2] if len(sides) > 1 else 1
    return layout.compared == "none" and sides[-1] >= WIDE and tall >= STRIP // 4


def warps_beside(columns: int) -> int:
    """Return how many warps of a block lie side by side: 1, 2 or 4, with the others below them."""
    beside = 1
    while beside < BESIDE and WIDE * beside < columns:
        beside *= 2
    return beside


# ---- What is measured: an image of labels, or a table of labeled runs

GRAYS = np.dtype([("values", "u8"), ("sums", "u8"), ("aligned", "?")], align=True)
NOTHING = np.zeros((), "V1")
ROOM = 4  # rows of a table for each pixel, beyond which labels are numbered anew


def is_gray(values: Array) -> bool:
    """Return whether kernels read many values of a type at once: unsigned, of one or two bytes."""
    return values.dtype.kind in "bu" and values.itemsize <= 2


class LabelSource:
    """The rows of a C-contiguous image of labels of 1 to 6 axes; the greatest label is waited for.

    `flat` are labels without a sign that index the `slots` rows of a table, 0 if a label is
    negative; `kind` is their type as a template argument. `ids` are the labels that they stand
    for, or None if they are the labels.
    """

    def __init__(self, labels: Array) -> None:
        self.sides = labels.shape
        self.flat, self.slots, self.ids = _place(labels.reshape(-1))
        self.kind = type_name(self.flat)

    @classmethod
    def guessed(cls, labels: Array, slots: int) -> "LabelSource":
        """Return a source with so many slots, without waiting; the table tells if they suffice."""
        found = cls.__new__(cls)
        found.sides, found.slots, found.ids = labels.shape, slots, None
        found.flat, found.kind = labels, f"u{labels.itemsize}"  # only its address is used
        return found

    def count(
        self, layout: Layout, table: Array = None, values: Array = None, sums: int = 0
    ) -> Array:
        """Return a table of counts on the device.

        `table` is one of zeros, or the address of one. `values`, as for `add_gray`, are added to a
        table at the address `sums`.
        """
        if table is None:
            table = cupy.zeros((self.slots, layout.width), np.uint64)
        if self.flat.size and self.slots:
            under = tell_grays(values, self.sides, sums)
            address = self.flat.data.ptr
            found = find_counting(self.kind, self.sides, layout, address, under)
            _measure(*found[:2], self.flat, self.slots - 1, table, found[2])
            if layout.first:
                self._keep_first(layout, table)
        return table

    def _keep_first(self, layout: Layout, table: Array) -> None:
        """Keep the smallest flat index of each label."""
        launch(
            kernel("measuring/cuda/accumulate", f"count_first<{self.kind}>"),
            self.flat.size,
            self.flat,
            self.sides[-1],
            self.flat.size,
            np.uint64(self.slots - 1),
            layout.width,
            layout["first"].start,
            table,
        )

    def add_gray(self, layout: Layout, values: Array, table: Array) -> None:
        """Add one value of a small type for each pixel to a table of 4 columns, or its address."""
        if self.flat.size:
            types = f"{self.kind}, {words_of(self.sides)}, {type_name(values)}"
            _measure(
                kernel("measuring/cuda/accumulate", f"value_labels<{types}>"),
                describe(self.sides, layout, STRIP, 32 * words_of(self.sides)),
                self.flat,
                self.slots - 1,
                values,
                _aligned(values, self.sides),
                table,
            )


class RunSource:
    """The rows of a run table after `number` and before `paint`.

    `labels` is their number, or the number of rows of the table, which tells if a label has none;
    without it, their number is waited for. `full` tells whether pixels that share a corner have one
    label. There is no image of labels: `flat` is None.
    """

    def __init__(
        self,
        table: RunTable,
        sides: tuple[int, ...],
        labels: int | None = None,
        *,
        full: bool = True,
    ) -> None:
        self.sides, self.table, self.full = sides, table, full
        self.flat: Array = None
        self.ids: np.ndarray | None = None
        self._known = labels

    @property
    def slots(self) -> int:
        """Rows of a table; waits for the number of labels."""
        if self._known is None:
            self._known = int(self.table.count)
        return 1 + self._known

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
        self, layout: Layout, table: Array = None, values: Array = None, sums: int = 0
    ) -> Array:
        """Return a table of counts on the device; arguments as for `LabelSource.count`."""
        if table is None:
            table = cupy.zeros((self.slots, layout.width), np.uint64)
        kinds, deep = kinds_of(layout)
        words = self.table.tiling.tile[0]
        few = deep or (layout.outline != "none" and words < 16)
        name, grays = tell_grays(values, self.sides, sums)
        function = kernel(
            "measuring/cuda/accumulate_runs", f"tally_runs<{self._types}, {kinds}, {name}>"
        )
        self._measure(function, self._describe(layout, 4 if few else 8), table, grays)
        return table

    def add_gray(self, layout: Layout, values: Array, table: Array) -> None:
        """Add one value of a small type for each pixel to a table of 4 columns, or its address."""
        function = kernel(
            "measuring/cuda/accumulate_runs", f"value_runs<{self._types}, {type_name(values)}>"
        )
        aligned = _aligned(values, self.sides)
        self._measure(function, self._describe(layout, 8), values, aligned, table)

    @property
    def _types(self) -> str:
        return f"{self.table.node}, {self.table.tile}"

    def _measure(self, function: Kernel, image: Described, *arguments: object) -> None:
        """Start a kernel that reads run tables, and labels from their nodes."""
        told, blocks = image
        most = self.slots - 1
        start(function, blocks, RUN_MEASURERS, self.table.job, told, most, *arguments)

    def _describe(self, layout: Layout, most: int) -> Described:
        """Return strips in which a thread takes up to so many rows, fewer in a small image."""
        words = self.table.tiling.tile[0]
        abreast = RUN_MEASURERS // words
        while most > 1 and count_strips(self.sides, 32 * words, abreast * most) < BLOCKS:
            most //= 2
        return describe(self.sides, layout, abreast * most, 32 * words)


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


def _measure(function: Kernel, image: Described, source: Array, *arguments: object) -> None:
    """Start a kernel that reads labels, with a block for each strip."""
    told, blocks = image
    start(function, blocks, MEASURERS, source, told, *arguments)


def tell_grays(values: Array, sides: tuple[int, ...], sums: int) -> tuple[str, np.ndarray]:
    """Return the type of values that are added beside counts, and where they are, as arguments."""
    if values is None:
        return "Nothing", NOTHING
    told = np.array((values.data.ptr, sums, _aligned(values, sides)), GRAYS)
    return f"u{values.itemsize}", told.view(f"V{GRAYS.itemsize}")


def _aligned(values: Array, sides: tuple[int, ...]) -> bool:
    """Return whether the values of all rows begin at multiples of 16 bytes."""
    return bool(values.data.ptr % 16 == 0 and sides[-1] * values.itemsize % 16 == 0)


def type_name(array: Array) -> str:
    """Return the type of an array as a template argument."""
    return str(array.dtype.str[1:])
