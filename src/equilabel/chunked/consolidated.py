"""Consolidated metadata of Zarr: the descriptions of all arrays in a group."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from equilabel.storage.ome_zarr import is_zarr, read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path


def consolidate(out: Path) -> None:
    """Add a new Zarr to the consolidated metadata of the groups above it, if they have any.

    Readers trust these metadata and would not find the new Zarr without. Other entries are not
    read.
    """
    gap = False
    for group in out.parents:
        if not is_zarr(group):
            gap = True
            continue
        old, new = group / ".zmetadata", group / "zarr.json"
        file = old if old.exists() else new
        try:
            content = json.loads(file.read_text("utf-8"))
            block: Any = content if file == old else content["consolidated_metadata"]
            known = dict(block["metadata"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # no such metadata
            continue
        if gap:  # a folder between them is not a group and cannot be described
            content.pop("consolidated_metadata", None)
            write_json(file, content) if file == new else file.unlink()
            continue
        name = out.relative_to(group).as_posix()
        known = {key: one for key, one in known.items() if not f"{key}/".startswith(f"{name}/")}
        for folder in (out.parent, out, *sorted(filter(is_zarr, out.iterdir()))):
            known |= _described(folder, group, block if file == new else None)
        block["metadata"] = known
        write_json(file, content)


def _described(folder: Path, group: Path, block: dict[str, Any] | None) -> dict[str, Any]:
    """Return the entries of a Zarr in consolidated metadata: a `block` in format 3, or a file."""
    found = {}
    for own in (".zgroup", ".zarray", ".zattrs") if block is None else ("zarr.json",):
        key = (folder / own if block is None else folder).relative_to(group).as_posix()
        if (folder / own).is_file() and key != ".":
            found[key] = read_json(folder / own)
            if found[key].get("node_type") == "group":
                found[key]["consolidated_metadata"] = {**(block or {}), "metadata": {}}
    return found
