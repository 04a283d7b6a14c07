"""Every kernel compiles for every generation of cards that is supported; no card is needed.

Of the instances of a template, as many are compiled as it takes to put in every type and number;
the environment variable EQUILABEL_EVERY_INSTANCE asks for all, and for code of all generations (ten
minutes on two cores). Without it, code for the oldest generation is neither optimized nor
assembled, and for the newest only two instances of each kernel are compiled.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from itertools import cycle, groupby, product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CUDA kernels are compiled through CuPy")

from cupy.cuda import nvrtc

from equilabel.devices.cuda import blocks as block_labels
from equilabel.devices.cuda import kernels as _compile
from equilabel.measuring.cuda import columns, sources
from equilabel.measuring.cuda import sources as image_layout
from equilabel.papers.meshes import cuda as meshes
from equilabel.runs.cuda import bands, boundaries, tiles
from equilabel.segmentation.cuda import cells
from equilabel.simulation.cuda import potts
from kernels import FILES, FOLDER, comments_removed, signatures

EVERY = bool(os.environ.get("EQUILABEL_EVERY_INSTANCE"))
ARCHITECTURES = (
    ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] if EVERY else ["compute_75", "sm_120"]
)

NO_MATTER = "debug information may not be accurate"
TILES = sorted(
    {
        (many, *tiles.tile_of(2**k, leading, many))
        for many in (False, True)
        for k in range(16)
        for leading in range(6)
    }
)
# What launchers put in for a template parameter: by its name, else by its kind.
INSTANCES = {
    "Id": ["u4", "u8"],
    "Label": ["u4", "u8"],
    "Painted": ["u1", "u4", "u8"],
    "Small": ["u2", "u4", "u8"],
    "Offset": ["i4", "i8"],
    "Node": ["i4", "i8"],
    "Root": ["i4", "i8"],
    "Sum": ["i4", "i8"],
    "Real": ["f4", "f8"],
    "Square": ["i4", "f8"],
    "Reach": ["0", "1", "4", "8"],
    "Count": ["u4", "u8"],
    "Unit": ["u1", "u2", "u4", "u8", "Four<u4>"],
    "Value": ["u1", "i2", "u4", "i8", "f4", "f8"],
    "Gray": ["u1", "u2"],
    "Under": ["Nothing", "u1", "u2"],
    "ABREAST": ["8", "32"],
    "Steps": ["0", "1", "2"],
    "Euler": ["0", "1", "2", "3"],
    "Outline": ["0", "2", "3"],
    "Rank": ["2", "3"],
    "Tile": [
        f"Tile<{str(many).lower()}, {words}, {tall}, {deep}>" for many, words, tall, deep in TILES
    ],
    "BondTile": [
        f"Tile<true, {', '.join(map(str, tile))}>"
        for tile in (tiles.NARROW, tiles.FLAT, tiles.DEEP)
    ],
    "Edges": [f"Edges<{tiles.INNER}>", f"Edges<{tiles.MOST_EDGES}>"],
    "Slots": [str(slots) for slots in sorted({slots for _, slots, _ in bands.CUTS})],
    "WORDS": [str(words) for words in sorted({words for _, words, _, _ in TILES})],
    "typename": ["u1", "u2", "u4", "u8"],
    "int": ["1", "2", "3", "4", "5", "6"],
    "bool": ["false", "true"],
}
GRAYS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]


def kernels(file):
    """Map the kernels of a file to their template parameters, as (kind, name)."""
    return {
        name: [tuple(part.split()) for part in parameters]
        for name, (parameters, _) in signatures(file).items()
    }


def instances(choices):
    """Yield one value of each list; every value comes up, and lists of one length not in step."""
    lengths = [len(values) for values in choices]
    strides = [n ** lengths[:j].count(n) for j, n in enumerate(lengths)]
    for k in range(max((n ** lengths.count(n) for n in lengths), default=1)):
        yield [
            values[k // stride % len(values)]
            for values, stride in zip(choices, strides, strict=True)
        ]


def expressions(file, *, every=False):
    """List each kernel of a file with what its launchers can put in for its parameters."""
    names = []
    if file == "runs/cuda/tiles":  # pixels may be compared by size, where all foreground is one
        tiles = [tile for tile in INSTANCES["Tile"] if "false" in tile]
        grays = zip(GRAYS, cycle(["u4", "u8", "u8"]), cycle(tiles), strict=False)
        names += sorted(f"find_tiles<Gray<{gray}>, {node}, {tile}>" for gray, node, tile in grays)
    if file == "runs/cuda/bands":
        grays = zip(GRAYS, cycle(["false", "true"]), cycle(INSTANCES["Slots"]), strict=False)
        names += [f"label_bands<Gray<{gray}>, {deep}, {slots}>" for gray, deep, slots in grays]
    for kernel, parameters in kernels(file).items():
        choices = [INSTANCES.get(name, INSTANCES[kind]) for kind, name in parameters]
        for chosen in product(*choices) if every else instances(choices):
            names.append(f"{kernel}<{', '.join(chosen)}>" if chosen else kernel)
    return names


def first_and_last(names):
    """Choose two instances of each kernel: the assembler takes most of the time."""
    of_kernel = [list(group) for _, group in groupby(names, lambda name: name.partition("<")[0])]
    return [name for group in of_kernel for name in dict.fromkeys((group[0], group[-1]))]


def launched(file):
    """List the kernels of a file that any launcher asks for."""
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    return set(re.findall(rf'kernel\(\s*"{file}",\s*f?"(\w+)', text))


@contextmanager
def compiled(text, file, options=(), names=()):
    """Compile a text with NVRTC, or fail with what it says; its log must be empty."""
    program = nvrtc.createProgram(text, f"{file}.cu", (), ())
    try:
        for name in names:
            nvrtc.addNameExpression(program, name)
        try:
            nvrtc.compileProgram(program, (*_compile.options(FOLDER), *options))
        except nvrtc.NVRTCError:
            pytest.fail(nvrtc.getProgramLog(program))
        log = nvrtc.getProgramLog(program).strip("\0").splitlines()
        assert [line for line in log if line and NO_MATTER not in line] == []  # no warnings either
        yield program
    finally:
        nvrtc.destroyProgram(program)


@pytest.fixture(scope="module")
def architectures():
    try:
        return nvrtc.getSupportedArchs()
    except (RuntimeError, ImportError) as error:
        pytest.skip(f"NVRTC cannot be loaded: {error}")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("file", FILES)
def test_every_kernel_compiles(file, architecture, architectures):
    if int(architecture.partition("_")[2]) not in architectures:
        pytest.skip(f"NVRTC {nvrtc.getVersion()} does not know {architecture}")
    names = expressions(file, every=EVERY)
    virtual = architecture.startswith("compute")
    if not (EVERY or virtual):
        names = first_and_last(names)
    quickly = ("--device-debug",) if virtual else ()
    options = (f"--gpu-architecture={architecture}", *quickly)
    with compiled(_compile.source(file), file, options, names) as program:
        code = nvrtc.getPTX(program) if virtual else nvrtc.getCUBIN(program)
        code = code.encode() if isinstance(code, str) else code
        for name in names:
            assert nvrtc.getLoweredName(program, name).encode() in code


SIZES = [  # a file that has the structure, its name, and what launchers pass
    ("measuring/cuda/accumulate_runs", "ImageLayout", image_layout.IMAGE_LAYOUT.itemsize),
    (
        "measuring/cuda/accumulate_runs",
        "Job",
        tiles.PLAN.itemsize + tiles.ADDRESSES.size + tiles.REST.size,
    ),
    ("measuring/cuda/accumulate_runs", "Grays<u1>", sources.GRAYS.itemsize),
    ("measuring/cuda/accumulate_runs", "Grays<Nothing>", sources.NOTHING.itemsize),
    ("devices/cuda/blocks", "Faces", block_labels.FACES.itemsize),
    ("devices/cuda/blocks", "Place", block_labels.PLACE.itemsize),
    ("runs/cuda/bands", "Bands", bands.ADDRESSES.size + bands.REST.size),
    ("measuring/cuda/columns", "Formulas", columns.FORMULAS.itemsize),
    ("measuring/cuda/columns", "Kept", columns.KEPT_LABELS.itemsize),
    ("runs/cuda/bonds", "Lattice", tiles.LATTICE.itemsize),
    ("runs/cuda/tile_borders", "Boundary", boundaries.BOUNDARY.itemsize),
    ("papers/weigel2011/tiles", "Lattice", meshes.LATTICE.itemsize),
]
FIELDS = [
    ("devices/cuda/image_layout.cuh", "ImageLayout", image_layout.IMAGE_LAYOUT),
    ("papers/meshes/lattice.cuh", "Lattice", meshes.LATTICE),
    ("simulation/cuda/potts.cu", "Lattice", potts.LATTICE),
    ("runs/cuda/tiling.cuh", "Plan", tiles.PLAN),
    ("segmentation/cuda/cells.cu", "Limits", cells.LIMITS),
]
WORDS = {"Index": "i8", "int": "i4", "unsigned": "u4", "signed char": "i1", "double": "f8"}
COUNTS = {
    "SIDES": image_layout.AXES,
    "AXES": tiles.AXES,
    "INNER": tiles.INNER,
    "3": 3,
    "4": 4,
    "60": 60,
    "RANKS": potts.RANKS,
}


def fields(file, struct):
    """List the fields of a structure as NumPy does: name, type, and shape of arrays."""
    text = comments_removed((FOLDER / file).read_text(encoding="utf-8"))
    body = re.search(rf"struct {struct} {{([^}}]*)}}", text)[1]
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = re.fullmatch(r"(signed char|\w+)\s+(.*)", declaration, re.DOTALL).groups()
        for name in names.split(","):
            name, _, count = name.strip().rstrip("]").partition("[")
            found.append((name, f"<{WORDS[kind]}", *([(COUNTS[count],)] if count else [])))
    return found


@pytest.mark.parametrize(("file", "struct", "dtype"), FIELDS)
def test_structures_are_as_launchers_fill_them(file, struct, dtype):
    assert np.dtype(fields(file, struct), align=True) == dtype


@pytest.mark.parametrize(("file", "struct", "size"), SIZES)
def test_structures_are_as_large_as_launchers_make_them(file, struct, size, architectures):
    """An argument of another size would be read past its end."""
    same = f"static_assert(sizeof({struct}) == {size});"
    with compiled(f"{_compile.source(file)}\n{same}", file):
        pass


@pytest.mark.parametrize("file", FILES)
def test_every_kernel_has_a_launcher_and_every_launcher_a_kernel(file):
    assert launched(file) == set(kernels(file))


def test_every_value_of_every_parameter_is_compiled():
    chosen = list(instances([["a", "b"], ["c", "d"], ["e", "f", "g"]]))
    assert chosen == [["a", "c", "e"], ["b", "c", "f"], ["a", "d", "g"], ["b", "d", "e"]]
    assert list(instances([])) == [[]]


def test_kernels_of_both_papers_are_among_them():
    kalentev, komura = "papers/kalentev2011/kalentev", "papers/komura2016/komura"
    assert set(FILES) >= {kalentev, komura, "runs/cuda/labels"}
    assert "scan<u8>" in expressions(kalentev)
    assert "crop" in expressions(kalentev)
    assert "reduce_labels<u2, 6>" in expressions(komura, every=True)
    assert "gather<i4, i8, u1>" in expressions("runs/cuda/labels", every=True)
