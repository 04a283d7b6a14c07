"""Take the pictures of docs/napari.md and README.md, of the real viewer: `make screenshots`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import napari
import numpy as np
from napari.settings import get_settings
from PIL import Image
from qtpy.QtCore import QPoint, Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QPushButton

if TYPE_CHECKING:
    from napari import Viewer

HERE = Path(__file__).parent
SIZE = (1500, 940)
LONG = 120_000


def wait(milliseconds: int = 300) -> None:
    """Let the viewer draw."""
    QTest.qWait(milliseconds)


def wait_for(condition: Any) -> None:
    """Wait until something is so."""
    for _ in range(LONG // 20):
        if condition():
            wait(200)
            return
        QTest.qWait(20)
    sys.exit("screenshots: waited in vain")


def save(name: str, pixels: Any) -> None:
    """Write a picture, with few colors: they are for reading."""
    picture = Image.fromarray(np.asarray(pixels)[..., :3])
    picture.quantize(256, dither=Image.Dither.NONE).save(HERE / f"{name}.png", optimize=True)
    print(f"{name}.png {picture.size}")


def shoot(viewer: Viewer, name: str) -> None:
    """Take the whole window."""
    viewer.status = "Ready"
    wait()
    save(name, viewer.screenshot(canvas_only=False, flash=False))


def open_viewer(sample: str) -> tuple[Viewer, Any]:
    """Open a sample and the form beside it."""
    viewer = napari.Viewer(show=True)
    viewer.window._qt_window.resize(*SIZE)
    viewer.open_sample("equilabel", sample)
    _, form = viewer.window.add_plugin_dock_widget("equilabel", "Label components")
    wait_for(lambda: form.fields.threshold.level is not None and not form.preview.waiting)
    wait_for(lambda: not form._warm_up.running)
    viewer.reset_view()
    return viewer, form


def run(form: Any) -> Any:
    """Press the button and wait."""
    ended: list[int] = []
    form.ended.connect(lambda: ended.append(1))
    form.run_button.click()
    wait_for(lambda: ended)
    return form.results.layer


def preview_and_menu() -> None:
    """Take the preview at work, and the menu that leads to it."""
    viewer, form = open_viewer("nuclei_2d")
    form.fields.unit.value = "µm"
    wait_for(lambda: not form.preview.waiting)
    form.fields.show_preview.value = True
    wait_for(lambda: form.preview.layer is not None)
    shoot(viewer, "napari_preview")
    bar = viewer.window._qt_window.menuBar()
    layers = next(a for a in bar.actions() if a.text().replace("&", "") == "Layers").menu()
    layers.popup(viewer.window._qt_window.mapToGlobal(QPoint(90, 22)))
    wait()
    segment = next(a for a in layers.actions() if a.text().replace("&", "") == "Segment")
    layers.setActiveAction(segment)
    segment.menu().popup(layers.mapToGlobal(layers.actionGeometry(segment).topRight()))
    wait()
    entry = segment.menu().actions()[0]
    segment.menu().setActiveAction(entry)
    wait()
    pixels = QApplication.primaryScreen().grabWindow(0).toImage()
    pixels = pixels.convertToFormat(pixels.Format.Format_RGB888)
    size = pixels.height(), pixels.bytesPerLine()
    rows = np.frombuffer(pixels.bits().asstring(pixels.sizeInBytes()), np.uint8).reshape(size)
    rgb = rows[:, : pixels.width() * 3].reshape(pixels.height(), pixels.width(), 3)
    corner = viewer.window._qt_window.pos()
    save("napari_menu", rgb[corner.y() : corner.y() + 420, corner.x() : corner.x() + 760])
    segment.menu().close()
    layers.close()
    viewer.close()


def objects_and_table() -> None:
    """Take the objects, colored by their area, with table and plot."""
    viewer, form = open_viewer("nuclei_2d")
    form.fields.unit.value = "µm"
    run(form)
    form.results.parent().raise_()
    panel = form.results
    panel.colors.column.value = "area"
    wait_for(lambda: not panel.colors.task.running)
    panel.filter.rows[0].column.value = "area"
    panel.filter.rows[0].slider.setValue((25.0, 60.0))
    panel.plot.kind.value, panel.plot.x.value = "scatter plot", "area"
    panel.plot.y.value = "intensity_mean"
    panel.plot.button.click()
    panel.table_button.click()
    panel.table.selectRow(18)
    wait(600)
    shoot(viewer, "napari_objects")
    viewer.close()


def volume() -> None:
    """Take labels in 3D, with planes four times farther apart than pixels."""
    viewer, form = open_viewer("nuclei_3d")
    form.fields.unit.value = "µm"
    wait_for(lambda: not form.preview.waiting)
    run(form)
    heads = form.findChildren(QPushButton)
    next(each for each in heads if each.text().endswith("Statistics")).setChecked(True)
    form.fields.statistics.topLevelItem(1).setExpanded(False)
    form.fields.statistics.tick("sphericity")
    shapes = form.fields.statistics.findItems("Shape", Qt.MatchFlag.MatchExactly)[0]
    shapes.setExpanded(True)
    form.fields.statistics.scrollToItem(shapes, form.fields.statistics.ScrollHint.PositionAtTop)
    viewer.layers[0].visible = False
    viewer.layers[-1].opacity = 1.0
    viewer.dims.ndisplay = 3
    viewer.scene.camera.angles = (12.0, -38.0, 62.0)
    viewer.reset_view(reset_camera_angle=False)
    viewer.scene.camera.zoom *= 1.15
    wait(1000)
    shoot(viewer, "napari_volume")
    viewer.close()


if __name__ == "__main__":
    get_settings().appearance.theme = "dark"
    preview_and_menu()
    objects_and_table()
    volume()
