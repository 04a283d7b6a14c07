"""Computations of the plugin, without Qt and napari, so that tests need no screen."""
