"""Types of arrays, for annotations."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = Any
"""An array of NumPy or CuPy; the types of CuPy are known only if it is installed."""

HostArray: TypeAlias = NDArray[Any]
"""A NumPy array with elements of any type."""
