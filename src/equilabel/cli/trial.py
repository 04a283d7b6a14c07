"""The trial of options: what no image can satisfy is told before work begins."""

from __future__ import annotations

import errno
import warnings
from typing import TYPE_CHECKING

from .errors import explain, is_memory

if TYPE_CHECKING:
    from .options import Options

# Images of the axes YX, ZYX, TYX, TZYX (a stack or not), each with whether it is a stack.
IMAGES = (
    ((32, 32), False),
    ((8, 16, 16), False),
    ((3, 16, 16), True),
    ((3, 8, 16, 16), True),
    ((4, 4, 16, 16), False),
)
PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EAGAIN, errno.EIO)


def check(options: Options) -> str:
    """Try the options on small images; return the complaint, empty where there is none.

    Options that suit one kind of image are let through: how many axes a file has, and whether it
    is a stack, is known when it is opened.
    """
    import numpy as np

    from equilabel import segment

    complaint = ""
    for shape, stacked in IMAGES:
        if options.stacked is not None and stacked != (options.stacked and len(shape) > 2):
            continue
        rank = len(shape) - stacked
        steps = options.spacing or (1.0,)
        if len(steps) not in (1, rank):
            continue
        noise = np.random.default_rng(0).normal(50, 8, shape)
        noise[..., 4:12, 4:12] += 120  # two classes: every method finds a threshold
        spacing = steps * rank if len(steps) == 1 else steps
        try:
            with warnings.catch_warnings(action="ignore"):
                segment(noise, **options.segment, stacked=stacked, spacing=spacing)
        except Exception as error:
            if is_memory(error) or (isinstance(error, OSError) and error.errno in PASSING):
                return ""  # no fault of the options: images will say so if it lasts
            complaint = complaint or explain(error)
        else:
            return ""
    return complaint
