"""Queries shared out among fields, by counts worked out by hand."""

from collections import Counter

import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.samplers.domains import BEYOND, NO_FIELD, ONE_FIELD, Balance, Domain, DomainTable

FIELDS = [("Physics",)] * 81 + [("Art",)] * 16 + [("Art", "Physics")] * 3 + [()]
NAMES = [f"p{row}" for row in range(len(FIELDS))]
ROWS = range(len(FIELDS))


def asked(**settings):
    dropped = DropReport()
    found = Balance(**settings).queries(ROWS, FIELDS, NAMES, dropped)
    assert found == sorted(set(found))
    return found, dropped


def test_nothing_asked_for_changes_nothing():
    found, dropped = asked()
    assert found == [(row, 0) for row in ROWS] and not dropped.ids


def test_fields_made_equal():
    """Of 100 papers with a field half go to each; the small one is asked about again and again."""
    found, dropped = asked(smoothing=0.0)
    counts = Counter(FIELDS[row][0] for row, _ in found if len(FIELDS[row]) == 1)
    assert len(found) == 100 and abs(counts["Physics"] - 50) <= 3 and abs(counts["Art"] - 50) <= 11
    assert max(turn for row, turn in found if FIELDS[row] == ("Art",)) >= 2
    assert dropped.count(NO_FIELD) == 1 and dropped.count(BEYOND) >= 30


def test_smoothed_shares():
    """81 and 16 (no paper of both): 81^.5 to 16^.5 is 9 to 4, so 67 and 30 of 97."""
    dropped = DropReport()
    found = Balance(smoothing=0.5).queries(range(97), FIELDS, NAMES, dropped)
    assert Counter(FIELDS[row][0] for row, _ in found) == {"Physics": 67, "Art": 30}
    assert dropped.count(BEYOND) == 14


def test_a_cap():
    found, _ = asked(cap=10)
    assert len(found) == 20 and {turn for _, turn in found} == {0}


def test_papers_of_several_fields():
    """All of them and nothing else; or half of the queries, whatever smoothing and cap leave of them."""
    only, dropped = asked(crossing=1.0)
    assert {row for row, _ in only} == {97, 98, 99} and dropped.count(ONE_FIELD) == 97
    assert dropped.count(NO_FIELD) == 1
    half, _ = asked(crossing=0.5)
    assert {row for row, _ in half} >= {97, 98, 99} and len(half) == 6
    for more in ({"smoothing": 0.0}, {"cap": 10}, {"smoothing": 0.5, "cap": 30}):
        free, _ = asked(**more)
        several = sum(len(FIELDS[row]) > 1 for row, _ in free)
        found, _ = asked(**more, crossing=0.5)
        assert sum(len(FIELDS[row]) > 1 for row, _ in found) == several and len(found) == 2 * several


@pytest.mark.parametrize("wrong", [{"smoothing": 2.0}, {"cap": -1}, {"crossing": 1.5}])
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(InputError, match="are needed"):
        Balance(**wrong)


def test_the_table_of_a_sample():
    table = DomainTable([("Art",), ("Physics",), ("Art", "Physics"), ()])
    table.add(0, (1, 2), (3,))
    table.add(3, (1,), ())
    assert dict(table.rows()) == {
        "Art": Domain(queries=1, triplets=2, papers=2),
        NO_FIELD: Domain(queries=1, triplets=1, papers=1),
        "Physics": Domain(queries=0, triplets=0, papers=2),
    }
    assert (table.queries, table.triplets, table.crossing) == (2, 3, 1)
    assert table.to_json()["papers"] == 4
    table.add(0, (2,), ())  # asked about once more
    assert (table.queries, table.triplets, table.rows()["Art"].queries) == (2, 4, 1)
