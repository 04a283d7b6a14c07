"""Tables of objects: as CSV or Parquet, merged into one, and as features of a napari layer."""

from __future__ import annotations

import csv
import os
import re
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .files import is_remote, open_regular, replacing
from .memory import free

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

Part: TypeAlias = tuple[Path, "Mapping[str, str]"]
"""The table of one image, and more columns with one text each, such as the file."""

SUFFIXES = (".csv", ".parquet")
OWN = ("file", "unit")  # columns of a merged table
ROWS = 2**16  # least rows of a row group in a Parquet file
NO_TYPES: Mapping[str, Any] = {}
TABLE = "table.csv"  # in the folder of labels of an image in chunks
PARTS = "table.parquet"  # there, too: the folder of a table in parts
SHARE = 0.25  # of free memory that a table may take
SPARSE = 8  # features have rows for objects only if labels per object exceed this
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

    In CSV, floats read back to the same bits, `units` are a second line, and text that a
    spreadsheet would run as a formula gets an apostrophe, names of columns too.
    """
    suffix = _suffix(path)
    names, columns = list(map(str, table)), [column for _, column in table.items()]
    with replacing(path) as unfinished:
        if suffix == ".parquet":
            import pandas as pd

            frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
            frame.to_parquet(unfinished, engine="pyarrow", index=False)
            return
        names = list(map(escaped, names))
        # An unquoted carriage return ends a row, and the next cell could begin with a formula.
        texts = chain(names, *(column for column in columns if not _is_number(column)))
        bare = any("\r" in cell for cell in texts if isinstance(cell, str))
        quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", quoting=quoting)
            writer.writerow(names)
            if units is not None:
                writer.writerow([units.get(str(name), "") for name in table])
            writer.writerows(zip(*map(_cells, columns), strict=True))


def _is_number(column: Any) -> bool:
    dtype = column.dtype if hasattr(column, "dtype") else np.asarray(column).dtype
    return isinstance(dtype, np.dtype) and dtype.kind in "biufc"


def _cells(column: Any) -> list[Any]:
    """Return the cells of a column for the csv module: without formulas, empty if missing.

    Numbers need no pandas, which takes longer to import than a small image to label.
    """
    if _is_number(column):
        values = np.asarray(column)
        short = values.dtype.kind == "f" and values.itemsize < 8
        cells: list[Any] = (values.astype(str) if short else values).tolist()
        missing = values != values
    else:
        import pandas as pd

        cells = list(map(escaped, column))
        missing = pd.isna(np.array([*cells, None], dtype=object)[:-1])
    for place in np.flatnonzero(missing).tolist():
        cells[place] = ""
    return cells


def read_table(path: Any) -> pd.DataFrame:
    """Read a table that `write_table` wrote without units.

    CSV has no types: cells are numbers, bools, missing if empty, and otherwise text.
    """
    import pandas as pd

    suffix = _suffix(path)
    # The default is exact since pandas 3, which warns about the option.
    exact: Any = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}
    frame: pd.DataFrame
    with (path if is_remote(path) else Path(path)).open("rb") as file:
        if suffix == ".parquet":
            frame = pd.read_parquet(file, engine="pyarrow")
            return frame
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""], **exact)
    for name in frame:
        if not _is_number(frame[name]):
            frame[name] = frame[name].map(_plain)
    return frame.rename(columns=_plain)


def read_parts(folder: Any) -> Any:
    """Read the table in a folder of labels, by Dask if it does not fit; None if there is none."""
    if (folder / TABLE).is_file():
        table = read_table(folder / TABLE)
        if "event" in table:  # of tracks
            table["event"] = np.where(table["event"].isna(), "", table["event"].astype(object))
        return table
    if not (folder / PARTS).is_dir():
        return None
    import pandas as pd
    from pyarrow.parquet import read_metadata

    where: Any = folder / PARTS
    options = dict(getattr(where, "storage_options", {})) if is_remote(where) else None
    need = 0
    for part in where.iterdir():
        with part.open("rb") as file:
            described = read_metadata(file)
        need += described.num_rows * described.num_columns * 8
    if need > SHARE * free() and find_spec("dask.dataframe"):
        import dask.dataframe

        return dask.dataframe.read_parquet(f"{where}/*.parquet", storage_options=options)
    return pd.read_parquet(str(where), engine="pyarrow", storage_options=options)


def _suffix(path: Path | str) -> str:
    suffix = Path(str(path)).suffix.lower()
    if suffix not in SUFFIXES:
        message = f"path must end in one of {list(SUFFIXES)}; got {str(path)!r}. Change the suffix."
        raise ValueError(message)
    if suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            message = (
                f"a .parquet table needs pyarrow; got {error}. "
                "Install with `pip install equilabel[parquet]`, or write .csv."
            )
            raise ImportError(message) from error
    return suffix


def escaped(value: Any) -> Any:
    """Return text that no spreadsheet program takes for a formula; other values unchanged."""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    return _ESCAPED.sub(r"\1", value) if isinstance(value, str) else value


def merge_tables(path: Path | str, parts: Sequence[Part], *, unit_row: bool = False) -> None:
    """Concatenate tables, each with more columns: "file" and "unit" (of lengths), and others.

    Columns that a table lacks are empty; cells of CSV are copied as text. With `unit_row`, second
    lines have units; different ones are joined by "or".
    """
    with replacing(path) as unfinished:
        if _suffix(path) == ".parquet":
            _merge_parquet(unfinished, parts)
        else:
            _merge_csv(unfinished, parts, unit_row)


def _merge_csv(path: Path, parts: Sequence[Part], unit_row: bool) -> None:
    given = tuple(parts[0][1]) if parts else OWN
    units: dict[str, dict[str, None]] = {name: {"": None} for name in given}
    for table, _ in parts:
        with _rows_of(table, unit_row) as (names, words, _):
            for name, word in zip(names, words, strict=True):
                units.setdefault(name, {})[word] = None
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(units)
        if unit_row:
            writer.writerow([" or ".join(filter(None, words)) for words in units.values()])
        common = list(units)[len(given) :]
        for table, added in parts:
            own = list(map(escaped, added.values()))
            with _rows_of(table, unit_row) as (names, _, rows):
                column = {name: k for k, name in enumerate(names)}
                order = [column.get(name, -1) for name in common]
                for row in rows:
                    if len(row) != len(names):
                        got = f"{len(row)} cells in a row for {len(names)} columns"
                        _refuse_changed(table, got)
                    cells = [*row, ""]
                    writer.writerow([*own, *[cells[k] for k in order]])


@contextmanager
def _rows_of(
    path: Path, unit_row: bool
) -> Iterator[tuple[list[str], list[str], Iterator[list[str]]]]:
    """Open a CSV file; yield the names of its columns, their units, and its rows."""
    with os.fdopen(open_regular(path), encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        units = next(rows, []) if unit_row else [""] * len(names)
        if len(units) != len(names):
            _refuse_changed(path, f"{len(units)} units for {len(names)} columns")
        yield names, units, rows


def _merge_parquet(path: Path, parts: Sequence[Part]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = pa.schema([(name, pa.string()) for name in (parts[0][1] if parts else OWN)])
    schemas = []
    for part, _ in parts:
        with os.fdopen(open_regular(part), "rb") as source:
            schemas.append(pq.read_schema(source).remove_metadata())
    schema = pa.unify_schemas([own, *schemas], promote_options="permissive")
    with pq.ParquetWriter(path, schema) as writer:
        waiting: list[Any] = []
        for part, added in parts:
            with os.fdopen(open_regular(part), "rb") as source, pq.ParquetFile(source) as file:
                for batch in file.iter_batches(ROWS):
                    waiting.append(_fitted(pa.Table.from_batches([batch]), added, schema))
                    if sum(map(len, waiting)) >= ROWS:
                        writer.write_table(pa.concat_tables(waiting))
                        waiting.clear()
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _fitted(table: Any, own: Mapping[str, str], schema: Any) -> Any:
    """Return a table with all columns of a schema."""
    import pyarrow as pa

    for name, value in own.items():
        table = table.append_column(name, pa.array([value] * len(table), pa.string()))
    return pa.concat_tables([schema.empty_table(), table], promote_options="permissive")


def _refuse_changed(path: Path, got: str) -> None:
    message = (
        f"tables of images must stay as they were written; got {got} in {str(path)!r}. "
        "Run again with --overwrite."
    )
    raise ValueError(message)


def as_features(table: pd.DataFrame) -> pd.DataFrame:
    """Convert a table with an ascending column "label" to features of its labels layer.

    Row i is label i, and row 0 the background. If most labels do not occur, a column "index" has
    those of the rows. Columns are floats or text, NaN or "" in rows without an object.
    """
    labels = table["label"].to_numpy()
    last = int(labels[-1]) if len(labels) else 0
    dense = last <= SPARSE * (len(labels) + 128)
    rows = np.arange(last + 1) if dense else np.concatenate([[0], labels])
    values = table.set_index("label")
    words = {name: "" for name in values if values[name].dtype.kind == "O"}
    numbers = dict.fromkeys(values.columns.drop([*words]), np.float64)
    features = values.astype(numbers).reindex(rows).fillna(words).reset_index(drop=True)
    if not dense:
        features.insert(0, "index", rows)
    return features


def as_table(
    features: pd.DataFrame, types: Mapping[str, Any] = NO_TYPES, known: Iterable[str] = ()
) -> pd.DataFrame:
    """Convert features to a table with a row for each object, and columns of their `types`."""
    kept = find_objects(features, known or types)
    table = features.loc[kept, columns_of(features)].reset_index(drop=True)
    table.insert(0, "label", labels_of(features)[kept])
    complete = table.columns[table.notna().all()]
    return table.astype({name: types[name] for name in complete if name in types})


def labels_of(features: pd.DataFrame) -> NDArray[np.int64]:
    """Return the label of each row."""
    if "index" in features:
        return features["index"].to_numpy().astype(np.int64)
    return np.arange(len(features))


def find_objects(features: pd.DataFrame, known: Iterable[str] = ()) -> NDArray[np.bool_]:
    """Return which rows are labels with values in `known` columns; in any, if none is known."""
    rows, columns = np.asarray(labels_of(features) != 0), numeric_columns(features)
    chosen = [columns[name] for name in known if name in columns] or columns.values()
    missing = [np.isnan(column) for column in chosen]
    return rows & ~np.logical_and.reduce(missing) if missing else rows


def numeric_columns(features: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return numeric columns except labels as arrays of floats, by name."""
    return {
        str(name): features[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in columns_of(features)
        if features[name].dtype.kind in "biuf"
    }


def columns_of(features: pd.DataFrame) -> list[str]:
    """List the measured columns, without those of labels."""
    return [name for name in features.columns if name not in ("index", "label")]
