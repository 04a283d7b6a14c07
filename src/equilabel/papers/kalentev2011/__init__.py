"""Kalentev et al. 2011: label equivalence, and row-column unification."""
