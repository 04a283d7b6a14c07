"""Pages that are written from the package say what the package says."""

import re
from pathlib import Path

import pytest

from equilabel import PROPERTIES
from equilabel.kernels.layout import Layout
from equilabel.measuring.plan import MOMENTS, VALUES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_stands_on_the_page_with_its_sentence(name):
    row = PROPERTIES[name]
    assert row.name == name
    assert re.search(rf"^\| `{name}` \| {re.escape(row.summary)} \|", PAGE, re.MULTILINE)
    assert row.summary.endswith(".")


def test_the_page_lists_nothing_else():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert listed == list(PROPERTIES)


def test_properties_need_what_a_plan_knows():
    known = {*Layout(1).widths, "faces", "all", "box", *VALUES, *MOMENTS}
    assert {need for row in PROPERTIES.values() for need in row.needs} <= known


def test_every_property_of_skimage_is_known_by_its_name():
    from skimage.measure._regionprops import COL_DTYPES

    theirs = {name for name, row in PROPERTIES.items() if row.source == "skimage"}
    assert theirs == set(COL_DTYPES)


def test_images_of_the_page_exist():
    for link in re.findall(r"\]\((images/[^)]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
