"""Tables as CSV or Parquet: written atomically, and without formulas for spreadsheets."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd
    from numpy.typing import NDArray

NUMBERS = {np.dtype(np.float64), np.dtype(np.int64)}
SUFFIXES = (".csv", ".parquet")
# Spreadsheet programs split a line at separators that depend on the locale and the user,
# trim the parts, and run a part that begins with one of these signs. Fullwidth and other
# forms count too, because programs normalize them.
_SEPARATORS = r",;|\t\r\n\v\f"
_IGNORED = r"\s\"'\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff"
_SIGNS = "=+\\-@" + "＝＋－＠" + "﹦﹢﹣﹫" + "⁼⁺⁻₌₊₋" + "−"  # noqa: RUF001 - look-alikes are intended
# An apostrophe before the sign makes the part text. Text that already has one there gets
# another, so that reading removes exactly what writing added.
_FORMULA = re.compile(f"((?:^|[{_SEPARATORS}])[{_IGNORED}]*)(?=[{_SIGNS}])")
_ESCAPED = re.compile(f"((?:^|[{_SEPARATORS}])[{_IGNORED}]*)'(?=[{_SIGNS}])")


def write_table(
    path: Path | str,
    table: Mapping[str, Any] | pd.DataFrame,
    *,
    units: Mapping[str, str] | None = None,
) -> None:
    """Write a table as CSV or Parquet, depending on the suffix, atomically.

    `table` has columns of equal length; the index of a DataFrame is not written. In CSV, floats
    read back to the same bits. Text that a spreadsheet would run as a formula gets an apostrophe,
    which `read_table` removes: text with a sign (``= + - @`` or a fullwidth form) at its beginning
    or after a character at which programs split cells; also names of columns. `units` are written
    as a second line of a CSV file, "" for missing ones, but not in Parquet. Raises ValueError for
    another suffix, for columns of different lengths or equal names; ImportError if pyarrow is
    missing; OSError with `path`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "cells.csv"
    >>> write_table(file, {"label": [1, 2], "area": [0.1, 7.0], "name": ["a", "=1+1"]})
    >>> print(file.read_text())
    label,area,name
    1,0.1,a
    2,7.0,'=1+1
    """
    suffix = _suffix(path)
    numbers = _numbers(table) if suffix == ".csv" else None
    if numbers is not None:
        with replacing(path) as unfinished:
            _write_numbers(unfinished, numbers, units)
        return
    import pandas as pd

    frame = _frame(table)
    with replacing(path) as unfinished:
        if suffix == ".parquet":
            frame.to_parquet(unfinished, engine="pyarrow", index=False)
            return
        if all(dtype.kind in "biufc" for dtype in frame.dtypes):
            safe = frame.rename(columns=escaped)
        else:
            columns = {escaped(name): _escaped(frame[name]) for name in frame}
            safe = pd.DataFrame(columns, frame.index)
        # An unquoted carriage return ends a row, and the next cell could begin with a formula.
        bare = any("\r" in cell for cell in _texts(safe))
        quoting: Literal[0, 2] = 2 if bare else 0  # quote all text, or the default of csv
        if units is not None:
            words = [units.get(str(name), "") for name in frame]
            safe.columns = pd.MultiIndex.from_arrays([safe.columns, words])
        safe.to_csv(unfinished, index=False, lineterminator="\n", quoting=quoting)


def _numbers(table: Mapping[str, Any] | pd.DataFrame) -> dict[str, NDArray[Any]] | None:
    """Return the columns of a table that `_write_numbers` can write; None otherwise."""
    columns: Any = table
    if not isinstance(table, dict):
        if not all(dtype in NUMBERS for dtype in getattr(table, "dtypes", [None])):
            return None
        if not columns.columns.is_unique:
            return None
        columns = {name: columns[name].to_numpy() for name in columns}
    shapes = {getattr(column, "shape", None) for column in columns.values()}
    if len(shapes) != 1 or len(shapes.pop() or ()) != 1:
        return None
    fitting = all(
        isinstance(name, str) and isinstance(column, np.ndarray) and column.dtype in NUMBERS
        for name, column in columns.items()
    )
    return columns if fitting else None


def _write_numbers(
    path: Path, table: Mapping[str, NDArray[Any]], units: Mapping[str, str] | None
) -> None:
    """Write numbers like `DataFrame.to_csv`, five times as fast for a hundred rows."""
    names = [escaped(name) for name in table]
    bare = any("\r" in name for name in names)
    kind: Literal[0, 2] = csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=kind)
        writer.writerow(names)
        if units is not None:
            writer.writerow([units.get(name, "") for name in table])
        if bare or len(names) == 1:  # an empty cell is quoted
            writer.writerows(zip(*map(_without_nan, table.values()), strict=True))
            return
        texts = (_texts_of(column) for column in table.values())
        file.writelines(f"{','.join(cells)}\n" for cells in zip(*texts, strict=True))


def _texts_of(column: NDArray[Any]) -> list[str]:
    """Return numbers as text like the csv module: the shortest that reads back the same."""
    texts = list(map(repr, column.tolist()))
    for place in np.flatnonzero(column != column).tolist():  # NaN
        texts[place] = ""
    return texts


def _without_nan(column: NDArray[Any]) -> list[float | str]:
    """Return numbers with empty cells in place of NaN."""
    cells: list[float | str] = column.tolist()
    for place in np.flatnonzero(np.isnan(column)).tolist():
        cells[place] = ""
    return cells


def read_table(path: Path | str, *, unit_row: bool = False) -> pd.DataFrame:
    """Read a table that `write_table` wrote.

    CSV has no types: numbers are read as numbers, ``True`` and ``False`` as bool, empty cells as
    missing, and everything else as text. With `unit_row`, the second line of a CSV file is skipped.
    Raises ValueError for another suffix, ImportError if pyarrow is missing, or OSError.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "cells.csv"
    >>> write_table(file, {"label": [1, 2], "name": ["a", "=1+1"]})
    >>> read_table(file)["name"].tolist()
    ['a', '=1+1']
    """
    import pandas as pd

    if _suffix(path) == ".parquet":
        return pd.read_parquet(path, engine="pyarrow")
    # The default is exact since pandas 3, which warns about the option.
    exact: Literal["round_trip"] | None = "round_trip" if pd.__version__ < "3" else None
    try:
        frame = pd.read_csv(
            path,
            keep_default_na=False,
            na_values=[""],
            float_precision=exact,
            skiprows=[1] if unit_row else None,
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    return pd.DataFrame({_plain(name): _plained(frame[name]) for name in frame}, index=frame.index)


def _suffix(path: Path | str) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        message = f"path must end in one of {list(SUFFIXES)}; got {str(path)!r}. Change the suffix."
        raise ValueError(message)
    if suffix == ".parquet":
        needs_pyarrow()
    return suffix


def needs_pyarrow() -> None:
    """Raise ImportError if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        message = (
            f"a .parquet table needs pyarrow; got {error}. "
            "Install with `pip install equilabel[parquet]`, or write .csv."
        )
        raise ImportError(message) from error


def _frame(table: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.DataFrame(table if isinstance(table, pd.DataFrame) else dict(table))
    except ValueError as error:
        lengths = {name: len(column) for name, column in table.items()}
        message = f"table must have columns of one length; got {lengths}."
        raise ValueError(message) from error
    if not all(isinstance(name, str) for name in frame.columns):
        frame.columns = pd.Index([str(name) for name in frame.columns])
    if not frame.columns.is_unique:
        message = f"table must have columns of different names; got {list(frame.columns)}."
        raise ValueError(message)
    return frame


def _texts(frame: pd.DataFrame) -> Iterator[str]:
    for name, dtype in frame.dtypes.items():
        yield str(name)
        if dtype.kind not in "biufc":
            yield from (cell for cell in frame[name] if isinstance(cell, str))


def escaped(value: Any) -> Any:
    """Return text that no spreadsheet program takes for a formula; other values unchanged."""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    return _ESCAPED.sub(r"\1", value) if isinstance(value, str) else value


def _escaped(column: pd.Series[Any]) -> pd.Series[Any]:
    return column if column.dtype.kind in "biufc" else column.astype(object).map(escaped)


def _plained(column: pd.Series[Any]) -> pd.Series[Any]:
    return column if column.dtype.kind in "biufc" else column.map(_plain)
