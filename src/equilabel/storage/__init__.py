"""Files: arrays, paths and metadata, and nothing of what is done with them."""
