"""The numbers that papers print, as data: what a file says, and what it may not say."""

import tomllib

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.task import list_published, parse_tables

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
    assert row.not_on_file == ("search",) and row.not_printed == ("coarse",)


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
        ("caption", "title", "table A4: unknown key 'title'"),
        ("columns", "notes", "table A4: no columns"),
        ("spread", "error", "table A4, 'Vanilla': unknown key 'error'"),
        ('"fine", "coarse"', '"fine"', "3 values and 3 spreads of 2 columns"),
        ('"coarse"', '"fine"', "one of its columns occurs twice"),
        ("[2]", "[0]", "unreadable [0] are not all columns without a value"),
        ("[2]", "[3]", "unreadable [3] are not all columns without a value"),
        ("unreadable = [2]", '[[table.row]]\nname = "Vanilla"\nvalues = [1, 2, 3]', "two rows have one name"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(before, after, message):
    with pytest.raises(InputError) as error:
        read(TABLE.replace(before, after))
    assert message in str(error.value)


def test_a_table_that_occurs_twice_is_refused():
    with pytest.raises(InputError, match="occurs twice"):
        read(TABLE * 2)
