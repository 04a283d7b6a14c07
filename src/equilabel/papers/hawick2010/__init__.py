"""Hawick, Leist, Playne 2010: Kernels A to D for meshes, 1 to 3 for graphs."""
