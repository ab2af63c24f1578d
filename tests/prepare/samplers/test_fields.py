"""Queries balanced among fields, by counts worked out by hand."""

from collections import Counter

from sciprism.drop_report import DropReport
from sciprism.prepare.citations import BEYOND_LIMIT, NO_FIELD, SINGLE_FIELD, FieldBalance

FIELDS = [("Physics",)] * 81 + [("Art",)] * 16 + [("Art", "Physics")] * 3 + [()]
NAMES = [f"p{row}" for row in range(len(FIELDS))]
ROWS = range(len(FIELDS))


def balance(**settings):
    dropped = DropReport()
    found = FieldBalance(**settings).select(ROWS, FIELDS, NAMES, dropped)
    assert found == sorted(set(found))
    return found, dropped


def test_fields_made_equal():
    """Of 100 papers with a field half go to each; queries of the small one are repeated."""
    found, dropped = balance(sampling_exponent=0.0)
    counts = Counter(FIELDS[row][0] for row, _ in found if len(FIELDS[row]) == 1)
    assert len(found) == 100 and abs(counts["Physics"] - 50) <= 3 and abs(counts["Art"] - 50) <= 11
    assert max(turn for row, turn in found if FIELDS[row] == ("Art",)) >= 2
    assert dropped.count(NO_FIELD) == 1 and dropped.count(BEYOND_LIMIT) >= 30


def test_smoothed_shares():
    """81 and 16 (no paper of both): 81^.5 to 16^.5 is 9 to 4, so 67 and 30 of 97."""
    dropped = DropReport()
    found = FieldBalance(sampling_exponent=0.5).select(range(97), FIELDS, NAMES, dropped)
    assert Counter(FIELDS[row][0] for row, _ in found) == {"Physics": 67, "Art": 30}
    assert dropped.count(BEYOND_LIMIT) == 14


def test_papers_of_several_fields():
    """All of them and nothing else; or half of the queries, whatever the exponent leaves of them."""
    only, dropped = balance(min_multi_field=1.0)
    assert {row for row, _ in only} == {97, 98, 99} and dropped.count(SINGLE_FIELD) == 97
    assert dropped.count(NO_FIELD) == 1
    half, _ = balance(min_multi_field=0.5)
    assert {row for row, _ in half} >= {97, 98, 99} and len(half) == 6
    for more in ({"sampling_exponent": 0.0}, {"sampling_exponent": 0.5}):
        free, _ = balance(**more)
        several = sum(len(FIELDS[row]) > 1 for row, _ in free)
        found, _ = balance(**more, min_multi_field=0.5)
        assert sum(len(FIELDS[row]) > 1 for row, _ in found) == several and len(found) == 2 * several
