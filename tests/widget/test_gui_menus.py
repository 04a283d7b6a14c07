"""What a person finds in the menus of a real viewer, and what it opens."""

import numpy as np
import pytest

from gui import LONG, canvas, menu

pytestmark = pytest.mark.gui

SAMPLES = {
    "Nuclei (2D)": 2,
    "Nuclei (3D, planes 4 times farther apart)": 3,
    "Movie of nuclei": 3,
    "Porous medium (3D, dark pores)": 3,
    "Percolation": 2,
    "Spiral": 2,
}


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (("Layers", "Segment"), "Label components (equilabel)"),
        (("Layers", "Measure"), "Measure labels (equilabel)"),
        (("Layers", "Measure"), "Results (equilabel)"),
        (("Layers", "Track"), "Label components (equilabel)"),
        (("Plugins", "equilabel"), "Label components (equilabel)"),
        (("Plugins", "equilabel"), "Measure labels (equilabel)"),
    ],
)
def test_a_menu_entry_opens_its_form(viewer, qtbot, path, title):
    entry = menu(viewer, *path)[title]
    assert title not in viewer.window.dock_widgets
    entry.trigger()
    form = viewer.window.dock_widgets[title]
    first = "summary" if title.startswith("Results") else "run_button"
    qtbot.waitUntil(lambda: getattr(form, first).isVisible(), timeout=LONG)


@pytest.mark.long
def test_every_sample_opens_as_a_layer_one_can_see(viewer, qtbot):
    entries = menu(viewer, "File", "Open Sample", "equilabel")
    assert set(entries) == set(SAMPLES)
    for title, ndim in SAMPLES.items():
        viewer.layers.clear()
        entries[title].trigger()
        [layer] = viewer.layers
        assert layer.ndim == ndim
        assert layer.axis_labels[-2:] == ("y", "x")
        assert canvas(viewer).std() > 10, title


def test_the_samples_are_found_by_their_keys(viewer):
    [layer] = viewer.open_sample("equilabel", "nuclei_3d")
    assert layer.scale.tolist() == [1.04, 0.26, 0.26]
    assert [str(unit) for unit in layer.units] == ["micrometer"] * 3


def test_a_right_click_on_a_layer_offers_the_form_for_its_kind(viewer, qtbot):
    from napari._app_model.context import get_context
    from napari._qt._qapp_model import build_qmodel_menu

    ours = {"Label components (equilabel)", "Measure labels (equilabel)"}

    def offered():
        made = build_qmodel_menu("napari/layers/context", parent=viewer.window._qt_window)
        made.update_from_context(get_context(viewer.layers))
        return {each.text(): each for each in made.actions() if each.isVisible()}

    first, last = (viewer.add_image(np.eye(9) * k, name=str(k)) for k in (1, 2))
    labels = viewer.add_labels(np.eye(9, dtype=int))
    viewer.add_labels(2 * np.eye(9, dtype=int))
    _, form = viewer.window.add_plugin_dock_widget("equilabel", "Label components")
    assert form.fields.image.value is last

    viewer.layers.selection = {first}
    assert ours & set(offered()) == {"Label components (equilabel)"}
    offered()["Label components (equilabel)"].trigger()
    assert form.fields.image.value is first

    viewer.layers.selection = {labels}
    assert ours & set(offered()) == {"Measure labels (equilabel)"}
    offered()["Measure labels (equilabel)"].trigger()
    measuring = viewer.window.dock_widgets["Measure labels (equilabel)"]
    assert measuring.labels.value is labels
    qtbot.waitUntil(lambda: measuring.run_button.isVisible(), timeout=LONG)

    viewer.layers.selection = {first, labels}
    assert not ours & set(offered())
