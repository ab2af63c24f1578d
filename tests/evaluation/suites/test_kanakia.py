"""The recommender's own ranking on its users' scores."""

from math import log2

import pytest

from build_data import text
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.suites.kanakia import read_study, score_kanakia_ranking

HEAD = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankGlobal\tComputedRankGlobal\n"
ROWS = [
    "1\t10\tContent\t2\t2\t1",
    "1\t11\tBoth\t5\t1\t2",
    "1\t12\tContent\t0\t3\t3",
    "1\t13\tContent\t\t4\t",
    "1\t14\tBehavior\t3.0\t4\t",
    "2\t20\tContent\t4\t1\t1.0",
]


def test_the_ranking_by_hand(tmp_path):
    path = text(tmp_path / "user_study_results.tsv", HEAD + "\n".join(ROWS) + "\n")
    row = score_kanakia_ranking(path)
    # paper 1: grades 2 and 5 at ranks 1 and 2, grade 3 not ranked; paper 2 is perfect
    first = (2 + 5 / log2(3)) / (5 + 3 / log2(3) + 2 / log2(4))
    assert row.scores == pytest.approx(
        {f"recommendation {m}": 50 * (first + 1) for m in ("ndcg@5", "ndcg@10", "ndcg")}, abs=0.005
    )
    assert "2 papers" in row.source
    assert score_kanakia_ranking(path, "StudyRankGlobal").scores["recommendation ndcg"] == pytest.approx(
        50 * (1 + (5 + 2 / log2(3) + 3 / 2) / (5 + 3 / log2(3) + 2 / 2)), abs=0.005
    )


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


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(InputError, match="no column Similarity"):
        score_kanakia_ranking(text(tmp_path / "a.tsv", HEAD + ROWS[0]), "Similarity")
    with pytest.raises(InputError, match="line 2: 'good' is not a number"):
        score_kanakia_ranking(text(tmp_path / "a.tsv", HEAD + ROWS[0].replace("\t2\t2", "\tgood\t2")))
    with pytest.raises(InputError, match="no scored recommendation"):
        score_kanakia_ranking(text(tmp_path / "a.tsv", HEAD + ROWS[2]))
