"""Records as JSON files: written atomically, checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from equilabel.storage.files import open_regular, replacing

from .names import printable, quoted
from .options import RefusedError
from .provenance import Provenance
from .records import RUN, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .records import Facts

FORMAT = 2  # of records and run.json; since 2, lengths without a unit are pixels
LARGEST, LAST_BIN = 1e300, 4000  # largest number and largest bin of sizes in a record


def write_record(path: Path, record: Record, provenance: Provenance, *, flush: bool = True) -> None:
    """Write the record of one image, with parameters, versions and a checksum.

    Flushing is optional, because the checksum shows whether the file is complete.
    """
    content = {
        "format": FORMAT,
        "parameters": provenance.parameters,
        "versions": provenance.versions,
        "record": vars(record),
    }
    content["sha256"] = _digest(content)
    _write_text(path, _in_lines(content), flush=flush)


def read_record(path: Path) -> Record | None:
    """Read the record of one image; None if it is missing or damaged.

    Characters that cannot be printed are escaped, because other users may be able to write to the
    folder.
    """
    try:
        content = read_json(path, parse_constant=_finite, parse_float=_finite)
        if content["format"] != FORMAT or content.pop("sha256") != _digest(content):
            return None
        return _record(_legible(content["record"]))
    except Exception:  # whatever is wrong, the image is labeled again
        return None


def write_run(path: Path, facts: Facts, records: list[Record]) -> None:
    """Write the record of a run, which is needed to repeat or resume it."""
    files = ",\n".join(f"  {_dumps(vars(record))}" for record in records)
    ends = "[\n", "\n ]"
    _write_text(path, _in_lines({"format": FORMAT, **facts}, files=files.join(ends)))


def read_run(path: Path) -> Provenance:
    """Read the parameters and versions of an earlier run.

    Raises RefusedError if the file was not written by `write_run`.
    """
    remedy = "Pass --overwrite to compute all results again, or choose another folder."
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = (
            f"--resume needs the {RUN} of the earlier run; got {quoted(path)}, which cannot be "
            f"read: {why}. {remedy}"
        )
        raise RefusedError(message) from error
    for name, kind in (("format", int), ("parameters", dict), ("versions", dict)):
        value = content.get(name) if isinstance(content, dict) else None
        if type(value) is not kind or (kind is int and value != FORMAT):
            message = (
                f"--resume needs the {RUN} of the earlier run; got {quoted(path)}, which this "
                f"version of equilabel did not write: {name!r} is {_short(value)}. {remedy}"
            )
            raise RefusedError(message)
    versions = {name: value for name, value in content["versions"].items() if name != "python"}
    return Provenance(content["parameters"], versions)


def read_json(path: Path, **options: Any) -> Any:
    """Read any JSON file; `options` are those of `json.loads`.

    Raises OSError if it is not a regular file (see `open_regular`), ValueError if it is not JSON or
    is nested too deeply.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        try:
            return json.loads(file.read(), **options)
        except (RecursionError, MemoryError) as error:
            message = f"more than can be read ({type(error).__name__})"
            raise ValueError(message) from error


def _finite(text: str) -> float:
    """Read a number; NaN and infinities, which JSON has not, raise ValueError."""
    value = float(text)
    if not isfinite(value):
        message = f"a finite number was expected; got {text}"
        raise ValueError(message)
    return value


def _in_lines(content: Facts, **texts: str) -> str:
    """Return JSON with one line for each entry; `texts` are entries that are JSON already.

    The json module is slow with indents: it takes a millisecond for each image.
    """
    known = {key: _dumps(value) for key, value in content.items()} | texts
    lines = (f" {_dumps(key)}: {text}" for key, text in known.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dumps(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, default=str)


def _write_text(path: Path, text: str, *, flush: bool = True) -> None:
    with replacing(path, flush=flush) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")


def _digest(content: Facts) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _record(entry: Facts) -> Record:
    """Return a Record from the content of a file; raise ValueError if it does not fit."""
    if set(entry) != {item.name for item in fields(Record)}:
        message = f"a record must have its fields; got {sorted(entry)}."
        raise ValueError(message)
    for name, fits in _FITTING.items():
        if not fits(entry[name]):
            message = f"{name} of a record must be of its type; got {_short(entry[name])}."
            raise ValueError(message)
    tuples = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return Record(**{**entry, **tuples})


def _legible(value: Any) -> Any:
    """Escape all text in the content of a JSON file, including names of entries."""
    if isinstance(value, dict):
        return {printable(name): _legible(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_legible(each) for each in value]
    return printable(value) if isinstance(value, str) else value


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _count(value: Any) -> bool:
    return value is None or _whole(value)


def _numbers(value: object) -> bool:
    return isinstance(value, dict) and all(one is None or _number(one) for one in value.values())


def _frame(value: Any) -> bool:
    return _numbers(value) and _whole(value.get("frame")) and _whole(value.get("objects"))


def _list_of(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _outputs(value: object) -> bool:
    fits = {"file": _text, "sha256": _text, "bytes": _count, "units": _texts}
    return isinstance(value, dict) and all(
        isinstance(known, dict)
        and {"file", "sha256"} <= set(known) <= set(fits)
        and all(fits[name](one) for name, one in known.items())
        for known in value.values()
    )


def _sizes(value: object) -> bool:
    if not isinstance(value, dict) or not value:
        return value == {}
    counts = value.get("counts")
    return (
        _text(value.get("of"))
        and _text(value.get("unit"))
        and isinstance(counts, dict)
        and all(
            re.fullmatch("-?[0-9]{1,4}", k) and abs(int(k)) <= LAST_BIN and n and _count(n)
            for k, n in counts.items()
        )
    )


_FITTING: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(
        ("file", "name", "status", "image", "axes", "unit", "error", "method", "device"), _text
    ),
    **dict.fromkeys(("sha256", "fingerprint"), _text),
    **dict.fromkeys(("objects", "connectivity"), _count),
    **dict.fromkeys(("notes", "attempts"), _list_of(_text)),
    "threshold": lambda value: (
        value is None or _text(value) or _number(value) or _list_of(_number)(value)
    ),
    "shape": _list_of(_whole),
    "statistics": _numbers,
    "frames": _list_of(_frame),
    "spacing": lambda value: isinstance(value, dict) and all(map(_number, value.values())),
    "seconds": _number,
    "in_pixels": lambda value: (
        isinstance(value, dict)
        and all(_number(one) or _list_of(_number)(one) for one in value.values())
    ),
    "sizes": _sizes,
    "outputs": _outputs,
}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
