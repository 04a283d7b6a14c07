"""Speed of a run, measured with a monotonic clock."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Record


class Pace:
    """Rate, failures and remaining time of a run of `total` images; `clock` returns seconds.

    Skipped images take almost no time and do not count for the rate.
    """

    def __init__(self, total: int, clock: Callable[[], float] = monotonic) -> None:
        self.total, self.clock = total, clock
        self.begun, self.count, self.worked, self.failed = clock(), 0, 0, 0

    def add(self, record: Record) -> None:
        """Count a finished image."""
        self.count += 1
        self.worked += record.status != "skipped"
        self.failed += record.status == "failed"

    def words(self) -> list[str]:
        """Describe the rate of finished images, the failures, and the time that is left.

        >>> from equilabel.cli.records import Record
        >>> times = iter([0.0, 30.0])
        >>> pace = Pace(61, lambda: next(times))
        >>> pace.add(Record("a.tif", "a", "failed"))
        >>> pace.words()
        ['2 images/min', '1 failed', '30 min left']
        """
        seconds = self.clock() - self.begun
        found = []
        if self.worked and seconds > 0:
            rate = self.worked / seconds
            found += [f"{rate:.3g} images/s" if rate >= 1 else f"{60 * rate:.3g} images/min"]
        if self.failed:
            found += [f"{self.failed} failed"]
        if self.worked and self.count < self.total:
            found += [f"{_spoken((self.total - self.count) * seconds / self.worked)} left"]
        return found


def _spoken(seconds: float) -> str:
    """Return a time with its unit.

    >>> _spoken(40), _spoken(300), _spoken(7200)
    ('40 s', '5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 5400 else f"{seconds / 3600:.1f} h"
