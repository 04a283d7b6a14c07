"""Fast connected-component labeling and measurement for scientific images.

Use `label` and `regionprops_table` in place of scikit-image's, `measure` for a table without an
image of labels, `split_touching` for objects that touch, `segment` for the whole way from an image
to labels and a table, `label_graph` for a `Graph` or `Bonds`, such as `lattices` makes, and
`devices` to see what the work can run on; `PROPERTIES` lists what can be measured. `swendsen_wang`
and `PottsSimulation` simulate spins on lattices by their clusters. All of it is loaded when it is
first needed.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
__version__ = "0.1.0"
