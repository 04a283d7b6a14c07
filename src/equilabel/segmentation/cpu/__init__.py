"""Histograms and outlines on the CPU."""
