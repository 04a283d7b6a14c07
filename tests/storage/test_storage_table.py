"""Tables come back as they were written, and no spreadsheet runs a cell of them."""
# ruff: noqa: RUF001 - characters that look alike are meant

import csv
import random
import sys

import numpy as np
import pandas as pd
import pytest

from equilabel.storage.table import read_table, write_table

SUFFIXES = [".csv", ".parquet"]
FORMULAS = {  # what text is written as
    "=1+1": "'=1+1",
    "+1": "'+1",
    "-1": "'-1",
    "@SUM(A1)": "'@SUM(A1)",
    "=": "'=",
    "-": "'-",
    "\t=1": "\t'=1",
    "\r=1": "\r'=1",
    "\n=1": "\n'=1",
    ' "=1': " \"'=1",
    "\u200b\ufeff=1": "\u200b\ufeff'=1",
    "＝1": "'＝1",
    "＋1": "'＋1",
    "－1": "'－1",
    "＠1": "'＠1",
    "\u22121": "'\u22121",
    "a;=1+1;.tif": "a;'=1+1;.tif",
    "a\t@1|-1,+1": "a\t'@1|'-1,'+1",
}
EXTREMES = [0.1, 1 / 3, 1e22, 5e-324, 1.7976931348623157e308, -2.5, 123456789.123456789, 0.0]


@pytest.fixture(params=SUFFIXES)
def file(request, tmp_path):
    return tmp_path / f"table{request.param}"


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "label": np.arange(1, 5),
            "area": [0.1, np.nan, np.inf, 2.0],
            "touches": [True, False, True, True],
            "name": ["a", "µm, b", 'c "d"', "e\nf"],
        }
    )


def cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("as_mapping", [False, True])
def test_a_table_comes_back(file, table, as_mapping):
    write_table(file, table.to_dict("list") if as_mapping else table)
    pd.testing.assert_frame_equal(read_table(file), table)


def test_columns_may_be_arrays(file):
    write_table(file, {"label": np.arange(3, dtype="uint16"), "area": np.zeros(3)})
    assert read_table(file)["label"].tolist() == [0, 1, 2]


def test_floats_come_back_to_the_last_bit(file):
    values = [*EXTREMES, *np.random.default_rng(0).normal(0, 1e3, 2000)]
    write_table(file, {"area": values})
    assert read_table(file)["area"].tolist() == values


def test_integers_beyond_the_floats_come_back(file):
    write_table(file, {"label": [2**53 + 1, 2**63 - 1, -(2**63)]})
    assert read_table(file)["label"].tolist() == [2**53 + 1, 2**63 - 1, -(2**63)]


def test_the_index_is_not_written(file, table):
    write_table(file, table.set_index(pd.Index([7, 5, 3, 1])))
    pd.testing.assert_frame_equal(read_table(file), table)


def test_a_table_without_rows_keeps_its_columns(file, table):
    write_table(file, table[:0])
    assert read_table(file).columns.tolist() == table.columns.tolist()


def test_a_table_of_nothing_is_written(tmp_path):
    write_table(tmp_path / "a.csv", {})
    assert (tmp_path / "a.csv").read_bytes() == b"\n"


@pytest.mark.parametrize(("text", "written"), FORMULAS.items())
def test_text_that_begins_like_a_formula_gets_an_apostrophe(tmp_path, text, written):
    write_table(tmp_path / "a.csv", {"name": ["a", text], text: [1, 2]})
    assert cells(tmp_path / "a.csv") == [["name", written], ["a", "1"], [written, "2"]]


def test_no_program_finds_a_formula_wherever_it_splits_cells(tmp_path):
    rng = random.Random(11)
    signs = "=+-@＝＋－＠"
    names = ["".join(rng.choices(signs + ";,|\t\r\n '\"\ufeffa1", k=9)) for _ in range(3000)]
    write_table(tmp_path / "a.csv", {"name": names, "value": [-1.5] * len(names)})
    found = []
    for separator in ",;|\t":
        with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file, delimiter=separator):
                found += [cell.strip(" \t\r\n\v\f\ufeff") for cell in row]
    assert {cell for cell in found if cell.startswith(tuple(signs))} == {"-1.5"}
    assert read_table(tmp_path / "a.csv")["name"].tolist() == names


@pytest.mark.parametrize("text", ["a-b", "x = 1", "1-2", "a@b", "(+)", "it's; no", "a; b|c"])
def test_signs_within_text_stay_as_they_are(tmp_path, text):
    write_table(tmp_path / "a.csv", {"name": [text]})
    assert cells(tmp_path / "a.csv")[1] == [text]


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_no_type_of_text_gets_a_formula_through(tmp_path, kind):
    write_table(tmp_path / "a.csv", {"name": pd.Series(["=1", "b"], dtype=kind)})
    assert cells(tmp_path / "a.csv") == [["name"], ["'=1"], ["b"]]


def test_text_among_numbers_gets_an_apostrophe_and_the_numbers_none(tmp_path):
    write_table(tmp_path / "a.csv", {"mixed": np.array([-1, "-1", -0.5], dtype=object)})
    assert cells(tmp_path / "a.csv") == [["mixed"], ["-1"], ["'-1"], ["-0.5"]]


def test_negative_numbers_stay_numbers(tmp_path):
    write_table(tmp_path / "a.csv", {"x": [-1], "y": [-0.5], "z": [-np.inf]})
    assert cells(tmp_path / "a.csv") == [["x", "y", "z"], ["-1", "-0.5", "-inf"]]


def test_a_carriage_return_does_not_begin_a_row_with_a_formula(tmp_path):
    table = {"label": [1, 2], "name": ["a\r=1+1", "b"]}
    write_table(tmp_path / "a.csv", table)
    rows = cells(tmp_path / "a.csv")
    assert rows == [["label", "name"], ["1", "a\r'=1+1"], ["2", "b"]]
    assert b'"a\r\'=1+1"' in (tmp_path / "a.csv").read_bytes()
    assert read_table(tmp_path / "a.csv").to_dict("list") == table


@pytest.mark.parametrize("text", [*FORMULAS, "'=1", "''=1", "'", "''", "'a", "it's"])
def test_text_comes_back_with_the_apostrophes_it_had(file, text):
    write_table(file, {text: [text, "b"]})
    assert read_table(file).to_dict("list") == {text: [text, "b"]}


@pytest.mark.parametrize("word", ["NA", "null", "None", "nan"])
def test_words_that_look_missing_are_text(file, word):
    write_table(file, {"name": [word, "b"]})
    assert read_table(file)["name"].tolist() == [word, "b"]


def test_missing_text_is_missing(file):
    write_table(file, {"name": ["a", None]})
    assert read_table(file)["name"].isna().tolist() == [False, True]


@pytest.mark.parametrize("name", ["a.txt", "a", "a.csv.gz"])
def test_another_suffix_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end in one of \['.csv', '.parquet'\]; got "):
        write_table(tmp_path / name, {"label": [1]})
    assert list(tmp_path.iterdir()) == []


def test_the_suffix_may_be_in_capitals(tmp_path):
    write_table(tmp_path / "A.CSV", {"label": [1]})
    assert read_table(tmp_path / "A.CSV")["label"].tolist() == [1]


@pytest.mark.parametrize("function", [lambda f: write_table(f, {"a": [1]}), read_table])
def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch, function):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"needs pyarrow; got .*\. Install with `pip install equilabel\[parquet\]`, or write"
    with pytest.raises(ImportError, match=message):
        function(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_csv_needs_no_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write_table(tmp_path / "a.csv", {"a": [1]})
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"


def test_a_missing_table_is_the_systems_error(file):
    with pytest.raises(FileNotFoundError):
        read_table(file)
