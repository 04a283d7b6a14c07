"""Histograms on GPUs."""
