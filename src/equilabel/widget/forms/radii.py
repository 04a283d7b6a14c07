"""The lengths and sizes of the form that segments an image."""

from __future__ import annotations

from magicgui.widgets import ComboBox

from .lengths import LengthField

DEPTH = 0.8  # pixels, as `equilabel.split_touching` takes it by default


BACKGROUNDS = [("Box (top-hat)", "top_hat"), ("Rolling ball", "rolling_ball")]


def make_background_method() -> ComboBox:
    """Make the field that says what is wider than the background."""
    return ComboBox(
        name="background_method",
        label="Found with",
        choices=BACKGROUNDS,
        value="top_hat",
        tooltip="A box: the background is all that is wider. A rolling ball: the background is "
        "what a ball of this radius reaches from below, as in ImageJ; it takes longer the larger "
        "it is.",
    )


def make_lengths() -> tuple[LengthField, ...]:
    """Make fields for smoothing, neck depth, minimum size, background, closing and opening."""
    return (
        LengthField(
            "radius",
            "sigma",
            "Smoothing",
            "Standard deviation of a Gaussian that smooths the image before the threshold. "
            "Intensities are measured in the original image.",
        ),
        LengthField(
            "depth",
            "depth",
            "Neck depth",
            "Objects are parted where the radius of the smaller one exceeds that of the neck by "
            "more. Lower it to part more objects.",
            value=DEPTH,
            least=0.1,
            step=0.1,
        ),
        LengthField(
            "size",
            "min_size",
            "Minimum size",
            "Smaller objects are dropped.",
            step=10.0,
            decimals=0,
        ),
        LengthField(
            "radius",
            "background",
            "Background",
            "Subtract an uneven background first: all that is wider than a box that reaches this "
            "far to either side, or what a ball of this radius reaches. Choose it larger than the "
            "radius of the largest object.",
            step=10.0,
            decimals=0,
        ),
        LengthField(
            "radius",
            "closing",
            "Closing",
            "Fill gaps, cracks and bays into which no ball of this radius fits.",
        ),
        LengthField(
            "radius",
            "opening",
            "Opening",
            "Remove specks, spurs and bridges into which no ball of this radius fits.",
        ),
    )
