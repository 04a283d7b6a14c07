"""Hypothesis strategies: images of every shape, type and layout, and questions about them."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
DTYPES = ("?", *INTEGERS)
WORDS = (62, 63, 64, 65, 66, 127, 128, 129)  # columns around the ends of words of 64 bits


def _every_other(image):
    larger = np.full([2 * side + 1 for side in image.shape], 1, image.dtype)
    part = larger[tuple(slice(1, None, 2) for _ in image.shape)]
    part[...] = image
    return part


def _inner(image):
    larger = np.full([side + 2 for side in image.shape], 1, image.dtype)
    part = larger[tuple(slice(1, -1) for _ in image.shape)]
    part[...] = image
    return part


def _read_only(image):
    image = image.copy()
    image.flags.writeable = False
    return image


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "reversed": lambda image: np.flip(np.flip(image).copy()),
    "one axis reversed": lambda image: np.flip(np.flip(image, -1).copy(), -1),
    "axes rolled": lambda image: np.moveaxis(np.moveaxis(image, 0, -1).copy(), -1, 0),
    "every other": _every_other,
    "inner": _inner,
    "read-only": _read_only,
    "byte-swapped": lambda image: image.astype(image.dtype.newbyteorder()),
    "broadcast": lambda image: np.broadcast_to(image[:1], image.shape),  # other values, on purpose
}


class Question(NamedTuple):
    """What to ask of `label`."""

    image: Any
    background: int | None
    connectivity: int


def noise(shape, dtype="u1", values=2, seed=0):
    """Make an image of independent pixels."""
    return np.random.default_rng(seed).integers(0, values, shape).astype(dtype)


def blobs(shape, dtype="u1", values=2, seed=0, sides=2):
    """Make an image of blocks, some of which touch."""
    coarse = noise([-(-side // sides) for side in shape], dtype, values, seed)
    for axis in range(len(shape)):
        coarse = coarse.repeat(sides, axis)
    return coarse[tuple(slice(side) for side in shape)]


@st.composite
def shapes(draw, min_axes=1, max_axes=5, *, empty=False, wide=True):
    """Draw shapes of a few hundred pixels, some with axes of length 1 or, if `empty`, 0."""
    axes = draw(st.integers(min_axes, max_axes))
    most = {1: 150, 2: 14, 3: 7, 4: 4, 5: 3, 6: 3}[axes]
    shape = [draw(st.integers(1 - empty, most)) for _ in range(axes)]
    if wide and draw(st.integers(0, 3)) == 0:
        shape[-1] = draw(st.sampled_from(WORDS))
        if axes > 3:
            shape[:-3] = [min(side, 2) for side in shape[:-3]]
    return tuple(shape)


@st.composite
def pixels(draw, shape, dtype, most=4):
    """Draw blobs of up to `most` values, such as the lowest and highest of a type."""
    values = [0, 1]
    if dtype != "?":
        limits = np.iinfo(dtype)
        values = [0, 1, 2, int(limits.max), int(limits.min)]
        values = draw(st.permutations(values))[: draw(st.integers(1, most))]
    seed = draw(st.integers(0, 2**16))
    sides = draw(st.integers(1, 3))
    filled = draw(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.95]))
    choice = blobs(shape, "i8", 1000, seed, sides)
    table = np.array(values, dtype)
    return np.where(choice < 1000 * filled, table[choice % len(values)], table[-1])


@st.composite
def images(draw, dtypes=DTYPES, min_axes=1, max_axes=5, *, empty=False, layouts=tuple(LAYOUTS)):
    """Draw images of any type and layout."""
    shape = draw(shapes(min_axes, max_axes, empty=empty))
    image = draw(pixels(shape, draw(st.sampled_from(dtypes))))
    return LAYOUTS[draw(st.sampled_from(layouts))](image)


@st.composite
def backgrounds(draw, image):
    """Draw a value of an image, one that it does not hold, or one that its type cannot hold."""
    return draw(
        st.sampled_from([None, 0, 1, -1, 7, 300, -(2**40), 2**40])
        | st.sampled_from(np.unique(image).tolist() or [0])
    )


@st.composite
def questions(draw, dtypes=DTYPES, min_axes=1, max_axes=5):
    """Draw an image, a background and a connectivity."""
    image = draw(images(dtypes, min_axes, max_axes))
    return Question(image, draw(backgrounds(image)), draw(st.integers(1, image.ndim)))


@st.composite
def label_images(draw, min_axes=2, max_axes=3, dtypes=("u1", "i2", "i4", "u8")):
    """Draw images of labels that need be neither connected nor consecutive."""
    shape = draw(shapes(min_axes, max_axes))
    seed = draw(st.integers(0, 2**16))
    labels = draw(st.lists(st.integers(1, 120), min_size=1, max_size=8, unique=True))
    chosen = blobs(shape, "i8", len(labels) + 1, seed, draw(st.integers(1, 4)))
    return np.array([0, *labels], draw(st.sampled_from(dtypes)))[chosen]
