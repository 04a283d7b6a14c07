"""What pytest leaves out where a library is missing."""

from importlib.util import find_spec

# Doctests import every module: those for the GPU import CuPy, those of the plugin napari.
collect_ignore_glob = []
if not find_spec("cupy"):
    collect_ignore_glob += [
        "src/equilabel/*/cuda/*.py",
        "src/equilabel/papers/*/cuda*.py",
        "tests/sanitize.py",
    ]
if not find_spec("napari"):
    collect_ignore_glob += [
        "src/equilabel/widget/*.py",
        "tests/widget/test_widget_*.py",
        "tests/widget/test_gui_*.py",
    ]
