"""Passes on the CPU, compiled by numba. They state their preconditions and check nothing."""
