"""Bools whose bytes are neither 0 nor 1 are what NumPy takes them for, in every public function."""

import warnings

import numpy as np
import pytest
from PIL import Image

import equilabel
from equilabel import METHODS, PROPERTIES, Graph, binarize, label, label_chunked, label_graph
from equilabel.devices import fetch
from equilabel.storage.pictures import read_picture
from references import GRID_METHODS

RNG = np.random.default_rng(28)
SHAPE = 13, 70
LABELS = label(RNG.random(SHAPE) < 0.4)


def two(shape=SHAPE):
    """Return a mask, and the same with other bytes for True."""
    mask = RNG.random(shape) < 0.5
    return mask, (mask * RNG.choice(np.array([1, 2, 128, 255], np.uint8), shape)).view(bool)


def same(one, other):
    """Compare results; those of bool have to be of bytes of 0 and 1."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "table"):
        return same(one.labels, other.labels) and one.table.equals(other.table)
    one, other = np.asarray(fetch(one)), np.asarray(fetch(other))
    if one.dtype == bool:
        return one.tobytes() == other.tobytes()
    if one.dtype.kind in "OU":
        return repr(one.tolist()) == repr(other.tolist())
    return one.dtype == other.dtype and np.allclose(one, other, 1e-9, 1e-9, equal_nan=True)


def calls(labels):
    """Yield names of calls, and what they return for a mask and an image of bool."""
    for method in GRID_METHODS:
        if 2 in METHODS[method].ranks:
            for more in ({}, {"background": 1}, {"periodic": True}):
                yield (
                    f"label, {method}, {more}",
                    lambda mask, _, more=more, method=method: label(mask, method=method, **more),
                )
    for background in (None, 0, 1):
        yield (
            f"label, {background}",
            lambda mask, _, background=background: (
                label(mask, background),
                label(mask, background, stacked=True),
                label(mask[:, ::2], background),
                label(mask.T, background, 1),
                equilabel.measure_components(mask, background=background),
            ),
        )
    names = [name for name, row in PROPERTIES.items() if 2 in (row.ranks or (2,))]
    for name in names:
        if name != "frame":
            yield (
                name,
                lambda mask, values, name=name: (
                    equilabel.measure_components(mask, ["label", name], intensity_image=values),
                    equilabel.regionprops_table(labels, values, ["label", name]),
                ),
            )
    yield (
        "label with columns",
        lambda mask, values: label(
            mask, properties=["intensity_mean", "intensity_median"], intensity_image=values
        ),
    )
    for threshold in ("otsu", "mean", 0, 0.5, 1, (0, 0.5), (0.5, 1), "local"):
        for dark in (False, True):
            how = {"threshold": threshold, "dark": dark}
            how |= {"block_size": 5} if threshold == "local" else {}
            yield (
                f"binarize, {how}",
                lambda mask, _, how=how: (binarize(mask, **how), binarize(mask, sigma=1, **how)),
            )
            yield (
                f"segment, {how}",
                lambda mask, _, how=how: equilabel.segment(
                    mask, properties=["label", "intensity_mean"], **how
                ),
            )
    yield (
        "segment, and filter",
        lambda mask, _: equilabel.filter_objects(
            equilabel.segment(mask, split=True, fill_holes=True, min_size=3), {"area": (5, None)}
        ),
    )
    yield "smooth", lambda mask, _: equilabel.smooth(mask, 1)
    yield "subtract", lambda mask, _: equilabel.subtract_background(mask, 3)
    yield "split", lambda mask, _: equilabel.split_touching(mask)
    yield "track", lambda mask, _: equilabel.track_overlaps(mask).to_dict("list")
    yield "link", lambda mask, _: equilabel.link_frames(mask).to_dict("list")
    yield "graph", lambda mask, _: label_graph(Graph.from_image(mask, background=None))
    yield (
        "spins",
        lambda mask, _: equilabel.PottsSimulation(mask.shape, beta=0.3, start=mask).spins,
    )


def test_every_function_takes_any_byte_but_0_for_true(device):
    place = np.asarray
    if device == "cuda":
        import cupy

        place = cupy.asarray
    mask, values = ([place(one) for one in two()] for _ in range(2))
    differing = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-image, about hulls of flat objects
        for name, call in calls(place(LABELS)):
            clean, other = (call(*both) for both in zip(mask, values, strict=True))
            if not same(clean, other):
                differing.append(name)
    assert differing == []


@pytest.mark.parametrize("kind", ["numpy", "dask", "zarr"])
def test_chunks_take_any_byte_but_0_for_true(kind, tmp_path):
    import dask.array
    import zarr

    found = []
    for number, image in enumerate(two()):
        out = tmp_path / f"labels{number}.zarr"
        source = image
        if kind == "dask":
            source = dask.array.from_array(image, (7, 32))
        elif kind == "zarr":  # stored as they are, in files
            source = tmp_path / f"{number}.zarr"
            zarr.create_array(
                source, shape=SHAPE, chunks=(7, 32), dtype="?", compressors=None, filters=None
            )[...] = image
        columns = ["label", "area", "intensity_mean"]
        segmented = equilabel.segment_chunked(
            source, threshold=0.5, properties=columns, chunks=(7, 32), out=out
        )
        found.append([segmented.table.to_numpy().tolist()])
        for more in ({}, {"background": 1}, {"method": "kalentev"}):
            labels = tmp_path / f"{number}{len(found[-1])}.zarr"
            label_chunked(source, chunks=(7, 32), out=labels, **more)
            found[-1].append(zarr.open_array(labels)[...].tolist())
    assert found[0] == found[1]


def test_a_picture_of_one_bit_is_read_in_bytes_of_0_and_1(tmp_path):
    mask, _ = two()
    Image.fromarray(mask).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png").pixels.tobytes() == mask.tobytes()
