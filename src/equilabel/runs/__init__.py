"""The default method: runs of equal pixels are united, numbered and painted."""
