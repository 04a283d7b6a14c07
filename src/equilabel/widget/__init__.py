"""napari plugin: two forms and sample images, which the manifest `napari.yaml` names.

`SegmentForm` finds the objects of an image layer, `MeasureForm` measures those of a labels layer.
`logic` computes without Qt and napari; `viewer` changes layers, runs threads and shows
notifications; `forms` are the widgets. Each may import only those named before it.
"""
