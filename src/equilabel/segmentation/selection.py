"""Selection of objects by size, border or measurement."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import (
    as_host_array,
    check_mapping,
    check_number,
    check_text,
    check_whole,
    is_sequence,
    shown,
)
from equilabel.devices import fetch, is_on_cuda, library, take

from .filters import each_piece
from .result import Segmentation, check_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Columns, Counts


# ---- Dropping small, large and border components


def select_components(
    counts: Counts | Columns,
    *,
    min_size: int = 0,
    max_size: int | None = None,
    exclude_border: bool = False,
) -> NDArray[np.bool_]:
    """Return for each component whether it is kept: (N,) array of bool.

    `counts` may be columns, with "num_pixels". To exclude components at the border, counts must
    hold bounding boxes, and columns "touches_border"; this is not checked.
    """
    pixels = counts["num_pixels"]["num_pixels"] if isinstance(counts, dict) else counts.pixels
    kept = np.asarray(pixels >= min_size)
    if max_size is not None:
        kept &= pixels <= max_size
    if not exclude_border:
        return kept
    if isinstance(counts, dict):
        return np.asarray(kept & ~counts["touches_border"]["touches_border"])
    first, last = counts.begins, counts.ends
    for axis in range(int(counts.layout.stacked), len(counts.shape)):
        side = counts.shape[axis]
        if side > 1:
            kept &= (first[:, axis] > 0) & (last[:, axis] < side)
    return kept


def drop_components(labels: HostArray, kept: NDArray[np.bool_]) -> int:
    """Set the labels of dropped components to 0 and number the others from 1, in place.

    Labels are 1 to N, and `kept` has the shape (N,). Returns the number of components left.

    >>> labels = np.array([1, 0, 2, 3])
    >>> drop_components(labels, np.array([True, False, True])), labels
    (2, array([1, 0, 0, 2]))
    """
    numbers = numbers_of(kept, labels.dtype)
    if is_on_cuda(labels):
        xp = library(labels)
        xp.take(xp.asarray(numbers), labels, out=labels)
    else:
        each_piece(lambda part: np.take(numbers, part, out=part, mode="clip"), labels)
    return int(np.count_nonzero(kept))


def numbers_of(kept: NDArray[np.bool_], dtype: DTypeLike) -> HostArray:
    """Return the new labels of labels 0 to N: from 1 for those that are kept, 0 for others.

    >>> numbers_of(np.array([True, False, True]), np.int32)
    array([0, 1, 0, 2], dtype=int32)
    """
    numbers: HostArray = np.zeros(len(kept) + 1, dtype)
    numbers[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
    return numbers


# ---- Objects that are chosen by their measurements

ALLOWED = (  # of Python's grammar, in a condition
    *(ast.Expression, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Name, ast.Load),
    *(ast.Constant, ast.And, ast.Or, ast.Not, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div),
    *(ast.Pow, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
DECIDING = (ast.Compare, ast.BoolOp, ast.UnaryOp)  # what a condition is as a whole
QUOTED = re.compile("`([^`]*)`")  # names of columns that are no words of Python


def filter_objects(
    found: Segmentation | ArrayLike,
    wanted: str | Mapping[str, tuple[float | None, float | None]],
    table: pd.DataFrame | None = None,
) -> Segmentation | tuple[Array, pd.DataFrame]:
    """Keep the objects whose measurements meet a condition.

    Parameters
    ----------
    found : Segmentation or array of int
        Objects: a segmentation, or labels that were made elsewhere, with the table of their
        measurements. Labels stored in chunks are read into memory.
    wanted : str or mapping of str to (float or None, float or None)
        A condition on columns of the table, ``"area > 20 and circularity > 0.8"``; names that are
        no words of Python are quoted, ``"`bbox-0` > 5"``. Or for each column the smallest and the
        largest value to keep, where None means no limit. Objects with a missing value in a column
        do not meet a comparison with it.
    table : pandas.DataFrame or dict of array, optional
        Measurements of labels, as of `measure` or `regionprops_table`, with a column "label" and a
        row for each label.

    Returns
    -------
    Segmentation, or (array of int, pandas.DataFrame)
        As `found`: a segmentation, or labels with their table. Objects are numbered from 1 again;
        the column "label_before" holds their previous labels.

    Raises
    ------
    TypeError, ValueError
        If a column is not in the table, the condition is more than comparisons of columns and
        numbers, the labels are only in a file, or they do not match the table.

    Examples
    --------
    >>> import equilabel
    >>> found = equilabel.segment(np.array([[9, 9, 0, 9]]), threshold=5)
    >>> kept = equilabel.filter_objects(found, "area < 2")
    >>> kept.labels, kept.table[["label", "area", "label_before"]].values.tolist()
    (array([[0, 0, 0, 1]], dtype=int32), [[1.0, 1.0, 2.0]])
    >>> labels = np.array([[4, 4, 0, 9]])
    >>> table = equilabel.measure(labels, properties=["label", "area"])
    >>> equilabel.filter_objects(labels, {"area": (2, None)}, table)[0]
    array([[1, 1, 0, 0]])
    """
    if isinstance(found, Segmentation):
        labels, measured = _labels_of(found), found.table
        kept = meets(measured, wanted)
        num = drop_components(labels, kept)
        return replace(found, labels=labels, table=_renumbered(measured, kept), num=num)
    if table is None:
        message = (
            "found must be a Segmentation, or labels with their table; got no table. Pass "
            "measure(labels)."
        )
        raise TypeError(message)
    table = check_table(table, columns=("label",), remedy=" Pass measure(labels).")
    labels, owners = _labels_and_owners(found, table)
    kept = meets(table, wanted)
    numbers = np.zeros(len(owners) + 1, labels.dtype)
    order = np.argsort(owners, kind="stable")
    numbers[:-1] = numbers_of(kept, labels.dtype)[1:][order]  # the last is for the background
    xp = library(labels)
    known = xp.asarray(owners[order])
    place = xp.minimum(xp.searchsorted(known, labels.reshape(-1)), max(len(known) - 1, 0))
    if len(known):
        place = xp.where(labels.reshape(-1) == 0, len(known), place)
        labels = xp.asarray(numbers)[place].reshape(labels.shape)
    return labels, _renumbered(table, kept)


def meets(
    table: pd.DataFrame, wanted: str | Mapping[str, tuple[float | None, float | None]]
) -> NDArray[np.bool_]:
    """Return for each row of a table whether it meets a condition, (N,) bool."""
    if isinstance(wanted, str):
        refuse_columns("condition", columns_in("condition", wanted), list(map(str, table)))
        with np.errstate(all="ignore"):
            found: Any = table.eval(wanted, engine="python")
        rows = np.asarray(found)
        if rows.shape != (len(table),) or rows.dtype != np.bool_:
            message = f"condition must compare columns, as in 'area > 20'; got {shown(wanted)}."
            raise ValueError(message)
        return rows
    kept = np.ones(len(table), np.bool_)
    for name, limits in check_mapping("ranges", wanted).items():
        low, high = _limits(name, limits)
        if name not in table:
            message = (
                f"ranges must be of columns of the table, {', '.join(map(str, table))}; "
                f"got {shown(name)}. Measure it with properties=."
            )
            raise ValueError(message)
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
        message = (
            f"{name} must compare columns with numbers; got {shown(text)}. Try "
            "'area > 20 and circularity > 0.8'."
        )
        raise ValueError(message)
    found = [quoted[int(each[8:])] if each.startswith("_quoted_") else each for each in found]
    return list(dict.fromkeys(found))


def refuse_columns(name: str, columns: Collection[str], known: Collection[str]) -> None:
    """Raise ValueError if a condition has columns that are not known."""
    for each in columns:
        if each not in known:
            near = get_close_matches(each, known, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Pass one of {', '.join(known)}."
            message = f"{name} must be on columns of the table; got {shown(each)}. {remedy}"
            raise ValueError(message)


def _renumbered(table: pd.DataFrame, kept: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the rows that are kept, with new labels."""
    before = table["label"] if "label" in table else np.arange(1, len(table) + 1)
    table = table[kept].reset_index(drop=True)
    if "label_before" not in table:
        table["label_before"] = np.asarray(before)[kept]
    if "label" in table:
        table["label"] = np.arange(1, len(table) + 1)
    return table


def _labels_and_owners(found: Any, table: Any) -> tuple[Array, NDArray[np.int64]]:
    """Return labels that were made elsewhere, and the label of each row of their table."""
    labels = _integers(take(found, "labels"))
    owners = table["label"].to_numpy()
    here = np.sort(fetch(library(labels).unique(labels)))
    if not np.array_equal(here[here != 0], np.sort(owners)):
        message = (
            f"table must have one row for each label; got {len(owners)} rows for "
            f"{np.count_nonzero(here)} labels. Pass measure(labels)."
        )
        raise ValueError(message)
    return labels, owners


def _integers(labels: Array) -> Array:
    """Return labels, or raise TypeError."""
    if labels.dtype.kind not in "iu" or not labels.ndim:
        message = f"labels must be an array of integers; got {labels.dtype} of {labels.ndim} axes."
        raise TypeError(message)
    return labels


def _limits(name: str, limits: Any) -> tuple[float, float]:
    """Return the smallest and the largest value of a range; raise TypeError or ValueError."""
    if not is_sequence(limits) or len(limits) != 2:
        message = f"ranges must map columns to (least, greatest); got {shown(limits)} for {name!r}."
        raise TypeError(message)
    low, high = limits
    return (
        -np.inf if low is None else check_number("ranges", low),
        np.inf if high is None else check_number("ranges", high),
    )


def _labels_of(found: Any) -> Array:
    """Return a copy of the labels of a segmentation; raise an error unless they match its table."""
    held: Any = found.labels  # `segment_chunked` may give a path
    if isinstance(held, (str, Path)):
        message = f"found must hold labels in an array; got {shown(str(held))}. Open it with Zarr."
        raise TypeError(message)
    labels = _integers(held if is_on_cuda(held) else as_host_array("labels", held)).copy()
    rows, num = len(check_table(found.table)), check_whole("num", found.num, 0)
    if rows != num or (labels.size and not 0 <= int(labels.min()) <= int(labels.max()) <= num):
        message = (
            f"labels must be 0 to num, with a row of the table for each; got num={shown(num)}."
        )
        raise ValueError(message)
    return labels
