"""Names of files, and the images that a command finds."""

from __future__ import annotations

import glob
import os
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.storage.files import is_remote, refuse_url
from equilabel.storage.images import SUFFIXES, TIFF
from equilabel.storage.ome_zarr import describes_labels, is_zarr
from equilabel.storage.remote import locate

from .options import Options, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# ---- Names of files: without endings, and as they are printed

ZARR = ".zarr"


def stem(path: Path) -> str:
    """Return the name of a file without the endings of an image.

    >>> stem(Path("day1/cells.v2.ome.tif")), stem(Path("scan.ome.zarr"))
    ('cells.v2', 'scan')
    """
    name = path.stem if path.suffix.lower() in (*SUFFIXES, ZARR) else path.name
    return name[:-4] if name.lower().endswith(".ome") and len(name) > 4 else name


def printable(text: object) -> str:
    r"""Escape the characters of a name that cannot be printed.

    >>> printable("cells\n.tif")
    'cells\\n.tif'
    """
    word = str(text)
    if word.isprintable():
        return word
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in word
    )


def quoted(path: Path | str) -> str:
    """Return a path in quotes, for messages."""
    return f"'{printable(path)}'"


def expanded(word: Path | str, name: str = "INPUT") -> Path:
    """Replace ``~`` by the home folder; an unknown user stays as it is. A blank is refused."""
    if not str(word).strip():
        refuse(f"{name} must be a path; got {str(word)!r}. Check whether a variable is empty.")
    try:
        refuse_url(name, word)
    except ValueError as error:
        refuse(str(error))
    return Path(os.path.expanduser(word))  # noqa: PTH111 - pathlib's raises


def located(word: Path | str, name: str, *, writes: bool = False) -> Any:
    """Return the path of an argument that may be a URL: a `UPath`, or what `expanded` returns."""
    if "://" not in str(word):
        return expanded(word, name)
    try:
        return locate(name, str(word), writes=writes)
    except (ValueError, ImportError) as error:
        refuse(str(error))


def refuse_at_url(path: Any, out: Any) -> bool:
    """Return whether an image or its results are at a URL; refuse what has no chunks there."""
    if is_remote(path) and not is_zarr(path):
        refuse(
            f"IMAGE at a URL must be a Zarr that can be read; got {quoted(path)}. Check URL and "
            "permission. Other images, such as TIFF: download them, and pass their path."
        )
    if is_remote(out) and not (path.suffix.lower() in TIFF or is_zarr(path)):
        refuse(
            f"--out at a URL needs an image in chunks: a TIFF or a Zarr; got {quoted(path)}. Pass "
            "a folder, and copy the results."
        )
    return is_remote(path) or is_remote(out)


# ---- Images in files, folders and patterns

FILE, FOLDER, NOTHING = "a file", "a folder", "nothing"
RESULTS = {"_labels": "a label image", "_overlay": "an overlay"}
# What programs (equilabel, Cellpose, others) append to the name of an image. Longest first.
LABELS = ("_segmentation", "_cp_masks", "_labels", "_masks", "_label", "_mask", "_seg")
IMAGES = ("_image", "_img")


@dataclass(frozen=True)
class Input:
    """An input image, or an argument for which no image was found."""

    path: Path  # as it was typed
    name: str = ""  # of the results below the output folder, without endings: "day1/cells"
    complaint: str = ""  # why it cannot be read; "" for an image
    # files of the same pixels: the "image" to measure labels in; "markers" and "mask" of an image
    beside: Mapping[str, Path] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, Path]:
        """All files that are read, by name; the input itself is ""."""
        return {"": self.path, **self.beside}


class _Search(NamedTuple):
    """How images are searched for: `out` is not searched; with `slices`, a folder is an image."""

    out: Path
    recursive: bool
    slices: bool


UNREAD = "not named as an image"  # complaint about a file that is only counted


def find(
    words: Sequence[str], out: Path, *, recursive: bool, labels: bool = False, slices: bool = False
) -> tuple[list[Input], list[str]]:
    """Find images from names of files, folders and patterns; return them and the skipped files.

    Each file is returned once, in the order of `words`, then of names. The second list has lines
    about files that are left out. With `labels`, label images are searched for. Raises RefusedError
    if there is no image, or results would lie among slices.
    """
    inputs: dict[str, Input] = {}
    skipped: dict[str, tuple[Path, str]] = {}
    search = _Search(out, recursive, slices)
    for word in words:
        for item in _behind(word, search):
            where = os.path.abspath(item.path)  # noqa: PTH100 - links stay
            why = item.complaint if item.complaint == UNREAD else ""
            if slices and not item.complaint:
                refuse_among(item.path, out)
            elif not item.complaint:
                why = reason(item.path, named=item.path == expanded(word), labels=labels)
            if why:
                skipped.setdefault(where, (item.path, why))
            else:
                inputs.setdefault(where, item)
    skipped = {where: found for where, found in skipped.items() if where not in inputs}
    left_out = [found for found in skipped.values() if found[1] != UNREAD]
    if all(item.complaint for item in inputs.values()):
        message = next((item.complaint for item in inputs.values()), "")
        if not message:
            path, why = left_out[0]
            message = f"INPUT must be images; got {quoted(path)}, {why}"
        refuse(message)
    lines = [f"{printable(path)}: left out, {why}" for path, why in left_out]
    lines += tell_unread([path for path, why in skipped.values() if why == UNREAD])
    return list(inputs.values()) if slices else named_apart([*inputs.values()]), lines


def _behind(word: str, search: _Search) -> Iterator[Input]:
    """Yield what a word of the command line stands for."""
    path = expanded(word)
    if kind_of(path) != NOTHING:
        yield from _at(path, search, named=True)
    elif glob.has_magic(word):
        yield from _matching(path, search)
    else:
        yield Input(path, complaint=f"INPUT must exist; got {quoted(path)}. Check the path.")


def _at(path: Path, search: _Search, *, named: bool = False) -> Iterator[Input]:
    """Yield the images at a path that exists, or why there are none."""
    kind = kind_of(path)
    if kind == FOLDER and (search.slices or not is_zarr(path)):
        yield from _inside(path, search)
    elif not (named or kind == FOLDER or is_named_as_image(path)):
        yield Input(path, complaint=UNREAD)
    elif kind not in (FILE, FOLDER):
        message = f"INPUT must be a file or a folder; got {quoted(path)}, {kind}."
        yield Input(path, complaint=message)
    elif search.slices:
        message = f"INPUT must be a folder of slices with --slices; got {quoted(path)}, {kind}."
        yield Input(path, complaint=f"{message} Pass the folder {quoted(path.parent)}.")
    else:
        yield Input(path, stem(path))


def _matching(pattern: Path, search: _Search) -> Iterator[Input]:
    """Yield the images that match a pattern, in folders too, or that there are none."""
    matches: dict[tuple[str, str], Path] = {}  # "**" follows circular links
    for match in sorted(map(Path, glob.glob(str(pattern), recursive=True))):  # noqa: PTH207 - "**"
        if not search.slices or kind_of(match) == FOLDER:
            matches.setdefault((os.path.realpath(match.parent), match.name), match)
    found = [
        item
        for match in matches.values()
        for item in _at(match, search)
        if item.complaint in ("", UNREAD) or kind_of(match) != FOLDER
    ]
    yield from found
    if all(item.complaint == UNREAD for item in found):
        message = f"INPUT must match {_wanted(search)}; got {quoted(pattern)}. Check the pattern."
        yield Input(pattern, complaint=message)


def _inside(folder: Path, search: _Search) -> Iterator[Input]:
    """Yield the images of a folder, or why there are none; and the other files."""
    nothing = True
    others: list[Path] = []
    for inside, found in walk(folder, search.out if search.recursive else None):
        below = inside.relative_to(folder)
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        if is_zarr(inside) and not search.slices:
            nothing = False
            yield Input(inside, (below.parent / stem(inside)).as_posix())
            continue
        paths = [inside / name for name in sorted(found) if name[0] != "."]
        images = list(filter(is_named_as_image, paths))
        others += filterfalse(is_named_as_image, paths)
        nothing = nothing and not images
        if search.slices and images:
            yield Input(inside, name_of(folder) if below == Path() else below.as_posix())
            continue
        for path in images:
            for item in _at(path, search):
                yield replace(item, name="" if item.complaint else (below / item.name).as_posix())
    yield from (Input(path, complaint=UNREAD) for path in others)
    if nothing:
        got = f"{quoted(folder)} with {count_kinds(others)}" if others else quoted(folder)
        remedy = "another folder" if search.recursive else "--recursive to search below it"
        message = f"folder must hold {_wanted(search)}; got {got}. Pass {remedy}."
        yield Input(folder, complaint=message)


def _wanted(search: _Search) -> str:
    """Return what is searched for, in words."""
    endings = ", ".join(SUFFIXES)
    return f"slices ({endings})" if search.slices else f"images ({endings}, OME-Zarr)"


def walk(folder: Path, out: Path | None) -> Iterator[tuple[Path, list[str] | OSError]]:
    """Yield a folder with its files, and each Zarr in it; with `out`, all folders below it.

    `out`, hidden folders, contents of Zarrs and links to folders are left out.
    """
    closed: list[OSError] = []
    for name, below, files in os.walk(folder, onerror=closed.append):
        inside = Path(name)
        yield inside, files
        below[:] = sorted(
            each
            for each in ([] if is_zarr(inside) else below)
            if each[0] != "."
            and (is_zarr(inside / each) if out is None else not is_same(inside / each, out))
        )
    yield from ((Path(error.filename), error) for error in closed)


def is_same(path: Path, out: Path) -> bool:
    """Return whether two paths are the same folder."""
    try:
        return path.samefile(out)
    except OSError:
        return False


def kind_of(path: Path) -> str:
    """Return the kind of file at a path, or why it is unknown."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "a link to nothing" if os.path.islink(path) else NOTHING  # noqa: PTH114 - never raises
    except OSError as error:
        return str(error.strerror)
    except ValueError:  # a null character
        return "no name that a file can have"
    if stat.S_ISDIR(mode):
        return FOLDER
    return FILE if stat.S_ISREG(mode) else "neither file nor folder"


def refuse_kind(name: str, path: Path, wanted: str = FILE, remedy: str = "Check the path.") -> None:
    """Raise RefusedError unless there is a file, or a Zarr, at the path of an argument."""
    kind = kind_of(path)
    if kind != FILE and not is_zarr(path):
        refuse(f"{name} must be {wanted}; got {quoted(path)}, {kind}. {remedy}")


def is_named_as_image(path: Path) -> bool:
    """Return whether the name of a file has the ending of an image."""
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."


def named_apart(inputs: list[Input]) -> list[Input]:
    """Keep results of `cells.png` and `cells.tif` apart: the name of the former keeps ".png"."""
    count = Counter(item.name for item in inputs if not item.complaint)
    return [
        replace(item, name=item.name + item.path.suffix)
        if count[item.name] > 1 and not item.complaint and item.path.suffix.lower() not in TIFF
        else item
        for item in inputs
    ]


# --------------------------------------------------------------------------------- what is left out


def reason(path: Path, *, named: bool, labels: bool = False) -> str:
    """Return why a file is left out as a result of an earlier run; "" if it is not."""
    name = stem(path)
    ending = next((each for each in RESULTS if name.endswith(each)), "")
    if labels and ending == "_labels":
        return ""
    if not ending:
        if labels or named or not (is_zarr(path) and describes_labels(path)):
            return ""
        return "labels, as its description says. Pass it by its name to label it too."
    what = RESULTS[ending]
    table = path.with_name(name.removesuffix(ending) + "_table")
    for suffix in ("csv", "parquet"):
        if os.path.exists(f"{table}.{suffix}"):  # noqa: PTH110 - never raises
            beside = quoted(f"{table.name}.{suffix}")
            return f"{what} whose table is beside it, {beside}. Rename it to label it too."
    if named or (ending == "_overlay" and path.suffix.lower() != ".png"):
        return ""
    return f"named like {what}. Pass the file by its name to label it too."


def count_kinds(paths: Iterable[Path]) -> str:
    """Count files by the endings of their names, the most frequent first.

    >>> from pathlib import Path
    >>> count_kinds([Path("a.txt"), Path("README"), Path("b.TXT")])
    '2 .txt, 1 without an ending'
    """
    kinds = Counter(path.suffix.lower() or "without an ending" for path in paths)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {printable(kind)}" for kind, count in ordered)


def tell_unread(paths: Iterable[Path]) -> list[str]:
    """Return a line about files whose names are not those of images; [] if there are none."""
    paths = list(paths)
    if not paths:
        return []
    count = f"{len(paths)} file{'s' * (len(paths) != 1)}"
    return [f"{count} left out: {count_kinds(paths)}. Images end in {', '.join(SUFFIXES)}."]


# -------------------------------------------------------------------------- labels and their images


def find_pairs(
    words: Sequence[str], image: str | None, out: Path, *, recursive: bool
) -> tuple[list[Input], list[str]]:
    """Find labels, each with its image or a complaint; also return lines about skipped files."""
    inputs, skipped = find(words, out, recursive=recursive, labels=True)
    if image is None:
        return [replace(item, name=base(item.name, LABELS)) for item in inputs], skipped
    path = expanded(image, "--image")
    if kind_of(path) != FOLDER or is_zarr(path):
        refuse_kind("--image", path, "a file or a folder")
        if len(inputs) > 1:
            refuse(
                f"--image must be a folder for {len(inputs)} files of labels; got the file "
                f"{quoted(path)}. Pass the folder that holds their images."
            )
        inputs = [replace(item, beside={"image": path}) for item in inputs]
        return [replace(item, name=base(item.name, LABELS)) for item in inputs], skipped
    images, _ = find([image], out, recursive=recursive, labels=True)
    together = {item.path.resolve() for item in images if not item.complaint}
    if {item.path.resolve() for item in inputs} & together:  # labels and images are in one folder
        images = [item for item in images if base(item.name, LABELS) == item.name]
        inputs = [item for item in inputs if base(item.name, LABELS) != item.name]
        if not inputs:
            refuse(
                f"LABELS must end in one of {list(LABELS)} beside their images; got none in "
                f"{quoted(path)}. Rename them, or put them into a folder of their own."
            )
    known: dict[str, list[Path]] = {}
    for item in images:
        for name in dict.fromkeys((item.name, base(item.name, IMAGES))):
            known.setdefault(name, []).append(item.path)
    return [_paired(item, known, path) for item in inputs], skipped


def base(name: str, endings: Sequence[str]) -> str:
    """Return a name without the first of the endings that it has.

    >>> base("day1/cells_cp_masks", LABELS), base("cells", LABELS)
    ('day1/cells', 'cells')
    """
    for ending in endings:
        short = name[: -len(ending)]
        if name.lower().endswith(ending) and short and short[-1] != "/":
            return short
    return name


def _paired(item: Input, known: dict[str, list[Path]], folder: Path) -> Input:
    """Return labels with their image; an image with the same full name comes first."""
    if item.complaint:
        return item
    short = base(item.name, LABELS)
    found = known.get(item.name) or known.get(short) or known.get(base(short, IMAGES)) or []
    if len(found) == 1:
        return replace(item, name=short, beside={"image": found[0]})
    got = " and ".join(quoted(each.name) for each in found) or "none"
    message = (
        f"labels must have one image of their name; got {got} for {quoted(short)} in "
        f"{quoted(folder)}. Rename one, or pass both files by their names."
    )
    return replace(item, complaint=message)


# ---- Images and their markers and masks

NAME = "{name}"  # in a pattern: the name of the results of an image


def add_files(inputs: Sequence[Input], options: Options) -> list[Input]:
    """Give each image its files of --markers and --mask, which are not images themselves."""
    found = list(inputs)
    for name, word in options.beside.items():
        pattern = expanded(word, f"--{name}")
        if NAME not in word:
            remedy = f"Try 'folder/{NAME}_{name}.tif'."
            refuse_kind(f"--{name}", pattern, f"a file, or a pattern with {NAME}", remedy)
        found = [_with_file(item, name, pattern) for item in found]
    others = [path for item in found for path in item.beside.values()] if options.beside else []
    taken = set(map(os.path.abspath, others))
    own = [item for item in found if os.path.abspath(item.path) not in taken]  # noqa: PTH100
    found = own or found
    if found and all(item.complaint for item in found):
        refuse(found[0].complaint)
    return found


def _with_file(item: Input, name: str, pattern: Path) -> Input:
    """Return an image with the file of an option, found by a pattern or the same for all."""
    if item.complaint:
        return item
    files = [str(pattern)]
    if NAME in files[0]:
        own = files[0].replace(NAME, glob.escape(item.name))
        files = sorted(glob.glob(own))  # noqa: PTH207 - an absolute pattern
    if len(files) == 1:
        return replace(item, beside={**item.beside, name: Path(files[0])})
    got = " and ".join(map(quoted, files[:2])) or "none"
    message = (
        f"--{name} must have one file for each image; got {got} for {quoted(item.name)} with "
        f"{quoted(pattern)}. Check the pattern."
    )
    return replace(item, complaint=message)


# --------------------------------------------------------------------------------- names of results


def refuse_clashes(inputs: Sequence[Input], endings: Mapping[str, str]) -> None:
    """Raise RefusedError if two inputs have results of one name, on a disk that ignores case."""
    ending = next(iter(endings.values()))
    first: dict[str, Input] = {}
    for item in inputs:
        if item.complaint:
            continue
        other = first.setdefault(unicodedata.normalize("NFC", item.name).casefold(), item)
        if other is not item:
            refuse(
                f"inputs must have names of their own; got {quoted(other.path)} and "
                f"{quoted(item.path)}, both for {quoted(item.name + ending)}. Rename one, or use "
                "another --out for it; below one folder, --recursive keeps subfolders apart."
            )


def refuse_to_replace(present: Sequence[Path], which: str = "other files") -> None:
    """Raise RefusedError if there are files that results would replace."""
    if present:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        refuse(
            f"results must not replace {which}; got {quoted(present[0])}{more}. Pass --overwrite "
            "to replace them, or --out with another folder."
        )


def refuse_among(folder: Path, out: Path) -> None:
    """Raise RefusedError if the next run would read the results as slices."""
    if is_same(folder, out):
        refuse(
            f"--out must be another folder than that of the slices; got {quoted(out)} for both. "
            "Choose another folder."
        )


def name_of(folder: Path) -> str:
    """Return the name of the results of a folder: its own name."""
    return folder.name or folder.resolve().name or "volume"
