"""Read and write files: images, labels, tables and overlays."""
