"""The records of images and runs: input, options, versions, checksums and what was found.

That of an image is an entry of run.json, a row of summary.csv, and a file of its own that --resume
compares. msgspec checks the types of what is read; `json` writes, because checksums rest on that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path, PurePath
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeAlias,
    TypedDict,
)

import msgspec

import equilabel
from equilabel.storage.files import is_folder, open_regular, replacing
from equilabel.storage.ome_zarr import is_zarr

from .inputs import FILE, FOLDER, Input, expanded, kind_of, printable, quoted
from .options import Options, RefusedError, as_typed, refuse
from .parsing import KNOWN, as_text, read_options

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


SUMMARY, RUN, REPORT = "summary.csv", "run.json", "report.html"
OBJECTS = ("objects.csv", "objects.parquet")  # the tables of all images
OF_RUN = (SUMMARY, RUN, REPORT, *OBJECTS)
STATE = ".equilabel"  # folder of the images' records, in the output folder
PIXEL = "px"  # unit of lengths if the pixel size is unknown
FORMAT = 2  # of records and run.json; since 2, lengths without a unit are pixels

# Packages that read pixels, compute with them, or write results.
PACKAGES = (
    *("numpy", "numba", "scikit-image", "scipy", "pandas"),
    *("tifffile", "imagecodecs", "pillow"),
)
READERS = (
    *("zarr", "numcodecs"),
    *("bioio", "bioio-czi", "bioio-nd2", "bioio-lif", "bioio-dv", "bioio-sldy"),
)

BESIDE = {"markers", "mask"}  # files of an image; the first records of this format lack them

Facts: TypeAlias = dict[str, Any]  # values that JSON holds, by name
Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Number: TypeAlias = Whole | float
Step: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^-?([0-3]?[0-9]{1,3}|4000)\Z")]
# An escape in JSON other than that of a quote or of a backslash: of what cannot be printed.
CONTROL = re.compile(r'(?<!\\)(?:\\\\)*\\[^\\"]')


class Head(TypedDict):
    """What each record of a run, or of `equilabel segment`, has."""

    format: Literal[2]
    parameters: Facts
    versions: Facts


class Sizes(TypedDict, total=False):
    """A histogram of the sizes of objects, from `count_sizes`; empty if there are no sizes."""

    of: str  # the column
    unit: str
    counts: dict[Step, Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]]


class Output(TypedDict):
    """A file or folder that was written for an image, as `describe_result` returns it."""

    file: str  # path below the output folder
    sha256: str
    bytes: NotRequired[Whole | None]
    units: NotRequired[dict[str, str]]  # of the columns of a table


@dataclass(frozen=True)
class Record:
    """The record of one image of a run."""

    file: str  # the image, or labels to measure
    name: str  # of its results below the output folder, without endings
    # "done", "failed", "interrupted"; "skipped" if complete since an earlier run, from which the
    # other fields are
    status: str
    image: str = ""  # in which labels were measured
    markers: str = ""  # files of --markers and --mask
    mask: str = ""
    objects: Whole | None = None
    threshold: Number | tuple[Number, ...] | str | None = None
    shape: tuple[Whole, ...] = ()  # of the image as it was read
    axes: str = ""
    spacing: dict[str, Number] = field(default_factory=dict)  # by axis
    unit: str = ""
    # mean and total sizes, and mean intensities, of its objects
    statistics: dict[str, Number | None] = field(default_factory=dict)
    # number, objects and statistics of each frame of a stack
    frames: tuple[dict[str, Number | None], ...] = ()
    sizes: Sizes = field(default_factory=Sizes)
    seconds: Number = 0.0  # from opening the image to the last result
    error: str = ""  # why it failed
    notes: tuple[str, ...] = ()  # what a user should know, such as an axis that was guessed
    method: str = ""
    device: str = ""
    connectivity: Whole | None = None
    # lengths and sizes in pixels, by the Python names of their options
    in_pixels: dict[str, Number | tuple[Number, ...]] = field(default_factory=dict)
    sha256: str = ""  # of the image file, and of those above, in their order
    fingerprint: str = ""  # of the parameters and versions
    # how each attempt that did not finish ended: "SIGKILL", "time limit", ...
    attempts: tuple[str, ...] = ()
    outputs: dict[str, Output] = field(default_factory=dict)  # by kind of result

    @property
    def complete(self) -> bool:
        """True if its results exist, as far as the run knows."""
        return self.status in ("done", "skipped")

    @property
    def length(self) -> str:
        """Unit of lengths in its table."""
        return self.unit if self.spacing else PIXEL

    def failed(self, error: str, **more: Any) -> Record:
        """Return the record of the image if its results were not written."""
        none: Any = {"objects": None, "statistics": {}, "sizes": {}, "frames": (), "outputs": {}}
        return replace(self, status="failed", error=error, **none, **more)


def record_path(out: Path, name: str) -> Path:
    """Return the path of the record of an image, from the name of its results."""
    return out / STATE / record_name(name)


def record_name(name: str) -> str:
    """Return the name of the file of the record of an image."""
    return f"{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}.json"


# ---------------------------------------------------------------- parameters and versions


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
    return Provenance(parameters, versions | versions_of(READERS))


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    return {name: word for name in packages if (word := _version(name)) is not None}


@cache
def _version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None


def differences(now: Provenance, then: Provenance) -> list[str]:
    """List parameters (as options) and versions that differ from those of an earlier run.

    >>> now = Provenance({"sigma": 1.5, "dark": True}, {"numpy": "2.3"})
    >>> for each in differences(now, Provenance({"sigma": 0.0, "dark": False}, {"numpy": None})):
    ...     print(each)
    --sigma 1.5 where it was 0.0
    --dark given where it was not given
    numpy 2.3 where it was none
    """
    found = []
    for new, old in ((now.parameters, then.parameters), (now.versions, then.versions)):
        for name in {**new, **old}:
            if new.get(name) != old.get(name):
                option = new is now.parameters and name != "command"
                word = as_typed(name) if option else name
                found.append(f"{word} {_value(new.get(name))} where it was {_value(old.get(name))}")
    return found


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else "given" if value else "not given"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


# ------------------------------------------------------------------------ results on disk


def describe_result(path: Path, name: str) -> Output:
    """Return the name, the size and the checksum of a result, for the record."""
    size, checksum = measured(path)
    file = printable(PurePath(name).with_name(path.name).as_posix())
    return {"file": file, "bytes": size, "sha256": checksum}


def measured(path: Path) -> tuple[int, str]:
    """Return the bytes and the SHA-256 of a file, or of all files in a folder.

    Raises OSError if the path does not exist, or there is a link, a pipe or a device.
    """
    if not is_folder(path):
        with os.fdopen(open_regular(path), "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return os.fstat(file.fileno()).st_size, digest
    files = sorted(file for file in path.rglob("*") if not is_folder(file))
    sizes, digests = zip(*map(measured, files), strict=True) if files else ((), ())
    named = zip(digests, files, strict=True)
    lines = "".join(f"{each}  {file.relative_to(path).as_posix()}\n" for each, file in named)
    return sum(sizes), hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


# ---------------------------------------------------------------------------------- JSON


def written_by(folder: Path | None = None) -> Facts:
    """Return the words of the command of this process, and the folder in which it was started."""
    words = [printable(word) for word in sys.argv]
    return {"command": words, "folder": printable(folder or Path.cwd())}


def write_record(path: Path, record: Record, made_with: Provenance, *, alone: bool = False) -> None:
    """Write the record of one image, which names the command if it is of no run (`alone`)."""
    content = {
        "format": FORMAT,
        **(written_by() if alone else {}),
        "parameters": made_with.parameters,
        "versions": made_with.versions,
        "record": vars(record),
    }
    content["sha256"] = _digest(content)
    _write(path, content)


def read_record(path: Path) -> Record | None:
    """Read the record of one image; None if it is missing, damaged, or has text to escape."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            content = msgspec.json.decode(file.read())
        whole = content.pop("sha256") == _digest(content) and content["format"] == FORMAT
        text = _dumps(content["record"])
        if not whole or CONTROL.search(text) or not text.isprintable():
            return None
        return msgspec.convert(content["record"], Record)
    except Exception:  # whatever is wrong, the image is labeled again
        return None


def write_run(path: Path, facts: Facts, records: list[Record]) -> None:
    """Write the record of a run, which is needed to repeat or resume it."""
    files = ",\n".join(f"  {_dumps(vars(record))}" for record in records)
    _write(path, {"format": FORMAT, **facts}, f' "files": [\n{files}\n ]')


def facts_of(path: Path) -> Facts:
    """Return what the record of a run, or of `equilabel segment`, holds; {} if unreadable."""
    try:
        return read_run(path, "", "")
    except RefusedError:
        return {}


def read_run(path: Path, option: str, remedy: str) -> Facts:
    """Read the record of a run, which people may have edited; raise RefusedError if it is none."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            content: Facts = json.loads(file.read())
        msgspec.convert(content, Head)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError, MemoryError) as error:
        why = f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        if isinstance(error, msgspec.ValidationError):
            why = "this version did not write"
        refuse(
            f"{option} needs the {RUN} of an earlier run of this version; got {quoted(path)}, "
            f"which {why}. {remedy}"
        )
    return content


def made_with(content: Facts) -> Provenance:
    """Return the parameters and versions in the record of a run."""
    versions = {name: word for name, word in content["versions"].items() if name != "python"}
    return Provenance(content["parameters"], versions)


def _write(path: Path, content: Facts, *more: str) -> None:
    """Write JSON with one line for each entry, as `indent` is slow; `more` are entries as text."""
    lines = [*(f" {_dumps(key)}: {_dumps(value)}" for key, value in content.items()), *more]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")


def _dumps(content: Any) -> str:
    """Return JSON as all versions write it; msgspec would write NaN as null."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, default=str)


def _digest(content: Facts) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# ---- `--from`: the options and images of an earlier run, from its record


class Earlier(NamedTuple):
    """An earlier run: its options, its images, conditions, and lines about other versions."""

    options: Options
    inputs: Sequence[Input]
    notes: Sequence[str]
    group: str | None = None


def repeated(path: Path, given: Mapping[str, Any], typed: Collection[str]) -> Earlier:
    """Return the options and images of an earlier run, from its run.json or a record of `segment`.

    `given` has the values of the parameters of this command; those in `typed` override the record.
    """
    content = read_run(expanded(path, "--from"), "--from", "Pass the one in a folder of results.")
    then = {**content["parameters"]}
    theirs, command = then.pop("command", "batch"), given.get("command", "batch")
    if theirs != command:
        refuse(
            f"--from must be of a run of `equilabel {command}`; got {quoted(path)}, of `equilabel "
            f"{theirs}`. Use `equilabel {theirs} --from`, or type the options of that run."
        )
    then |= {name: str(there(then[name], content)) for name in BESIDE if then.get(name)}
    unknown = [name for name, value in then.items() if value and name not in KNOWN]
    if unknown:
        refuse(
            f"--from must have options that this version knows; got {unknown[0]!r} in "
            f"{quoted(path)}, of equilabel {content['versions'].get('equilabel')}. Install that "
            "version, or remove the option from a copy of the file."
        )
    texts = {name: as_text(name, then[name]) for name in KNOWN if name in then}
    try:
        options = read_options({**given, **texts, **{name: given[name] for name in typed}})
    except RefusedError as error:
        refuse(f"{error} If it is of {quoted(path)}, correct a copy of that file.")
    now = provenance(options)
    differing = differences(now, Provenance(now.parameters, made_with(content).versions))
    notes = [printable(f"{path}: {'; '.join(differing)}")] if differing else []
    inputs = [] if given.get("inputs") else _inputs(path, content)
    return Earlier(options, inputs, notes, group_of(content))


def group_of(facts: Facts) -> str | None:
    """Return the --group of an earlier run: a pattern, or the path of a CSV file."""
    group = facts.get("group")
    if not isinstance(group, str):
        return None
    return group if "{" in group else str(there(group, facts))


def there(path: Any, content: Facts) -> Path:
    """Return a path of a record, which is relative to the folder where the run was started."""
    here = Path.cwd()
    folder, found = Path(str(content.get("folder", here))), expanded(str(path))
    return found if folder == here else folder / found


def _inputs(path: Path, content: Any) -> list[Input]:
    """Return the images of a record."""
    found = []
    files = content.get("files", [content.get("record")])
    for entry in files if isinstance(files, list) else ():
        if not isinstance(entry, dict) or not entry.get("name"):
            continue
        image = there(entry.get("file"), content)
        kind, wanted = kind_of(image), FOLDER if content["parameters"].get("slices") else FILE
        complaint = f"INPUT must be {wanted}; got {quoted(image)}, {kind}. Pass its new path."
        complaint = "" if kind == wanted or (kind == FOLDER and is_zarr(image)) else complaint
        item = Input(image, str(entry["name"]), complaint)
        if entry.get("image"):  # in which labels were measured
            item = replace(item, beside={"image": there(entry["image"], content)})
        found.append(item)
    if not found:
        refuse(f"--from must name images; got none in {quoted(path)}. Pass them as INPUT.")
    return found
