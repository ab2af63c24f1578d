"""The numbers that papers print, as data: what a file says, and what it may not say."""

import pytest

from sciprism.errors import InputError
from sciprism.reproduce.published import read_published

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


def read(tmp_path, text):
    path = tmp_path / "paper.toml"
    path.write_text(text)
    return read_published(path, "Paper (2023)")


def test_numbers_with_their_spread_and_what_is_lacking(tmp_path):
    (row,) = read(tmp_path, TABLE)["A4"]
    assert (row.name, row.source) == ("Vanilla", "Paper (2023), Table A4")
    assert row.scores == {"fine": 60.31} and row.spreads == {"fine": 0.5}
    assert row.not_on_file == ("search",) and row.not_printed == ("coarse",)
    assert read_published(tmp_path / "none.toml", "Paper") == {}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("caption", "title", "table A4: unknown key 'title'"),
        ("spread", "error", "table A4, 'Vanilla': unknown key 'error'"),
        ('"fine", "coarse"', '"fine"', "3 values and 3 spreads of 2 columns"),
        ('"coarse"', '"fine"', "one of its columns occurs twice"),
        ("[2]", "[0]", "unreadable [0] are not all columns without a value"),
        ("[2]", "[3]", "unreadable [3] are not all columns without a value"),
        ("unreadable = [2]", '[[table.row]]\nname = "Vanilla"\nvalues = [1, 2, 3]', "two rows have one name"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, before, after, message):
    with pytest.raises(InputError) as error:
        read(tmp_path, TABLE.replace(before, after))
    assert message in str(error.value)


def test_a_table_that_occurs_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="occurs twice"):
        read(tmp_path, TABLE * 2)
