"""Write the sample images of `equilabel.samples` beside this file, as OME-TIFF.

Run ``python sample_data/make.py`` after a change to the makers; the same makers write the same
pixels, so that version control shows what changed.
"""

from __future__ import annotations

from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from tifffile import imwrite

from equilabel.samples import SAMPLES, Sample

FOLDER = Path(__file__).parent
LEFT_OUT = {"voronoi"}  # its pixels are numbers of cells: nothing to binarize


def write(path: Path, sample: Sample) -> None:
    """Write one sample with its axes, pixel size and interval; masks become 0 and 255."""
    image = sample.make()
    if image.dtype == np.bool_:
        image = image.astype(np.uint8) * np.uint8(255)
    metadata: dict[str, object] = {
        "axes": sample.axes,
        "Name": path.stem,
        "Description": sample.description,
        "UUID": str(uuid5(NAMESPACE_URL, path.name)),  # else it would differ from run to run
    }
    for axis, size in sample.spacing.items():
        metadata[f"PhysicalSize{axis}"] = size
        metadata[f"PhysicalSize{axis}Unit"] = sample.unit
    if sample.interval is not None:
        metadata["TimeIncrement"] = sample.interval
        metadata["TimeIncrementUnit"] = "s"
    imwrite(path, image, ome=True, metadata=metadata, compression="zlib")


def main() -> None:
    """Write every sample but those left out."""
    for name, sample in SAMPLES.items():
        if name not in LEFT_OUT:
            write(FOLDER / f"{name}.tif", sample)


if __name__ == "__main__":
    main()
