"""Columns that a device computes, without one: its formulas, compiled by the host's compiler.

What would be started on a GPU is held against the source and done here, on counts of the CPU.
"""

import ctypes
import math
import re
import shutil
import subprocess
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from equilabel import PROPERTIES, label
from equilabel.measuring import make_request, request
from equilabel.measuring.counting import count_labels
from equilabel.measuring.counts import Formula, Layout
from equilabel.measuring.measurement import ON_HOST, PERCENTS, SHAPE, Property
from equilabel.measuring.properties import MOMENTS, Plan
from equilabel.samples import blobs, nuclei_mask, percolation

pytest.importorskip("cupy", reason="launchers import CuPy")

from equilabel.measuring.cuda import columns
from equilabel.measuring.cuda.sources import describe
from kernels import FOLDER, comments_removed

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
    parts, steps = [], []
    for name in names:
        found = PROPERTIES[name].steps(request.plan.layout, request.spacing) or {}
        parts += ["-".join(map(str, (name, *part))) for part in found]
        steps += found.values()
    size = math.prod(request.spacing)
    packed = columns.pack(tuple(steps), request.spacing, size, stacked)
    return dict(zip(parts, fill(formulas, counts, packed), strict=True)), expected


def fill(formulas, counts, packed):
    """Return columns by the formulas of the device."""
    table = np.ascontiguousarray(counts.table).view(np.uint64)
    sums = np.zeros((len(table), 4), np.uint64)
    for column, part in enumerate((counts.values or ())[:4]):
        sums[:, column] = part[:, 0]
    sums[:, 1] = ~sums[:, 1]
    out = np.zeros((len(packed.dtypes), len(table)), np.uint64)
    image, _ = describe(counts.shape, counts.layout, 1, 1)
    given = [np.frombuffer(told.tobytes(), np.uint8) for told in (image, packed.packed)]
    count = ctypes.c_longlong(len(table))
    formulas.fill(pointer(table), pointer(sums), count, *map(pointer, given), pointer(out))
    return [
        row.astype(bool) if dtype.kind == "b" else row.view(dtype)
        for row, dtype in zip(out, packed.dtypes, strict=True)
    ]


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


# ---- One row for a column: its formula and its step


WITHOUT_STEP = {
    *("area_filled", "area_convex", "feret_diameter_max", "feret_diameter_min", "feret_angle_min"),
    *("solidity", "intensity_median", "aspect_ratio", "roundness"),
    *(f"intensity_p{percent:02}" for percent in PERCENTS),
    *("centroid_weighted", "centroid_weighted_local"),
    *(f"moments{kind}" for kind in ("", "_central", "_normalized", "_hu")),
    *(f"moments_weighted{kind}" for kind in ("", "_central", "_normalized", "_hu")),
}


def test_columns_of_the_page_that_a_gpu_computes_have_a_step():
    page = (Path(__file__).parents[2] / "docs/statistics.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|.*\| yes \|$", page, re.MULTILINE))
    assert told == {name for name, row in PROPERTIES.items() if row.step is not None}
    assert {name for name, row in PROPERTIES.items() if row.counted} - told == WITHOUT_STEP
    for name in told:
        for rank in PROPERTIES[name].ranks or (2, 3):
            groups = {"seconds": True, "pairs": "all", "euler_face": True, "euler_full": True}
            layout = Layout(rank, outline="equal" if rank == 2 else "none", **groups)
            assert PROPERTIES[name].steps(layout, (1.0,) * rank), name


def test_a_row_says_whether_it_has_a_step():
    with pytest.raises(TypeError, match="step"):
        Property("pixels_twice", "Twice.", SHAPE, formula=lambda m: 2 * m.pixels)


class OnDevice(np.ndarray):
    """A column that passes for one of a device."""


@pytest.fixture
def device(formulas, monkeypatch):
    """Stand in for a GPU; lists the number of steps that it applies, and what is counted apart."""
    seen = SimpleNamespace(steps=[], apart=[])

    class Columns:
        def __init__(self, shape, spec, count, lasts, keeps):
            seen.steps.append(len(spec.formulas.dtypes))
            self.spec, self.count, self.keeps = spec, count, keeps

        def begin(self):
            self.packed, self.on_host = self.spec.formulas, self.spec.on_host
            self.count(self.spec.most, self, 0, 0)

        def finish(self):
            found = fill(formulas, self.found, self.packed)
            return found if self.on_host else [column.view(OnDevice) for column in found]

        def counts(self):
            assert self.keeps
            found = self.found
            return found.labels, found.table, found.values and found.values[:4]

    def count_apart(labels, values, plan, **options):
        seen.apart.append([name for name, _ in plan.columns])
        return count_labels(labels, values, plan, **options)

    class Source:
        def __init__(self, labels):
            self.labels, self.sides = labels, labels.shape

        def count(self, layout, most, table, values, sums):
            needs = {"values", "deviations"} if values is not None else set()
            assert (table.spec.gray is None) == (values is None)
            plan = Plan((), (), (), layout, frozenset(needs), (), ())
            table.found = count_labels(self.labels, values, plan)

    loaded = SimpleNamespace(
        LabelSource=Source, ROOM=4, Columns=Columns, TableSpec=columns.TableSpec, pack=columns.pack
    )
    monkeypatch.setattr(request, "using", lambda device: nullcontext())
    monkeypatch.setattr(request, "passes", lambda name, device: loaded)
    monkeypatch.setattr(request, "library", lambda array: np)
    monkeypatch.setattr(request, "count_labels", count_apart)
    monkeypatch.setattr(request, "resolve", lambda device, array: "cuda:0")
    monkeypatch.setattr(request, "place", lambda array, device: array.view(OnDevice))
    added = Property(
        "pixels_twice",
        "Twice the number of pixels.",
        SHAPE,
        needs=("euler_full",),
        formula=lambda m: m.pixels * 2 + m.group("euler_full")[:, 0],
        step=None,
    )
    valued = replace(
        added,
        name="value_spread",
        needs=("values",),
        intensity=True,
        formula=lambda m: m.channels(m.values.highs - m.values.lows) + m.channels(m.means),
    )
    for row in (added, valued):
        monkeypatch.setitem(PROPERTIES, row.name, row)
    return seen


TABLES = {
    "all have steps": (["label", "bbox", "intensity_std"], 6, None),
    "one has none": (["area", "pixels_twice", "perimeter", "label"], 3, None),
    "one of values has none": (["area", "value_spread", "intensity_std"], 2, None),
    "values for the host alone": (["area", "value_spread"], 1, None),
    "scikit-image": (["area", "image", "label"], 2, None),
    "both": (["image", "pixels_twice", "euler_number"], 1, None),
    "moments": (["label", "moments_hu", "intensity_mean"], 2, ["moments_hu"]),
    "medians": (["area", "intensity_median", "label"], 2, ["intensity_median"]),
    "none has steps": (["pixels_twice", "moments_hu"], None, ["pixels_twice", "moments_hu"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("place", ["host", "cuda:0"])
def test_a_column_without_a_step_costs_only_itself(device, kind, place):
    names, steps, apart = TABLES[kind]
    labels = label(nuclei_mask((90, 100)))
    values = np.random.default_rng(0).integers(0, 250, labels.shape).astype(np.uint8)
    expected = request.make_request(names, values, labels.shape)
    expected = expected.table(count_labels(labels, values, expected.plan), labels)
    asked = request.make_request(names, values, labels.shape, columns_on=place)
    found = asked.table(asked.count(labels), labels)
    assert (device.steps, device.apart) == ([steps] if steps else [], [apart] if apart else [])
    assert list(found) == list(expected)
    for name, column in expected.items():
        on_device = place != "host" and not column.dtype.hasobject
        assert isinstance(found[name], OnDevice) == on_device, name
        if column.dtype.hasobject:
            assert all(map(np.array_equal, found[name], column))
        else:
            np.testing.assert_allclose(np.asarray(found[name]), column, rtol=1e-12, err_msg=name)


def test_values_that_a_device_does_not_sum_cost_only_their_columns(device):
    labels = label(nuclei_mask((90, 100)))
    values = np.random.default_rng(0).random(labels.shape)
    names = ["intensity_mean", "label", "area", "intensity_std"]
    asked = request.make_request(names, values, labels.shape, columns_on="host")
    found = asked.table(asked.count(labels), labels)
    assert (device.steps, device.apart) == ([2], [["intensity_mean", "intensity_std"]])
    expected = asked.table(count_labels(labels, values, asked.plan), labels)
    assert list(found) == names
    assert all(np.array_equal(found[name], expected[name]) for name in names)
