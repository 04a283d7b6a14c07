"""Tables that are asked for again and again of labels on a GPU: checked once, computed in one call.

Checking, and choosing kernels, takes as long as measuring 4096 x 4096 labels. What the checks say
follows from the arguments and from the shape and type of the labels alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.devices import is_on_cuda, passes, resolve

from .checks import check_columns
from .device_table import is_fused, room_for, steps_of
from .request import make_request

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.kernels.layout import Layout

LISTS = (tuple, list)
MOST = 512  # kinds of tables that are remembered


class _Prepared(NamedTuple):
    """What tables of one kind have in common.

    Attributes
    ----------
    layout : Layout
        What is counted.
    formulas : Formulas
        Of `equilabel.kernels.cuda.columns`.
    names : tuple of str
        Of the columns.
    kind : hashable
        Of the labels.
    room : int
        Labels that a table has room for at most.
    on_host : bool
        Where columns are to be.
    """

    layout: Layout
    formulas: Any
    names: tuple[str, ...]
    kind: Any
    room: int
    on_host: bool


_known: dict[Any, _Prepared | None] = {}


def table_at_once(
    labels: Array, properties: Any, stacked: Any, separator: Any, columns: Any
) -> dict[str, Array] | None:
    """Measure labels on a GPU; the arguments are those of `regionprops_table`.

    Nothing is returned of other labels, and of what `regionprops_table` has to look at more
    closely.

    Raises
    ------
    TypeError, ValueError
        As `regionprops_table` does.
    """
    if not is_on_cuda(labels) or type(stacked) is not bool or type(properties) not in LISTS:
        return None
    try:
        wanted = tuple(properties)
        key = labels.shape, labels.dtype, labels.data.device_id, wanted, stacked, separator, columns
        found = _known.get(key)
    except TypeError:  # what cannot be looked up is refused elsewhere
        return None
    if found is None:
        if key not in _known:
            if len(_known) >= MOST:
                _known.clear()
            _known[key] = _prepare(labels, wanted, stacked, separator, columns)
        return None
    if not labels.flags.c_contiguous:
        return None
    own = passes("columns", "cuda").columns_of(labels, *found[:2], *found[3:])
    return None if own is None else dict(zip(found.names, own, strict=True))


def _prepare(
    labels: Array, wanted: tuple[Any, ...], stacked: bool, separator: Any, columns: Any
) -> _Prepared | None:
    """Check what is asked, and prepare what such tables have in common; None if that is nothing."""
    shape, device = labels.shape, resolve("auto", labels)
    if labels.dtype.kind not in "ui" or not 1 <= len(shape) <= 6 or len(shape) == stacked:
        return None
    place = check_columns(columns, device, device)
    request = make_request(
        wanted, None, shape, None, stacked=stacked, separator=separator, columns_on=place
    )
    found = steps_of(request, device) if is_fused(request, shape, device) else None
    if found is None:
        return None
    names, formulas = found
    flat = tuple(part for _, parts in names for part in parts)
    if len(set(flat)) < len(flat):  # a separator may make two names one
        return None
    kind, room = room_for(labels, device)
    return _Prepared(request.plan.layout, formulas, flat, kind, room, place == "host")
