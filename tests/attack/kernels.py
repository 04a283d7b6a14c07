"""The cache of compiled code, damaged, shared and cut off: every call gives the right labels.

``python -m attack.kernels SECONDS SEED`` runs it. Before each round some files of the cache are
damaged, emptied, removed or exchanged; then two processes label with it at once, and sometimes one
of them is killed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import Counts

MOST_SECONDS = 120
SOURCE = Path(__file__).parents[2] / "src"
LABEL = (
    "import numpy as np, equilabel;"
    "print(equilabel.label(np.eye(40, dtype=bool), connectivity=1).max())"
)


def attack(seconds: float, seed: int) -> Counts:
    """Damage the cache again and again while processes compile, load and keep code."""
    counts, end, chance = (
        Counts("calls with a damaged cache"),
        time.monotonic() + seconds,
        random.Random(seed),
    )
    with tempfile.TemporaryDirectory() as folder:
        _judge(_start(folder), counts, "first start")
        while time.monotonic() < end:
            damage = _damage(Path(folder), chance)
            processes = [_start(folder), _start(folder)]
            if chance.random() < 0.3:
                time.sleep(chance.uniform(0, 1.5))
                killed = processes.pop()
                killed.kill()
                killed.communicate()
            for process in processes:
                _judge(process, counts, damage)
    return counts


def _damage(folder: Path, chance: random.Random) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    done = []
    for path in chance.sample(files, min(3, len(files))):
        content = bytearray(path.read_bytes())
        kind = chance.choice(("flip", "flip", "flip", "cut", "remove", "exchange"))
        if kind == "flip" and content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        elif kind == "cut":
            del content[chance.randrange(len(content) + 1) :]
        elif kind == "exchange":
            other = chance.choice(files)
            content = bytearray(other.read_bytes() if other.exists() else b"")
        path.write_bytes(content)
        if kind == "remove":
            path.unlink()
        done.append(f"{kind} {path.name}")
    return ", ".join(done)


def _start(folder: str) -> subprocess.Popen[str]:
    surroundings = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-W", "error", "-c", LABEL]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=surroundings, stdout=pipe, stderr=pipe, text=True)


def _judge(process: subprocess.Popen[str], counts: Counts, about: str) -> None:
    counts.submitted += 1
    try:
        out, error = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        counts.lost += 1
        counts.notes.append(f"{about}: no answer")
        return
    if out.strip() == "40" and not error:
        counts.correct += 1
    elif process.returncode == 0:
        counts.wrong += 1
        counts.notes.append(f"{about}: {out!r} {error[-300:]!r}")
    else:
        counts.lost += 1
        counts.notes.append(f"{about}: exit code {process.returncode}, {error[-300:]!r}")


if __name__ == "__main__":
    result = attack(float(sys.argv[1]), int(sys.argv[2]))
    print(*result.notes, result, result.holds, sep="\n")
