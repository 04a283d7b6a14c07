"""Errors of a run as a message with a remedy."""

from equilabel import DeviceUnavailableError


class CancelledError(Exception):
    """A run was cancelled."""


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy."""
    text = " ".join(str(error).split())
    if _of_gpu(error):
        return (
            f"device 'cuda' must stay available; got {text or type(error).__name__}. "
            "Choose the device 'cpu' and run again."
        )
    if isinstance(error, MemoryError) and " must " not in text:
        return (
            f"image and labels must fit into memory; got {text or 'too little of it'}. "
            "Crop the image, or close other layers."
        )
    expected = (ValueError, TypeError, DeviceUnavailableError, ImportError, OSError, MemoryError)
    if isinstance(error, expected) and text:
        return text
    return (
        f"a run must not fail like this; got {type(error).__name__}: {text}. "
        "Please report it, with the image if you can."
    )


def _of_gpu(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, comes from CuPy."""
    if error is None:
        return False
    rooms = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    return bool(rooms & {"cupy", "cupy_backends"}) or _of_gpu(error.__cause__)
