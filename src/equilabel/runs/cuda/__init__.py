"""Runs on GPUs."""
