"""What becomes of arrays of a device that was reset; each test asks in a process of its own."""

import subprocess
import sys

RESET = """
import ctypes, os, cupy
from equilabel import DeviceUnavailableError, label, regionprops_table
from equilabel.samples import percolation
image = percolation((50, 60), 0.5)
labels = label(image)
run, expected, moved = {run}
for _ in range(2):
    assert (run(moved).get() == expected).all()
assert ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset_v2(0) == 0
try:
    print("found", (run(moved).get() == expected).all(), flush=True)
except DeviceUnavailableError as error:
    print("refused:", error, flush=True)
os._exit(0)  # nothing can be tidied up on a device that was reset
"""


def check_reset(run):
    """Check that a call with an array of a device that was reset is refused in words, or works.

    Parameters
    ----------
    run : str
        Python for a function, what it gives on the host, and its argument on the device; `image`
        and its `labels` are there.
    """
    command = [sys.executable, "-c", RESET.format(run=run)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    refused = "refused: device 'cuda' must run what it is given; got "
    assert result.stdout.startswith((refused, "found True")), result.stdout + result.stderr
