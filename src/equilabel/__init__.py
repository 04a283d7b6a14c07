"""Fast connected-component labeling and measurement for scientific images.

Use `label` and `regionprops_table` in place of scikit-image's, `measure` for a table without an
image of labels, `split_touching` for objects that touch, `segment` for the whole way from an image
to labels and a table, `label_graph` for a `Graph` or `Bonds`, such as `lattices` makes, and
`devices` to see what the work can run on; `PROPERTIES` lists what can be measured. `swendsen_wang`
and `PottsSimulation` simulate spins on lattices by their clusters. Heavy libraries are loaded when
they are first needed.
"""

from . import starting as _starting  # noqa: F401 - first: what Ctrl-C does

# isort: split
from . import lattices
from .bonds import Bonds
from .chunked import label_chunked, segment_chunked
from .cleanup import split_touching
from .devices import DeviceMemoryError, DeviceUnavailableError, devices
from .graphs import Graph
from .labeling import Report, label, label_graph, measure
from .measuring import PROPERTIES, regionprops_table
from .methods import METHODS
from .pipeline import Segmentation, default_properties, filter_objects, segment
from .simulation import PottsSimulation, swendsen_wang
from .thresholding import binarize, smooth, subtract_background
from .tracking import link_frames, track_overlaps

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "PROPERTIES",
    "Bonds",
    "DeviceMemoryError",
    "DeviceUnavailableError",
    "Graph",
    "PottsSimulation",
    "Report",
    "Segmentation",
    "binarize",
    "default_properties",
    "devices",
    "filter_objects",
    "label",
    "label_chunked",
    "label_graph",
    "lattices",
    "link_frames",
    "measure",
    "regionprops_table",
    "segment",
    "segment_chunked",
    "smooth",
    "split_touching",
    "subtract_background",
    "swendsen_wang",
    "track_overlaps",
]
