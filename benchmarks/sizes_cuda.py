"""Time `label` on images of all sizes on a GPU, beside the labelers of `peers_cuda.py`.

Two times of each: of a call from Python in a row of many, the last of them waited for, and of the
device alone, by events. The limit is the null kernel of `label_cuda.py`. Labels are compared with
those of the CPU first. All images are made before the first is timed. Run as ``python
benchmarks/sizes_cuda.py [--only WORD ...] [--least SIDE] [--most SIDE] [--merge] [--no-peers]``.
Results of all images go to ``benchmarks/results/sizes_cuda.json``; those of some take the places
of earlier ones there if told to ``--merge``, each with its commit.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel import label
from equilabel.devices.threads import available
from harness import RESULTS, describe, store
from label_cuda import SOURCE, device_times, null_time
from patterns import in_3d, patterns, usual
from peers_cuda import peers, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
DEPTHS = (32, 64, 128, 256, 512)
NEIGHBORS = {(2, 1): 4, (2, 2): 8, (3, 1): 6, (3, 3): 26}
ROW = 0.02  # seconds of calls in a row
ABOUT = ("card", "driver", "versions")  # of the first row


def make(where: str, name: str, side: int) -> Any:
    """Make an image, by its name."""
    makers = in_3d(side) if where == "3D" else usual(side) | patterns(side)
    return makers[name]() > 0


def makers(least: int, most: int, words: list[str]) -> list[tuple[str, str, int]]:
    """List the images to be made, the largest ones last."""
    flat = [("2D", name, side) for side in SIDES for name in usual(2) | patterns(2)]
    deep = [("3D", name, side) for side in DEPTHS for name in in_3d(2)]
    chosen = [each for each in flat + deep if least <= each[2] <= most]
    return [each for each in chosen if any(word in each[1] for word in words)]


def in_a_row(run: Callable[[], Any]) -> float:
    """Return the microseconds of a call, of many one after the other."""
    device, took = cupy.cuda.Device(), ROW
    for turn in range(3):
        calls = 1 if turn < 2 else max(3, min(2000, int(ROW / took)))
        device.synchronize()
        began = time.perf_counter()
        for _ in range(calls):
            run()
        device.synchronize()
        took = (time.perf_counter() - began) / calls
    return 1e6 * took


def rows_of(name: str, image: Any, module: Any, with_peers: bool) -> Iterator[dict[str, Any]]:
    """Measure one image with faces, and with corners too."""
    wait = module.get_function("wait_kernel")
    pixels = cupy.asarray(image)
    least = null_time(pixels, cupy.empty(pixels.size, np.int32), module)
    for connectivity in (1, image.ndim):
        expected = cupy.asarray(label(image, connectivity=connectivity))
        if not (label(pixels, connectivity=connectivity) == expected).all():
            message = f"labels of {name}, {image.shape}, are not those of the CPU"
            raise ValueError(message)
        del expected
        runs: dict[str, Callable[[], Any]] = {
            "equilabel": partial(label, pixels, connectivity=connectivity)
        }
        if with_peers:
            runs |= peers(pixels, connectivity)
        yield {
            "image": name,
            "shape": list(image.shape),
            "neighbors": NEIGHBORS[image.ndim, connectivity],
            "null us": least,
            "us": {who: in_a_row(run) for who, run in runs.items()},
            "device us": {
                who: device_times([lambda _, run=run: run()], wait, 5)[-1]
                for who, run in runs.items()
            },
        }


def line(row: dict[str, Any]) -> str:
    """Return a row as text: our times, and how many times longer the others take."""
    ours, there = row["us"]["equilabel"], row["device us"]["equilabel"]
    others = "  ".join(f"{who} {us / ours:.2f}" for who, us in row["us"].items() if us != ours)
    head = f"{row['image']:<17}{row['shape'][0]:>5}{row['neighbors']:>3}{ours:9.1f} us"
    return f"{head}  device {there:8.1f}, {there / row['null us']:5.2f} x null  {others}"


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put rows in the places of earlier results of the same images, with the commit of each."""
    before = json.loads((RESULTS / "sizes_cuda.json").read_text(encoding="utf-8"))
    commit = describe()["commit"]

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["image"], tuple(row["shape"]), row["neighbors"]

    found = {key(row): {"commit": before["machine"]["commit"]} | row for row in before["rows"]}
    for row in rows:
        earlier = found.get(key(row), {})
        found[key(row)] = {name: earlier[name] for name in ABOUT if name in earlier} | row
        found[key(row)]["commit"] = commit
    return list(found.values())


def main() -> None:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""], help="words in the names of images")
    parser.add_argument("--least", type=int, default=0, help="shortest side")
    parser.add_argument("--most", type=int, default=SIDES[-1], help="longest side")
    parser.add_argument("--merge", action="store_true", help="keep the results of other images")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    module = cupy.RawModule(code=SOURCE, options=("-std=c++17",))
    runtime = cupy.cuda.runtime
    about = {
        "card": runtime.getDeviceProperties(0)["name"].decode(),
        "driver": runtime.driverGetVersion(),
        "versions": versions(),
    }
    wanted = makers(options.least, options.most, options.only)
    with ProcessPoolExecutor(max(1, available() - 1), get_context("spawn")) as pool:
        coming = [(each, pool.submit(make, *each)) for each in wanted]
        images = [(each, image.result()) for each, image in coming]
    rows: list[dict[str, Any]] = []
    for (_, name, _), image in images:
        for row in rows_of(name, image, module, not options.no_peers):
            rows.append(row if rows else about | row)
            print(line(row), flush=True)
    if options.merge:
        print(store("sizes_cuda", merged(rows)))
    elif len(wanted) == len(makers(0, SIDES[-1], [""])):
        print(store("sizes_cuda", rows))


if __name__ == "__main__":
    main()
