"""Objects linked from frame to frame, compared with a reference that looks at every object."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel import label, label_tracks, link_frames, segment, track_overlaps
from equilabel.samples import movie


def slow_tracks(labels, min_overlap=0.0):
    """Follow objects one by one, as the documentation says it."""
    objects = [(t, int(v)) for t, image in enumerate(labels) for v in np.unique(image[image > 0])]

    def shared(one, other):
        both = int(np.sum((labels[one[0]] == one[1]) & (labels[other[0]] == other[1])))
        smaller = min(np.sum(labels[t] == v) for t, v in (one, other))
        return both if both and both / smaller >= min_overlap else 0

    def best(one, others):
        ranked = sorted((-shared(one, other), other[1]) for other in others)
        return ranked[0][1] if ranked and ranked[0][0] else None

    mother, heir = {}, {}
    for t, v in objects:
        mother[t, v] = best((t, v), [each for each in objects if each[0] == t - 1])
        heir[t, v] = best((t, v), [each for each in objects if each[0] == t + 1])
    rows, tracks, parents = [], {}, {}
    for t, v in objects:
        came = mother[t, v]
        alike = [each for each in objects if each[0] == t and mother[each] == came]
        if came is not None and len(alike) == 1:
            tracks[t, v] = tracks[t - 1, came]
        else:
            tracks[t, v] = max(tracks.values(), default=0) + 1
            parents[tracks[t, v]] = 0 if came is None else tracks[t - 1, came]
        daughters = [each for each in objects if each[0] == t + 1 and mother[each] == v]
        origins = [each for each in objects if each[0] == t - 1 and heir[each] == v]
        event = ["split"] * (len(daughters) > 1) + ["merge"] * (len(origins) > 1)
        event = " ".join(sorted(event))
        rows.append((t, v, tracks[t, v], parents[tracks[t, v]], event))
    return pd.DataFrame(rows, columns=["frame", "label", "track", "parent", "event"])


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_tracks_are_those_of_a_search_object_by_object(seed, min_overlap, wide):
    random = np.random.default_rng(seed)
    shape = (random.integers(1, 6), random.integers(1, 7), random.integers(1, 9))
    labels = random.integers(0, random.integers(1, 7), shape)
    if wide:
        labels = labels.astype(np.int64) << 40  # pairs of which no 64 bits hold
    found = track_overlaps(labels, min_overlap=min_overlap)
    pd.testing.assert_frame_equal(
        found, slow_tracks(labels, min_overlap), check_dtype=bool(len(found))
    )


def test_pairs_are_counted():
    labels = np.random.default_rng(0).integers(0, 4, (3, 5, 6, 7)).astype(np.uint8)
    for row in link_frames(labels).itertuples():
        both = (labels[row.frame] == row.label) & (labels[row.frame + 1] == row.next_label)
        assert row.pixels == both.sum() > 0
    assert len(link_frames(labels)) == 2 * 3 * 3


def test_the_smaller_label_is_taken_of_two_that_share_as_much():
    labels = np.array([[[0, 2, 1, 0]], [[0, 7, 7, 0]]])
    found = track_overlaps(labels).set_index(["frame", "label"])
    assert found.loc[(1, 7), "track"] == found.loc[(0, 1), "track"] == 1
    assert found.loc[(1, 7), "event"] == "merge"


def test_an_object_that_was_missing_begins_a_new_track():
    labels = np.array([[[1]], [[0]], [[1]]])
    assert track_overlaps(labels)["track"].tolist() == [1, 2]


def test_a_movie_without_objects_has_no_tracks():
    for shape in ((3, 4, 4), (0, 4, 4), (3, 0, 4)):
        table = track_overlaps(np.zeros(shape, np.int32))
        assert table.empty
        assert list(table) == ["frame", "label", "track", "parent", "event"]
        assert link_frames(np.zeros(shape, np.int32)).empty


@pytest.mark.parametrize(
    ("labels", "options", "error"),
    [
        (np.zeros((2, 3)), {}, TypeError),
        (np.zeros(3, int), {}, ValueError),
        (-np.ones((2, 3), int), {}, ValueError),
        (np.zeros((2, 3), int), {"min_overlap": 1.5}, ValueError),
    ],
)
def test_what_cannot_be_tracked_is_refused(labels, options, error):
    with pytest.raises(error, match=r"must .*; got "):
        track_overlaps(labels, **options)


@pytest.mark.gpu
def test_labels_of_a_gpu_have_the_tracks_of_the_host():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    labels = label(movie() > 60, stacked=True)
    pd.testing.assert_frame_equal(track_overlaps(cupy.asarray(labels)), track_overlaps(labels))
    pd.testing.assert_frame_equal(link_frames(cupy.asarray(labels)), link_frames(labels))


def test_gaps_of_a_few_frames_are_closed():
    moving = np.zeros((7, 1, 12), int)
    for frame in (0, 1, 4, 5, 6):
        moving[frame, 0, frame : frame + 4] = frame + 1
    assert track_overlaps(moving).track.tolist() == [1, 1, 2, 2, 2]
    assert track_overlaps(moving, gap=1).track.tolist() == [1, 1, 2, 2, 2]
    found = track_overlaps(moving, gap=2)
    assert found.track.tolist() == [1] * 5
    assert found.parent.tolist() == [0] * 5
    assert track_overlaps(moving, gap=2**64).track.tolist() == [1] * 5  # as long as the movie
    assert track_overlaps(moving * 0, gap=9).empty
    assert track_overlaps(moving, gap=2, min_overlap=0.5).track.max() == 2  # 1 of 4 pixels
    colored = label_tracks(moving, found)
    np.testing.assert_array_equal(colored, moving > 0)


def test_of_several_objects_those_that_overlap_most_are_joined_across_a_gap():
    labels = np.zeros((3, 2, 10), int)
    labels[0, 0, :6], labels[0, 1, 8:] = 1, 2
    labels[2, 0, 4:], labels[2, 0, :3], labels[2, 1, 9] = 5, 6, 7
    found = track_overlaps(labels, gap=1).set_index(["frame", "label"]).track
    assert found[2, 6] == found[0, 1]  # 3 pixels in common, 5 has 2
    assert found[2, 7] == found[0, 2]
    assert found[2, 5] not in found[0].tolist()


def test_links_of_successive_frames_stay_as_they_are():
    random = np.random.default_rng(1)
    for _ in range(60):
        labels = random.integers(0, 4, (6, 1, 7)) * (random.random((6, 1, 7)) < 0.4)
        plain, joined = track_overlaps(labels), track_overlaps(labels, gap=2)
        before = plain.track.to_numpy()
        for _, rows in joined.groupby("track"):
            steps = np.diff(rows.frame)
            assert ((steps > 0) & (steps <= 3)).all()
            for k in np.flatnonzero(steps == 1):
                assert before[rows.index[k]] == before[rows.index[k + 1]]


def test_tracks_as_labels():
    found = segment(movie((5, 96, 96)), sigma=1, stacked=True, track=True, min_size=20)
    colored = label_tracks(found.labels, found.table)
    assert colored.dtype == np.int64
    for row in found.table.itertuples():
        assert (colored[row.frame][found.labels[row.frame] == row.label] == row.track).all()
    assert not colored[found.labels == 0].any()
    with pytest.raises(ValueError, match="tracks must have a row for each label"):
        label_tracks(found.labels, found.table[1:])
    with pytest.raises(ValueError, match="tracks must have a column 'track'"):
        label_tracks(found.labels, found.table[["frame", "label"]])
    with pytest.raises(ValueError, match="gap must be"):
        track_overlaps(found.labels, gap=-1)


@pytest.mark.gpu
def test_a_gpu_closes_the_gaps_of_the_host():
    import cupy

    random = np.random.default_rng(1)
    labels = random.integers(0, 9, (6, 20, 30)) * (random.random((6, 20, 30)) < 0.4)
    here = track_overlaps(labels, gap=2)
    there = track_overlaps(cupy.asarray(labels), gap=2)
    pd.testing.assert_frame_equal(here, there)
    colored = label_tracks(cupy.asarray(labels), here)
    np.testing.assert_array_equal(colored.get(), label_tracks(labels, here))


class Lazy:
    """Labels of a movie that are read when they are indexed, as those of Zarr and Dask."""

    chunks = (1, 48, 48)

    def __init__(self, labels):
        self.labels, self.shape, self.ndim, self.dtype = labels, labels.shape, 3, labels.dtype

    def __getitem__(self, key):
        assert isinstance(key, int)  # one frame
        return self.labels[key]


def test_labels_in_chunks_are_read_frame_by_frame():
    labels = label(movie((6, 48, 48)) > 150, stacked=True)
    tracks = track_overlaps(labels, gap=1)
    assert len(tracks) > 100
    pd.testing.assert_frame_equal(track_overlaps(Lazy(labels), gap=1), tracks)
    np.testing.assert_array_equal(label_tracks(Lazy(labels), tracks), label_tracks(labels, tracks))


def test_labels_in_chunks_of_zarr_and_dask_are_tracked(tmp_path):
    zarr, da = pytest.importorskip("zarr"), pytest.importorskip("dask.array")
    labels = label(movie((4, 48, 48)) > 150, stacked=True)
    stored = zarr.create_array(tmp_path / "labels.zarr", data=labels, chunks=(1, 16, 16))
    for each in (stored, da.from_array(labels, chunks=(2, 16, 48))):
        pd.testing.assert_frame_equal(track_overlaps(each), track_overlaps(labels))


@pytest.mark.parametrize("largest", [9, 2**40])  # a table of all labels, or a search among them
def test_labels_of_any_size_are_numbered_by_track(largest):
    labels = np.array([[[4, 0, largest, 2]], [[largest, 0, 7, 2]]])
    tracks = pd.DataFrame({"frame": [0, 0, 0, 1, 1, 1], "label": [2, 4, largest, 2, 7, largest]})
    tracks["track"] = [5, 6, 1, 5, 3, 8]
    assert label_tracks(labels, tracks).tolist() == [[[6, 0, 1, 5]], [[8, 0, 3, 5]]]


def test_an_overlap_that_equals_the_smallest_one_is_a_link():
    labels = np.zeros((2, 1, 40), int)
    labels[0, 0, :25] = labels[1, 0, 11:36] = 1  # they share 14 of 25 pixels: 25 * 0.56 > 14
    assert track_overlaps(labels, min_overlap=0.56).track.tolist() == [1, 1]
