"""Real microscopy, where it lies beside the repository; elsewhere the sample images stand in."""

from pathlib import Path

import tifffile

READS_FAX = 3 in tifffile.TIFF.DECOMPRESSORS  # from 2026.3 on, with imagecodecs

SAMPLES = Path(__file__).parents[1] / "sample_data"
DATA = Path(__file__).parents[2] / "shared" / "data"


def pictures(real, samples):
    """List the paths of real images; those of samples where any of them is missing."""
    found = [DATA / name for name in real]
    return found if all(map(Path.exists, found)) else [SAMPLES / name for name in samples]
