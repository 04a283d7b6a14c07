"""A table of many objects, in a real viewer: what it costs to select and to scroll."""

import time

import numpy as np
import pandas as pd
import pytest
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication

from gui import MEASURE, open_form

pytestmark = pytest.mark.gui
COLUMNS = 22
LIMIT = 1.0  # seconds, where other work runs


def open_table(viewer, qtbot, side):
    """Open the table of a layer whose pixels are all objects, and say how long it took."""
    count = side * side
    values = np.random.default_rng(0).random((count + 1, COLUMNS))
    values[0] = np.nan
    table = pd.DataFrame(values, columns=[f"c{k}" for k in range(COLUMNS)])
    viewer.add_labels(np.arange(1, count + 1).reshape(side, side), name="many", features=table)
    form = open_form(viewer, qtbot, MEASURE)
    form.results.table_button.click()
    QApplication.processEvents()
    return form.results


def seconds(act, *arguments, **options):
    """Return how long the event loop is held by what a person does, until it is drawn."""
    before = time.perf_counter()
    act(*arguments, **options)
    QApplication.processEvents()
    return time.perf_counter() - before


@pytest.mark.parametrize("side", [115, pytest.param(1000, marks=pytest.mark.slow)])
def test_any_number_of_rows_is_selected_and_scrolled_at_once(viewer, qtbot, side):
    results = open_table(viewer, qtbot, side)
    table, control = results.table, Qt.KeyboardModifier.ControlModifier
    results.select([1])  # napari takes long to add the first layer of outlines
    QApplication.processEvents()
    took = [seconds(results.select, [side**2 // 2])]
    took += [seconds(QTest.keyClick, table, Qt.Key.Key_A, control)]
    assert len(results._selected) == side**2
    bar = table.verticalScrollBar()
    took += [seconds(bar.setValue, bar.maximum())]
    assert table.indexAt(table.viewport().rect().topLeft()).row() > side**2 - 50
    took += [seconds(QTest.keyClick, table, Qt.Key.Key_PageUp)]
    assert len(results._selected) == 1
    assert max(took) < LIMIT
