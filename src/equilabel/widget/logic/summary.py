"""Numbers and results in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .features import as_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


def format_number(value: float) -> str:
    """Return a number in few digits.

    Examples
    --------
    >>> format_number(1234.0), format_number(0.123456), format_number(65535.0)
    ('1234', '0.1235', '65535')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:.4g}"


def count_objects(count: int) -> str:
    """Return a number of objects in words.

    Examples
    --------
    >>> count_objects(1), count_objects(2)
    ('1 object', '2 objects')
    """
    return f"{count} object{'' if count == 1 else 's'}"


def summarize(features: pd.DataFrame, made: Mapping[str, Any]) -> str:
    """Return a line about a labels layer: how many objects, and how they were found.

    Parameters
    ----------
    features : pandas.DataFrame
        Of the layer.
    made : mapping
        Our metadata of the layer; empty if it is not ours.
    """
    words = count_objects(len(as_table(features)))
    if made.get("kind") != "segment":
        return words if len(features) else "Not measured yet."
    threshold = made["threshold"]
    if threshold is None:
        level = "local threshold"
    elif isinstance(threshold, tuple):
        level = "thresholds " + " and ".join(format_number(each) for each in threshold)
    else:
        level = f"threshold {format_number(threshold)}"
        method = made["parameters"].get("threshold", "otsu")
        level += f" ({method})" if isinstance(method, str) else ""
    return f"{words}, {level}, {made['seconds']:.2f} s by {made['method']} on {made['device']}."
