"""Checks of arguments that all public functions share, with their error messages."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from difflib import get_close_matches
from math import inf, isinf, isnan
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .array_types import Array

MOST = 300  # characters of a value in a message
TINY = 5e-324  # the smallest number above 0
LONGEST_PATH, LONGEST_NAME = 4095, 255  # bytes, limits of Linux


def shown(value: object) -> str:
    """Return a value as text for a message, truncated if it is long.

    >>> shown("otsu"), len(shown("otsu" * 999)), shown(10**5000)
    ("'otsu'", 300, 'a value of type int')
    """
    try:
        text = repr(value)
    except Exception:  # of any class; Python also refuses to print integers of many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def check_whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """Return a whole number within limits, or raise TypeError or ValueError.

    >>> check_whole("q", np.uint8(2), 2, 256)
    2
    """
    try:
        number = operator.index(value)
    except TypeError:
        message = f"{name} must be a whole number; got {shown(value)}."
        raise TypeError(message) from None
    if (least is not None and number < least) or (most is not None and number > most):
        rule = f"{least} or more" if most is None else f"a whole number of {least} to {most}"
        message = f"{name} must be {rule}; got {shown(value)}."
        raise ValueError(message)
    return number


def check_number(
    name: str,
    value: Any,
    least: float = -inf,
    most: float = inf,
    *,
    finite: bool = False,
    kinds: str = "a number",
    rule: str = "",
    remedy: str = "",
) -> float:
    """Return a number within limits as a float, or raise TypeError or ValueError (also for NaN).

    >>> check_number("open_probability", np.float16(0.5), 0, 1)
    0.5
    """
    single: Any = value.item() if isinstance(value, np.ndarray) and not value.ndim else value
    if isinstance(single, bool) or not isinstance(single, Real):
        message = f"{name} must be {kinds}; got {shown(value)}. {remedy}".rstrip()
        raise TypeError(message)
    try:
        number = float(single)
    except OverflowError:
        number = inf if value > 0 else -inf
    if isnan(number) or not least <= number <= most or (finite and isinf(number)):
        if not rule and most < inf:
            rule = f"{least:g} to {most:g}"
        elif not rule and least > -inf:
            rule = f"{least:g} or more{', and finite' if finite else ''}"
        rule = rule or ("a finite number" if finite else "a number other than NaN")
        message = f"{name} must be {rule}; got {shown(value)}. {remedy}".rstrip()
        raise ValueError(message)
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return True, False, 1 or 0 as a bool; raise TypeError for other values."""
    if isinstance(value, (bool, np.bool_)) or (type(value) is int and value in (0, 1)):
        return bool(value)
    message = f"{name} must be True or False; got {shown(value)}."
    raise TypeError(message)


def check_flags(**given: Any) -> list[bool]:
    """Return several flags as bools, in their order; the keywords are the names of parameters."""
    return [check_flag(name, value) for name, value in given.items()]


def check_text(name: str, value: Any) -> str:
    """Return text, or raise TypeError."""
    if not isinstance(value, str):
        message = f"{name} must be text; got {shown(value)}."
        raise TypeError(message)
    return value


def check_choice(
    name: str, word: Any, choices: Iterable[str], kinds: str = "one of", remedy: str = ""
) -> str:
    """Return one of some words; raise ValueError with a similar word otherwise.

    >>> check_choice("order", "standart", ("standard", "any"))
    Traceback (most recent call last):
    ...
    ValueError: order must be one of ['standard', 'any']; got 'standart'. Did you mean 'standard'?
    """
    known = list(choices)
    if isinstance(word, str) and word in known:
        return word
    near = get_close_matches(shown(word).lower().strip("'"), known, n=1, cutoff=0.5)
    help_ = f"Did you mean {near[0]!r}?" if near else remedy
    message = f"{name} must be {kinds} {known}; got {shown(word)}. {help_}".rstrip()
    raise ValueError(message)


def check_callable(name: str, function: Any) -> Any:
    """Return a callable or None; raise TypeError for other values."""
    if function is not None and not callable(function):
        message = f"{name} must be a function, or None; got {shown(function)}."
        raise TypeError(message)
    return function


def check_path(name: str, path: Any) -> Path:
    """Return a path that is valid in a file system, or raise TypeError or ValueError."""
    if not isinstance(path, (str, Path)):
        message = f"{name} must be a path; got {shown(path)}."
        raise TypeError(message)
    try:
        parts = os.fsencode(path).split(os.sep.encode())
    except UnicodeEncodeError:
        parts = [b"\0"]
    long = sum(map(len, parts)) + len(parts) > LONGEST_PATH or max(map(len, parts)) > LONGEST_NAME
    if long or any(b"\0" in part for part in parts):
        message = (
            f"{name} must be a path that a file system can have: of up to {LONGEST_PATH} bytes, of "
            f"names of up to {LONGEST_NAME}; got {shown(path)}. Correct it."
        )
        raise ValueError(message)
    return Path(path)


def is_sequence(value: object) -> bool:
    """Return whether a value is a list, a tuple or a one-dimensional array."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def check_names(name: str, names: Any) -> tuple[str, ...]:
    """Return one name or several names as a tuple, or raise TypeError."""
    if isinstance(names, str):
        return (names,)
    found = check_sequence(name, names, "names")
    if not all(isinstance(one, str) for one in found):
        message = f"{name} must be names; got {shown(names)}."
        raise TypeError(message)
    return found


def check_sequence(name: str, values: Any, kinds: str = "a sequence") -> tuple[Any, ...]:
    """Return the elements of an iterable other than text as a tuple, or raise TypeError."""
    try:
        if not isinstance(values, (str, bytes, bytearray)):
            return tuple(values)
    except (TypeError, NotImplementedError):  # the latter from sparse arrays
        pass
    message = f"{name} must be {kinds}; got {shown(values)}."
    raise TypeError(message)


def check_mapping(name: str, values: Any) -> dict[str, Any]:
    """Return a mapping from names to values as a dict, or raise TypeError."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        message = f"{name} must map names to values; got {shown(values)}."
        raise TypeError(message)
    return dict(values)


def check_shape(
    name: str, shape: Any, fewest: int = 1, most: int = 32, *, least: int = 0
) -> tuple[int, ...]:
    """Return the sides of an array, or raise TypeError or ValueError."""
    sides = check_sequence(name, shape, "the sides of an array")
    if not fewest <= len(sides) <= most:
        number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        message = f"{name} must have {number} sides; got {shown(shape)}."
        raise ValueError(message)
    return tuple(check_whole(name, side, least) for side in sides)


def as_host_array(name: str, values: Any) -> Array:
    """Return anything similar to an array as a NumPy array, or raise TypeError or ValueError."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # e.g. lists of different lengths
        message = f"{name} must be an array, or what NumPy can make one of; got {shown(values)}."
        raise type(error)(message) from None


# ---- Arrays of bool whose bytes are neither 0 nor 1, such as views of other arrays


def normalize_bools(array: Array) -> Array:
    """Return an array of bool whose bytes are 0 or 1; other types are returned unchanged.

    NumPy treats every nonzero byte as True, and Pillow stores 255 for white, but kernels that add
    or compare bytes need 1. A NumPy array that is already normalized is returned as it is. On a
    GPU, bools are always copied, because checking them first would wait for the GPU.
    """
    if array.dtype != np.bool_:
        return array
    found = array.view(np.uint8)
    if isinstance(array, np.ndarray):
        return array if int(found.max(initial=0)) <= 1 else found != 0
    with array.device:
        return found != 0
