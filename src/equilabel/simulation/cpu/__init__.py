"""Spins on the CPU."""
