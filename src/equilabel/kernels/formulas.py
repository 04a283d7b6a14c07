"""Formulas that a kernel applies to the table of counts: numbers that host and device agree on.

A step fills one column. Numbers are those of `columns.cuh`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Formula(IntEnum):
    """What a column is, and what `one`, `other` and the weights of its step mean.

    Axes are counted as those of an image of six axes: the last one is 5.
    """

    LABEL = 0
    COUNT = 1  # column `one` of the table
    FIRST = 2  # least coordinate along axis `one`
    WEIGHED = 3  # `other` columns from `one` on, each times its weight
    INTERCEPTS = 4  # the same of what is missing to the number of pixels
    BOX_SIZE = 5
    EXTENT = 6
    CENTROID = 7  # along axis `one`
    LOCAL = 8  # likewise
    DIAMETER = 9
    TOUCHES = 10
    CIRCULARITY = 11  # by the length that `INTERCEPTS` gives
    SPHERICITY = 12  # likewise, by the area
    TENSOR = 13  # entry `one`, `other` of the tensor of inertia
    EIGENVALUE = 14  # number `one`
    AXIS = 15  # number `one`, longest first
    ECCENTRICITY = 16
    ORIENTATION = 17
    AXES_RATIO = 18  # axis `one` per axis `other`
    VALUE_SUM = 19
    VALUE_MEAN = 20
    VALUE_LOW = 21
    VALUE_HIGH = 22
    VALUE_STD = 23


WHOLE = frozenset({Formula.LABEL, Formula.COUNT, Formula.FIRST, Formula.VALUE_SUM})
"""Formulas that give int64. `TOUCHES` gives bool, the others float64."""


class Step(NamedTuple):
    """One column.

    Attributes
    ----------
    formula : Formula
    one, other : int
        See there.
    weights : tuple of float
        Of columns that are added up.
    """

    formula: Formula
    one: int = 0
    other: int = 0
    weights: tuple[float, ...] = ()
