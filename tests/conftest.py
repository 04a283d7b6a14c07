"""Devices to test on, how hard to search, and what is left out where numba is switched off."""

import os
import sys

import pytest
from hypothesis import settings

from equilabel import devices

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

settings.register_profile(
    "equilabel",
    deadline=None,  # the first example waits for the compiler
    derandomize="CI" in os.environ,
    max_examples=60 if COMPILED else 12,
)
settings.load_profile("equilabel")


def pytest_collection_modifyitems(items):
    if COMPILED:
        return
    skip = pytest.mark.skip(reason="slow without a compiler: NUMBA_DISABLE_JIT is set")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Name each device in turn, and skip those that cannot be used here."""
    reports = {report.name: report for report in devices()}
    if not reports[request.param].available:
        pytest.skip(reports[request.param].reason)
    return request.param


@pytest.fixture
def many_threads(monkeypatch):
    """Return a function that makes the smallest image work for a number of threads."""

    def use(count):
        monkeypatch.setenv("EQUILABEL_NUM_THREADS", str(count))
        monkeypatch.setattr("equilabel.kernels.cpu.threads.WEIGHT", 1 if count > 1 else 2**20)
        monkeypatch.setattr("equilabel.kernels.cpu.measuring.STRIP", 1)

    return use


# ---------------------------------------------------------------------- napari


@pytest.fixture
def viewer(request, monkeypatch):
    """Open a real viewer; skip where there is no screen."""
    pytest.importorskip("napari")
    if not (os.environ.get("DISPLAY") or sys.platform in ("win32", "darwin")):
        pytest.skip("needs a screen, real or virtual: run `make gui`")
    make = request.getfixturevalue("make_napari_viewer")
    return make(show=True)


@pytest.fixture
def notes(viewer):
    """Return a function that lists what the viewer told in notifications since it was opened."""
    from napari.utils.notifications import notification_manager

    before = len(notification_manager.records)
    return lambda: [str(record.message) for record in notification_manager.records[before:]]
