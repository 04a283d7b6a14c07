"""Columns that a device computes, without one: its formulas, compiled by the host's compiler.

What would be started on a GPU is held against the source and done here, on counts of the CPU.
"""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

from equilabel import PROPERTIES, label
from equilabel.measuring import make_request
from equilabel.measuring.columns import part_names
from equilabel.measuring.device_table import Steps
from equilabel.measuring.layout import Formula
from equilabel.measuring.plan import MOMENTS
from equilabel.measuring.property import ON_HOST
from equilabel.samples import blobs, nuclei_mask, percolation

pytest.importorskip("cupy", reason="launchers import CuPy")

from equilabel.measuring.cuda import columns
from equilabel.measuring.cuda.sources import describe
from test_cuda_compile import FOLDER, comments_removed

HOST = """
#include <algorithm>
#include <cmath>
#include <cstring>
using namespace std;
#define __device__
struct Dim { unsigned x; };
static Dim blockIdx, blockDim, threadIdx;
static double __dmul_rn(double a, double b) { volatile double c = a * b; return c; }
static double __dadd_rn(double a, double b) { volatile double c = a + b; return c; }
static double __dsub_rn(double a, double b) { volatile double c = a - b; return c; }
static long long __double_as_longlong(double a) { long long b; memcpy(&b, &a, 8); return b; }
#include "measuring/cuda/columns.cuh"
extern "C" int size() { return sizeof(Formulas); }
extern "C" void fill(const u8* table, const u8* values, long long rows, const ImageLayout* layout,
                     const Formulas* formulas, u8* out)
{
    for (long long row = 0; row < rows; ++row) {
        const u8* own = table + row * layout->width;
        const Row told = {own, values + 4 * row, *layout, *formulas, row + 1, (i8)own[0]};
        for (int k = 0; k < formulas->count; ++k)
            out[k * rows + row] = compute(told, formulas->steps[k]);
    }
}
"""
EXACT = (
    "area",
    "bbox",
    "centroid",
    "perimeter",
    "circularity",
    "extent",
    "inertia_tensor-",
    "intensity",
)


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("formulas of the device are compiled by g++")
    folder = tmp_path_factory.mktemp("formulas")
    (folder / "host.cpp").write_text(HOST)
    command = [compiler, "-O1", "-ffp-contract=off", "-shared", "-fPIC", f"-I{FOLDER}"]
    subprocess.run([*command, "-o", folder / "host.so", folder / "host.cpp"], check=True)
    return ctypes.CDLL(str(folder / "host.so"))


def counted(rank, stacked):
    pixels = MOMENTS | ON_HOST
    return [
        name
        for name, row in PROPERTIES.items()
        if row.counted and (not row.ranks or rank in row.ranks) and not pixels & {*row.needs}
        and (stacked or name != "frame")
    ]  # fmt: skip


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def applied(formulas, labels, values, spacing, stacked):
    """Return columns by the formulas of the device, from counts of the CPU, and the host's."""
    names = counted(labels.ndim - stacked, stacked)
    request = make_request(names, values, labels.shape, spacing, stacked=stacked)
    counts = request.count(labels)
    expected = request.table(counts, labels)
    each = Steps(request.plan.layout, request.spacing)
    parts, steps = [], []
    for name in names:
        found = each.of(name)
        if found is not None:
            parts += part_names(name, found[0], "-") if found[0] else (name,)
            steps += found[1]
    size = math.prod(request.spacing)
    packed, dtypes, _ = columns.pack(tuple(steps), request.spacing, size, stacked)
    table = np.ascontiguousarray(counts.table).view(np.uint64)
    sums = np.zeros((len(table), 4), np.uint64)
    for column, part in enumerate(counts.values[:4]):
        sums[:, column] = part[:, 0]
    sums[:, 1] = ~sums[:, 1]
    out = np.zeros((len(steps), len(table)), np.uint64)
    image, _ = describe(labels.shape, request.plan.layout, 1, 1)
    given = [np.frombuffer(told.tobytes(), np.uint8) for told in (image, packed)]
    count = ctypes.c_longlong(len(table))
    formulas.fill(pointer(table), pointer(sums), count, *map(pointer, given), pointer(out))
    found = {
        part: row.astype(bool) if dtype.kind == "b" else row.view(dtype)
        for part, row, dtype in zip(parts, out, dtypes, strict=True)
    }
    return found, expected


IMAGES = {
    "nuclei": (lambda: label(nuclei_mask((200, 211))), False),
    "noise": (lambda: label(percolation((90, 133), 0.6)), False),
    "3D": (lambda: label(blobs((20, 35, 40), scale=4.0)), False),
    "3D noise": (lambda: label(percolation((9, 31, 40), 0.3)), False),
    "line": (lambda: label(percolation((300,), 0.5)), False),
    "4D": (lambda: label(percolation((3, 4, 5, 6), 0.3)), False),
    "stack": (lambda: label(percolation((4, 30, 40), 0.4), stacked=True), True),
}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("spacing", [None, (3.0, 0.5, 0.7, 0.2)])
def test_formulas_of_the_device_are_those_of_the_host(formulas, kind, spacing):
    """Whole numbers, and what takes no root and no angle, to the bit."""
    assert formulas.size() == columns.FORMULAS.itemsize
    make, stacked = IMAGES[kind]
    labels = make()
    rank = labels.ndim - stacked
    values = np.random.default_rng(0).integers(0, 65_000, labels.shape).astype(np.uint16)
    found, expected = applied(formulas, labels, values, spacing and spacing[:rank], stacked)
    assert len(found) >= 16
    for name, column in found.items():
        assert column.dtype == expected[name].dtype, name
        if column.dtype.kind in "ib" or name.startswith(EXACT):
            np.testing.assert_array_equal(column, expected[name], err_msg=name)
        else:
            scale = np.abs(expected[name]).max()
            digits = 1e-7 if name.startswith(("axis", "zingg")) else 1e-13  # a root of rounding
            np.testing.assert_allclose(
                column, expected[name], rtol=1e-13, atol=digits * scale, err_msg=name
            )


def test_numbers_of_formulas_are_those_of_the_source():
    text = comments_removed((FOLDER / "measuring/cuda/columns.cuh").read_text(encoding="utf-8"))
    names = text.partition("enum {")[2].partition("}")[0].replace(",", " ").split()
    assert names == [formula.name for formula in sorted(Formula)]
