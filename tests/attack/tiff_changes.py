"""What is done to the bytes of a TIFF: bits, tags, whole strips, and the chain of its pages."""

from __future__ import annotations

import random
import re
import struct
from contextlib import suppress

import tifffile

from .tiff_files import pages_of, values, whole_files


def mutated(seed):
    """Return the name of a whole file, what was changed in it, and the bytes after that."""
    chance = random.Random(seed)
    name = chance.choice(sorted(whole_files()))
    data, changes = bytearray(whole_files()[name][0]), []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change = chance.choice(CHANGES)
        with suppress(Exception):  # one that this file, or what is left of it, does not allow
            change(data, chance, pages_of(name))
            changes.append(change.__name__)
    return name, " + ".join(changes), bytes(data)


def flip_bits(data, chance, _):
    for _ in range(chance.choice((1, 1, 4, 32))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def flip_in_directories(data, chance, pages):
    for _ in range(chance.choice((1, 1, 2, 5))):
        page = chance.choice(pages)
        at = page.offset + chance.randrange(2 + 12 * len(page.tags))
        data[at] = chance.choice((0, 255, data[at] ^ 1 << chance.randrange(8)))


def flip_in_pixels(data, chance, pages):
    page = chance.choice(pages)
    k = chance.randrange(len(page.dataoffsets))
    for _ in range(chance.choice((1, 2, 20))):
        at = page.dataoffsets[k] + chance.randrange(page.databytecounts[k])
        data[at] ^= 1 << chance.randrange(8)


def cut(data, chance, _):
    del data[chance.randrange(len(data)) :]


def clear(data, chance, _):
    at = chance.randrange(len(data))
    size = min(chance.choice((1, 16, 512)), len(data) - at)
    data[at : at + size] = bytes(size)


def add_junk(data, chance, _):
    at = chance.choice((len(data), len(data), chance.randrange(len(data))))
    data[at:at] = chance.randbytes(chance.choice((1, 100, 5000)))


def edit_tag(data, chance, pages):
    tag = chance.choice(list(chance.choice(pages).tags))
    value = chance.choice((0, 1, 2, 3, 7, 8, 16, 24, 32, 48, 64, 96, 255, 2**16 - 1, 2**31))
    old = tag.value[0] if isinstance(tag.value, tuple) else tag.value
    if isinstance(old, int):
        value = chance.choice((value, value, old * 2, old // 2, old + 1, old - 1))
    _set(data, tag, chance.randrange(tag.count), value)


def edit_size(data, chance, pages):
    names = ("ImageWidth", "ImageLength", "BitsPerSample", "RowsPerStrip", "SamplesPerPixel")
    names += ("TileWidth", "TileLength", "SampleFormat", "Compression", "Predictor", "FillOrder")
    name = chance.choice([name for name in names if name in pages[0].tags])
    old = pages[0].tags[name].value
    old = int(old[0] if isinstance(old, tuple) else old)
    new = chance.choice((old // 2, old * 2, old + 1, old - 1, old + 16, 1, 8, 16))
    if name == "Compression":
        new = chance.choice((1, 2, 5, 7, 8, 32773, 34712, 34887, 34925, 34933, 34934, 50000, 50002))
    for page in pages if chance.random() < 0.7 else [chance.choice(pages)]:
        for k in range(page.tags[name].count):
            _set(data, page.tags[name], k, new)


def edit_description(data, chance, _):
    digits = [match.start() for match in re.finditer(rb"(?<=[=\" \[])\d", bytes(data[:4000]))]
    for _ in range(chance.choice((1, 1, 3))):
        data[chance.choice(digits)] = ord(chance.choice("0123456789"))


def swap_parts(data, chance, pages):
    """Exchange two strips or tiles, of one page or of two."""
    one, other = (chance.choice(pages) for _ in range(2))
    k, m = chance.randrange(len(one.dataoffsets)), chance.randrange(len(other.dataoffsets))
    for index in (0, 1):
        tags = [_places(page)[index] for page in (one, other)]
        values = [_listed(tag)[at] for tag, at in zip(tags, (k, m), strict=True)]
        _set(data, tags[0], k, values[1])
        _set(data, tags[1], m, values[0])


def share_parts(data, chance, pages):
    """Let a strip or tile have the bytes of another, or begin within them."""
    one, other = (chance.choice(pages) for _ in range(2))
    k, m = chance.randrange(len(one.dataoffsets)), chance.randrange(len(other.dataoffsets))
    shift = chance.choice((0, 0, 1, 4))
    _set(data, _places(one)[0], k, other.dataoffsets[m] + shift)
    _set(data, _places(one)[1], k, other.databytecounts[m] - shift)


def graft_part(data, chance, pages):
    """Put a strip or tile of another file in the place of one."""
    name = chance.choice(sorted(whole_files()))
    other, source = whole_files()[name][0], chance.choice(pages_of(name))
    page = chance.choice(pages)
    k, m = chance.randrange(len(page.dataoffsets)), chance.randrange(len(source.dataoffsets))
    at, size = source.dataoffsets[m], source.databytecounts[m]
    _replace(data, page, k, other[at : at + size])


def graft_stream(data, chance, pages):
    """Put a stream of the same codec but of another size or type in the place of one."""
    page = chance.choice(pages)
    dtype = chance.choice(("u1", "u2", "i2", "f4"))
    content = values(*chance.choice(((12, 48), (16, 24), (16, 96), (40, 48), (600, 800))))
    stream = tifffile.TIFF.COMPRESSORS[int(page.compression)](content.astype(dtype))
    _replace(data, page, chance.randrange(len(page.dataoffsets)), stream)


def relink_pages(data, chance, pages):
    """Leave out pages, repeat them, or change their order."""
    page, goal = chance.choice(pages), chance.choice([0, *(page.offset for page in pages)])
    big, order = data[2:4] in (b"+\0", b"\0+"), "<" if data[:2] == b"II" else ">"
    at = page.offset + (8 + 20 * len(page.tags) if big else 2 + 12 * len(page.tags))
    if chance.random() < 0.2:
        at = 8 if big else 4
    struct.pack_into(f"{order}{'Q' if big else 'I'}", data, at, goal)


CHANGES = (
    *(flip_bits, flip_in_directories, flip_in_directories, flip_in_pixels, cut, clear, add_junk),
    *(edit_tag, edit_tag, edit_size, edit_size, edit_size, edit_description, swap_parts),
    *(share_parts, graft_part, graft_stream, relink_pages),
)


def _replace(data, page, k, stream):
    """Put other bytes in the place of a strip or tile, behind all others if they do not fit."""
    places, at = _places(page), page.dataoffsets[k]
    if len(stream) <= page.databytecounts[k]:
        data[at : at + len(stream)] = stream
    else:
        _set(data, places[0], k, len(data))
        data += stream
    _set(data, places[1], k, len(stream))


def _places(page):
    names = ("TileOffsets", "TileByteCounts") if page.is_tiled else ("StripOffsets",)
    names = names if page.is_tiled else (*names, "StripByteCounts")
    return [page.tags[name] for name in names]


def _listed(tag):
    return tag.value if isinstance(tag.value, tuple) else (tag.value,)


def _set(data, tag, k, value):
    """Overwrite one value of a tag of numbers."""
    order = "<" if data[:2] == b"II" else ">"
    letter = {1: "B", 3: "H", 4: "I", 16: "Q"}[int(tag.dtype)]
    size = struct.calcsize(letter)
    value = max(0, value) % 256**size
    struct.pack_into(order + letter, data, tag.valueoffset + k * size, value)
