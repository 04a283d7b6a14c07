"""Fast connected-component labeling and measurement for scientific images.

Use `label` and `regionprops_table` in place of scikit-image's, `measure` for a table of labels that
are there already, `measure_components` for one without an image of labels, `split_touching` for
objects that touch, `segment` for the whole way from an image to labels and a table, `label_graph`
for a `Graph` or `Bonds`, such as `lattices` makes, and `devices` to see what the work can run on;
`PROPERTIES` lists what can be measured. `swendsen_wang` and `PottsSimulation` simulate spins on
lattices by their clusters. All of it is loaded when it is first needed.
"""

import sys
from types import ModuleType

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
__version__ = "0.1.0"


class _Facade(ModuleType):
    """`devices` is the function, although the room that holds it has its name."""

    @property
    def devices(self):
        from .devices import devices

        return self.__dict__.get("devices", devices)

    @devices.setter
    def devices(self, value):
        if not isinstance(value, ModuleType):  # as the import of the room sets it
            self.__dict__["devices"] = value


sys.modules[__name__].__class__ = _Facade
