"""The kernels for GPUs as their files declare them."""

import re
from pathlib import Path

import equilabel

FOLDER = Path(equilabel.__file__).parent
FILES = sorted(path.relative_to(FOLDER).as_posix()[:-3] for path in FOLDER.rglob("*.cu"))
KERNEL = re.compile(
    r"(?:template\s*<(?P<parameters>[^<>]*)>\s*)?"
    r'(?:extern\s+"C"\s+)?__global__\s+void\s+(?:CLUSTERS\s+)?'
    r"(?:__launch_bounds__\([^()]*\)\s*)?(?P<name>\w+)\s*\("
    r"(?P<arguments>[^()]*)\)"
)


def comments_removed(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def signatures(file):
    """Map the kernels of a file to their template parameters and arguments, as written."""
    text = comments_removed((FOLDER / f"{file}.cu").read_text(encoding="utf-8"))
    return {
        match["name"]: tuple(
            [part.strip() for part in (match[group] or "").split(",") if part.strip()]
            for group in ("parameters", "arguments")
        )
        for match in KERNEL.finditer(text)
    }
