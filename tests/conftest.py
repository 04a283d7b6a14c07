"""Devices to test on, how hard to search, and what is left out where numba is switched off."""

import contextlib
import gc
import importlib.util
import os
import shutil
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from hypothesis import settings

from equilabel import devices

SPIN = r"""
extern "C" __global__ void spin(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles);
}
"""
if "NAPARI_CONFIG" in os.environ and "PYTEST_XDIST_WORKER" in os.environ:
    # Each process has settings of its own.
    os.environ["NAPARI_CONFIG"] += f".{os.environ['PYTEST_XDIST_WORKER']}.yaml"
os.environ["SKIMAGE_NO_DISPATCHING"] = "1"  # what we are compared with must not be ourselves
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

# Doctests are looked for in every module but those whose libraries are not installed.
collect_ignore = [] if importlib.util.find_spec("qtpy") else ["gui.py"]
collect_ignore += (
    [] if importlib.util.find_spec("imagecodecs") else ["attack/tiff.py", "attack/pictures.py"]
)

settings.register_profile(
    "equilabel",
    deadline=None,  # the first example waits for the compiler
    derandomize="CI" in os.environ,
    max_examples=(60 if "EVERYTHING" in os.environ else 20) if COMPILED else 12,
)
settings.load_profile("equilabel")


def pytest_collection_modifyitems(config, items):
    cuda = any(report.available for report in devices() if report.name.startswith("cuda"))
    if not cuda and "gpu" not in config.option.markexpr:
        # Thousands: to skip them one by one takes longer than to say how many they are.
        left_out = [item for item in items if item.get_closest_marker("gpu")]
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=left_out)
    # It asks for many types: most of that has been compiled, and kept, when it comes last.
    items.sort(key=lambda item: item.path.name == "test_attack.py")
    if COMPILED:
        return
    skip = pytest.mark.skip(reason="slow without a compiler: NUMBA_DISABLE_JIT is set")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _arrays_are_cut_into_blocks(request, monkeypatch):
    """Tests of chunks use arrays in memory, which are labeled at once for a user."""
    if request.path.parent.name == "chunked" and "as_a_whole" not in request.node.name:
        # The function that the package shows has the name of its module.
        module = import_module("equilabel.chunked.label")
        monkeypatch.setattr(sys.modules[module.__name__], "_is_whole", lambda problem: False)


@pytest.fixture(scope="session", autouse=True)
def _compiler_untraced():
    """Let numba compile without being watched by coverage, which makes it 1.6 times slower."""
    tracer = sys.gettrace()
    if tracer is None or not COMPILED:
        yield
        return
    from numba.core.dispatcher import Dispatcher

    compiles = Dispatcher.compile

    def compile_untraced(*arguments, **options):
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return compiles(*arguments, **options)
        finally:
            sys.settrace(tracer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_untraced)
        yield


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Name each device in turn, and skip those that cannot be used here."""
    reports = {report.name: report for report in devices()}
    if not reports[request.param].available:
        pytest.skip(reports[request.param].reason)
    return request.param


@pytest.fixture(scope="session")
def cupy():
    """Return CuPy, and skip where it has no device."""
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    return cupy


@pytest.fixture(scope="session")
def spin(cupy):
    """Return a kernel that keeps a stream busy for a number of clock cycles; it is compiled."""
    kernel = cupy.RawKernel(SPIN, "spin")
    kernel((1,), (1,), (1,))
    cupy.cuda.Device().synchronize()
    return kernel


@pytest.fixture
def in_one_call(monkeypatch):
    """Label small images in a single call, compiled or not."""
    monkeypatch.setattr("equilabel.runs.cpu.serial.PATIENCE", 0)
    monkeypatch.setattr("equilabel.runs.cpu.serial._left", {})


@pytest.fixture
def many_threads(monkeypatch):
    """Return a function that makes the smallest image work for a number of threads."""

    def use(count):
        monkeypatch.setenv("EQUILABEL_NUM_THREADS", str(count))
        threads = import_module("equilabel.devices.threads")
        monkeypatch.setattr(threads, "WEIGHT", 1 if count > 1 else 2**20)
        monkeypatch.setattr("equilabel.measuring.cpu.accumulate.STRIP", 1)

    return use


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Make an empty folder the working directory; `equilabel batch` works in this process."""
    from batches import label_here
    from equilabel.cli import batch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch, "label_all", label_here)
    return tmp_path


# ---------------------------------------------------------------------- napari


@pytest.fixture(scope="session")
def _own_screen():
    """Give each of several test processes a virtual screen: the windows of one share its focus."""
    if "PYTEST_XDIST_WORKER" not in os.environ or shutil.which("Xvfb") is None:
        return
    numbers, written = os.pipe()
    os.set_inheritable(written, True)
    words = ("Xvfb", "-screen", "0", "1600x1000x24", "-displayfd", str(written), "-terminate")
    os.posix_spawnp("Xvfb", words, os.environ)  # ends with the last window
    os.close(written)
    with os.fdopen(numbers) as line:
        os.environ["DISPLAY"] = f":{line.readline().strip()}"


@pytest.fixture(scope="session")
def qapp_args(_own_screen, qapp_args):
    """Begin the application on the screen of the process."""
    return qapp_args


@pytest.fixture(scope="session")
def _screen(_own_screen):
    """Skip where there is no screen; else load napari, and spare what it loads the collector."""
    pytest.importorskip("napari")
    if not (os.environ.get("DISPLAY") or sys.platform in ("win32", "darwin")):
        pytest.skip("needs a screen, real or virtual: run `make gui`")
    for name in ("napari.qt", "equilabel.widget.forms.segment", "equilabel.widget.forms.measure"):
        importlib.import_module(name)

    gc.collect()
    gc.freeze()  # napari collects garbage whenever a layer goes or a viewer is closed


class SharedViewer:
    """A real viewer for many tests: to open one takes two seconds."""

    def __init__(self):
        self.viewer = None
        self.form = None  # that `kept_form` keeps for the next test
        self._patch = pytest.MonkeyPatch()

    def open(self, *, keep=False):
        """Return the viewer, opened when it is first asked for; a form in it stays to `keep` it."""
        if self.form is not None and not keep:
            self.empty()
        if not self._is_open():  # a test that failed has closed it
            self.close()
        if self.viewer is None:
            from napari import Viewer
            from napari.settings import get_settings
            from qtpy.QtTest import QTest

            from gui import make_current

            set_ = self._patch.setattr
            set_("napari._qt.qt_main_window.SHOW_QT_WARNING", False)
            set_("napari._qt.threads.status_checker.StatusChecker.start", lambda _: None)
            nothing = SimpleNamespace(value=lambda *pair: pair[1], setValue=lambda *_: None)
            set_("equilabel.widget.forms.segment._store", lambda: nothing)  # forms begin alike
            get_settings().reset()
            self.viewer = viewer = Viewer(show=True, show_welcome_screen=False)
            set_(viewer.window._qt_window, "_save_current_window_settings", lambda: None)
            viewer.layers.events.removing.connect(lambda: make_current(viewer))
            viewer.window.resize(900, 600)  # what is drawn in software takes long
            assert QTest.qWaitForWindowExposed(viewer.window._qt_window, 10_000)
        return self.viewer

    def _is_open(self):
        return self.viewer is None or hasattr(self.viewer.window, "_qt_window")

    def empty(self):
        """Take all off the viewer; if that fails, the next test gets another one."""
        from gui import empty

        self.form = None
        try:
            if self._is_open():
                empty(self.viewer)
        except Exception:
            self.close()
            raise

    def close(self):
        """Close the viewer, if it is open."""
        if self.viewer is not None:
            viewer, self.viewer, self.form = self.viewer, None, None
            with contextlib.suppress(AttributeError, RuntimeError):  # it is closed
                viewer.close()
            self._patch.undo()
            gc.collect()


@pytest.fixture(scope="session")
def shared_viewer(_screen):
    """Share a real viewer between tests."""
    shared = SharedViewer()
    yield shared
    shared.close()


@pytest.fixture
def own_viewer(shared_viewer, request):
    """Open a real viewer for one test; there is no other."""
    shared_viewer.close()
    forget_commands()
    return request.getfixturevalue("make_napari_viewer")(show=True)


def forget_commands():
    """Let the next viewer register the commands of plugins, as the first of a process does.

    napari's `make_napari_viewer` lets each viewer register them, in an application of its own.
    Without this, a viewer in napari's usual application would after it find them there already.
    """
    from app_model import Application
    from napari._qt._qapp_model.qactions import init_qactions
    from napari.plugins import _initialize_plugins

    Application.destroy("napari")
    _initialize_plugins.cache_clear()
    init_qactions.cache_clear()


@pytest.fixture
def viewer(shared_viewer, request):
    """Open a real viewer without layers and forms, but `kept_form`; it is that of earlier tests."""
    yield shared_viewer.open(keep="kept_form" in request.fixturenames)
    if shared_viewer.form is None:
        shared_viewer.empty()


@pytest.fixture
def kept_form(viewer, shared_viewer, qtbot):
    """Open the form on the sample of nuclei, or take that of the test before.

    It is closed if a test changes its image, or fields that cannot be set as they were.
    """
    from gui import LONG, choices, keep_values, open_form, to_front

    form, shared_viewer.form = shared_viewer.form, None
    if form is None:
        viewer.open_sample("equilabel", "nuclei_2d")
        form = open_form(viewer, qtbot)
    [image] = viewer.layers
    name, before, restore = image.name, choices(form), keep_values(form)
    yield form
    if image in viewer.layers and (not form.running):
        for layer in set(viewer.layers) - {image}:
            viewer.layers.remove(layer)
        image.name = name
        to_front(form)
        form.message.setText("")
        restore()
        tasks = (form.preview._histogram, form.results._place, form.results.colors.task)
        qtbot.waitUntil(lambda: not any(each.running for each in tasks), timeout=LONG)
        if choices(form) == before:
            shared_viewer.form = form


@pytest.fixture
def notes():
    """Return a function that lists what was told in notifications since the test began."""
    pytest.importorskip("napari")
    from napari.utils.notifications import notification_manager

    before = len(notification_manager.records)
    return lambda: [str(record.message) for record in notification_manager.records[before:]]
