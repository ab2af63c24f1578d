"""The scored recommendations of the user study."""

import pytest

from build_data import text
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.scimult.retrieval import read_study

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
    scores = [("1", "10", 2), ("1", "11", 5), ("1", "14", 3), ("2", "20", 4)]
    assert list(read_study(path, dropped)) == scores
    assert dropped.to_json()["recommendation without a score"]["first"] == ["1 12", "1 13"]


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(InputError, match="no column StudyScore"):
        list(read_study(text(tmp_path / "a.tsv", HEAD.replace("StudyScore", "Score") + ROWS[0]), DropReport()))
    rows = '1\t10\t"two\nlines"\t2\t2\t2\n' + ROWS[0].replace("\t2\t2", "\tgood\t2")
    with pytest.raises(InputError, match="line 4: 'good' is not a number"):
        list(read_study(text(tmp_path / "a.tsv", HEAD + rows), DropReport()))
