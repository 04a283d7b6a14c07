"""Count how often every method reads and writes memory on the CPU, by kind of array.

The compiler is switched off, and passes run in plain Python over arrays that count. Every element
counts that is read or written, also where compiled code reads 64 pixels at once, or keeps an
element in a register. Arrays of up to 64 elements, which hold a position or the steps to neighbors,
do not count, nor do copies of whole arrays. Methods of roots end with roots; `runs` writes labels.

``python benchmarks/accesses.py [SIDE]`` prints accesses per pixel, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = os.environ["EQUILABEL_NUM_THREADS"] = "1"

import numpy as np

from equilabel import METHODS, samples
from equilabel.domains.grid import Foreground, Grid
from equilabel.papers import load_passes, load_recipe

KINDS = ("image", "labels", "other")  # labels or roots; bits, runs, geometry and the like
SMALL = 64  # elements of arrays that do not count
PACKAGES = ("equilabel.", *{f"{row.package}." for row in METHODS.values()})

counts = dict.fromkeys(KINDS, 0)


class Counted(np.ndarray):
    """An array that counts its elements when they are read or written, one by one or many."""

    kind = "other"

    def __array_finalize__(self, other: Any) -> None:
        self.kind = getattr(other, "kind", "other")

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not (isinstance(found, np.ndarray) and found.base is not None):
            counts[self.kind] += np.size(found)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        counts[self.kind] += np.size(np.asarray(self)[key])

    def __array_ufunc__(self, function: Any, how: str, *inputs: Any, **options: Any) -> Any:
        written = options.pop("out", ())
        for array in (*inputs, *written):
            if isinstance(array, Counted):
                counts[array.kind] += array.size
        if written:
            options["out"] = tuple(map(plain, written))
        found = getattr(function, how)(*map(plain, inputs), **options)
        return written[0] if written else take(found, self.kind)


def plain(value: Any) -> Any:
    """Return a counted array as a plain one, and anything else as it is."""
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def counted(array: Any, kind: str) -> Any:
    """Return an array that counts as some kind."""
    found = array.view(Counted)
    found.kind = kind
    return found


def take(found: Any, kind: str) -> Any:
    """Return what a function of NumPy returned, counted if it is a large array."""
    if not isinstance(found, np.ndarray) or found.size <= SMALL:
        return plain(found)
    return counted(found, kind)


class CountingNumpy:
    """NumPy for the modules of passes: large arrays that it makes are counted.

    `pixels` is their number: arrays of so many integers are labels.
    """

    def __init__(self, pixels: int) -> None:
        self.pixels = pixels

    def __getattr__(self, name: str) -> Any:
        thing = getattr(np, name)
        if isinstance(thing, type) or not callable(thing) or isinstance(thing, np.ufunc):
            return thing

        def call(*arguments: Any, **options: Any) -> Any:
            found = thing(*arguments, **options)
            kind = getattr(arguments[0], "kind", "other") if arguments else "other"
            if isinstance(found, np.ndarray) and found.size >= self.pixels:
                kind = "labels" if found.dtype.str[1:] in ("i4", "i8") else kind
            return take(found, kind)

        return call


def count(name: str, image: Any) -> dict[str, float]:
    """Return accesses per pixel of a method on an image, (N, M) of bool, by kind of array."""
    row, passes, recipe = METHODS[name], load_passes(name, "cpu"), load_recipe(name)
    counting = CountingNumpy(image.size)
    modules = [each for key, each in sys.modules.items() if key.startswith(PACKAGES)]
    patched = [each for each in modules if getattr(each, "np", None) is np]
    for module in patched:
        module.np = counting
    grid = Grid(counted(image.copy(), "image"), Foreground("!=", np.False_, values=False), 2)
    counts.update(dict.fromkeys(KINDS, 0))
    try:
        if row.answer == "runs":
            room = counted(np.empty(image.size, np.int32), "labels")
            table = recipe(passes, grid, room=room)
            passes.number(table)
            passes.paint(table, room, blank=False)
        else:
            recipe(passes, grid)
    finally:
        for module in patched:
            module.np = np
    return {kind: number / image.size for kind, number in counts.items()}


def main(side: int) -> None:
    """Print the accesses of all methods on noise and on smooth blobs."""
    images = {"noise": samples.percolation((side, side), 0.5), "blobs": samples.blobs((side, side))}
    names = [name for name, row in METHODS.items() if "grid" in row.domains]
    rows = [
        {"drawn": drawn, "method": name, **count(name, image)}
        for drawn, image in images.items()
        for name in names
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
