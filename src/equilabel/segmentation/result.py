"""The result of `segment`: labels, their table, and how both were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_mapping, shown
from equilabel.storage.features import as_features

if TYPE_CHECKING:
    import pandas as pd

    from equilabel.array_types import HostArray

GIVEN = "_table"  # attribute that holds what was given for a table
MOST_NAMES = 6  # of columns that a description lists


class _Table:
    """A table that is made of its columns when it is first asked for.

    pandas takes longer to make it than a small image takes to be labeled.
    """

    def __get__(self, found: Segmentation | None, _: object = None) -> pd.DataFrame:
        import pandas as pd

        if found is None:  # asked of the class: the field has no default
            raise AttributeError(GIVEN)
        table = vars(found)[GIVEN]
        if not isinstance(table, pd.DataFrame):
            vars(found)[GIVEN] = table = pd.DataFrame(_checked(table))
        return table

    def __set__(self, found: Segmentation, value: pd.DataFrame | dict[str, HostArray]) -> None:
        vars(found)[GIVEN] = value


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation:
    """Labels and table of the objects that `segment` found, and how it found them.

    Attributes
    ----------
    labels : array of int32 or int64
        Objects numbered 1 to `num`; the shape of the image without its channels. Of NumPy or, if
        the image is held by a GPU, of CuPy. Of `segment_chunked`, what `label_chunked` returns.
    table : pandas.DataFrame
        A row for each object, in the order of labels. May be given as a dict of columns.
    threshold : float, (float, float) or None
        Found or given; None for a local threshold.
    num : int
        Number of objects.
    connectivity : int
        Most hops between neighbors.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    method, device : str
        Method and device that labeled the image.
    in_pixels : dict
        Lengths and sizes that were used, in pixels, by the names of the parameters of `segment`:
        "sigma" along each spatial axis, "min_size", "max_size" and, where they are used,
        "block_size", "background", "closing" and "opening" along each, and "split".
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
        """The columns of `table` by their names, as arrays of NumPy."""
        given: Any = vars(self)[GIVEN]
        if isinstance(given, dict):
            return dict(given)
        return {name: given[name].to_numpy() for name in given}

    @property
    def features(self) -> pd.DataFrame:
        """The table as features of a labels layer of napari: row i is label i.

        ``viewer.add_labels(found.labels, features=found.features)`` shows the measurements of an
        object under the mouse. The table must have its column "label".
        """
        return as_features(self.table)

    def __repr__(self) -> str:
        """Describe the result in three lines; the labels and the table are left out.

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


# Only now: a class attribute would have been taken for the default of the field.
Segmentation.table = _Table()  # type: ignore[assignment]


def _checked(table: Any) -> dict[str, HostArray]:
    """Return the columns of a table, or raise TypeError unless these are arrays of one length."""
    columns = check_mapping("table", table)
    shapes = {np.shape(column) for column in columns.values() if hasattr(column, "dtype")}
    whole = all(hasattr(column, "dtype") for column in columns.values())
    if not whole or len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        message = f"table must be of columns of one length; got {shown(table)}."
        raise TypeError(message)
    return columns


def _labels(labels: Any) -> str:
    """Describe labels: an array, or the path where they are."""
    return (
        f"{tuple(labels.shape)} {labels.dtype}" if hasattr(labels, "shape") else repr(str(labels))
    )


def _threshold(value: float | tuple[float, float] | None) -> str:
    if value is None:
        return "local"
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, tuple) else f"{value:g}"
