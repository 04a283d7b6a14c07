"""What grows with an image: groups of blocks, numbers by blocks, and tables in parts."""

import warnings

import numpy as np
import pandas as pd
import pytest
import zarr

from equilabel import label, label_chunked, segment, segment_chunked
from equilabel.chunked import results, tables
from equilabel.chunked.blocks import number_components
from equilabel.chunked.checkpoints import (
    DamagedFileError,
    Part,
    Saved,
    pack,
    unpack,
)
from equilabel.storage import table as table_files

RNG = np.random.default_rng(31)
NOISE = RNG.random((21, 40, 37)) < 0.25
GRAY = (np.add.reduce([np.roll(RNG.random((60, 70)), k, 0) for k in range(4)]) * 60).astype(
    np.uint8
)


def same_objects(found, expected):
    """Return whether two label images number the same objects from 1, in any order."""
    pairs = np.unique(np.stack([found.ravel(), expected.ravel()]), axis=1)
    count = expected.max()
    return pairs.shape[1] == count + (expected == 0).any() and found.max() == count


@pytest.mark.parametrize(
    ("chunks", "options", "out"),
    [
        ((3, 40, 5), {}, "labels.zarr"),
        ((7, 9, 8), {"connectivity": 1}, None),
        ((7, 9, 8), {"periodic": True}, None),
        ((7, 19, 17), {"background": 1}, "labels.zarr"),
        ((21, 40, 37), {"periodic": True}, None),
    ],
)
def test_numbers_by_blocks_are_those_of_the_blocks_where_objects_begin(
    chunks, options, out, tmp_path
):
    expected = label(NOISE, **options)
    found, num = label_chunked(
        NOISE, chunks=chunks, numbering="blocks", return_num=True, out=out and tmp_path / out,
        **options
    )  # fmt: skip
    assert num == expected.max()
    assert same_objects(found[...], expected)
    seen = np.zeros(num + 1, int)
    for block, corner in enumerate(
        np.ndindex(*np.ceil(np.divide(NOISE.shape, chunks)).astype(int))
    ):
        part = tuple(slice(k * c, (k + 1) * c) for k, c in zip(corner, chunks, strict=True))
        new = np.unique(found[...][part])
        seen[new] = np.where(seen[new], seen[new], block + 1)
    assert (np.diff(seen[1:]) >= 0).all()


@pytest.mark.parametrize(
    ("numbering", "more"),
    [
        ("raster", {}),
        ("blocks", {"min_size": 4, "max_size": 60}),
        ("blocks", {"exclude_border": True}),
    ],
)
def test_a_table_in_parts_is_that_of_the_whole_image(numbering, more, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 7)
    options = {"threshold": 130, "properties": ("label", "area", "bbox", "intensity_mean"), **more}
    expected = segment(GRAY, **options)
    found = segment_chunked(
        GRAY, chunks=17, out=tmp_path / "a.zarr", numbering=numbering, **options
    )
    labels = found.labels[...]
    assert same_objects(labels, expected.labels)
    parts = sorted((tmp_path / "a.zarr" / table_files.PARTS).iterdir())
    assert len(parts) == -(-expected.num // 7)
    assert [len(pd.read_parquet(one)) for one in parts[:-1]] == [7] * (len(parts) - 1)
    order = np.zeros(expected.num + 1, int)
    order[expected.labels] = labels
    table = expected.table.assign(label=order[expected.table["label"]]).sort_values("label")
    pd.testing.assert_frame_equal(found.table, table.reset_index(drop=True))
    again = segment_chunked(
        GRAY, chunks=17, out=tmp_path / "a.zarr", numbering=numbering, resume=True, **options
    )
    pd.testing.assert_frame_equal(again.table, found.table)
    monkeypatch.setattr(table_files, "free", lambda: 100)
    pytest.importorskip("dask.dataframe")
    lazy = segment_chunked(
        GRAY, chunks=17, out=tmp_path / "a.zarr", numbering=numbering, resume=True, **options
    )
    assert type(lazy.table).__module__.startswith("dask")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask calls pandas as it may not for long
        table = lazy.table.compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(table, found.table)


def test_an_image_without_objects_has_an_empty_table_with_all_columns(tmp_path):
    expected = segment(GRAY, threshold=250.5, properties=("label", "area", "centroid"))
    found = segment_chunked(
        GRAY, 250.5, chunks=17, out=tmp_path / "a.zarr", properties=("label", "area", "centroid")
    )
    assert found.num == len(found.table) == 0
    assert list(found.table) == list(expected.table)


class Stopped(Exception):
    pass


@pytest.mark.parametrize(
    ("stage", "numbering"),
    [("label", "raster"), ("merge", "blocks"), ("write", "raster"), ("table", "blocks")],
)
def test_groups_of_blocks_are_resumed_to_the_same_bytes(stage, numbering, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "blocks_together", lambda *_: 8)
    monkeypatch.setattr(tables, "ROWS", 7)
    stored = tmp_path / "image.zarr"
    zarr.create_array(stored, shape=GRAY.shape, chunks=(9, 11), dtype="u1")[...] = GRAY
    options = {"threshold": 130, "chunks": (9, 11), "numbering": numbering}

    def stop(now, done, total):
        if now == stage and done >= total // 2 and done:
            raise Stopped

    def files(folder):
        return {
            str(one.relative_to(folder)): one.read_bytes()
            for one in folder.rglob("*")
            if one.is_file()
        }

    segment_chunked(stored, out=tmp_path / "whole.zarr", **options)
    told = []
    with pytest.raises(Stopped):
        segment_chunked(stored, out=tmp_path / "out.zarr", progress=stop, **options)
    begun = tmp_path / ".out.zarr.unfinished"
    assert len(list(begun.glob("label-*"))) <= 7  # of 49 blocks
    options |= {"progress": lambda *now: told.append(now), "workers": 3, "resume": True}
    segment_chunked(stored, out=tmp_path / "out.zarr", **options)
    assert next(done for now, done, _ in told if now == "label") >= 24
    assert files(tmp_path / "out.zarr") == files(tmp_path / "whole.zarr")


def test_the_merge_by_blocks_keeps_only_components_that_touch_a_face():
    rng = np.random.default_rng(0)
    saved, blocks, listed = Saved(), 50, 4
    for block in range(blocks):
        merged = np.sort(rng.choice(100, listed, replace=False)) + 1
        none = np.empty(0, np.int64)
        part = Part(0, 100, merged, none, none, np.empty((0, 0), np.int64))
        saved.save("label", block, {f"{block}": [np.array([0, 100], np.uint64), *part[2:]]})
    offsets = np.arange(blocks + 1) * listed
    pairs = [(one, one + 1, np.array([[0, 1]])) for one in range(blocks - 1)]
    numbers, count = number_components(saved, offsets, pairs, None, by_blocks=True)
    assert len(numbers[0]) == blocks * listed
    assert count == blocks * 100 - (blocks - 1)
    saved.save_numbers(*numbers)
    found = np.concatenate([saved.numbers(block) for block in range(blocks)])
    assert np.unique(found).tolist() == list(range(1, count + 1))


def test_damaged_records_are_noticed(tmp_path):
    data = bytearray(pack([np.arange(5), np.asfortranarray(np.eye(3)), np.empty((0, 2))]))
    found = unpack(bytes(data))
    assert [one.tolist() for one in found] == [list(range(5)), np.eye(3).tolist(), []]
    data[20] ^= 1
    with pytest.raises(DamagedFileError, match="resume=True"):
        unpack(bytes(data))
    saved = Saved(tmp_path, "a", 2)
    saved.save("label", 0, {"0": [np.arange(3)], "1": [np.arange(9)]})
    path = tmp_path / "label-0"
    whole = path.read_bytes()
    fresh = Saved(tmp_path, "b", 2)
    assert fresh.has("label", 0)
    assert not fresh.has("label", 1)
    assert fresh.names("label", 0) == ["0", "1"]
    np.testing.assert_array_equal(fresh.load("label", 0, "1")[0], np.arange(9))
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        assert not fresh.has("label", 0)
        path.write_bytes(whole[:place])
        assert not fresh.has("label", 0)


def test_another_numbering_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"numbering must be one of .*; got 'random'"):
        label_chunked(NOISE, chunks=9, numbering="random")
    label_chunked(NOISE, chunks=9, out=tmp_path / "a.zarr")
    with pytest.raises(ValueError, match="got numbering='blocks', before numbering='raster'"):
        label_chunked(NOISE, chunks=9, out=tmp_path / "a.zarr", numbering="blocks", resume=True)


def test_a_zarr_of_the_caller_may_leave_out_empty_chunks(tmp_path):
    image = NOISE.copy()
    image[:8, :9] = False
    out = zarr.create_array(tmp_path / "a.zarr", shape=image.shape, chunks=(7, 8, 9), dtype="i4")
    label_chunked(image, chunks=(7, 8, 9), out=out)
    assert not (tmp_path / "a.zarr" / "c" / "0" / "0" / "0").exists()
    np.testing.assert_array_equal(out[...], label(image))


@pytest.mark.parametrize("values", [np.uint8, np.float32])
def test_numbers_by_blocks_keep_objects_of_different_values_apart(values):
    image = RNG.integers(0, 3, (23, 31)).astype(values)
    expected = label(image)
    found = label_chunked(image, chunks=(6, 7), numbering="blocks")
    assert same_objects(found, expected)
