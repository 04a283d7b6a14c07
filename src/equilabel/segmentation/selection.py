"""Selection of objects by size, border or measurement."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import (
    check_mapping,
    check_number,
    check_text,
    is_sequence,
    shown,
)
from equilabel.devices import is_on_cuda, library

from .filters import each_piece

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    from numpy.typing import DTypeLike, NDArray

    from equilabel.array_types import HostArray
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
