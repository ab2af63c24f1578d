"""The scored recommendations of the user study."""

from math import inf

import pytest

from build_data import text
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.scimult.retrieval import read_study

HEAD = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankGlobal\tSimilarity\tComputedRankGlobal\n"
ROWS = [
    "1\t10\tContent\t2\t2\t0.9\t1",
    "1\t11\tBoth\t5\t1\t0.8\t2",
    "1\t12\tContent\t0\t3\t0.7\t3",
    "1\t13\tContent\t\t4\t\t",
    "1\t14\tBehavior\t3.0\t4\t0.6\t",
    "2\t20\tContent\t4\t1\t\t1.0",
    "2\t21\tContent\t1\t1\t\t",
]


def test_rows_without_a_score_are_counted(tmp_path):
    path = text(tmp_path / "s.tsv", HEAD + "\n".join(ROWS) + "\n")
    dropped = DropReport()
    scores = [
        ("1", "10", 2, (1, -0.9)),
        ("1", "11", 5, (2, -0.8)),
        ("1", "14", 3, (inf, -0.6)),
        ("2", "20", 4, (1, inf)),
        ("2", "21", 1, (inf, inf)),
    ]
    assert list(read_study(path, dropped)) == scores
    assert dropped.to_json()["recommendation without a score"]["first"] == ["1 12", "1 13"]


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(InputError, match="no column StudyScore"):
        list(read_study(text(tmp_path / "a.tsv", HEAD.replace("StudyScore", "Score") + ROWS[0]), DropReport()))
    rows = '1\t10\t"two\nlines"\t2\t2\t0.9\t2\n' + ROWS[0].replace("\t2\t2\t", "\tgood\t2\t")
    with pytest.raises(InputError, match="line 4: 'good' is not a number"):
        list(read_study(text(tmp_path / "a.tsv", HEAD + rows), DropReport()))
