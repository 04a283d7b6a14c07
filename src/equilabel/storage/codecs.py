"""What is said where a file needs decoders of `imagecodecs`, and it is not installed."""

from __future__ import annotations

from typing import NoReturn


def are_missing() -> bool:
    """Return whether imagecodecs cannot be used; tifffile then decodes deflate and few others."""
    try:
        import imagecodecs  # noqa: F401 - whether it can be
    except ImportError:
        return True
    return False


def refuse_missing(cause: Exception | None = None) -> NoReturn:
    """Raise ImportError that says what to install, or how to do without."""
    message = (
        "this compression needs imagecodecs; got none installed. Install it with "
        "`pip install imagecodecs`, or export the image as a TIFF, uncompressed or with deflate."
    )
    raise ImportError(message) from cause
