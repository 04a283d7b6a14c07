"""Detect and report that `imagecodecs` is not installed."""

from __future__ import annotations

from typing import NoReturn


def are_missing() -> bool:
    """Return whether imagecodecs is missing; tifffile then decodes deflate and a few others."""
    try:
        import imagecodecs  # noqa: F401 - only tried
    except ImportError:
        return True
    return False


def refuse_missing(cause: Exception | None = None) -> NoReturn:
    """Raise ImportError that tells what to install, or how to export the image."""
    message = (
        "this compression needs imagecodecs; got none installed. Install it with "
        "`pip install imagecodecs`, or export the image as a TIFF, uncompressed or with deflate."
    )
    raise ImportError(message) from cause
