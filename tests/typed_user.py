"""What a user writes, for type checkers: `tests/test_typing.py` lets two of them read it."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from equilabel import (
    Bonds,
    Graph,
    Report,
    Segmentation,
    binarize,
    label,
    label_graph,
    measure_components,
    regionprops_table,
    segment,
)
from equilabel.domains import lattices

Labels = NDArray[Any]
Table = dict[str, NDArray[Any]]


def labels_of(image: NDArray[np.uint8], wanted: bool, options: Mapping[str, Any]) -> None:
    """Label an image in every way."""
    assert_type(label(image), Labels)
    assert_type(label(image, 0, False, 1), Labels)
    assert_type(label(image, properties=None, method="komura", device="cpu"), Labels)
    assert_type(label(image, method="weigel_sewing", tile=16, local="union_find"), Labels)
    assert_type(label(image, return_num=True), tuple[Labels, int])
    assert_type(label(image, None, True, stacked=True), tuple[Labels, int])
    assert_type(label(image, return_num=wanted), Labels | tuple[Labels, int])
    assert_type(label(image, report=True), tuple[Labels, Report])
    assert_type(label(image, return_num=True, report=True), tuple[Labels, int, Report])
    names: Sequence[str] = ("label", "area")
    assert_type(label(image, properties=names, spacing=(0.5, 2)), tuple[Labels, Table])
    assert_type(label(image, properties=names, return_num=True), tuple[Labels, int, Table])
    assert_type(label(image, None, True, properties=names), tuple[Labels, int, Table])
    assert_type(label(image, properties=names, report=True), Any)
    _, report = label(image, method="kalentev", report=True)
    assert_type(report.rounds + len(report.passes), int)
    label(image, report=wanted, properties=names if wanted else None)
    label(image, **options)
    label([[0, 1], [1, 1]], out=np.empty((2, 2), np.int32))


def tables_of(image: NDArray[np.uint8]) -> float:
    """Measure, with columns that are arrays."""
    assert_type(regionprops_table(label(image), image), Table)
    table = measure_components(image, ("label", "area"), spacing=0.5)
    assert_type(table, Table)
    mask, level = binarize(image, "otsu", return_threshold=True)
    assert_type(mask, NDArray[np.bool_])
    found = segment(image, threshold=50 if level is None else "li", split="0.4um", unit="um")
    assert_type(found, Segmentation)
    assert_type(found.labels, Labels)
    assert_type(found.columns, Table)
    return float(table["area"].sum())


def components_of(graph: Graph | Bonds, wanted: bool) -> None:
    """Label a graph in every way."""
    assert_type(label_graph(graph), Labels)
    assert_type(label_graph(graph, return_num=True, method="komura"), tuple[Labels, int])
    assert_type(label_graph(graph, report=True), tuple[Labels, Report])
    assert_type(label_graph(graph, return_num=True, report=True), tuple[Labels, int, Report])
    assert_type(label_graph(graph, return_num=wanted), Labels | tuple[Labels, int])
    assert_type(label_graph(lattices.square(8), method="weigel_sewing", tile=4), Labels)


def mistakes(image: NDArray[np.uint8]) -> None:
    """Pass what is refused: each line has to be an error."""
    label(image, metod="komura")  # type: ignore[call-overload]
    label(image, method=3)  # type: ignore[call-overload]
    label(image, properties=4)  # type: ignore[call-overload]
    label_graph(lattices.square(8), tile="4")  # type: ignore[call-overload]
