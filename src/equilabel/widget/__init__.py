"""napari plugin: two forms and sample images, which the manifest `napari.yaml` names.

`SegmentForm` finds the objects of an image layer, `MeasureForm` measures those of a labels layer.
`logic` computes without Qt and napari; `viewer` changes layers, runs threads and shows
notifications; `forms` are the widgets. Each may import only those named before it. Below are names
for annotations of types whose libraries need not be installed.
"""

from typing import Any, TypeAlias

Viewer: TypeAlias = Any  # a `napari.Viewer`
Layer: TypeAlias = Any  # a layer of a viewer, or one made for a test
Event: TypeAlias = Any  # an event of napari or of Qt
Table: TypeAlias = Any  # a `pandas.DataFrame`; pandas is imported with the first one: it is slow
