"""Run all attacks, print what became of their inputs, and fail if one was wrong or lost.

``python -m attack --seconds 900 --seed 7`` takes a little more than 15 minutes: the two halves run
at once, one on each of two cores, and the last input of each attack is finished.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Thread

from attack import Counts, attack_by_name

# Attacks that run one after the other, with their shares of the time.
HALVES = (
    (("tiff", 0.5), ("pictures", 0.1), ("kernels", 0.2), ("arguments", 0.2)),
    (("batch", 0.45), ("records", 0.05), ("numbers", 0.4), ("stale", 0.1)),
)


def attack_all(seconds: float, seed: int) -> list[Counts]:
    """Run all attacks on two cores."""

    def one_half(half):
        for name, share in half:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                yield pool.submit(attack_by_name, name, share * seconds, seed).result()

    found: list[Counts] = []
    threads = [Thread(target=lambda half=half: found.extend(one_half(half))) for half in HALVES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def table(found: list[Counts]) -> str:
    """Lay out the counts; of N tries without a fault, at most 3 / N are one (95 % confidence)."""
    rows = [("attack", "submitted", "correct", "refused", "wrong", "lost", "fewer than")]
    for each in found:
        faults = each.wrong + each.lost
        bound = f"1 in {each.submitted // 3:,}" if each.submitted and not faults else "-"
        numbers = (each.submitted, each.correct, each.refused, each.wrong, each.lost)
        rows.append((each.name, *(f"{number:,}" for number in numbers), bound))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def main() -> int:
    """Read the command line, attack, report."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1000, help="time to attack in")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all random choices")
    asked = parser.parse_args()
    print(f"attacks for {asked.seconds:.0f} s with seed {asked.seed}", flush=True)
    found = attack_all(asked.seconds, asked.seed)
    for each in found:
        for note in each.notes:
            print(f"{each.name}: {note}")
    print(table(found))
    whole = len(found) == sum(map(len, HALVES))
    return 0 if whole and all(each.holds for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
