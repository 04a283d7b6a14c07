"""Type checkers read a script of a user as it is meant: what the package promises, they know."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import equilabel

SOURCE = Path(equilabel.__file__).parents[1]
SCRIPT = Path(__file__).with_name("typed_user.py")


def run(*command):
    """Return what a program prints, and its exit code."""
    found = subprocess.run(
        command, cwd=SCRIPT.parents[1], capture_output=True, text=True, check=False
    )
    return found.stdout + found.stderr, found.returncode


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "equilabel" / "py.typed").exists()


@pytest.mark.slow
@pytest.mark.long
def test_mypy_understands_what_a_user_writes():
    """As `make types` reads the package, whose cache serves."""
    pytest.importorskip("mypy")
    told, code = run(sys.executable, "-m", "mypy", str(SCRIPT))
    assert (told, code) == ("Success: no issues found in 1 source file\n", 0)


@pytest.mark.slow
@pytest.mark.long
def test_pyright_understands_what_a_user_writes(tmp_path):
    """A line that is marked as a mistake has to be one."""
    pyright = shutil.which("basedpyright", path=Path(sys.executable).parent)
    if pyright is None:
        pytest.skip("needs basedpyright, of the group lint")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [str(SCRIPT)],
                "extraPaths": [str(SOURCE)],
                "typeCheckingMode": "strict",
                "reportUnnecessaryTypeIgnoreComment": "error",
            }
        )
    )
    told, code = run(pyright, "-p", str(tmp_path), "--pythonpath", sys.executable)
    assert "0 errors, 0 warnings" in told
    assert code == 0
