"""Tables with a row for each label: from the device to the host, and back."""

import cupy
import numpy as np

from equilabel.array_types import Array

from .transfers import download, upload

SMALL = 1 << 23  # bytes of a table that come to the host with all their rows


class Slots:
    """Which rows of tables, their slots, are those of labels that occur; row 0 is not.

    Parameters
    ----------
    table : (L, width) cupy array of uint64
        Its first column is 0 where a label does not occur.
    dense : bool
        Whether all are known to.

    Attributes
    ----------
    table : (N, width) array of int64
        Its rows of labels that occur.
    labels : (N,) array of int64
        Their numbers.
    """

    def __init__(self, table: Array, dense: bool) -> None:
        self._count = len(table)
        self._few = None  # slots, if not all are kept; of the device, if the table is large
        if not dense and table.nbytes > SMALL:
            self._few = cupy.flatnonzero(table[1:, 0]) + 1
        self.table = self.fetch(table)
        if not dense and self._few is None and not self.table[:, 0].all():
            self._few = np.flatnonzero(self.table[:, 0]) + 1
            self.table = self._pick(self.table)
        if self._few is None:
            self.labels = np.arange(1, self._count)
        else:
            self.labels = cupy.asnumpy(self._few)

    def fetch(self, table: Array) -> np.ndarray:
        """Bring the rows of a table to the host, as int64; its columns lie together."""
        on_device = isinstance(self._few, cupy.ndarray)
        part = table[self._few] if on_device else table[1:]
        found = download(cupy.ascontiguousarray(part.T), keep=True).view(np.int64).T
        return found if on_device else self._pick(found)

    def spread(self, rows: np.ndarray) -> Array:
        """Take what belongs to each label to the device, as rows of a table."""
        if isinstance(self._few, cupy.ndarray):
            spread = cupy.zeros((self._count, *rows.shape[1:]), rows.dtype)
            spread[self._few] = upload(rows)
            return spread
        whole = np.zeros((self._count, *rows.shape[1:]), rows.dtype)
        whole[1:][slice(None) if self._few is None else self._few - 1] = rows
        return upload(whole)

    def _pick(self, found: np.ndarray) -> np.ndarray:
        return found if self._few is None else np.take(found.T, self._few - 1, axis=-1).T
