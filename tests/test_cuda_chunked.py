"""Blocks on GPUs: labels and tables of the whole image, as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytest.importorskip("zarr")
pytest.importorskip("dask")

from equilabel import label, label_chunked, segment, segment_chunked  # noqa: E402
from equilabel.devices import own_gpu, set_worker  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]
GPUS = cupy.cuda.runtime.getDeviceCount() if cupy.cuda.is_available() else 0


def images():
    rng = np.random.default_rng(3)
    yield rng.random((60, 70, 80)) < 0.3, {}
    yield rng.random((60, 70, 80)) < 0.3, {"connectivity": 1, "periodic": (True, False, True)}
    yield rng.integers(0, 3, (90, 200)).astype(np.uint8), {"background": 1}
    yield rng.random((5, 60, 90)) < 0.5, {"stacked": True}
    yield rng.random((40, 30, 1)) < 0.5, {}


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_blocks_of_a_gpu_are_those_of_the_whole_image(scheduler, tmp_path):
    import zarr

    for number, (image, options) in enumerate(images()):
        expected, count = label(image, return_num=True, **options)
        chunks = [max(1, side // 2) for side in image.shape]
        options |= {"chunks": chunks, "scheduler": scheduler, "workers": 3, "return_num": True}
        stored = zarr.create_array(
            tmp_path / f"{number}.zarr", shape=image.shape, dtype=image.dtype
        )
        stored[...] = image
        out = tmp_path / f"{number}-labels.zarr"
        for found, num in (
            label_chunked(image, device="cuda", **options),
            label_chunked(stored, out=out, device="cuda", **options),
        ):
            np.testing.assert_array_equal(found[...], expected)
            assert num == count


def test_segmenting_blocks_on_a_gpu_measures_what_the_cpu_measures(tmp_path):
    import zarr

    rng = np.random.default_rng(5)
    image = np.add.reduce([np.roll(rng.random((80, 90)), k, 0) for k in range(4)])
    pixels = (60 * image).astype(np.uint8)
    stored = zarr.create_array(tmp_path / "image.zarr", shape=pixels.shape, dtype=pixels.dtype)
    stored[...] = pixels
    options = {"threshold": 130, "min_size": 3, "properties": ("label", "area", "mean_intensity")}
    expected = segment(pixels, **options)
    found = segment_chunked(
        stored, out=tmp_path / "labels.zarr", chunks=40, device="cuda", **options
    )
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    for name, column in expected.table.items():
        np.testing.assert_allclose(found.table[name], column, rtol=1e-12)


def test_workers_share_the_gpus():
    used = []
    for number in range(2 * GPUS):
        set_worker(number)
        with own_gpu("cuda"):
            used.append(cupy.cuda.runtime.getDevice())
            assert cupy.cuda.get_current_stream().ptr
        with own_gpu(f"cuda:{GPUS - 1}"):
            assert cupy.cuda.runtime.getDevice() == GPUS - 1
    set_worker(0)
    assert used == 2 * list(range(GPUS))
    assert cupy.cuda.runtime.getDevice() == 0
