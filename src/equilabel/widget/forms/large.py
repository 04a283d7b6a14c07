"""Where the labels of an image are stored that does not fit into memory: a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qtpy.QtWidgets import QFileDialog, QMessageBox

from equilabel.widget.logic.large import explain_size, suggest_place

if TYPE_CHECKING:
    from qtpy.QtWidgets import QWidget

    from equilabel.widget.logic.sources import Source


def ask_where(form: QWidget, source: Source) -> tuple[bool, Path | None]:
    """Ask where labels are stored.

    Parameters
    ----------
    form : QWidget
        The dialogs open above it.
    source : Source
        The image.

    Returns
    -------
    wanted : bool
        Whether the image is segmented at all.
    place : Path, or None
        None for a temporary folder.
    """
    box = QMessageBox(form)
    box.setWindowTitle("Image larger than memory")
    box.setText(f"{explain_size(source)}. It is segmented block by block.")
    box.setInformativeText(
        "Its labels are stored as an OME-Zarr. A temporary folder is removed when their layer is "
        "removed or napari ends."
    )
    save = box.addButton("Save as ...", QMessageBox.ButtonRole.AcceptRole)
    temporary = box.addButton("Temporary folder", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(save)
    box.exec()
    if box.clickedButton() is temporary:
        return True, None
    if box.clickedButton() is not save:
        return False, None
    place, _ = QFileDialog.getSaveFileName(
        form, "Store labels as", str(suggest_place(source)), "Zarr (*)"
    )
    return bool(place), Path(place) if place else None
