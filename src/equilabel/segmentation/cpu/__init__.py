"""Filters, histograms, outlines and parts of objects on the CPU."""
