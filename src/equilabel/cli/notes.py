"""What a person should know of an image to trust its results: sentences for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equilabel.storage.tiff import TiffImage

    from .options import Options


def notes_of_file(image: TiffImage, options: Options) -> tuple[str, ...]:
    """Return the notes on a file; not the question whether planes are times if it is answered."""
    if options.stacked is None:
        return image.notes
    return tuple(note for note in image.notes if "-stacked" not in note)


def notes_on_spacing(
    measured: dict[str, float], spacing: dict[str, float], unit: str, options: Options
) -> tuple[str, ...]:
    """Return notes on a pixel size that is not used, or whose unit nobody named.

    Parameters
    ----------
    measured, spacing : dict
        Pixel size by axis: that of the table, and that of the file or the options.
    unit : str
        Of the pixel size.
    options : Options
        Of the run.
    """
    if not measured and spacing:
        axes = "".join(spacing)
        return (f"The pixel size is known along {axes} only: lengths are in pixels.",)
    if options.spacing and not options.unit and unit:
        return (f"--spacing was taken to be in {unit}, the unit of the file (see --unit).",)
    if not spacing and options.unit is not None:
        return ("The pixel size is not known: --unit was not used.",)
    return ()
