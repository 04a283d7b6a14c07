"""Devices: what can be used, and what is said of what cannot."""

import sys
from dataclasses import FrozenInstanceError
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from equilabel import METHODS, DeviceUnavailableError, devices, label, segment
from equilabel.devices import DeviceMemoryError, check_memory, place, resolve, using
from equilabel.papers import load_passes
from references import GRID_METHODS

UNAVAILABLE = [report.name for report in devices() if not report.available]


def test_the_cpu_comes_first_and_can_always_be_used():
    first = devices()[0]
    assert (first.name, first.available, first.reason) == ("cpu", True, "")


def test_each_device_is_reported_once():
    names = [report.name for report in devices()]
    assert names == ["cpu", "cuda", *(f"cuda:{k}" for k in range(1, len(names) - 1))]


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
    assert str(caught.value) == (
        f"device must be one of ['auto', 'cpu', 'cuda', 'cuda:<index>']; got {word!r}."
    )


class NoCuda(Exception):
    """What CuPy raises where the driver does not answer."""


def fake_cupy(count=0, driver=13000, runtime=13000, error=None):
    """Stand in for CuPy on a machine that this one is not."""

    def count_devices():
        if error:
            raise NoCuda(error)
        return count

    return SimpleNamespace(
        ndarray=type("ndarray", (), {}),
        __version__="14.2.0",
        cuda=SimpleNamespace(
            nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
            runtime=SimpleNamespace(
                CUDARuntimeError=NoCuda,
                getDeviceCount=count_devices,
                getDevice=lambda: 0,
                driverGetVersion=lambda: driver,
                runtimeGetVersion=lambda: runtime,
                getDeviceProperties=lambda index: {"name": b"Card", "totalGlobalMem": 2**33},
            ),
        ),
    )


@pytest.mark.parametrize(
    ("cupy", "reason"),
    [
        (None, r"needs CuPy; got none installed\. Install it with `pip install"),
        (fake_cupy(error="no driver", driver=0), r"needs an NVIDIA driver; got none \(no driver"),
        (
            fake_cupy(error="insufficient", driver=12040),
            r"needs a CuPy for CUDA 12\.4, .* got one for CUDA 13\.0\. Install `equilabel\[cuda12",
        ),
        (fake_cupy(count=0), r"needs an NVIDIA GPU; got no GPU that this process may use"),
        (fake_cupy(error="cudaErrorNoDevice"), r"needs an NVIDIA GPU; got cudaErrorNoDevice"),
    ],
    ids=["no CuPy", "no driver", "old driver", "hidden", "no card"],
)
def test_a_gpu_that_cannot_be_used_is_refused_with_its_reason(monkeypatch, cupy, reason):
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    report = devices()[1]
    assert (report.name, report.available) == ("cuda", False)
    with pytest.raises(DeviceUnavailableError, match=f"^device='cuda' {reason}.* Pass ") as caught:
        resolve("cuda")
    assert str(caught.value) == report.reason


def test_a_cupy_that_finds_no_folder_is_refused_with_the_remedy(monkeypatch):
    def fail(name):
        raise NotADirectoryError(20, "Not a directory", "/closed/.cupy")

    monkeypatch.setattr(sys.modules["equilabel.devices.choosing"], "import_module", fail)
    (cpu, cuda) = devices()
    assert cpu.available
    assert not cuda.available
    assert "got Not a directory for '/closed/.cupy'. Name one in CUPY_CACHE_DIR." in cuda.reason


def test_a_cupy_without_a_compiler_is_refused(monkeypatch):
    cupy = fake_cupy(count=1)

    def missing():
        message = "libnvrtc.so"
        raise ImportError(message)

    cupy.cuda.nvrtc.getVersion = missing
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert "needs NVRTC to compile; got libnvrtc.so. Install" in devices()[1].reason


def test_each_gpu_is_reported_and_can_be_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(count=2))
    assert [report.name for report in devices()] == ["cpu", "cuda", "cuda:1"]
    assert "Card, 8 GiB, driver for CUDA 13.0, CuPy 14.2.0" in devices()[1].description
    assert [resolve(word) for word in ("cuda", "cuda:0", "cuda:1")] == ["cuda", "cuda", "cuda:1"]
    with pytest.raises(DeviceUnavailableError, match="'cuda:7' needs 8 GPUs; got 2"):
        resolve("cuda:7")


class FullMemory(MemoryError):
    """What CuPy raises where memory does not suffice."""


def working_cupy(index=0):
    """Stand in for CuPy on a machine with two GPUs, one of them current."""
    cupy = fake_cupy(count=2)
    entered = []

    class Device:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            entered.append(self.number)

        def __exit__(self, *_):
            entered.append(None)

    cupy.entered = entered
    cupy.cuda.Device = Device
    cupy.cuda.memory = SimpleNamespace(OutOfMemoryError=FullMemory)
    cupy.context, cupy.freed = 1, []
    cupy.cuda.driver = SimpleNamespace(
        CUDADriverError=type("Other", (Exception,), {}), ctxGetCurrent=lambda: cupy.context
    )
    cupy.cuda.runtime.free = cupy.freed.append
    cupy.cuda.runtime.getDevice = lambda: index
    cupy.cuda.runtime.memGetInfo = lambda: (3 * 2**20, 2**33)
    cupy.get_default_memory_pool = lambda: pool
    pool = SimpleNamespace(
        free_bytes=lambda: 2**20, used_bytes=lambda: 2**30, get_limit=lambda: cupy.limit
    )
    cupy.limit = 0
    return cupy


def test_a_thread_without_a_context_gets_that_of_the_device(monkeypatch):
    """Launches by the driver fail without one; the first call of the runtime makes it current."""
    cupy = working_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with using("cuda"):
        assert cupy.freed == []
    cupy.context = 0
    with using("cuda:1"):
        assert (cupy.entered, cupy.freed) == ([1], [0])


def test_work_goes_to_its_device_and_leaves_it(monkeypatch):
    cupy = working_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with using("cuda"), using("cpu"):
        assert cupy.entered == []  # it is the current one
    with using("cuda:1"):
        assert cupy.entered == [1]
    assert cupy.entered == [1, None]


def test_too_little_memory_is_said_in_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", working_cupy())

    def work():
        held = np.zeros(9)
        raise FullMemory(held.nbytes)

    rule = r"must have 5 MiB .*; got 4 MiB free\. Pass `out=`"
    with pytest.raises(DeviceMemoryError, match=rule), using("cuda", lambda: 5 * 2**20):
        work()
    rule = "'cuda:1' must have more memory for this; got 4 MiB"
    with pytest.raises(MemoryError, match=rule), using("cuda:1"):
        work()


def test_what_does_not_fit_is_named_before_it_starts(monkeypatch):
    cupy = working_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    check_memory("cuda", 4 * 2**20)
    cupy.limit = 2**30 + 2**20  # of CuPy's pool, most of which is in use
    with pytest.raises(
        DeviceMemoryError, match=r"must have 4 MiB .*; got 1 MiB free\. Pass `out=`"
    ):
        check_memory("cuda", 4 * 2**20)


def test_errors_of_cuda_are_put_into_words(monkeypatch):
    cupy = working_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for kind in (NoCuda, cupy.cuda.driver.CUDADriverError):
        error, rule = kind("lost"), "must run what it is given; got lost"
        with pytest.raises(DeviceUnavailableError, match=rule), using("cuda"):
            raise error
    with pytest.raises(ZeroDivisionError), using("cuda"):
        _ = 1 / 0


def test_arrays_of_two_gpus_are_refused(monkeypatch):
    cupy = working_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    array = cupy.ndarray()
    array.device = SimpleNamespace(id=1)
    assert resolve("auto", array) == resolve("cuda", array) == "cuda:1"
    assert place(array, "cuda:1") is array
    with pytest.raises(ValueError, match="must be on one device, here 'cuda'; got one on GPU 1"):
        place(array, "cuda")
    with pytest.raises(ValueError, match="the one that holds the image, 'cuda:1'; got 'cuda:0'"):
        resolve("cuda:0", array)


def test_what_other_code_imported_moves_no_image(monkeypatch):
    def refuse(name):
        assert ".cuda." not in name
        return import_module(name)

    cupy = working_cupy()
    cupy.cuda.runtime.memGetInfo = lambda: (2**40, 2**40)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    rough = np.random.default_rng(0).random((2048, 2048)) < 0.5
    monkeypatch.setattr(sys.modules["equilabel.devices.choosing"], "import_module", refuse)
    assert resolve("auto", rough) == "cpu"
    assert isinstance(label(rough), np.ndarray)
    for threshold in (50, (30, 60)):
        image = np.random.default_rng(0).integers(0, 100, (40, 50))
        assert segment(image, threshold=threshold, fill_holes=True, device="cpu").device == "cpu"


def test_an_array_of_a_gpu_needs_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    foreign = SimpleNamespace(__dlpack_device__=lambda: (2, 0))
    with pytest.raises(DeviceUnavailableError, match=r"^an array that a GPU holds needs CuPy"):
        label(foreign)


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_a_device_asked_for_by_name_is_never_replaced(name):
    image = np.ones((2, 3), bool)
    for use in (label, segment):
        with pytest.raises(DeviceUnavailableError, match=f"device='{name}' needs .*; got .* Pass "):
            use(image, device=name)


def test_an_unavailable_device_is_a_runtime_error():
    assert issubclass(DeviceUnavailableError, RuntimeError)


@pytest.mark.parametrize("method", GRID_METHODS)
def test_each_method_has_passes_on_each_of_its_devices(method):
    for name in METHODS[method].devices:
        if name == "cuda":
            pytest.importorskip("cupy")
        assert (
            load_passes(method, name).__name__ == f"equilabel.{METHODS[method].passes.format(name)}"
        )


def test_the_device_used_is_told(device):
    assert segment(np.eye(3, dtype=bool), device=device).device == device
