"""Time the way to the first label: importing, compiling, loading what was compiled.

Every figure comes from a fresh process, the best of a few. The cold ones have an empty cache of
numba's. The time of the processor is counted: others may share the machine. Run as ``python
benchmarks/startup.py``; results go to ``benchmarks/results/startup.json``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from harness import store

IMPORT = "import time; t = time.process_time(); import equilabel; print(time.process_time() - t)"
FIRST = """
import time, numpy as np, equilabel
image = {image}
t = time.process_time()
equilabel.{call}
print(time.process_time() - t)
"""
NOISE = "np.random.default_rng(0).random((512, 512))"
LABEL = FIRST.format(image=f"{NOISE} > 0.5", call="label(image)")
SEGMENT = FIRST.format(image=f"({NOISE} * 4000).astype(np.uint16)", call="segment(image, sigma=2)")
COMMAND = "import subprocess, sys, os; \
subprocess.run([sys.executable, '-m', 'equilabel', '--help'], capture_output=True, check=True); \
used = os.times(); print(used.children_user + used.children_system)"


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
    rows = [{"what": "import equilabel", "seconds": seconds(IMPORT, "", 5)}]
    for what, code in {"label": LABEL, "segment": SEGMENT}.items():
        with tempfile.TemporaryDirectory() as cache:
            for state, repeats in {"cold": 1, "warm": 5}.items():
                found = seconds(code, cache, repeats)
                rows.append({"what": f"first {what}, {state} cache", "seconds": found})
    rows.append({"what": "equilabel --help", "seconds": seconds(COMMAND, "", 3)})
    for row in rows:
        print(f"{row['what']:<26}{row['seconds']:6.2f} s")
    print(store("startup", rows))


if __name__ == "__main__":
    main()
