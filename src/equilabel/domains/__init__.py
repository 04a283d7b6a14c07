"""Domains say what is connected to what: grids of pixels, lattices of bonds, graphs."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["lattices"])
