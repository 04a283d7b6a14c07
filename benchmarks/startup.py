"""Time the way to the first label: importing, compiling, loading what was compiled.

Every figure comes from a fresh process, the best of a few. The cold one has an empty cache of
numba's. Run as ``python benchmarks/startup.py``; results go to ``benchmarks/results/startup.json``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from harness import store

IMPORT = "import time; t = time.perf_counter(); import equilabel; print(time.perf_counter() - t)"
FIRST = """
import time, numpy as np, equilabel
image = np.random.default_rng(0).random((512, 512)) > 0.5
t = time.perf_counter()
equilabel.label(image)
print(time.perf_counter() - t)
"""
COMMAND = "import subprocess, sys, time; t = time.perf_counter(); \
subprocess.run([sys.executable, '-m', 'equilabel', '--help'], capture_output=True, check=True); \
print(time.perf_counter() - t)"


def seconds(code: str, cache: str, repeats: int) -> float:
    """Run code in fresh processes with a folder for numba's cache, and return the best time."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    times = []
    for _ in range(repeats):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        times.append(float(done.stdout))
    return min(times)


def main() -> None:
    """Measure, print and store."""
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds(FIRST, cache, 1)
        rows = [
            {"what": "import equilabel", "seconds": seconds(IMPORT, cache, 5)},
            {"what": "first label, cold cache", "seconds": cold},
            {"what": "first label, warm cache", "seconds": seconds(FIRST, cache, 5)},
            {"what": "equilabel --help", "seconds": seconds(COMMAND, cache, 3)},
        ]
    for row in rows:
        print(f"{row['what']:<26}{row['seconds']:6.2f} s")
    print(store("startup", rows))


if __name__ == "__main__":
    main()
