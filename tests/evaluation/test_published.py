"""The numbers that papers print, as data: what a file says, and what it may not say."""

import json
import tomllib
from math import isnan
from pathlib import Path

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.task import PUBLISHED, list_published, parse_tables

PRINTED = json.loads(Path(__file__).with_name("printed.json").read_text())
"""Paper -> number of a table -> its cells, typed from the paper independently of the package, by our names of rows."""

TABLE = """
[[table]]
number = "A4"
caption = "two scores"
columns = ["fine", "coarse", "search"]

[[table.row]]
name = "Vanilla"
values = [60.31, nan, nan]
spread = [0.5, nan, nan]
unreadable = [2]
"""


def read(text):
    return parse_tables(tomllib.loads(text)["table"], "paper.toml", "Paper (2023)")


def test_numbers_with_their_spread_and_what_is_lacking():
    (row,) = read(TABLE)["A4"]
    assert (row.name, row.source) == ("Vanilla", "Paper (2023), Table A4")
    assert row.scores == {"fine": 60.31} and row.spreads == {"fine": 0.5}
    assert row.unreadable == ("search",) and row.not_printed == ("coarse",)


def test_tables_of_the_package_by_name():
    (first, *_) = list_published(["scimult/A4"])
    assert first.source.endswith("), Table A4") and first.scores["Average, fine"] == 60.31
    with pytest.raises(InputError, match="no published table 'scimult/99'; scimult has 3, 4, "):
        list_published(["scimult/99"])
    with pytest.raises(InputError, match="no published table 'none/1'; none has no file of tables"):
        list_published(["none/1"])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("caption", "title", "table A4: title: Unexpected"),
        ("columns", "notes", "table A4: columns: "),
        ("spread", "error", "table A4: row.0.error: Unexpected"),
        ('"fine", "coarse"', '"fine"', "3 values and 3 spreads of 2 columns"),
        ("[2]", "[0]", "unreadable [0] are not all columns without a value"),
        ("[2]", "[3]", "unreadable [3] are not all columns without a value"),
        ("", TABLE, "occurs twice"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(before, after, message):
    with pytest.raises(InputError) as error:
        read(TABLE.replace(before, after, 1))
    assert message in str(error.value)


ONLY_IN_THE_LATER_VERSION = {("indus", "PubMedBERT"), ("indus", "BioLinkBERT-base")}


@pytest.mark.parametrize(("paper", "number"), [(paper, number) for paper in PRINTED for number in PRINTED[paper]])
def test_every_published_cell_is_the_printed_one(paper, number):
    declared = tomllib.loads((PUBLISHED / f"{paper}.toml").read_text())["table"]
    (rows,) = (table["row"] for table in declared if table["number"] == number)
    ours = [row for row in rows if (paper, row["name"]) not in ONLY_IN_THE_LATER_VERSION]
    for key in ("values", "spread"):
        cells = [[row["name"], [None if isnan(cell) else cell for cell in row[key]]] for row in ours if key in row]
        assert cells == PRINTED[paper][number].get(key, []), key
