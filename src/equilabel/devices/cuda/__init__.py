"""Passes on the GPU, one module per method; nothing here is imported without CuPy."""
