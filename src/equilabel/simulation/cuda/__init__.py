"""Spins on GPUs."""
