"""Weigel 2011: tiles are labeled by themselves, then sewn together or relaxed."""
