"""Numerical kernels: arrays in, arrays out, one folder per device."""
