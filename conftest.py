"""What pytest leaves out where a library is missing."""

from importlib.util import find_spec

# Doctests import every module, and those for the GPU import CuPy.
collect_ignore_glob = [] if find_spec("cupy") else ["src/equilabel/kernels/cuda/*.py"]
