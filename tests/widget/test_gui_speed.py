"""How fast the plugin is on a 2048 x 2048 image, and that the viewer never freezes.

Limits are those of the plan, met on two idle cores; the factor leaves room for other work. What is
over its limit is measured once more.
"""

import time

import numpy as np
import pytest
from qtpy.QtCore import QEventLoop, QPoint, Qt, QTimer
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication

from equilabel import segment
from equilabel.samples import nuclei_2d, nuclei_3d, percolation
from gui import LONG, MEASURE, colored, open_form, run, settle

pytestmark = [pytest.mark.gui, pytest.mark.slow]
STEPS = {"fill_holes": True, "min_size": 20, "split": True, "closing": 2.0}
FACTOR = 5.0  # room for other work; docs/napari.md has what was measured


def at_best(measure, limit):
    """Measure seconds; once more if they are over the limit. Return the fewer."""
    took = measure()
    return took if took < limit else min(took, measure())


class Pulse:
    """A heartbeat in the event loop: the longest time without one is how long it was blocked."""

    def __init__(self):
        self.gaps = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(5)

    def _beat(self):
        now = time.perf_counter()
        self.gaps.append(now - self._last)
        self._last = now

    @property
    def worst(self):
        return max(self.gaps, default=0.0)

    def stop(self):
        self._timer.stop()


@pytest.fixture(scope="module")
def large():
    return nuclei_2d((2048, 2048))


@pytest.fixture
def previewed(viewer, qtbot, large):
    viewer.add_image(large)
    form = open_form(viewer, qtbot)
    form.fields.sigma.value = 1.0
    settle(form, qtbot)
    qtbot.waitUntil(lambda: not form._warm_up.running, timeout=LONG)
    form.fields.show_preview.value = True
    qtbot.waitUntil(lambda: form.preview.layer is not None, timeout=LONG)
    QApplication.processEvents()
    return form


def move(form, level):
    """Move the threshold, and wait as an event loop does until the outline is drawn."""
    form.fields.threshold.set_level(float(level))
    while form.preview.drawing:
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    QApplication.processEvents()


def test_the_preview_follows_the_slider_in_a_twentieth_of_a_second(previewed):
    def measure(moves=15):
        took = []
        for level in np.linspace(300, 2000, moves):
            before = time.perf_counter()
            move(previewed, level)
            took.append(time.perf_counter() - before)
        print(f"preview: median {np.median(took) * 1e3:.0f} ms, worst {max(took) * 1e3:.0f} ms")
        return float(np.median(took))

    assert at_best(measure, 0.05) < 0.05 * FACTOR
    for step, value in STEPS.items():
        field = getattr(previewed.fields, step)
        before, field.value = field.value, value
        print(step, end=" ")
        assert measure(5) < 0.5 * FACTOR
        field.value = before


KINDS = {
    "image": {},
    "stack": {"axis_labels": ("z", "y", "x"), "scale": (4, 1, 1)},
    "movie": {"axis_labels": ("t", "y", "x")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_event_loop_goes_on_while_the_threshold_is_dragged(viewer, qtbot, large, kind):
    pixels = large if kind == "image" else np.tile(nuclei_3d((16, 256, 256)), (1, 4, 4))
    viewer.add_image(pixels, name=kind, **KINDS[kind])
    form = open_form(viewer, qtbot, recipe=True)
    qtbot.waitUntil(lambda: not form._warm_up.running, timeout=LONG)
    form.fields.show_preview.value = True
    qtbot.waitUntil(lambda: form.preview.layer is not None, timeout=LONG)
    view = form.fields.threshold.histogram

    def drag(moves=80):
        pulse = Pulse()
        places = np.linspace(0.1, 0.5, moves) * view.width()
        at = [QPoint(int(x), view.height() // 2) for x in (*places, *places[::-1])]
        QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=at[0])
        for each in at:
            QTest.mouseMove(view, each)
            qtbot.wait(16)
        QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at[-1])
        pulse.stop()
        late = float(np.percentile(pulse.gaps, 95))
        print(f"{kind}: 95 % of gaps under {late * 1e3:.0f} ms, longest {pulse.worst * 1e3:.0f} ms")
        return late

    assert at_best(drag, 0.1) < 0.1 * FACTOR
    assert form.fields.threshold.method.value == "number"


def test_a_run_takes_a_second_and_the_form_adds_little(viewer, qtbot, large):
    viewer.add_image(large)
    form = open_form(viewer, qtbot)
    qtbot.waitUntil(lambda: not form._warm_up.running, timeout=LONG)
    run(form, qtbot)
    whole, alone = [], []
    names = ("label", *form.fields.statistics.names)
    for _ in range(4):
        before = time.perf_counter()
        segment(large, properties=names)
        alone.append(time.perf_counter() - before)
        before = time.perf_counter()
        run(form, qtbot)
        whole.append(time.perf_counter() - before)
    added = min(whole) - min(alone)
    print(f"run: {min(whole) * 1e3:.0f} ms, of which the form {added * 1e3:.0f} ms")
    assert min(whole) < 1.0 * FACTOR
    assert added < 0.15 * FACTOR


def test_a_table_of_a_hundred_thousand_objects_does_not_freeze_the_viewer(viewer, qtbot):
    image = percolation((2048, 2048), 0.03, seed=1)
    viewer.add_image(image.view("u1"), name="dots", contrast_limits=(0, 1))
    form = open_form(viewer, qtbot)
    form.fields.connectivity.value = 1
    own = list(viewer.window._wrapped_dock_widgets.values())
    layer = run(form, qtbot)
    assert len(layer.features) - 1 > 100_000

    def blocked(act):
        def measure():
            for dock in [d for d in viewer.window._wrapped_dock_widgets.values() if d not in own]:
                dock.destroyOnClose()  # a table that is open would open in no time
            QApplication.processEvents()
            pulse = Pulse()
            act()
            qtbot.wait(200)
            pulse.stop()
            print(f"{act.__name__}: longest block {pulse.worst * 1e3:.0f} ms")
            return pulse.worst

        return measure

    def color():
        form.results.colors.column.value = "area"
        colored(form, qtbot)
        form.results.colors.column.value = "(default colors)"

    def rerun():
        run(form, qtbot)

    def table():
        form.results.table_button.click()
        assert form.results.table.objects.rowCount() > 100_000

    assert at_best(blocked(rerun), 0.2) < 0.2 * FACTOR
    assert at_best(blocked(color), 0.3) < 0.3 * FACTOR
    assert at_best(blocked(table), 0.5) < 0.5 * FACTOR


@pytest.mark.parametrize("side", [256, pytest.param(512, marks=pytest.mark.long)])
def test_the_viewer_stays_responsive_during_a_run_on_a_cube(viewer, qtbot, side):
    tile = nuclei_3d((64, 128, 128))
    viewer.add_image(np.tile(tile, (side // 64, side // 128, side // 128)), name="cube")
    form = open_form(viewer, qtbot)
    qtbot.waitUntil(lambda: not form._warm_up.running, timeout=LONG)

    def measure():
        pulse = Pulse()
        before = time.perf_counter()
        layer = run(form, qtbot)
        took = time.perf_counter() - before
        qtbot.wait(200)
        pulse.stop()
        block = f"longest block {pulse.worst * 1e3:.0f} ms"
        print(f"sigma {form.fields.sigma.value}: {took:.1f} s, {block}")
        assert layer.data.shape == (side, side, side)
        assert len(pulse.gaps) > 20
        return pulse.worst

    before = time.perf_counter()
    viewer.add_labels(np.zeros((side, side, side), "i4"))
    QApplication.processEvents()
    napari = time.perf_counter() - before
    print(f"napari alone adds a labels layer in {napari * 1e3:.0f} ms")
    assert measure() < napari + 0.2 * FACTOR  # the first run adds one too
    form.fields.sigma.value = 1.0
    settle(form, qtbot)
    QApplication.processEvents()
    assert at_best(measure, 0.2) < 0.2 * FACTOR  # the second puts its labels into the layer


def test_measuring_a_hundred_thousand_labels_does_not_freeze_the_viewer(viewer, qtbot):
    labels = segment(percolation((2048, 2048), 0.03, seed=1), connectivity=1).labels
    viewer.add_labels(labels)
    form = open_form(viewer, qtbot, MEASURE)
    run(form, qtbot)

    def measure():
        pulse = Pulse()
        run(form, qtbot)
        qtbot.wait(200)
        pulse.stop()
        print(f"measuring: longest block {pulse.worst * 1e3:.0f} ms")
        return pulse.worst

    assert at_best(measure, 0.2) < 0.2 * FACTOR
