"""The option --split, whose value is optional."""

import re
from collections.abc import Sequence
from typing import Annotated

from equilabel.descriptions import DESCRIPTIONS

from .parameters import OBJECTS, option

DEFAULT = "default"  # replaces a value that was left out
LENGTH = re.compile(r"[-+]?[.,]?\d[\d.,]*(e[-+]?\d+)?\s*[^\W\d_]{0,12}[\d²³]?$")  # of --split

Split = Annotated[
    str | None,
    option(
        OBJECTS,
        "[LENGTH]",
        f"{DESCRIPTIONS['split']} {DESCRIPTIONS['depth']} A length in pixels (1.5) or with a unit "
        "(0.4um); if left out, 0.8 pixels.",
    ),
]


def complete(words: Sequence[str]) -> list[str]:
    """Add the default to each --split without a value.

    >>> complete(["batch", "--split", "images"]), complete(["batch", "--split", "1.5px", "images"])
    (['batch', '--split=default', 'images'], ['batch', '--split', '1.5px', 'images'])
    """
    following = [*words, ""][1:]
    return [
        f"{word}={DEFAULT}" if word == "--split" and not LENGTH.match(after) else word
        for word, after in zip(words, following, strict=True)
    ]
