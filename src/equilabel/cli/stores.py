"""Paths of the results of a chunked image, and what may be replaced there."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import folder_for
from equilabel.storage.ome_zarr import find_image, is_zarr

from .names import expanded, quoted, stem
from .options import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from .options import Options


class Places(NamedTuple):
    """Paths of results; `labels` is a Zarr."""

    labels: Path
    table: Path
    record: Path


def find_places(path: Path, out: Path, options: Options) -> Places:
    """Return the paths of the results of the image at `path`.

    `out` is a folder for all results, or the Zarr of labels itself: if its name ends in ``.zarr``,
    or if it is in the folder ``labels`` of an OME-Zarr. The table and the record are then inside.
    Raises RefusedError if the image would be damaged.
    """
    out = expanded(out, "--out")
    table = f"table.{options.format}"
    if out.suffix.lower() == ".zarr" or _is_among_labels(out):
        places = Places(out, out / table, out / "record.json")
    else:
        name = stem(path)
        places = Places(
            out / f"{name}_labels.zarr", out / f"{name}_{table}", out / f"{name}_record.json"
        )
    image, labels = path.resolve(), places.labels.resolve()
    inside = image in labels.parents and not _is_among_labels(places.labels)
    if labels == image or labels in image.parents or inside:
        remedy = "Choose another folder"
        if find_image(path).group is not None:
            remedy += f", or one in its folder of labels: {quoted(path / 'labels' / 'objects')}"
        message = f"--out must not be the image or in it; got {quoted(places.labels)}. {remedy}."
        raise RefusedError(message)
    return places


def _is_among_labels(out: Path) -> bool:
    """Return whether a path is in the folder of labels of an OME-Zarr."""
    image = out.parent.parent
    if out.parent.name != "labels" or not is_zarr(image):
        return False
    try:
        return find_image(image).group is not None
    except ValueError:
        return False


def refuse_losses(places: Places, *, resume: bool, overwrite: bool) -> None:
    """Raise RefusedError if a complete or unfinished result would be lost without --overwrite."""
    if resume or overwrite:
        return
    present = next((path for path in places if os.path.lexists(path)), None)
    if present is not None:
        message = (
            f"results in chunks must not replace earlier ones; got {quoted(present)}. Pass "
            "--overwrite to replace them, or --out with another folder."
        )
        raise RefusedError(message)
    begun = folder_for(places.labels)
    if os.path.lexists(begun):
        message = (
            f"results must not replace an unfinished run; got {quoted(begun)}. Pass --resume to "
            "go on with it, or --overwrite to begin again."
        )
        raise RefusedError(message)


class Aside:
    """Earlier labels (a Zarr), kept until new ones are complete or the run is refused."""

    def __init__(self, labels: Path) -> None:
        self._labels, self._kept = labels, labels.with_name(f".{labels.name}.replaced")

    def put(self) -> None:
        """Rename earlier labels."""
        if is_zarr(self._labels):
            if self._kept.exists():
                shutil.rmtree(self._kept)
            os.replace(self._labels, self._kept)  # noqa: PTH105 - atomic

    def settle(self) -> None:
        """Remove them if there are new labels; restore them if no new ones were begun."""
        if not self._kept.exists():
            return
        if self._labels.exists():
            shutil.rmtree(self._kept, ignore_errors=True)
        elif not folder_for(self._labels).exists():
            os.replace(self._kept, self._labels)  # noqa: PTH105
