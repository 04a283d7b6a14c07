"""Files and functions are short enough to be read at once."""

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import equilabel

PACKAGE = Path(equilabel.__file__).parent
LONGEST_FILE, LONGEST_FUNCTION, MOST_FUNCTIONS = 600, 60, 25  # lines

FILES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}


def body_lines(function):
    """Count the lines of a function without its arguments and its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None and len(body) > 1:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1


@cache
def functions():
    """Tell the lines of each function; to parse all files takes seconds."""
    return {
        f"{name}: {node.name}": body_lines(node)
        for name, text in FILES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def longer(sizes, limit):
    return {name: size for name, size in sizes.items() if size > limit}


def test_a_file_has_600_lines_at_most():
    assert not longer({name: len(text.splitlines()) for name, text in FILES.items()}, LONGEST_FILE)


def test_a_function_has_60_lines_at_most():
    assert not longer(functions(), LONGEST_FUNCTION)


def test_nine_functions_of_ten_fit_on_a_screen():
    assert np.percentile(list(functions().values()), 90) <= MOST_FUNCTIONS


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f():\n    return 1", 1),
        ('def f(\n    a,\n    b,\n):\n    """Say\n\n    much."""\n    a += 1\n\n    return a', 3),
        ('def f():\n    """Do nothing."""', 1),
    ],
)
def test_arguments_and_docstring_do_not_count(source, lines):
    assert body_lines(ast.parse(source).body[0]) == lines
