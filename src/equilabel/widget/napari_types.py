"""Types of napari and Qt for annotations, which need not be installed."""

from typing import Any, TypeAlias

Viewer: TypeAlias = Any
"""A `napari.Viewer`."""

Layer: TypeAlias = Any
"""A layer of a viewer, or one made for a test."""

Event: TypeAlias = Any
"""An event of napari or of Qt."""

Table: TypeAlias = Any
"""A `pandas.DataFrame`; pandas is imported with the first one, because this takes a second."""
