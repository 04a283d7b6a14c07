"""Runs on the CPU."""
