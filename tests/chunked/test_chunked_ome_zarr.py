"""Labels in OME-Zarrs that other libraries wrote, as these libraries see them."""

import json
from unittest.mock import Mock

import numpy as np
import pytest

from batches import label_here
from equilabel import label_chunked, segment, segment_chunked
from equilabel.chunked import ome_labels
from equilabel.cli import batch, main
from equilabel.storage.ome_zarr import find_image

zarr = pytest.importorskip("zarr")
models = pytest.importorskip("ome_zarr_models")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of these libraries

STEPS, FIRST = {"z": 2.0, "y": 0.5, "x": 0.25}, {"z": 10.0, "y": 3.0, "x": -4.0}
IMAGE = np.kron(np.random.default_rng(1).integers(0, 2, (3, 20, 37)), np.full((2, 5, 7), 90))
IMAGE = IMAGE.astype(np.uint16)


@pytest.fixture(autouse=True)
def not_flushed(monkeypatch):
    pass


def by_ngff_zarr(path, version):
    """Write an image at a position, with consolidated metadata."""
    library = pytest.importorskip("ngff_zarr")
    units = dict.fromkeys("zyx", "micrometer")
    given = {"dims": list("zyx"), "scale": STEPS, "translation": FIRST, "axes_units": units}
    image = library.to_ngff_image(IMAGE, **given)
    factors = [{"z": 1, "y": 2, "x": 2}, {"z": 2, "y": 4, "x": 4}]
    how = {"chunks": 32, "method": library.Methods.DASK_BIN_SHRINK}  # others compile for seconds
    scales = library.to_multiscales(image, scale_factors=factors, **how)
    library.to_ngff_zarr(str(path), scales, version=version)


def by_ome_zarr(path, version):
    """Write an image whose lower resolutions are no whole parts of it."""
    pytest.importorskip("ome_zarr")
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image

    form = {"0.4": FormatV04, "0.5": FormatV05}[version]()
    group = zarr.open_group(path, mode="w", zarr_format=form.zarr_format)
    units = dict.fromkeys("zyx", "micrometer")
    write_image(IMAGE, group, axes="zyx", fmt=form, scale=STEPS, axes_units=units)


WRITERS = {"ngff-zarr": by_ngff_zarr, "ome-zarr-py": by_ome_zarr}


def attributes(path):
    """Return the attributes of a group, of either version."""
    found = dict(zarr.open_group(path, mode="r").attrs)
    return found.get("ome", found)


def nearest(labels, image, level):
    """Return the label at the coordinates of each pixel of a resolution, or one of two as near."""
    rows = []
    for axis, side in enumerate(zarr.open_array(image.levels[level].path).shape):
        (step, first), (step0, first0) = (
            (each.scale[axis], each.translation[axis])
            for each in (image.levels[level], image.levels[0])
        )
        rows.append((np.arange(side) * step + first - first0) / step0)
    return labels[np.ix_(*(np.ceil(row - 0.5 - 1e-6).astype(int) for row in rows))]


@pytest.mark.parametrize(
    ("writer", "version"),
    [
        ("ngff-zarr", "0.4"),
        ("ome-zarr-py", "0.5"),
        pytest.param("ngff-zarr", "0.5", marks=pytest.mark.long),
        pytest.param("ome-zarr-py", "0.4", marks=pytest.mark.long),
    ],
)
def test_labels_are_seen_in_an_image_and_have_its_resolutions_and_coordinates(
    writer, version, tmp_path
):
    path = tmp_path / "x.ome.zarr"
    WRITERS[writer](path, version)
    out = path / "labels" / "n"
    found = segment_chunked(path, threshold=50, out=out, chunks=64)
    assert found.spacing == (2.0, 0.5, 0.25)
    group = zarr.open_group(path, mode="r")
    labels = group["labels/n"]["0"][...]
    np.testing.assert_array_equal(labels, segment(IMAGE, threshold=50).labels)
    scales, theirs = (attributes(each)["multiscales"][0] for each in (out, path))
    assert scales["axes"] == theirs["axes"]
    assert len(theirs["datasets"]) > 2
    moved = [one["coordinateTransformations"] for one in theirs["datasets"]]
    assert [one["coordinateTransformations"] for one in scales["datasets"]] == moved
    image = find_image(path)
    for number, level in enumerate(image.levels[:3]):
        here = group[f"labels/n/{number}"]
        assert here.shape == zarr.open_array(level.path).shape
    np.testing.assert_array_equal(group["labels/n/1"][...], nearest(labels, image, 1))
    kinds = {"": "Image", "labels": "Labels", "labels/n": "ImageLabel"}
    found = {name: models.open_ome_zarr(group[name] if name else group) for name in kinds}
    assert {name: type(model).__name__ for name, model in found.items()} == kinds
    if version == "0.5":  # of which the image's model has its labels
        assert found[""].labels.label_paths == ["n"]
    assert set(found["labels/n"].members) == set("012345678"[: len(moved)])


@pytest.mark.parametrize("version", ["0.4", "0.5"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.long
def test_labels_that_are_replaced_or_join_others_are_seen(writer, version, tmp_path):
    path = tmp_path / "x.ome.zarr"
    WRITERS[writer](path, version)
    segment_chunked(path, threshold=50, out=path / "labels" / "n", chunks=64)
    segment_chunked(path, threshold=50, dark=True, out=path / "labels" / "m", chunks=64)
    label_chunked(path, out=path / "labels" / "plain", chunks=64)
    group = zarr.open_group(path, mode="r")
    assert set(group["labels"].group_keys()) >= {"n", "m"}
    assert group["labels/plain"].shape == IMAGE.shape
    assert attributes(path / "labels")["labels"] == ["n", "m"]
    assert type(models.open_ome_zarr(group)).__name__ == "Image"
    whole = zarr.open_group(path, mode="r", use_consolidated=False)
    assert set(dict(whole.members(max_depth=None))) == set(dict(group.members(max_depth=None)))


@pytest.mark.parametrize("version", [pytest.param("0.4", marks=pytest.mark.long), "0.5"])
def test_ome_zarr_py_reads_labels_with_their_image(version, tmp_path):
    pytest.importorskip("ome_zarr")
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    path = tmp_path / "x.ome.zarr"
    by_ngff_zarr(path, version)
    segment_chunked(path, threshold=50, out=path / "labels" / "n", chunks=64)
    nodes = {str(node.zarr).rpartition("x.ome.zarr")[2]: node for node in Reader(parse_url(path))()}
    seen = next(node for name, node in nodes.items() if "labels" in name and node.data)
    assert seen.data[0].shape == IMAGE.shape
    assert len(seen.data) == 3
    np.testing.assert_array_equal(seen.data[0], zarr.open_array(path / "labels/n/0")[...])


@pytest.mark.parametrize("version", [pytest.param("0.4", marks=pytest.mark.long), "0.5"])
def test_tensorstore_and_the_reader_of_napari_see_labels(version, tmp_path):
    tensorstore = pytest.importorskip("tensorstore")
    reader = pytest.importorskip("napari_ome_zarr")
    path = tmp_path / "x.ome.zarr"
    by_ngff_zarr(path, version)
    expected = segment_chunked(path, threshold=50, out=path / "labels" / "n", chunks=64).num
    labels = zarr.open_array(path / "labels/n/0")[...]
    driver = {"0.4": "zarr", "0.5": "zarr3"}[version]
    how = {"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/labels/n/0"}}
    np.testing.assert_array_equal(tensorstore.open(how).result().read().result(), labels)
    layers = reader.napari_get_reader(str(path))(str(path))
    image, (data, given, _) = layers
    assert layers[1][2] == "labels"
    assert np.shape(data[0]) == IMAGE.shape
    assert np.max(data[0]) == expected
    assert tuple(given["scale"]) == tuple(STEPS.values())
    assert given.get("translate") == image[1].get("translate")  # read from neither, so far


def test_labels_in_a_folder_that_is_no_group_make_consolidated_metadata_go(tmp_path):
    path = tmp_path / "x.ome.zarr"
    by_ngff_zarr(path, "0.5")
    (path / "made").mkdir()
    label_chunked(path, out=path / "made" / "n", chunks=64)
    assert "consolidated_metadata" not in json.loads((path / "zarr.json").read_text())
    assert zarr.open_group(path, mode="r")["made/n"].shape == IMAGE.shape


def test_labels_elsewhere_have_the_position_of_their_image(tmp_path, monkeypatch):
    by_ngff_zarr(tmp_path / "x.ome.zarr", "0.5")
    out = tmp_path / "labels.ome.zarr"
    segment_chunked(tmp_path / "x.ome.zarr", threshold=50, out=out, chunks=64)
    monkeypatch.setattr(batch, "label_all", label_here)
    words = ["--labels-format", "ome-zarr", "--no-overlay", "--out", str(tmp_path / "out")]
    assert main(["batch", str(tmp_path / "x.ome.zarr"), *words]) == 0
    for labels in (out, tmp_path / "out" / "x_labels.zarr"):
        first = find_image(labels).levels[0]
        assert first[1:] == (tuple(STEPS.values()), tuple(FIRST.values()))
    assert models.open_ome_zarr(zarr.open_group(out, mode="r"))


@pytest.mark.parametrize("seed", [3, 4, 33])
def test_levels_written_with_blocks_are_those_made_of_the_whole_level_above(
    seed, tmp_path, monkeypatch
):
    rng = np.random.default_rng(seed)
    shape = tuple(map(int, rng.integers(20, 60, 3)))
    sides = tuple(int(side) for side in rng.choice([8, 12, 16, 20, 32], 3))
    image = rng.random(shape) < 0.2
    monkeypatch.setattr(ome_labels, "COARSEST", 8)
    options = {"axes": "ZYX", "spacing": (2, 1, 1), "chunks": sides, "shards": bool(seed % 2)}
    found, stages = [], []
    for least in (1, 2**40):
        monkeypatch.setattr(ome_labels, "LEAST", least)
        out = tmp_path / f"{least}.zarr"
        told = Mock()
        segment_chunked(image, 0.5, out=out, **options, progress=told)
        found.append([zarr.open_array(level.path)[...] for level in find_image(out).levels])
        stages.append(sum(now.args[0] == "shrink" for now in told.call_args_list))
    assert len(found[0]) == len(found[1]) > 2
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert stages[0] <= stages[1]
    if all(side in (8, 16, 32) for side in sides):
        assert stages[0] < stages[1]


@pytest.mark.parametrize("shards", [pytest.param(True, marks=pytest.mark.long), False])
def test_levels_that_are_complete_are_not_written_again_after_a_kill(shards, tmp_path, monkeypatch):
    monkeypatch.setattr(ome_labels, "COARSEST", 8)
    monkeypatch.setattr(ome_labels, "PIECE", 16**3)
    monkeypatch.setattr(ome_labels, "LEAST", 2**40)  # all levels follow the labels
    image = np.random.default_rng(0).random((64, 70, 64)) < 0.2
    options = {"axes": "ZYX", "chunks": 16, "shards": shards}

    def stop(stage, done, total):
        if stage == "shrink" and done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segment_chunked(image, 0.5, out=tmp_path / "a.zarr", **options, progress=stop)
    begun = tmp_path / ".a.zarr.unfinished" / "labels"
    assert (begun / "1" / "c" / "0" / "0" / "0").exists()
    told = Mock()
    segment_chunked(image, 0.5, out=tmp_path / "a.zarr", **options, resume=True, progress=told)
    done = [now.args[1] for now in told.call_args_list if now.args[::2] == ("shrink", 12)]
    assert min(done) >= 5
    segment_chunked(image, 0.5, out=tmp_path / "b.zarr", **options)
    labels = segment(image.astype(np.uint8), 0.5).labels
    for level in find_image(tmp_path / "a.zarr").levels:
        np.testing.assert_array_equal(zarr.open_array(level.path)[...], labels)
        labels = labels[::2, ::2, ::2]
    for one, other in zip(
        sorted((tmp_path / "a.zarr").rglob("*")),
        sorted((tmp_path / "b.zarr").rglob("*")),
        strict=True,
    ):
        if one.is_file() and one.parent != tmp_path / "a.zarr":
            assert one.read_bytes() == other.read_bytes()
