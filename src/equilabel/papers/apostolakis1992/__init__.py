"""Apostolakis et al. 1992: labels travel along connections at distances 1, 2, 4, ..."""
