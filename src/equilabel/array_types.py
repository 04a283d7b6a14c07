"""Types of arrays, for annotations."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = Any
"""An array of NumPy, or of CuPy, whose types are known only where CuPy is installed."""

HostArray: TypeAlias = NDArray[Any]
"""An array of NumPy, with elements of any type."""
