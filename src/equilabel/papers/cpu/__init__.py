"""Passes that methods of several papers share, on the CPU."""
