"""Merge the tables of many images into one table of all objects."""

from __future__ import annotations

import csv
import io
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from .files import open_regular, replacing
from .table import escaped, needs_pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS = 2**16  # least rows of a row group in a Parquet file

MOST_COPIED = 2**22  # bytes of a table that is copied at once


class Part(NamedTuple):
    """The table of one image."""

    file: str  # the image, for the column "file"
    unit: str  # of lengths, for the column "unit"
    path: Path  # the table, written by `write_table`


def merge_tables(path: Path | str, parts: Sequence[Part], *, unit_row: bool = False) -> None:
    """Concatenate tables, with columns that name the image and its unit of lengths.

    `path` and the parts end in ``.csv`` or ``.parquet``. Columns that a table lacks are empty.
    Large tables are read in parts, and the cells of CSV files are copied unchanged, so the same
    tables give the same bytes. With `unit_row`, the second line of each CSV file has units, and so
    has that of the new one, where different units are joined by "or". Raises OSError, ValueError if
    a table was changed since it was written, or ImportError if pyarrow is missing.

    >>> import tempfile
    >>> from equilabel.storage.table import write_table
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_table(folder / "a.csv", {"label": [1], "area": [7.0]})
    >>> write_table(folder / "b.csv", {"label": [1, 2], "volume": [2.5, 3.0]})
    >>> parts = [Part("a.tif", "µm", folder / "a.csv"), Part("b.tif", "pixel", folder / "b.csv")]
    >>> merge_tables(folder / "objects.csv", parts)
    >>> print((folder / "objects.csv").read_text(encoding="utf-8"))
    file,unit,label,area,volume
    a.tif,µm,1,7.0,
    b.tif,pixel,1,,2.5
    b.tif,pixel,2,,3.0
    """
    with replacing(path) as unfinished:
        if Path(path).suffix.lower() == ".parquet":
            needs_pyarrow()
            _merge_parquet(unfinished, parts)
        else:
            _merge_csv(unfinished, parts, unit_row)


def _merge_csv(path: Path, parts: Sequence[Part], unit_row: bool) -> None:
    units: dict[str, dict[str, None]] = {"file": {"": None}, "unit": {"": None}}
    for part in parts:
        with _rows(part.path, unit_row) as (names, words, _):
            for name, word in zip(names, words, strict=True):
                units.setdefault(name, {})[word] = None
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(units)
        if unit_row:
            writer.writerow([" or ".join(filter(None, words)) for words in units.values()])
        common = list(units)[2:]
        for part in parts:
            own = [escaped(part.file), part.unit]
            if _copy(part.path, common, own, unit_row, file):
                continue
            with _rows(part.path, unit_row) as (names, _, rows):
                column = {name: k for k, name in enumerate(names)}
                order = [column.get(name, -1) for name in common]
                for row in rows:
                    if len(row) != len(names):
                        _refuse(part.path, f"{len(row)} cells in a row for {len(names)} columns")
                    cells = [*row, ""]
                    writer.writerow([*own, *[cells[k] for k in order]])


def _copy(
    path: Path, names: Sequence[str], own: Sequence[str], unit_row: bool, file: TextIO
) -> bool:
    """Copy the rows of a small table without quotes, with the cells `own` before each row.

    Returns False if its columns are not `names`, or it is another table; then nothing is written.
    """
    with os.fdopen(open_regular(path), "rb") as source:
        text = source.read(MOST_COPIED + 1)
    if len(text) > MOST_COPIED or b'"' in text or b"\r" in text or not text.endswith(b"\n"):
        return False
    head, *lines = text.decode("utf-8").split("\n")[:-1]
    lines = lines[unit_row:]
    commas = head.count(",")
    if commas == 0 or head.split(",") != names or any(line.count(",") != commas for line in lines):
        return False  # empty cells of a single column are quoted
    begin = io.StringIO()
    csv.writer(begin, lineterminator="").writerow(own)
    file.writelines(f"{begin.getvalue()},{line}\n" for line in lines)
    return True


@contextmanager
def _rows(path: Path, unit_row: bool) -> Iterator[tuple[list[str], list[str], Iterator[list[str]]]]:
    """Open a CSV file; yield the names of its columns, their units, and its rows."""
    with os.fdopen(open_regular(path), encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        units = next(rows, []) if unit_row else [""] * len(names)
        if len(units) != len(names):
            _refuse(path, f"{len(units)} units for {len(names)} columns")
        yield names, units, rows


def _merge_parquet(path: Path, parts: Sequence[Part]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = pa.schema([("file", pa.string()), ("unit", pa.string())])
    schemas = []
    for part in parts:
        with os.fdopen(open_regular(part.path), "rb") as source:
            schemas.append(pq.read_schema(source).remove_metadata())
    schema = pa.unify_schemas([own, *schemas], promote_options="permissive")
    with pq.ParquetWriter(path, schema) as writer:
        waiting: list[Any] = []
        for part in parts:
            with os.fdopen(open_regular(part.path), "rb") as source, pq.ParquetFile(source) as file:
                for batch in file.iter_batches(ROWS):
                    waiting.append(_fitted(pa.Table.from_batches([batch]), part, schema))
                    if sum(map(len, waiting)) >= ROWS:
                        writer.write_table(pa.concat_tables(waiting))
                        waiting.clear()
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _fitted(table: Any, part: Part, schema: Any) -> Any:
    """Return a table with all columns of a schema."""
    import pyarrow as pa

    columns = {name: table[name] for name in table.column_names}
    columns |= {"file": [part.file] * len(table), "unit": [part.unit] * len(table)}
    arrays = []
    for field in schema:
        column = columns.get(field.name, pa.nulls(len(table)))
        known = isinstance(column, (pa.Array, pa.ChunkedArray))
        arrays.append(column.cast(field.type) if known else pa.array(column, field.type))
    return pa.table(arrays, schema=schema)


def _refuse(path: Path, got: str) -> None:
    message = (
        f"tables of images must stay as they were written; got {got} in {str(path)!r}. "
        "Run again with --overwrite."
    )
    raise ValueError(message)
