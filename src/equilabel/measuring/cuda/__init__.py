"""Counts and columns on GPUs."""
