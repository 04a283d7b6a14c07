"""Notes that a user needs to trust the results of an image, as sentences for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.storage.units import doubt

if TYPE_CHECKING:
    from equilabel.storage.axes import TiffImage

    from .options import Options


def notes_of_file(image: TiffImage, options: Options) -> tuple[str, ...]:
    """Return the notes about a file; without the question about planes or times if answered."""
    if options.stacked is None:
        return image.notes
    return tuple(note for note in image.notes if "-stacked" not in note)


def notes_on_spacing(
    measured: dict[str, float], spacing: dict[str, float], unit: str, options: Options
) -> tuple[str, ...]:
    """Return notes about a pixel size that is doubtful, is not used, or has a guessed unit.

    `measured` and `spacing` are pixel sizes by axis: that of the table, and that of the file or the
    options. `unit` is the unit of `spacing`.
    """
    notes: list[str] = []
    given = options.spacing and options.unit
    if not given and (doubtful := doubt(spacing, unit)):
        notes.append(f"{doubtful}: pass --spacing and --unit if that is wrong.")
    if not measured and spacing:
        axes = "".join(spacing)
        notes.append(f"The pixel size is known along {axes} only: lengths are in pixels.")
    elif options.spacing and not options.unit and unit:
        notes.append(f"--spacing was taken to be in {unit}, the unit of the file (see --unit).")
    elif not spacing and options.unit is not None:
        notes.append("The pixel size is not known: --unit was not used.")
    return tuple(notes)
