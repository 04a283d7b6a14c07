"""Objects linked from frame to frame, compared with a reference that looks at every object."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel import label, link_frames, track_overlaps
from equilabel.samples import movie


def slow_tracks(labels, min_overlap=0.0):
    """Follow objects one by one, as the documentation says it."""
    objects = [(t, int(v)) for t, image in enumerate(labels) for v in np.unique(image[image > 0])]

    def shared(one, other):
        both = int(np.sum((labels[one[0]] == one[1]) & (labels[other[0]] == other[1])))
        smaller = min(np.sum(labels[t] == v) for t, v in (one, other))
        return both if both and both >= min_overlap * smaller else 0

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
