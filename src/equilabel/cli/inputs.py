"""Names of files, and the images that a command finds."""

from __future__ import annotations

import glob
import os
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from equilabel.storage.files import refuse_url
from equilabel.storage.images import SUFFIXES, TIFF
from equilabel.storage.ome_zarr import describes_labels, is_zarr

from .options import RefusedError

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
    """Replace ``~`` by the home folder; an unknown user stays as it is.

    Raises RefusedError for a URL; `name` is the option or argument in its message.
    """
    try:
        refuse_url(name, word)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return Path(os.path.expanduser(word))  # noqa: PTH111 - pathlib's raises


# ---- Images in files, folders and patterns

FILE, FOLDER, NOTHING = "a file", "a folder", "nothing"
MOST_KINDS = 8  # kinds of files listed in a line
RESULTS = {"_labels": "a label image", "_overlay": "an overlay"}
DESCRIBED = "labels, as its description says"
# What programs (equilabel, Cellpose, others) append to the name of an image. Longest first.
LABELS = ("_segmentation", "_cp_masks", "_labels", "_masks", "_label", "_mask", "_seg")
IMAGES = ("_image", "_img")


@dataclass(frozen=True)
class Input:
    """An input image, or an argument for which no image was found."""

    path: Path  # as it was typed
    name: str = ""  # of the results below the output folder, without endings: "day1/cells"
    complaint: str = ""  # why it cannot be read; "" for an image
    image: Path | None = None  # the image to measure in, if the input holds labels
    unread: bool = False  # whether it is a file in a folder whose name is not that of an image


def find(
    words: Sequence[str], out: Path, *, recursive: bool, labels: bool = False
) -> tuple[list[Input], list[str]]:
    """Find images from names of files, folders and patterns; return them and the skipped files.

    Each file is returned once, in the order of `words`, then of names. With `recursive`, folders
    stand for all images below them, and results keep the subfolders; `out` is not searched. With
    `labels`, label images are searched for and not left out. The second list has a line for each
    file that is left out: results of earlier runs (``*_labels.*`` and ``*_overlay.png`` with a
    table beside them), files with such names that were not typed exactly (a shell expands
    patterns), and a line about all files that are not images. Raises RefusedError if there is no
    image.
    """
    inputs: dict[str, Input] = {}
    skipped: dict[str, tuple[Path, str]] = {}
    unread: dict[str, Path] = {}
    for word in words:
        for item in _behind(word, out, recursive):
            where = os.path.abspath(item.path)  # noqa: PTH100 - links stay
            if item.unread:
                unread[where] = item.path
                continue
            named = item.path == expanded(word)
            why = "" if item.complaint else reason(item.path, named=named, labels=labels)
            if why:
                skipped.setdefault(where, (item.path, why))
            else:
                inputs.setdefault(where, item)
    left_out = [found for where, found in skipped.items() if where not in inputs]
    if all(item.complaint for item in inputs.values()):
        message = next((item.complaint for item in inputs.values()), "")
        if not message:
            path, why = left_out[0]
            message = f"INPUT must be images; got {quoted(path)}, {why}"
        raise RefusedError(message)
    lines = [f"{printable(path)}: left out, {why}" for path, why in left_out]
    return named_apart(list(inputs.values())), [*lines, *tell_unread(unread.values())]


def _behind(word: str, out: Path, recursive: bool) -> Iterator[Input]:
    if not word.strip():
        message = f"INPUT must be a file, a folder or a pattern; got {word!r}."
        raise RefusedError(message)
    path = expanded(word)
    kind = kind_of(path)
    if kind == FOLDER and is_zarr(path):
        yield Input(path, stem(path))
    elif kind == FOLDER:
        yield from _inside(path, out, recursive)
    elif kind != NOTHING:
        yield _image(path, stem(path), kind)
    elif glob.has_magic(word):
        yield from _matching(path, out, recursive)
    else:
        message = f"INPUT must exist; got {quoted(path)}. Check the path."
        yield Input(path, complaint=message)


def _matching(pattern: Path, out: Path, recursive: bool) -> Iterator[Input]:
    nothing = True
    seen: set[tuple[str, str]] = set()  # "**" follows circular links
    for match in sorted(map(Path, glob.glob(str(pattern), recursive=True))):  # noqa: PTH207 - "**"
        real = os.path.realpath(match.parent), match.name
        if real in seen:
            continue
        seen.add(real)
        kind = kind_of(match)
        if kind == FOLDER and is_zarr(match):
            items = [Input(match, stem(match))]
        elif kind == FOLDER:
            items = [item for item in _inside(match, out, recursive) if not item.complaint]
        else:
            items = [_found(match, stem(match), kind)]
        nothing = nothing and all(item.unread for item in items)
        yield from items
    if nothing:
        message = (
            f"INPUT must match images ({', '.join(SUFFIXES)}, OME-Zarr); got {quoted(pattern)}."
        )
        yield Input(pattern, complaint=f"{message} Check the pattern.")


def _inside(folder: Path, out: Path, recursive: bool) -> Iterator[Input]:
    """Yield the images of a folder, or why there are none."""
    nothing, others = True, []
    for inside, found in walk(folder, out if recursive else None):
        if is_zarr(inside):
            nothing = False
            yield Input(inside, (inside.parent / stem(inside)).relative_to(folder).as_posix())
            continue
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        for path in sorted(inside / name for name in found):
            if path.name[0] == ".":
                continue
            item = _found(path, (path.parent / stem(path)).relative_to(folder).as_posix())
            nothing = nothing and item.unread
            others += [path] * item.unread
            yield item
    if nothing:
        got = f"{quoted(folder)} with {count_kinds(others)}" if others else quoted(folder)
        remedy = "Pass another folder." if recursive else "Pass --recursive to search below it."
        message = f"folder must hold images ({', '.join(SUFFIXES)}, OME-Zarr); got {got}. {remedy}"
        yield Input(folder, complaint=message)


def walk(folder: Path, out: Path | None) -> Iterator[tuple[Path, list[str] | OSError]]:
    """Yield a folder with its files, and each Zarr in it; with `out`, all folders below it.

    `out` and the contents of Zarrs are left out. Unlike `os.walk`, this does not recurse, and
    reports folders that cannot be opened. Links to folders are not followed, because they may be
    circular.
    """
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        below, files = [], []
        try:
            os.stat(f"{inside}{os.sep}.")  # noqa: PTH116 - pathlib leaves the point out
            with os.scandir(inside) as entries:
                for entry in entries:
                    if not _is_folder(entry):
                        files.append(entry.name)
                    elif not entry.is_symlink() and entry.name[0] != ".":
                        below.append(entry.name)
        except OSError as error:
            yield inside, error
            continue
        yield inside, files
        if is_zarr(inside):
            continue
        paths = [inside / name for name in sorted(below, reverse=True)]
        if out is not None:
            waiting += [path for path in paths if not is_same(path, out)]
        else:
            waiting += filter(is_zarr, paths)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_same(path: Path, out: Path) -> bool:
    """Return whether two paths are the same folder."""
    try:
        return path.samefile(out)
    except OSError:
        return False


def _image(path: Path, name: str, kind: str = "") -> Input:
    """Return a file as input, or a complaint if opening it would fail or block."""
    kind = kind or kind_of(path)
    if kind == FILE:
        return Input(path, name)
    return Input(path, complaint=f"INPUT must be a file or a folder; got {quoted(path)}, {kind}.")


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


def _found(path: Path, name: str, kind: str = "") -> Input:
    """Return a file that was found by a search: an image if its name has the ending of one."""
    if path.suffix.lower() in SUFFIXES and path.name[0] != ".":
        return _image(path, name, kind)
    return Input(path, unread=True)


def named_apart(inputs: list[Input]) -> list[Input]:
    """Keep the results of `cells.png` and `cells.tif` apart: the name of the former keeps ".png".

    Names change only if both files are read; two TIFFs with one name are refused later.
    """
    count = Counter(item.name for item in inputs if not item.complaint)
    return [
        replace(item, name=item.name + item.path.suffix)
        if count[item.name] > 1 and not item.complaint and item.path.suffix.lower() not in TIFF
        else item
        for item in inputs
    ]


# --------------------------------------------------------------------------------- what is left out


def reason(path: Path, *, named: bool, labels: bool = False) -> str:
    """Return why a file is left out as a result of an earlier run; "" if it is not.

    Decided from its name and from a table beside it. `named` is True if the user typed the path
    itself, `labels` if label images are searched for.
    """
    name = stem(path)
    ending = next((each for each in RESULTS if name.endswith(each)), "")
    if labels and ending == "_labels":
        return ""
    if not ending:
        other = not (labels or named) and is_zarr(path) and describes_labels(path)
        return f"{DESCRIBED}. Pass it by its name to label it too." if other else ""
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
    told = [f"{count} {printable(kind)}" for kind, count in ordered[:MOST_KINDS]]
    return ", ".join([*told, *(["..."] if len(kinds) > MOST_KINDS else [])])


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
    """Find labels, each with its image; also return lines about files that are left out.

    `image` is a file for one file of labels, or a folder in which images are found by their names.
    Labels without an image get a complaint. Raises RefusedError if there are no labels, or if
    `image` does not exist or is one file for several labels.
    """
    inputs, skipped = find(words, out, recursive=recursive, labels=True)
    if image is None:
        return [_renamed(item) for item in inputs], skipped
    path = expanded(image, "--image")
    kind = kind_of(path)
    if kind == FILE or is_zarr(path):
        if len(inputs) > 1:
            message = (
                f"--image must be a folder for {len(inputs)} files of labels; got the file "
                f"{quoted(path)}. Pass the folder that holds their images."
            )
            raise RefusedError(message)
        return [_renamed(replace(item, image=path)) for item in inputs], skipped
    if kind != FOLDER:
        message = f"--image must be a file or a folder; got {quoted(path)}, {kind}. Check the path."
        raise RefusedError(message)
    images, _ = find([image], out, recursive=recursive, labels=True)
    together = {item.path.resolve() for item in images if not item.complaint}
    if {item.path.resolve() for item in inputs} & together:  # labels and images are in one folder
        images = [item for item in images if base(item.name, LABELS) == item.name]
        inputs = [item for item in inputs if base(item.name, LABELS) != item.name]
        if not inputs:
            message = (
                f"LABELS must end in one of {list(LABELS)} beside their images; got none in "
                f"{quoted(path)}. Rename them, or put them into a folder of their own."
            )
            raise RefusedError(message)
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


def _renamed(item: Input) -> Input:
    return item if item.complaint else replace(item, name=base(item.name, LABELS))


def _paired(item: Input, known: dict[str, list[Path]], folder: Path) -> Input:
    """Return labels with their image; an image with the same full name comes first."""
    if item.complaint:
        return item
    short = base(item.name, LABELS)
    found = known.get(item.name) or known.get(short) or known.get(base(short, IMAGES)) or []
    if len(found) == 1:
        return replace(item, name=short, image=found[0])
    if found:
        got = " and ".join(quoted(path.name) for path in found)
        message = f"labels must have one image; got {got} in {quoted(folder)}. Rename one."
    else:
        message = (
            f"labels must have an image of their name; got none for {quoted(short)} in "
            f"{quoted(folder)}. Rename one, or pass both files by their names."
        )
    return replace(item, complaint=message)


# --------------------------------------------------------------------------------- names of results


def refuse_clashes(inputs: Sequence[Input], endings: Mapping[str, str]) -> None:
    """Raise a RefusedError that names two inputs with conflicting results.

    `endings` are the endings of the names of results, by kind. Names that differ only in case or in
    the encoding of accents count as equal, because many disks do not tell them apart.
    """
    ending = next(iter(endings.values()))
    first: dict[str, Input] = {}
    for item in inputs:
        if item.complaint:
            continue
        other = first.setdefault(_key(item.name), item)
        if other is not item:
            message = (
                f"inputs must have names of their own; got {quoted(other.path)} and "
                f"{quoted(item.path)}, both for {quoted(item.name + ending)}. "
                f"{_remedy(other.path, item.path)}"
            )
            raise RefusedError(message)

    known = {_key(item.name + end): item for item in first.values() for end in endings.values()}
    for item in first.values():
        for folder in map(str, PurePosixPath(item.name).parents if "/" in item.name else ()):
            found = known.get(_key(folder))
            if found is not None:
                message = (
                    f"results must not lie in others; got {quoted(item.path)}, whose results are "
                    f"in {quoted(folder)}, also a result of {quoted(found.path)}. Rename that "
                    "folder, or use another --out for it."
                )
                raise RefusedError(message)


def _remedy(one: Path, other: Path) -> str:
    """Describe how to keep the results of two files apart."""
    folder = _common(one, other)
    names = [_below(folder, path) for path in (one, other)]
    whole_disk = folder.is_absolute() and folder == Path(folder.anchor)
    if whole_disk or None in names or _key(str(names[0])) == _key(str(names[1])):
        return "Rename one, or use another --out for it."
    return (
        f"Pass the folder {quoted(folder)} with --recursive in place of both, which keeps "
        "subfolders apart. Or rename one, or use another --out for it."
    )


def _common(one: Path, other: Path) -> Path:
    """Return the deepest common folder; absolute unless both paths are below the current folder."""
    paths = [one, other]
    if any(path.is_absolute() or ".." in path.parts for path in paths):
        paths = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - links stay
    try:
        return Path(os.path.commonpath([path.parent for path in paths]) or ".")
    except ValueError:  # two disks
        return Path(paths[0].anchor)


def _below(folder: Path, path: Path) -> str | None:
    """Return the name of the results below a folder; None if a search would not find the file."""
    path = Path(os.path.abspath(path)) if folder.is_absolute() else path  # noqa: PTH100
    try:
        parts = path.relative_to(folder).parts[:-1]
    except ValueError:
        return None
    inside = folder
    for part in parts:
        inside /= part
        if part.startswith(".") or inside.is_symlink():
            return None
    return "/".join((*parts, stem(path)))


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


# ---- `--slices`: folders of numbered slices


def find_stacks(
    words: Sequence[str], out: Path, *, recursive: bool
) -> tuple[list[Input], list[str]]:
    """Return each folder that contains slices once, and lines about files that are not images.

    `words` are folders, and patterns that match folders. With `recursive`, folders below them are
    stacks too, and results keep the subfolders; `out` is not searched. Raises RefusedError if there
    is no such folder, or results would be written among the slices.
    """
    inputs: dict[Path, Input] = {}
    unread: list[Path] = []
    for word in words:
        for item in _slices_behind(word, out, recursive, unread):
            inputs.setdefault(item.path.absolute(), item)
    found = list(inputs.values())
    if all(item.complaint for item in found):
        raise RefusedError(found[0].complaint)
    for item in found:
        refuse_among(item.path, out)
    return found, tell_unread(unread)


def refuse_among(folder: Path, out: Path) -> None:
    """Raise RefusedError if the next run would read the results as slices."""
    if is_same(folder, out):
        message = (
            f"--out must be another folder than that of the slices; got {quoted(out)} for both. "
            "Choose another folder."
        )
        raise RefusedError(message)


def name_of(folder: Path) -> str:
    """Return the name of the results of a folder: its own name."""
    return folder.name or folder.resolve().name or "volume"


def _slices_behind(word: str, out: Path, recursive: bool, unread: list[Path]) -> Iterator[Input]:
    path = expanded(word)
    kind = kind_of(path) if word.strip() else NOTHING
    if kind == FOLDER:
        yield from _slices_inside(path, out, recursive, unread)
        return
    matches = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - "**"
    folders = [match for match in matches if kind_of(match) == FOLDER] if kind == NOTHING else []
    for folder in folders:
        yield from _slices_inside(folder, out, recursive, unread)
    if not folders:
        remedy = f"Pass the folder {quoted(path.parent)}." if path.suffix else "Check the path."
        message = f"INPUT must be a folder of slices with --slices; got {quoted(path)}, {kind}."
        yield Input(path, complaint=f"{message} {remedy}")


def _slices_inside(folder: Path, out: Path, recursive: bool, unread: list[Path]) -> Iterator[Input]:
    """Yield the folders of slices at and below a folder, or why there are none."""
    nothing, others = True, []
    for inside, found in walk(folder, out if recursive else None):
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        paths = [inside / name for name in found if name[0] != "."]
        others += [path for path in paths if path.suffix.lower() not in SUFFIXES]
        if any(path.suffix.lower() in SUFFIXES for path in paths):
            nothing = False
            below = inside.relative_to(folder).as_posix()
            yield Input(inside, name_of(folder) if below == "." else below)
    unread += others
    if nothing:
        got = f"{quoted(folder)} with {count_kinds(others)}" if others else quoted(folder)
        remedy = "Pass another folder." if recursive else "Pass --recursive to search below it."
        message = f"folder must hold slices ({', '.join(SUFFIXES)}); got {got}. {remedy}"
        yield Input(folder, complaint=message)
