"""Tables of labels on a GPU like earlier ones: their arguments were checked then."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from equilabel.arguments import normalize_bools
from equilabel.devices import is_on_cuda, resolve, using

from .checks import check_columns
from .request import make_request, room_for, share_of, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

    Prepared = Callable[[Array, Array], dict[str, Array] | None]  # a `Tabler`

# Checking arguments and choosing kernels takes as long as measuring 4096 x 4096 labels. The result
# depends only on the arguments and on the shapes and types of the images, so it is kept.

LISTS = (tuple, list)
ALIGNED = 16  # bytes that are read at once
MOST = 512  # kinds of tables that are remembered


class _Memory(threading.local):
    """What each thread remembers: a `Tabler` keeps the arguments of a launch in a buffer."""

    def __init__(self) -> None:
        self.tables: dict[Any, Prepared | None] = {}


_memory = _Memory()


def table_again(
    labels: Array, values: Array, properties: Any, stacked: Any, separator: Any, columns: Any
) -> dict[str, Array] | None:
    """Return a table of labels on a GPU by what computed such tables before, or None.

    Arguments and errors are those of `regionprops_table`.
    """
    if not is_on_cuda(labels) or type(stacked) is not bool or type(properties) not in LISTS:
        return None
    if values is None:
        kind = None
    elif is_on_cuda(values):
        values = normalize_bools(values)
        kind = values.shape, values.dtype, values.data.device_id, values.flags.c_contiguous
    else:
        return None
    known, data, wanted = _memory.tables, labels.data, tuple(properties)
    place = data.device_id, data.ptr % ALIGNED, labels.flags.c_contiguous
    key = labels.shape, labels.dtype, place, kind, wanted, stacked, separator, columns
    try:
        found = known[key]
    except TypeError:  # not hashable: the general path raises the error
        return None
    except KeyError:
        found = _prepare(labels, values, wanted, stacked, separator, columns)
        if len(known) >= MOST:
            known.clear()
        known[key] = found
    return None if found is None else found(labels, values)


def _prepare(
    labels: Array,
    values: Array,
    wanted: tuple[Any, ...],
    stacked: bool,
    separator: Any,
    columns: Any,
) -> Prepared | None:
    """Check a request and prepare its kernels; return None if it needs the general path."""
    shape, device = labels.shape, resolve("auto", labels)
    if labels.dtype.kind not in "ui" or not 1 <= len(shape) <= 6 or len(shape) == stacked:
        return None
    place = check_columns(columns, device, device)
    request = make_request(
        wanted, values, shape, None, stacked=stacked, separator=separator, columns_on=place
    )
    share = share_of(request, shape, device)
    if share is None or share.rest is not None or not labels.flags.c_contiguous:
        return None
    if share.counted.needs_pixels and not (
        values.flags.c_contiguous and values.data.device_id == labels.data.device_id
    ):
        return None
    names = tuple(part for _, parts in share.names for part in parts)
    if len(set(names)) < len(names):  # the separator made two names equal
        return None
    from .cuda.columns import Tabler

    with using(device):
        spec = spec_of(request, share, *room_for(labels, device), device)
        return Tabler(labels, spec, names)


def remembered() -> int:
    """Count the kinds of tables that this thread remembers."""
    return sum(found is not None for found in _memory.tables.values())


def forget() -> None:
    """Forget all kinds of tables in this thread."""
    _memory.tables.clear()
