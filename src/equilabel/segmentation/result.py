"""The result of `segment`: labels and a table, and the rows of a table that meet a condition."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_mapping, check_number, check_text, is_sequence, shown
from equilabel.devices import fetch
from equilabel.storage.table import as_features

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

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
        Objects numbered 1 to `num`, in the shape of the image without its channels, on the device
        of the image. For `segment_chunked`, the labels that `label_chunked` returns.
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
        """Describe the result in three lines, without the labels and the table themselves."""
        used = self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)
        threshold = "local" if used == (None,) else " to ".join(f"{level:g}" for level in used)
        labels: Any = self.labels  # an array, or the path of a file
        held = repr(str(labels))
        if hasattr(labels, "shape"):
            held = f"{tuple(labels.shape)} {labels.dtype}"
        names = list(map(str, self.table.columns))
        if len(names) > MOST_NAMES:
            names = [*names[: MOST_NAMES - 2], "...", f"{names[-1]} ({len(names)} columns)"]
        rows = len(self.table)
        return (
            f"Segmentation of {self.num} object{'s' * (self.num != 1)}, threshold {threshold}\n"
            f"  labels: {held}, spacing {self.spacing}, connectivity {self.connectivity}, "
            f"by {self.method!r} on {self.device!r}\n"
            f"  table: {rows} row{'s' * (rows != 1)} of {', '.join(names)}"
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


# ---- Rows of a table that meet a condition

ALLOWED = (  # of Python's grammar, in a condition
    *(ast.Expression, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Name, ast.Load),
    *(ast.Constant, ast.And, ast.Or, ast.Not, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div),
    *(ast.Pow, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
DECIDING = (ast.Compare, ast.BoolOp, ast.UnaryOp)  # what a condition is as a whole
COMPARE = "{} must compare columns with numbers; got {}. Try 'area > 20 and circularity > 0.8'."
QUOTED = re.compile("`([^`]*)`")  # names of columns that are no words of Python


def meets(
    table: pd.DataFrame, wanted: str | Mapping[str, tuple[float | None, float | None]]
) -> NDArray[np.bool_]:
    """Return for each row of a table whether it meets a condition, (N,) bool."""
    if isinstance(wanted, str):
        refuse_columns("condition", columns_in("condition", wanted), list(map(str, table)))
        found: Any = None  # where types do not fit, as of text and numbers
        wrong = (TypeError, ValueError, ArithmeticError, RuntimeError)
        with np.errstate(all="ignore"), suppress(*wrong):
            found = table.eval(wanted, engine="python")
        missing = getattr(found, "dtype", None) == "boolean"  # of pandas, where values are missing
        rows = np.asarray(found.fillna(False).astype(bool) if missing else found)
        if rows.shape != (len(table),) or rows.dtype != np.bool_:
            raise ValueError(COMPARE.format("condition", shown(wanted)))
        return rows
    kept = np.ones(len(table), np.bool_)
    for name, limits in check_mapping("ranges", wanted).items():
        if not is_sequence(limits) or len(limits) != 2:
            message = (
                f"ranges must map columns to (least, greatest); got {shown(limits)} for {name!r}."
            )
            raise TypeError(message)
        low, high = (
            beyond if each is None else check_number("ranges", each)
            for each, beyond in zip(limits, (-np.inf, np.inf), strict=True)
        )
        refuse_columns("ranges", [name], list(map(str, table)))
        values = table[name].to_numpy()
        if values.dtype.kind not in "buif":
            message = f"ranges must be of columns of numbers; got {name!r} of {values.dtype}."
            raise TypeError(message)
        kept &= (values >= low) & (values <= high)
    return kept


def columns_in(name: str, condition: Any) -> list[str]:
    """List the columns in a condition; raise ValueError unless it only compares and computes.

    >>> columns_in("keep", "area > 20 and `bbox-0` >= 0.8")
    ['area', 'bbox-0']
    """
    text = check_text(name, condition)
    quoted: list[str] = QUOTED.findall(text)
    places = iter(range(len(quoted)))
    plain = QUOTED.sub(lambda _: f"_quoted_{next(places)}", text)
    try:
        whole = ast.parse(plain.strip(), mode="eval")
        nodes = list(ast.walk(whole)) if isinstance(whole.body, DECIDING) else [ast.Pass()]
    except (SyntaxError, ValueError):
        nodes = [ast.Pass()]
    found = [node.id for node in nodes if isinstance(node, ast.Name)]
    if not found or not all(isinstance(node, ALLOWED) for node in nodes):
        raise ValueError(COMPARE.format(name, shown(text)))
    found = [quoted[int(each[8:])] if each.startswith("_quoted_") else each for each in found]
    return list(dict.fromkeys(found))


def refuse_columns(name: str, columns: Collection[str], known: Collection[str]) -> None:
    """Raise ValueError if a condition has columns that are not known."""
    for each in columns:
        if each not in known:
            near = get_close_matches(each, known, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Pass one of {', '.join(known)}."
            parts = [column for column in known if column.startswith(f"{each}-")]
            if parts:
                remedy = f"Pass {parts[0]!r}; in a condition `{parts[0]}`, in backticks."
            message = f"{name} must be on columns of the table; got {shown(each)}. {remedy}"
            raise ValueError(message)
