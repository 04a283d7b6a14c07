"""Find labels that were made elsewhere, and the image that belongs to each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from equilabel.storage.ome_zarr import is_zarr

from .inputs import FILE, FOLDER, find, kind_of
from .names import expanded, quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .inputs import Input

# What programs (equilabel, Cellpose, others) append to the name of an image. Longest first.
LABELS = ("_segmentation", "_cp_masks", "_labels", "_masks", "_label", "_mask", "_seg")
IMAGES = ("_image", "_img")


def find_pairs(
    words: Sequence[str], image: str | None, out: Path, *, recursive: bool
) -> tuple[list[Input], list[str]]:
    """Find labels, each with its image; also return lines about files that are left out.

    `image` is a file for one file of labels, or a folder in which images are found by their names.
    Labels without an image get a complaint. Raises RefusedError if there are no labels, or if
    `image` does not exist or is one file for several labels.
    """
    inputs, skipped = find(words, out, recursive=recursive, labels=True)
    if image is None:
        return [_renamed(item) for item in inputs], skipped
    path = expanded(image, "--image")
    kind = kind_of(path)
    if kind == FILE or is_zarr(path):
        if len(inputs) > 1:
            message = (
                f"--image must be a folder for {len(inputs)} files of labels; got the file "
                f"{quoted(path)}. Pass the folder that holds their images."
            )
            raise RefusedError(message)
        return [_renamed(replace(item, image=path)) for item in inputs], skipped
    if kind != FOLDER:
        message = f"--image must be a file or a folder; got {quoted(path)}, {kind}. Check the path."
        raise RefusedError(message)
    images, _ = find([image], out, recursive=recursive, labels=True)
    together = {item.path.resolve() for item in images if not item.complaint}
    if {item.path.resolve() for item in inputs} & together:  # labels and images are in one folder
        images = [item for item in images if base(item.name, LABELS) == item.name]
        inputs = [item for item in inputs if base(item.name, LABELS) != item.name]
        if not inputs:
            message = (
                f"LABELS must end in one of {list(LABELS)} beside their images; got none in "
                f"{quoted(path)}. Rename them, or put them into a folder of their own."
            )
            raise RefusedError(message)
    known: dict[str, list[Path]] = {}
    for item in images:
        for name in dict.fromkeys((item.name, base(item.name, IMAGES))):
            known.setdefault(name, []).append(item.path)
    return [_paired(item, known, path) for item in inputs], skipped


def base(name: str, endings: Sequence[str]) -> str:
    """Return a name without the first of the endings that it has.

    >>> base("day1/cells_cp_masks", LABELS), base("cells", LABELS)
    ('day1/cells', 'cells')
    """
    for ending in endings:
        short = name[: -len(ending)]
        if name.lower().endswith(ending) and short and short[-1] != "/":
            return short
    return name


def _renamed(item: Input) -> Input:
    return item if item.complaint else replace(item, name=base(item.name, LABELS))


def _paired(item: Input, known: dict[str, list[Path]], folder: Path) -> Input:
    """Return labels with their image; an image with the same full name comes first."""
    if item.complaint:
        return item
    short = base(item.name, LABELS)
    found = known.get(item.name) or known.get(short) or known.get(base(short, IMAGES)) or []
    if len(found) == 1:
        return replace(item, name=short, image=found[0])
    if found:
        got = " and ".join(quoted(path.name) for path in found)
        message = f"labels must have one image; got {got} in {quoted(folder)}. Rename one."
    else:
        message = (
            f"labels must have an image of their name; got none for {quoted(short)} in "
            f"{quoted(folder)}. Rename one, or pass both files by their names."
        )
    return replace(item, complaint=message)
