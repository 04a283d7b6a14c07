"""Files: read and write images, labels, tables and overlays."""
