"""Provenance of results: the parameters of a run, and the versions of the packages it uses."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

import equilabel

if TYPE_CHECKING:
    from .options import Options
    from .records import Facts

# Packages that read pixels, compute with them, or write results.
PACKAGES = (
    *("numpy", "numba", "scikit-image", "scipy", "pandas"),
    *("tifffile", "imagecodecs", "pillow"),
)
READERS = (
    *("zarr", "numcodecs"),
    *("bioio", "bioio-czi", "bioio-nd2", "bioio-lif", "bioio-dv", "bioio-sldy"),
)


@dataclass(frozen=True)
class Provenance:
    """Parameters and versions with which results were made."""

    parameters: Facts  # values of options, by their Python names
    versions: Facts  # of equilabel and packages; None if not installed

    @cached_property
    def fingerprint(self) -> str:
        """A hash of parameters and versions: equal hashes give equal results of an image."""
        text = json.dumps([self.parameters, self.versions], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def provenance(options: Options) -> Provenance:
    """Return the parameters and versions of a run, as types that JSON has."""
    parameters = json.loads(json.dumps(options.parameters(), default=str))
    packages = (*PACKAGES, "pyarrow") if options.format == "parquet" else PACKAGES
    versions = {"equilabel": equilabel.__version__, **{name: _version(name) for name in packages}}
    versions |= {name: word for name in READERS if (word := _version(name)) is not None}
    return Provenance(parameters, versions)


def differences(now: Provenance, then: Provenance) -> list[str]:
    """List parameters (as options) and versions that differ from those of an earlier run.

    >>> then = Provenance({"sigma": 0.0, "dark": False}, {"numpy": "2.2"})
    >>> differences(Provenance({"sigma": 1.5, "dark": True}, {"numpy": "2.3"}), then)
    ['--sigma 1.5 where it was 0.0', '--dark where it was not given', 'numpy 2.3 where it was 2.2']
    """
    found = []
    for name in {**now.parameters, **then.parameters}:
        new, old = now.parameters.get(name), then.parameters.get(name)
        if new != old:
            if name == "command":
                found.append(f"`equilabel {new}` where it was `equilabel {old}`")
                continue
            option = f"--{name.replace('_', '-')}"
            found.append(f"{_given(option, new)} where it was {_value(old)}")
    for name in {**now.versions, **then.versions}:
        new, old = now.versions.get(name), then.versions.get(name)
        if new != old:
            found.append(f"{name} {new or 'missing'} where it was {old or 'missing'}")
    return found


def _given(option: str, value: Any) -> str:
    if value is None or value is False:
        return f"no {option}"
    return option if value is True else f"{option} {_value(value)}"


def _value(value: Any) -> str:
    if value is None or value is False:
        return "not given"
    if value is True:
        return "given"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@cache
def _version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None
