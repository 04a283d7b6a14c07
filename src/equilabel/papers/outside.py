"""`Methods`: the rows of this package, and those that other packages offer as entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from warnings import warn

from equilabel.domains.contract import Method

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROUP = "equilabel.methods"  # of entry points, each a `Method` with the name of its entry point


class Methods(Mapping[str, Method]):
    """Methods by name. Those of other packages are loaded when all names are needed."""

    def __init__(self, rows: Iterable[Method]) -> None:
        self.built_in = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> Method:
        return self.built_in[name] if name in self.built_in else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.built_in, *self._others])

    def __len__(self) -> int:
        return len(self.built_in) + len(self._others)

    @cached_property
    def _others(self) -> dict[str, Method]:
        """The rows of other packages. Those that cannot be used are left out, with a warning."""
        from importlib.metadata import entry_points

        owners = {word: ["equilabel"] for row in self.built_in.values() for word in _words(row)}
        rows = []
        for point in entry_points(group=GROUP):
            try:
                row = point.load()
                fault = "" if _is_row(row, point.name) else f"it is {row!r}, no Method of this name"
            except Exception as error:  # any that the module of somebody else raises
                fault = f"{type(error).__name__}: {error}"
            if fault:
                warn(
                    f"method {point.name!r} of {point.value!r} is left out: {fault}.", stacklevel=2
                )
                continue
            rows.append(row)
            for word in _words(row):
                owners.setdefault(word, []).append(point.value)
        for word in (word for word, found in owners.items() if len(found) > 1):
            message = f"a method must have a name of its own; got {word!r} from {owners[word]}."
            warn(f"{message} Those of other packages are left out: uninstall one.", stacklevel=2)
        return {row.name: row for row in rows if all(len(owners[w]) == 1 for w in _words(row))}


def _is_row(row: object, name: str) -> bool:
    return isinstance(row, Method) and row.name == name and row.answer == "roots"


def _words(row: Method) -> set[str]:
    return {row.name, *row.aliases}
