"""Errors of a run as a message with a remedy."""

from __future__ import annotations

from equilabel import DeviceUnavailableError


class CancelledError(Exception):
    """A run was cancelled."""


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    str
        On one line.

    Examples
    --------
    >>> explain(ValueError("sigma must be 0 or more; got -1."))
    'sigma must be 0 or more; got -1.'
    >>> explain(KeyError("a"))
    "a run must not fail like this; got KeyError: 'a'. Please report it, with the image if you can."
    """
    text = " ".join(str(error).split())
    if _of_gpu(error):
        return (
            f"device 'cuda' must stay available; got {text or type(error).__name__}. "
            "Choose the device 'cpu' and run again."
        )
    if isinstance(error, MemoryError):
        if " must " in text:
            return text
        return (
            f"image and labels must fit into memory; got {text or 'too little of it'}. "
            "Crop the image, or close other layers."
        )
    expected = (ValueError, TypeError, DeviceUnavailableError, ImportError, OSError)
    if isinstance(error, expected) and text:
        return text
    return (
        f"a run must not fail like this; got {type(error).__name__}: {text}. "
        "Please report it, with the image if you can."
    )


def _of_gpu(error: BaseException) -> bool:
    """Return whether an error, or its cause, comes from CuPy."""
    seen: BaseException | None = error
    while seen is not None:
        modules = [kind.__module__ for kind in type(seen).__mro__]
        if any(name.split(".")[0] in ("cupy", "cupy_backends") for name in modules):
            return True
        seen = seen.__cause__
    return False
