"""Blocks of small images, which a user would not ask for."""

import sys

import pytest

import equilabel.chunked.label  # noqa: F401 - the function has the name of its module


@pytest.fixture(autouse=True)
def _arrays_in_memory_are_cut_into_blocks(monkeypatch):
    monkeypatch.setattr(sys.modules["equilabel.chunked.label"], "SMALL", 0)
