"""The numbers that papers print, as data: what a file says, and what it may not say."""

import json
import re
import tomllib
from itertools import groupby
from math import isnan
from pathlib import Path

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.task import PUBLISHED, list_published, parse_tables

PRINTED = json.loads(Path(__file__).with_name("printed.json").read_text())
"""Paper -> number of a table -> its columns and rows as the paper prints them, typed independently of the package."""

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
    ],
)
def test_a_table_that_does_not_fit_is_refused(before, after, message):
    with pytest.raises(InputError) as error:
        read(TABLE.replace(before, after))
    assert message in str(error.value)


def test_a_table_that_occurs_twice_is_refused():
    with pytest.raises(InputError, match="occurs twice"):
        read(TABLE * 2)


def by_row(table, key="values"):
    """The cells of a table, row by row."""
    return [(row["name"], row[key]) for row in table["rows"] if key in row]


def by_column(table, key="values"):
    """The cells of a table whose columns are our rows."""
    return list(zip(table["columns"], zip(*(row[key] for row in table["rows"]), strict=True), strict=True))


def by_name(table, key="values"):
    """The cells of a table with two groups of rows, which stand side by side here."""
    groups = [list(rows) for _, rows in groupby(table["rows"], key=lambda row: row["group"])]
    values = [{row["name"]: row[key] for row in rows} for rows in groups]
    empty = [None] * len(table["columns"])
    return [(name, [cell for group in values for cell in group.get(name, empty)]) for name in values[0]]


def by_code(table, key="values"):
    """The cells of SciRepEval's Table 4: our rows are its codes, and our first columns the tasks in training."""
    rows = [row[key] for row in table["rows"]]
    return [("", [row[4 + code] for row in rows] + [row[code] for row in rows]) for code in range(4)]


def three_of_six(table, key="values"):
    """The cells of a table that prints three of our six columns."""
    return [(name, [one, two, None, three, None, None]) for name, (one, two, three) in by_row(table, key)]


def in_percent(table, key="values"):
    """The first or all cells of a table from 0 to 1: seconds are declared with the table that is reproduced."""
    width = 2 if len(table["columns"]) == 3 else None
    return [(name, [round(100 * cell, 9) for cell in cells[:width]]) for name, cells in by_row(table, key)]


LAYOUTS = {
    "scimult": dict.fromkeys(("3", "4", "5", "7", "8", "A1", "A2", "A3"), by_row)
    | dict.fromkeys(("9", "A4", "A5", "A6", "A7"), by_column)
    | dict.fromkeys(("6", "A8"), by_name),
    "scirepeval": {"1": by_row, "2": by_row, "3": by_row, "7": by_row, "4": by_code, "5": by_row},
    "multi2spe": dict.fromkeys(("1a", "1b", "4a", "4b", "4c", "4d"), by_row) | dict.fromkeys("23", three_of_six),
    "indus": {
        "1": by_row,
        "2": by_row,
        "5": by_column,
        "6": by_row,
        "7": by_row,
        "8": in_percent,
        "9": in_percent,
        "10": by_row,
        "11": in_percent,
    },
}
ONLY_IN_THE_LATER_VERSION = {("indus", "PubMedBERT"), ("indus", "BioLinkBERT-base")}
READ_ELSEWHERE = {  # in Table 4a, and in the released data
    ("1a", "Multi2SPE on SciNCL's data (CS)"): {0: 80.73},
    ("A2", "Geography"): {0: 73_883, 1: 3_285},
}


def pair_rows(printed, ours):
    """Yield our rows with the printed cells: by name where the names are the paper's, else by place."""

    def simple(name):
        return re.sub(r"scimult-|\(2019\)|[^a-z0-9]", "", name.lower())

    cells_of = {simple(name): list(cells) for name, cells in printed}
    by_place = {simple(row["name"]) for row in ours} != {*cells_of}
    assert len(printed) == len(ours)
    for row, (_, cells) in zip(ours, printed, strict=True):
        yield row, list(cells) if by_place else cells_of[simple(row["name"])]


@pytest.mark.parametrize(("paper", "number"), [(paper, number) for paper in LAYOUTS for number in LAYOUTS[paper]])
def test_every_published_cell_is_the_printed_one(paper, number):
    printed, lay_out = PRINTED[paper][number], LAYOUTS[paper][number]
    declared = tomllib.loads((PUBLISHED / f"{paper}.toml").read_text())["table"]
    (rows,) = (table["row"] for table in declared if table["number"] == number)
    ours = [row for row in rows if (paper, row["name"]) not in ONLY_IN_THE_LATER_VERSION]
    for row, cells in pair_rows(lay_out(printed), ours):
        for place, value in READ_ELSEWHERE.get((number, row["name"]), {}).items():
            assert cells[place] is None
            cells[place] = value
        assert [None if isnan(value) else value for value in row["values"]] == cells, row["name"]
    if any("spread" in row for row in printed["rows"]):
        with_spread = [row for row in ours if "spread" in row]
        for row, cells in pair_rows(lay_out(printed, "spread"), with_spread):
            assert [None if isnan(value) else value for value in row["spread"]] == cells, row["name"]
