"""The result of `segment`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import shown
from equilabel.devices import fetch
from equilabel.storage.table import as_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from equilabel.array_types import HostArray

GIVEN = "_table"  # attribute that holds the columns or the DataFrame
MOST_NAMES = 6  # of columns that a description lists


class _Table:
    """Descriptor that makes the DataFrame from its columns on first access.

    pandas takes longer to make it than a small image takes to be labeled.
    """

    def __get__(self, found: Segmentation | None, _: object = None) -> pd.DataFrame:
        if found is None:  # read from the class: the field has no default
            raise AttributeError(GIVEN)
        table: Any = vars(found)[GIVEN]
        if not hasattr(table, "columns"):  # a DataFrame of Dask stays lazy
            vars(found)[GIVEN] = table = check_table(table)
        whole: pd.DataFrame = table
        return whole

    def __set__(self, found: Segmentation, value: pd.DataFrame | dict[str, HostArray]) -> None:
        vars(found)[GIVEN] = value


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation:
    """Labels and table of the objects that `segment` found, and the parameters that were used.

    Attributes
    ----------
    labels : array of int32 or int64
        Objects numbered 1 to `num`, in the shape of the image without its channels. A NumPy array
        or, if the image is on a GPU, a CuPy array. For `segment_chunked`, the labels that
        `label_chunked` returns.
    table : pandas.DataFrame
        One row for each object, in the order of labels. May be given as a dict of columns. For
        `segment_chunked`, a DataFrame of Dask if it takes more than a quarter of free memory.
    threshold : float, (float, float) or None
        Threshold that was found or given; None for a local threshold.
    num : int
        Number of objects.
    connectivity : int
        Maximum number of orthogonal hops between neighbors.
    spacing : tuple of float
        Distance between neighboring pixels along each spatial axis.
    method, device : str
        Method and device that labeled the image.
    in_pixels : dict
        Lengths and sizes that were used, in pixels, by the names of the parameters of `segment`:
        "sigma" along each spatial axis, "min_size", "max_size" and, if used, "split" and, along
        each spatial axis, "block_size", "background", "closing" and "opening"; "grow", of the
        smallest spacing.
    """

    labels: HostArray
    table: pd.DataFrame
    threshold: float | tuple[float, float] | None
    num: int
    connectivity: int
    spacing: tuple[float, ...]
    method: str
    device: str
    in_pixels: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, HostArray]:
        """The columns of `table` by name, as NumPy arrays."""
        given: Any = vars(self)[GIVEN]
        if isinstance(given, dict):
            return dict(given)
        return {name: np.asarray(given[name]) for name in given.columns}

    @property
    def features(self) -> pd.DataFrame:
        """The table as features of a napari labels layer: row i belongs to label i.

        ``viewer.add_labels(found.labels, features=found.features)`` shows the measurements of the
        object under the mouse. The table must have the column "label".
        """
        return as_features(self.table)

    def __repr__(self) -> str:
        """Describe the result in three lines, without the labels and the table themselves.

        Examples
        --------
        >>> import numpy as np
        >>> import equilabel
        >>> equilabel.segment(np.eye(3), threshold=0.5, properties=("label", "area"))
        Segmentation of 1 object, threshold 0.5
          labels: (3, 3) int32, spacing (1.0, 1.0), connectivity 2, by 'runs' on 'cpu'
          table: 1 row of label, area
        """
        objects = f"{self.num} object{'s' * (self.num != 1)}"
        names = list(map(str, self.table.columns))
        if len(names) > MOST_NAMES:
            names = [*names[: MOST_NAMES - 2], "...", f"{names[-1]} ({len(names)} columns)"]
        rows = len(self.table)
        return "\n".join(
            (
                f"Segmentation of {objects}, threshold {_threshold(self.threshold)}",
                f"  labels: {_labels(self.labels)}, spacing {self.spacing}, connectivity "
                f"{self.connectivity}, by {self.method!r} on {self.device!r}",
                f"  table: {rows} row{'s' * (rows != 1)} of {', '.join(names)}",
            )
        )


# Set after the class is made: dataclass would take it for the default of the field.
Segmentation.table = _Table()  # type: ignore[assignment]


def check_table(
    table: Any, name: str = "table", columns: Sequence[str] = (), remedy: str = ""
) -> pd.DataFrame:
    """Return a table, also one of `regionprops_table`, or raise TypeError or ValueError.

    It must have `columns`; the error ends with `remedy` otherwise.
    """
    if hasattr(table, "select_dtypes") and hasattr(table, "eval") and not isinstance(table, type):
        found: pd.DataFrame = table
    elif isinstance(table, dict) and all(hasattr(each, "dtype") for each in table.values()):
        import pandas as pd

        held = {key: fetch(column) for key, column in table.items()}
        shapes = {np.shape(column) for column in held.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            message = f"{name} must have columns of one length; got {shown(table)}."
            raise ValueError(message)
        found = pd.DataFrame(held)
    else:
        message = f"{name} must be a DataFrame, as measure returns it; got {shown(table)}."
        raise TypeError(message)
    for column in columns:
        if column not in found:
            known = ", ".join(map(str, found))
            message = f"{name} must have a column {column!r}; got {known}.{remedy}"
            raise ValueError(message)
    return found


def _labels(labels: Any) -> str:
    """Describe labels, which are an array or the path of a file."""
    return (
        f"{tuple(labels.shape)} {labels.dtype}" if hasattr(labels, "shape") else repr(str(labels))
    )


def _threshold(value: float | tuple[float, float] | None) -> str:
    if value is None:
        return "local"
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, tuple) else f"{value:g}"
