"""Passes that methods of several papers share, on GPUs."""
