"""What the axes of a layer mean, and how pixels get to `segment` and labels back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel.widget.logic.sources import ROLES, Source, check_roles, guess_roles

S, T, C = "space", "time", "channel"


@pytest.mark.parametrize(
    ("shape", "names", "roles"),
    [
        ((9,), (), (S,)),
        ((512, 512), ("-2", "-1"), (S, S)),
        ((30, 512, 512), ("-3", "-2", "-1"), (S, S, S)),
        ((30, 512, 512), ("t", "y", "x"), (T, S, S)),
        ((30, 512, 512), ("Time", "Y", "X"), (T, S, S)),
        ((4, 512, 512), (), (C, S, S)),
        ((4, 512, 512), ("z", "y", "x"), (S, S, S)),
        ((1, 512, 512), (), (S, S, S)),
        ((10, 30, 512, 512), (), (T, S, S, S)),
        ((10, 2, 512, 512), (), (S, C, S, S)),
        ((10, 2, 512, 512), ("t", "c", "y", "x"), (T, C, S, S)),
        ((512, 512, 3), ("y", "x", "c"), (S, S, C)),
        ((5, 10, 30, 512, 512), ("p", "t", "z", "y", "x"), (T, T, S, S, S)),
    ],
)
def test_axes_are_guessed_from_names_and_lengths(shape, names, roles):
    assert guess_roles(shape, names) == roles


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ((T, T), "at least one of space"),
        ((C, C, S), "got channel, channel, space"),
        ((S,), ""),
    ],
)
def test_roles_that_cannot_be_are_told(roles, words):
    assert words in check_roles(roles)
    assert bool(words) == bool(check_roles(roles))


@given(
    roles=st.lists(st.sampled_from(ROLES), min_size=1, max_size=5).filter(
        lambda roles: not check_roles(tuple(roles))
    ),
    data=st.data(),
)
def test_labels_come_back_in_the_order_of_the_layer(roles, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=len(roles), max_size=len(roles))))
    pixels = np.arange(np.prod(shape)).reshape(shape)
    source = Source("", pixels, False, {}, tuple(roles))
    image = source.arrange(pixels)
    assert image.ndim == bool(roles.count(T)) + roles.count(S) + roles.count(C)
    if source.channel is None:
        np.testing.assert_array_equal(source.restore(image), pixels)
        return
    first = source.restore(image[..., 0])
    expected = pixels.take(0, source.channel)
    if source.drops_channel:
        np.testing.assert_array_equal(first, expected)
    else:
        assert first.shape == shape
        for channel in range(shape[source.channel]):
            np.testing.assert_array_equal(first.take(channel, source.channel), expected)


def test_all_axes_of_time_become_one():
    pixels = np.arange(120).reshape(2, 5, 3, 4)
    image = Source("", pixels, False, {}, (T, S, T, S)).arrange(pixels)
    assert image.shape == (6, 5, 4)
    np.testing.assert_array_equal(image[4], pixels[1, :, 1, :])
