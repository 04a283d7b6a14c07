"""The result of a run, as a labels layer needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from equilabel.widget.napari_types import Transform

KEY = "equilabel"  # of the metadata of our layers


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a run, for a labels layer.

    Attributes
    ----------
    labels : array of int
        In the order of axes of the layer; a Dask array if they are in a file.
    features : pandas.DataFrame
        Table of the objects: row i is label i.
    transform : dict
        scale, translate, ... for the labels.
    metadata : dict
        How the labels were made, enough to repeat the run.
    notes : tuple of str
        Notes for the user, in sentences.
    levels : tuple of Dask arrays
        All resolutions of labels that are in a file, finest first.
    stored : str
        Where that is, in a sentence.
    """

    labels: Any
    features: pd.DataFrame
    transform: Transform
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()
    levels: tuple[Any, ...] = ()
    stored: str = ""
