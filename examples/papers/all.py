"""Run all experiments of this folder, one after the other, and store their results.

``python all.py --device cuda --out DIR`` takes less than six minutes; ``python draw.py DIR`` draws
what it stored, and ``python benchmarks/papers.py DIR`` writes it into the documentation. An
experiment that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SHARES = {  # of the time
    "kalentev": 0.06,
    "hawick_meshes": 0.15,
    "hawick_graphs": 0.26,
    "komura": 0.21,
    "weigel": 0.27,
    "apostolakis": 0.05,
}


def main() -> int:
    """Run them; return how many failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--out", type=Path, default=Path("papers-results"), help="folder")
    parser.add_argument("--seconds", type=float, default=300.0, help="for all of them together")
    parser.add_argument("--only", nargs="+", choices=list(SHARES), default=list(SHARES))
    chosen = parser.parse_args()
    failed = []
    for name in chosen.only:
        seconds = chosen.seconds * SHARES[name]
        command = [sys.executable, str(HERE / f"{name}.py"), "--device", chosen.device]
        command += ["--out", str(chosen.out), "--seconds", f"{seconds:.0f}"]
        command += ["--quick"] * chosen.quick
        began = time.perf_counter()
        print(f"== {name}, {seconds:.0f} s", flush=True)
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        print(f"== {name} took {time.perf_counter() - began:.0f} s", flush=True)
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
