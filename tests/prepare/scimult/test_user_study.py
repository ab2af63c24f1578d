"""The scored recommendations of the user study."""

import pytest

from build_data import text
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.scimult.link_prediction import read_study

HEAD = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankGlobal\tComputedRankGlobal\n"
ROWS = [
    "1\t10\tContent\t2\t2\t1",
    "1\t11\tBoth\t5\t1\t2",
    "1\t12\tContent\t0\t3\t3",
    "1\t13\tContent\t\t4\t",
    "1\t14\tBehavior\t3.0\t4\t",
    "2\t20\tContent\t4\t1\t1.0",
]


def test_rows_without_a_score_are_counted(tmp_path):
    path = text(tmp_path / "s.tsv", HEAD + "\n".join(ROWS) + "\n")
    dropped = DropReport()
    rows = list(read_study(path, dropped))
    assert [(row.recommended, row.score, row.rank) for row in rows[:3]] == [
        ("10", 2, 1.0),
        ("11", 5, 2.0),
        ("14", 3, None),
    ]
    assert dropped.to_json()["recommendation without a score"]["first"] == ["1 12", "1 13"]


def test_another_ranking_is_another_column(tmp_path):
    path = text(tmp_path / "s.tsv", HEAD + "\n".join(ROWS) + "\n")
    assert [row.rank for row in read_study(path, DropReport(), "StudyRankGlobal")] == [2.0, 1.0, 4.0, 1.0]


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(InputError, match="no column Similarity"):
        list(read_study(text(tmp_path / "a.tsv", HEAD + ROWS[0]), DropReport(), "Similarity"))
    with pytest.raises(InputError, match="line 2: 'good' is not a number"):
        list(read_study(text(tmp_path / "a.tsv", HEAD + ROWS[0].replace("\t2\t2", "\tgood\t2")), DropReport()))
