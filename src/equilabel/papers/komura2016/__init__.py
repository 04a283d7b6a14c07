"""Komura 2016: the generalized labeler, without iteration."""
