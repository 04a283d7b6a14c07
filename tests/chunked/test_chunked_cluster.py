"""A Dask cluster that loses a worker, and one that loses its scheduler."""

import dask
import numpy as np
import pytest
import zarr

from batches import posix
from clusters import cluster
from equilabel import label, label_chunked, segment_chunked

pytestmark = [pytest.mark.slow, posix]

NOISE = np.random.default_rng(7).random((20, 24, 28)) < 0.3


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_arrays_that_a_client_keeps_and_results_in_memory(tmp_path):
    import dask.array
    from distributed import Client

    with cluster(tmp_path, 2) as (address, _), Client(address) as client:
        client.wait_for_workers(2)
        kept = dask.array.from_array(NOISE, chunks=9).persist()
        for image in (kept, kept & True, kept.rechunk(10)):
            np.testing.assert_array_equal(label_chunked(image).compute(), label(NOISE))
        unseen = "do not see the memory of this process"
        here = np.zeros(NOISE.shape, np.int32)
        with pytest.warns(UserWarning, match=unseen):
            label_chunked(kept, out=here)
        np.testing.assert_array_equal(here, label(NOISE))
        assert segment_chunked(kept.astype("u1"), 0.5).num == here.max()
        image = tmp_path / "noise.zarr"
        zarr.create_array(image, shape=NOISE.shape, chunks=(8,) * 3, dtype="?")[...] = NOISE
        with pytest.warns(UserWarning, match=unseen):
            found = label_chunked(image, out="memory://kept/labels.zarr")
        np.testing.assert_array_equal(zarr.open_array("memory://kept/labels.zarr")[...], here)
        assert str(found) == "memory://kept/labels.zarr"


@pytest.mark.long
def test_a_killed_worker_and_then_a_lost_scheduler_lose_nothing(tmp_path):
    from distributed import Client

    image = tmp_path / "noise.zarr"
    zarr.create_array(image, shape=NOISE.shape, chunks=(8,) * 3, dtype="?")[...] = NOISE
    expected = label_chunked(image, out=tmp_path / "expected.zarr", chunks=12)
    np.testing.assert_array_equal(zarr.open_array(expected)[...], label(NOISE))
    known, killed = files(expected), []

    def kill(process, *moment):
        def progress(*now):
            if now == moment:
                process.kill()
                process.wait()
                killed.append(process)

        return progress

    with cluster(tmp_path, 2) as (address, (scheduler, one, _)):
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)
        work = {"chunks": 12, "scheduler": address}
        out = tmp_path / "worker.zarr"
        label_chunked(image, out=out, **work, progress=kill(one, "label", 3, 12))
        assert files(out) == known
        out = tmp_path / "scheduler.zarr"
        lost = pytest.raises(ConnectionError, match="scheduler must stay reachable until")
        soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})  # 30 s by default
        with lost, soon:
            label_chunked(image, out=out, **work, progress=kill(scheduler, "write", 3, 12))
    assert killed == [one, scheduler]
    assert not out.exists()
    stages = []
    label_chunked(image, out=out, chunks=12, resume=True, progress=lambda *now: stages.append(now))
    assert files(out) == known
    assert ("label", 12, 12) in stages[:1]
    assert next(done for stage, done, _ in stages if stage == "write") >= 3
