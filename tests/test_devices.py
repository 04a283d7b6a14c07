"""Devices: what can be used, and what is said of what cannot."""

from dataclasses import FrozenInstanceError
from importlib import import_module

import numpy as np
import pytest

from equilabel import METHODS, DeviceUnavailableError, devices, label, segment
from equilabel.devices import DeviceReport, passes, resolve

UNAVAILABLE = [report.name for report in devices() if not report.available]


def test_the_cpu_comes_first_and_can_always_be_used():
    first = devices()[0]
    assert (first.name, first.available, first.reason) == ("cpu", True, "")


def test_each_device_is_reported_once():
    names = [report.name for report in devices()]
    assert names == ["cpu", "cuda"]


def test_the_cpu_tells_how_many_cores_this_process_may_use(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert "3 cores" in devices()[0].description


@pytest.mark.parametrize("report", devices(), ids=lambda report: report.name)
def test_a_reason_is_given_where_a_device_cannot_be_used_and_nowhere_else(report):
    assert report.description
    assert report.available != bool(report.reason)


def test_a_report_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        devices()[0].available = False


@pytest.mark.parametrize("word", ["cpu", "auto"])
def test_words_for_devices_resolve_to_one_that_can_be_used(word):
    chosen = resolve(word)
    assert {report.name: report.available for report in devices()}[chosen]


def test_a_device_asked_for_by_name_is_the_one_used(device):
    assert resolve(device) == device


@pytest.mark.parametrize("word", ["gpu", "CPU", "", None, 0])
def test_an_unknown_device_is_refused_with_those_there_are(word):
    with pytest.raises(ValueError, match="device must be one of") as caught:
        resolve(word)
    assert str(caught.value) == f"device must be one of ['auto', 'cpu', 'cuda']; got {word!r}."


def test_an_unavailable_device_is_refused_with_its_reason_and_a_remedy(monkeypatch):
    reason = "device='cuda' needs a card; got 'cuda'. Pass device='cpu'."
    report = DeviceReport("cuda", False, "NVIDIA GPU", reason)
    monkeypatch.setattr(import_module("equilabel.devices"), "devices", lambda: (report,))
    with pytest.raises(DeviceUnavailableError) as caught:
        resolve("cuda")
    assert str(caught.value) == reason


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_a_device_asked_for_by_name_is_never_replaced(name):
    image = np.ones((2, 3), bool)
    for use in (label, segment):
        with pytest.raises(DeviceUnavailableError, match=f"device='{name}' needs .*; got .* Pass "):
            use(image, device=name)


def test_an_unavailable_device_is_a_runtime_error():
    assert issubclass(DeviceUnavailableError, RuntimeError)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_has_passes_on_each_of_its_devices(method):
    for name in METHODS[method].devices:
        assert passes(method, name).__name__ == f"equilabel.kernels.{name}.{method}"


def test_the_device_used_is_told(device):
    assert segment(np.eye(3, dtype=bool), device=device).device == device
