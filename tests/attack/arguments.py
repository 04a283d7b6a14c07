"""Hostile arguments of every kind for every public function: an answer, or an error in words.

``python -m attack.arguments SECONDS SEED`` runs it, ``judge(seed)`` repeats one call. A good call
has one to five of its arguments replaced. It has to return, or to raise ValueError or TypeError
(or an error that the package documents) that equilabel itself words: *rule; got X. remedy.*
"""

from __future__ import annotations

import array
import inspect
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pandas as pd
from PIL import Image as Picture
from scipy import sparse

import equilabel
from equilabel import samples, simulation
from equilabel.domains import lattices

from .tiff import attack as attack_by_process

if TYPE_CHECKING:
    from . import Counts

MOST_SECONDS = 60  # of one call
FREE, MOST_FREE = "equilabel.storage.memory.free", 2**29  # larger lattices are refused
MOST_MEMORY = 8 * 2**30  # address space, of which compiled code takes a part
PACKAGE = str(Path(equilabel.__file__).parent)
DOCUMENTED = (
    ValueError,
    TypeError,
    FileNotFoundError,
    FileExistsError,
    equilabel.DeviceUnavailableError,
)

# ------------------------------------------------------------------ what is public

rng = np.random.default_rng(0)
MASK = rng.random((9, 12)) < 0.5
GRAY = rng.integers(0, 200, (9, 12)).astype(np.uint8)
LABELS = equilabel.label(MASK)
MOVIE = equilabel.label(rng.random((3, 6, 7)) < 0.4, stacked=True)
EDGES = rng.integers(0, 9, (14, 2))
GRAPH = equilabel.Graph.from_edges(EDGES)
BONDS = lattices.square(5, open_probability=0.5)
FOUND = equilabel.segment(GRAY, threshold=90)


def potts(**given):
    """Make a short chain; what belongs to its methods goes there."""
    later = {name: given.pop(name) for name in ("sweeps", "every", "batch") if name in given}
    chain = equilabel.PottsSimulation(**given)
    return list(islice(chain.advance(later.pop("sweeps", 1)).measure(2, **later), 3))


class Vertices(dict):
    """A graph of two vertices, as NetworkX has them."""

    def __init__(self):
        super().__init__({"a": 1, "b": 2})
        self.nodes = self.adj = self

    def edges(self):
        """Return the ends of its edge."""
        return [("a", "b")]


def resume(**given):
    """Continue a chain."""
    return equilabel.PottsSimulation.resume(**given).advance(1)


def measurements(**given):
    """Take the first of a chain's measurements."""
    return list(islice(equilabel.swendsen_wang(**given), 3))


def filtered(**given):
    """Filter a result that was made by hand."""
    found = equilabel.Segmentation(**{**FIELDS, **given})
    return equilabel.filter_objects(found, {"area": (2, 5)})


FILE = Path(tempfile.mkdtemp(prefix="equilabel-attack-"), "a.png")
Picture.fromarray(GRAY).save(FILE)


def cut(**given):
    """Cut out all objects."""
    return list(equilabel.crops(**given))


def written(**given):
    """Write outlines to a file that is left alone."""
    with tempfile.TemporaryDirectory() as folder:
        return equilabel.write_outlines(Path(folder, "a.geojson"), **given)


def good(function, more=None, options=(), **given):
    """Return a function, the parameters that may be replaced, and a call that it answers."""
    names = [*inspect.signature(more or function).parameters, *given, *options]
    return function, sorted(set(names).difference(("options", "given"))), given


STATE = equilabel.PottsSimulation((4, 5), beta=0.5).state()
FIELDS = {name: getattr(FOUND, name) for name in equilabel.Segmentation.__dataclass_fields__}
SHAPED = ("blobs", "movie", "nuclei_2d", "nuclei_3d", "nuclei_mask", "percolation", "porous_medium")
SHAPE = {name: (2, 20, 22) if name in ("movie", "nuclei_3d") else (20, 22) for name in SHAPED}
CALLS = {
    "label": good(equilabel.label, None, ("tile_size", "tile", "no"), label_image=MASK),
    "label_chunked": good(equilabel.label_chunked, label_image=GRAY, chunks=5),
    "regionprops": good(
        equilabel.regionprops, label_image=LABELS, intensity_image=GRAY,
        spacing=[1, 2], offset=[0, 3],
    ),
    "regionprops_table": good(
        equilabel.regionprops_table, label_image=LABELS, intensity_image=GRAY,
        properties=("label", "area"),
    ),
    "measure_components": good(equilabel.measure_components, image=MASK),
    **{
        name: good(getattr(equilabel, name), image=MASK)
        for name in ("euler_number", "perimeter", "perimeter_crofton")
    },
    "measure": good(equilabel.measure, labels=LABELS, image=GRAY),
    "segment": good(equilabel.segment, image=GRAY),
    "segment_chunked": good(equilabel.segment_chunked, image=GRAY, chunks=5),
    "binarize": good(equilabel.binarize, image=GRAY),
    "smooth": good(equilabel.smooth, image=GRAY, sigma=1),
    "subtract_background": good(equilabel.subtract_background, image=GRAY, radius=2),
    "link_frames": good(equilabel.link_frames, labels=MOVIE),
    "track_overlaps": good(equilabel.track_overlaps, labels=MOVIE),
    "label_tracks": good(
        equilabel.label_tracks, labels=MOVIE, tracks=equilabel.track_overlaps(MOVIE)
    ),
    "split_touching": good(equilabel.split_touching, labels_or_mask=MASK),
    "default_properties": good(
        equilabel.default_properties, rank=2, spacing=(1.0, 1.0), stacked=False
    ),
    "filter_objects": good(
        equilabel.filter_objects, found=FOUND, wanted={"area": (2, None)}
    ),
    "filter_objects, condition": good(
        equilabel.filter_objects, found=LABELS, wanted="area > 2",
        table=equilabel.measure(LABELS, properties=("label", "area")),
    ),
    "contacts": good(equilabel.contacts, labels=LABELS),
    "neighbors": good(equilabel.neighbors, labels=LABELS),
    "relate": good(equilabel.relate, children=LABELS, parents=LABELS),
    "outlines": good(equilabel.outlines, labels=LABELS),
    "write_outlines": good(written, labels=LABELS, tolerance=0.5, stacked=False),
    "crops": good(cut, equilabel.crops, labels=LABELS, image=GRAY, margin=1),
    "grow": good(equilabel.grow, labels=LABELS, distance=2),
    "read": good(equilabel.read, path=FILE),
    "Segmentation": good(filtered, labels=FOUND.labels, table=FOUND.table, num=FOUND.num),
    "devices": good(equilabel.devices),
    "label_graph": good(equilabel.label_graph, None, ("tile", "no"), graph=GRAPH),
    "label_graph, bonds": good(equilabel.label_graph, graph=BONDS),
    "label_graph, sparse": good(
        equilabel.label_graph, graph=sparse.csr_array(np.eye(5, k=1))
    ),
    "Graph": good(
        lambda **given: equilabel.label_graph(equilabel.Graph(**given)), equilabel.Graph,
        offsets=GRAPH.offsets, neighbors=GRAPH.neighbors,
    ),
    "Graph.from_edges": good(equilabel.Graph.from_edges, sources=EDGES),
    "Graph.from_edges, two": good(
        equilabel.Graph.from_edges, sources=EDGES[:, 0], targets=EDGES[:, 1]
    ),
    "Graph.from_csr": good(
        equilabel.Graph.from_csr, offsets=GRAPH.offsets, neighbors=GRAPH.neighbors
    ),
    "Graph.from_neighbor_list": good(
        equilabel.Graph.from_neighbor_list, neighbors=[[1, 0, -1], [-1, 2, 1]]
    ),
    "Graph.from_scipy": good(equilabel.Graph.from_scipy, array=sparse.csr_array(np.eye(5, k=1))),
    "Graph.from_networkx": good(equilabel.Graph.from_networkx, graph=Vertices()),
    "Graph.from_dense": good(equilabel.Graph.from_dense, array=np.eye(5, k=1)),
    "Graph.from_igraph": good(
        equilabel.Graph.from_igraph,
        graph=SimpleNamespace(get_edgelist=lambda: [(0, 1)], vcount=lambda: 2),
    ),
    "Graph.from_image": good(equilabel.Graph.from_image, image=MASK),
    "Graph.from_bonds": good(equilabel.Graph.from_bonds, bonds=BONDS),
    "Bonds": good(
        lambda **given: equilabel.label_graph(equilabel.Bonds(**given)), equilabel.Bonds,
        open=BONDS.open, steps=BONDS.steps, periodic=BONDS.periodic,
    ),
    "Bonds.neighbors": good(BONDS.neighbors, k=1),
    "lattices.square": good(lattices.square, shape=4),
    "lattices.cubic": good(lattices.cubic, shape=(3, 4, 5)),
    "lattices.triangular": good(lattices.triangular, shape=(4, 5)),
    "lattices.honeycomb": good(lattices.honeycomb, shape=4),
    "lattices.bethe": good(lattices.bethe, z=3, generations=3),
    "swendsen_wang": good(
        measurements, equilabel.swendsen_wang, shape=(4, 5), beta=0.5, sweeps=3
    ),
    "PottsSimulation": good(
        potts, equilabel.PottsSimulation, shape=(4, 5), beta=0.5, sweeps=2, every=1, batch=1
    ),
    "PottsSimulation.resume": good(resume, equilabel.PottsSimulation.resume, state=STATE),
    "simulation.critical_beta": good(simulation.critical_beta),
    "simulation.exact_ising_energy": good(
        simulation.exact_ising_energy, shape=(4, 5), beta=0.5
    ),
    "simulation.fortuin_kasteleyn_bonds": good(
        simulation.fortuin_kasteleyn_bonds, shape=(4, 5), sweeps=2
    ),
    "simulation.integrated_autocorrelation_time": good(
        simulation.integrated_autocorrelation_time, series=rng.random(50)
    ),
    **{f"samples.{name}": good(getattr(samples, name), shape=SHAPE[name]) for name in SHAPED},
    "samples.voronoi": good(samples.voronoi, shape=(20, 22), cells=5),
    "samples.spiral": good(samples.spiral, size=9),
    "samples.hilbert": good(samples.hilbert, order=2),
}  # fmt: skip
PASSIVE = {
    *("METHODS", "PROPERTIES", "DeviceMemoryError", "DeviceUnavailableError"),
    *("Crop", "Image", "Polygon", "Relation", "Report"),
}

# ------------------------------------------------------------------ what is passed


class Text(str):
    """Text of somebody's own."""


class Whole(int):
    """A whole number of somebody's own."""


class Silent:
    """Something that cannot be written."""

    def __repr__(self):
        raise RuntimeError


class Pixels(np.ndarray):
    """An array of somebody's own."""


def record():
    """Return an array of several fields."""
    return np.zeros(3, [("a", "i4"), ("b", "f8")])


NUMBERS = (
    0, 1, -1, 2, 3, 7, 64, 255, 1000, 2**31, 2**32, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**5000,
    0.0, -0.0, 0.5, 1.5, 1e308, 5e-324, float("nan"), float("inf"), -float("inf"), 1j,
    np.float16(0.5), np.float16("nan"), np.float32(2), np.float64(1e300), np.longdouble(0.5),
    np.int8(-1), np.uint8(2), np.uint64(2**64 - 1), np.bool_(True), np.complex64(1),
    np.datetime64("2026-01-01"), Decimal("0.5"), Fraction(1, 3), Whole(1),
)  # fmt: skip
WORDS = (
    "", "auto", "otsu", "local", "minimum", "li", "px", "2px", "5um", "0.5 um2", "1e999um", "-1px",
    "nan", "µm", "cpu", "cuda", "cuda:99", "cuda:x", "runs", "komura", "weigel_sewing", "kalentev",
    "area", "label", "bbox", "moments_hu", "feret_diameter_max", "coords", "image", "host", "hot",
    "random", "symmetrize", "rolling_ball", "few_clusters", "TZYX", "YX", "x" * 5000, "a/" * 2500,
    "nul\0", "{0}%s", "\ud800", Text("otsu"), b"otsu",
)  # fmt: skip
OTHERS = (
    None, True, False, [], (), {}, set(), [None], [1], [1, 2], [2, 0.5, "2px"], [[1], [2, 3]],
    (True, False), (True, False, True), (1.0, 2.0), (0, -1), ["label"], ["area", "solidity"],
    ["label", "nonsense"], [["label"]], {"area": (None, 3)}, {"area": 3}, {"area": ("a", None)},
    {"a": 1}, {"tile_size": 64}, object(), Silent(), [Silent()], len, int, print, np.mean,
    range(3), slice(2), Path("nowhere.tif"), Path("x" * 5000), Ellipsis, (10**5000,),
    [float("nan")] * 2, ("1um", "2um"), np.dtype("i4"), pd.Series([1, 2]), pd.NA, pd.DataFrame(),
    GRAPH, BONDS, FOUND, {**STATE, "q": 9}, {**STATE, "spins": None}, {"spins": np.zeros((4, 5))},
)  # fmt: skip
ARRAYS = (
    np.array(3), np.array(0.5), np.array(True), np.zeros(0), np.zeros((0, 3), int),
    np.zeros((3, 0, 2), bool), np.array([None, 1]), np.array(["a", "b"]), np.ones((3, 4), complex),
    np.ones(3, "M8[s]"), record(), np.ones((4, 5), ">i4"), np.ones((4, 5), ">f8"),
    np.full((4, 5), 0.5, "f2"), np.ones((4, 5), "longdouble"), np.full((4, 5), np.nan),
    np.full((9, 12), np.inf), np.array([[np.nan, 1, 2.5, -np.inf]]), np.ma.masked_less(GRAY, 90),
    GRAY.view(np.matrix), MASK, GRAY, LABELS, MOVIE, LABELS - 3, LABELS.astype("u8") << 60,
    LABELS.astype("i8") * 2**60, GRAY[::-1, ::-2], np.broadcast_to(np.uint8(1), (9, 12)),
    GRAY.view(Pixels), np.ones((1,) * 8, int), np.ones((2,) * 7, int), np.ones((1, 1, 1), bool),
    np.zeros((2, 3, 4, 5, 3)), np.array([2**63, 2**64 - 1], "u8"), EDGES, EDGES.astype(float),
    np.array([0, 1, 3, 2]), np.array([[0, 1], [1, 0]]), sparse.csr_array(np.eye(4)),
    sparse.csr_array(np.eye(4)).tobsr((2, 2)), sparse.coo_array(np.ones((2, 3))),
    memoryview(b"abc"), array.array("d", [1.0, 2.0]), bytearray(b"abc"), GRAY.tolist(),
    MASK.tolist(),
)  # fmt: skip
try:
    import cupy

    ARRAYS += tuple(
        cupy.asarray(each)
        for each in ARRAYS
        if isinstance(each, np.ndarray) and each.dtype.kind in "buifc" and each.dtype.itemsize <= 8
    )
except Exception:  # CuPy, or a GPU, is not there
    pass
POOLS = (NUMBERS, WORDS, OTHERS, ARRAYS)
# A great number of sweeps is honest work without an end; of workers, threads that are not begun.
LOOPS = ("sweeps", "discard", "every")
IMAGES = [value for value in ARRAYS if hasattr(value, "strides")]
FLAGS = (True, False)
SENSIBLE = {
    **dict.fromkeys(("image", "label_image", "intensity_image", "labels", "out", "start"), IMAGES),
    **dict.fromkeys(("stacked", "dark", "fill_holes", "exclude_border", "track", "split"), FLAGS),
    **dict.fromkeys(("return_num", "report", "return_threshold", "resume", "padded"), FLAGS),
    "background": (None, 0, 1, 2, -1, 2**70),
    "connectivity": (1, 2, 3),
    "method": [*equilabel.METHODS, "rolling_ball", "li", "minimum"],
    "periodic": (True, (True, False), (False, True, True), np.array([True, True])),
    "properties": [[name] for name in equilabel.PROPERTIES],
    "spacing": (0.5, (1.0, 2.0), (1e-300, 1e300), (3, 1, 1)),
    "unit": ("um", "px", "nm"),
    "sigma": (0, 0.7, "1um", (1, "2px"), 900),
    "threshold": ("local", (20, 90), 0, -1e300, 2**80, "yen", "isodata"),
    "block_size": (3, 5, 51, "5um"),
    "channel_axis": (0, -1, 2),
    "channel": (0, 1),
    "tile": (2, 8, 64),
    "tile_size": (64, 256),
    "shape": (1, 2, (2, 3), (2, 2, 2), (5, 4, 3, 2), (0, 3), (3, 0, 2)),
    "chunks": (1, 3, (2, 5), -1),
}


def draw(name, chance):
    """Draw an argument; iterators are used up, so that each is a new one."""
    if name in SENSIBLE and chance.random() < 0.4:
        return chance.choice(SENSIBLE[name])
    if chance.random() < 0.05:
        return chance.choice((iter, lambda some: (one for one in some)))(["label", "area"])
    while True:
        value = chance.choice(chance.choice(POOLS))
        honest = isinstance(value, (int, np.integer)) and 7 < value < 2**63
        theirs = name in ("progress", "extra_properties") and callable(value)
        if not ((name in LOOPS and honest) or theirs):
            return value


# --------------------------------------------------------------------- the verdict


@cache
def parameters():
    """Return the calls as a list: names, functions, parameters and good arguments."""
    return [(name, *call) for name, call in CALLS.items()]


def judge(seed):
    """Make a call; return "correct", "refused" or "lost", and why."""
    chance = random.Random(seed)
    name, function, names, given = chance.choice(parameters())
    chosen = chance.sample(names, min(len(names), chance.choice((1, 1, 1, 2, 3, 5))))
    call = {**given, **{one: draw(one, chance) for one in chosen}}
    about = ", ".join(f"{one}={words(call[one])}" for one in chosen)
    verdict, why = outcome(partial(function, **call))
    return verdict, f"judge({seed}): {name}({about}): {why}" if verdict == "lost" else ""


def outcome(call):
    """Make a call; return "correct", "refused" or "lost", and why."""
    try:
        with bounded(), patch(FREE, lambda: MOST_FREE), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # blurs that are wide
            call()
    except DOCUMENTED as error:
        fault = unworded(error)
        return ("lost", fault) if fault else ("refused", "")
    except Exception as error:
        return "lost", f"{type(error).__name__}: {str(error)[:200]} {origin(error)}"
    return "correct", ""


def unworded(error):
    """Say what is wrong with an error; nothing if the package words it as it should."""
    text = str(error)
    place = origin(error)
    if not place.startswith(PACKAGE):
        return f"{type(error).__name__} of others: {text[:200]} {place}"
    if "; got " not in text or not text.rstrip().endswith((".", "?", "`")) or len(text) > 3000:
        return f"{type(error).__name__} not in words: {text[:200]} {place}"
    return ""


def origin(error):
    """Return where an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


def words(value):
    """Describe an argument."""
    try:
        text = repr(value)
    except Exception:
        text = type(value).__name__
    text = " ".join(text.split())
    return text if len(text) < 150 else f"{text[:147]}..."


@contextmanager
def bounded():
    """End what takes too long, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_):
        message = f"no answer within {MOST_SECONDS} s"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------------- the attack


def serve(link):
    """Make calls in a process of its own, in an empty folder and with bounded memory."""
    import resource

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for _, function, _, given in parameters():
            outcome(partial(function, **given))  # compiles
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        link.send("ready")
        while True:
            link.send(judge(link.recv()))


def attack(seconds: float, seed: int) -> Counts:
    """Call public functions with hostile arguments; a process that dies is counted as lost."""
    counts = attack_by_process(seconds, seed, serve=serve, limit=2 * MOST_SECONDS)
    counts.name = "hostile arguments"
    return counts


if __name__ == "__main__":
    result = attack(float(sys.argv[1]), int(sys.argv[2]))
    print(*result.notes, result, result.holds, sep="\n")
