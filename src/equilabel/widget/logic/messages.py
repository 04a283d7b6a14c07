"""Messages with a remedy for the errors of a run."""

from equilabel import DeviceUnavailableError
from equilabel.storage.errors import causes, is_shortage


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy."""
    text = " ".join(str(error).split())
    kinds = (kind for cause in causes(error) for kind in type(cause).__mro__)
    if any(kind.__module__.split(".")[0] in ("cupy", "cupy_backends") for kind in kinds):
        return (
            f"device 'cuda' must stay available; got {text or type(error).__name__}. "
            "Choose the device 'cpu' and run again."
        )
    if is_shortage(error) and " must " not in text:
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
