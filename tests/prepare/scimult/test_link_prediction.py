"""Link files: SciDocs' citations, patients, recommendation and its user study."""

import json
from math import inf, log2

import pytest

from build_data import lines, text
from build_scimult import judgements, rows_of
from sciprism.datasets.layouts.published import GradedPapers, LinkedPapers, PatientLinks, PatientSearch
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.run import evaluate
from sciprism.prepare.scimult import retrieval
from sciprism.prepare.scimult.retrieval import write_recommendation, write_scidocs_links


def metadata(context, records):
    text(context.raw / retrieval.METADATA, json.dumps(records))


def test_scidocs_links(context):
    """a cites b and c; nine papers from outside and a (told by references alone) cite b and c together."""
    outside = [f"o{i}" for i in range(9)]
    metadata(
        context,
        {
            "a": {"title": "A", "abstract": "x", "references": ["b", "c", "gone", "a"], "cited_by": []},
            "b": {"title": "B", "abstract": None, "references": None, "cited_by": [*outside, "d"]},
            "c": {"title": "C", "abstract": "y", "references": [], "cited_by": [*outside, "a"]},
            "d": {"title": "D", "abstract": "z", "references": ["o1"], "cited_by": outside[:8]},
        },
    )
    cite, together = write_scidocs_links(context).values()
    assert (cite.queries, cite.targets, cite.counts) == (2, 4, {"links": 3})
    assert (together.queries, together.targets, together.counts) == (2, 4, {"links": 2})
    assert cite.dropped.ids == {"no abstract": ["b"]} and not together.dropped.ids
    rows = {row["paper"]: (row["cite"], row["co-cite"]) for row in rows_of(context.out / retrieval.SCIDOCS_FILE)}
    assert rows == {"a": (["b", "c"], []), "b": ([], ["c"]), "c": ([], ["b"]), "d": (["b"], [])}
    for relation, queries in {"cite": ["a", "d"], "co-cite": ["b", "c"]}.items():
        data = LinkedPapers(relation=relation).read(context.written)
        assert (data.query_ids, data.document_ids) == (queries, ["a", "b", "c", "d"])


def test_nine_papers_are_not_ten(context):
    citing = [f"o{i}" for i in range(9)]
    metadata(context, {name: {"title": name, "abstract": "x", "cited_by": citing} for name in "ab"})
    cite, together = write_scidocs_links(context).values()
    assert (cite.queries, together.queries) == (0, 0)


@pytest.mark.parametrize(
    ("records", "reason"), [({"a": []}, "expected an object"), ({"a": {"references": "b"}}, "not a list")]
)
def test_broken_metadata(context, records, reason):
    metadata(context, records)
    with pytest.raises(InputError, match=f"paper_metadata_view_cite_read.json, a.*{reason}"):
        write_scidocs_links(context)


def patient_files(context, *, old=False):
    place = context.raw / "PMC-Patients-ReCDS"
    name = "PPR/PPR_corpus.jsonl" if old else "PPR/corpus.jsonl"
    lines(place / name, ({"_id": i, "title": "", "text": f"patient {i}"} for i in ("1-1", "1-2", "2-1")))
    rows = {"train": "1-1 1-2 2,2-1 1-1 1", "dev": "7-1 2-1 1", "test": "9-1 1-1 1,9-1 2-1 1,8-1 1-1 0"}
    asking = {"train": ("1-1", "1-2", "2-1"), "dev": ("7-1",), "test": ("9-1", "8-1")}
    for split, judged in rows.items():
        kind = f"PPR/PPR_{split}_qrels.tsv" if old else f"PPR/qrels_{split}.tsv"
        text(place / kind, judgements(judged))
        queries = ({"_id": i, "text": f"patient {i}"} for i in asking[split])
        lines(place / f"queries/{split}_queries.jsonl", queries)


@pytest.mark.parametrize("old", [False, True])
def test_patients_of_all_splits(context, old):
    patient_files(context, old=old)
    data_set = retrieval.write_similar_patients(context)
    assert (data_set.queries, data_set.targets) == (4, 3), "1-2 has nobody like it, 8-1 only one judged unlike"
    data = PatientLinks().read(context.written)
    assert [paper.abstract for paper in data.queries] == [f"patient {i}" for i in ("1-1", "2-1", "7-1", "9-1")]
    assert [rows.tolist() for rows in data.judged] == [[1], [0], [2], [0, 2]]


def test_patients_of_the_test_split(context):
    patient_files(context)
    data_set = retrieval.write_supervised_patients(context)
    assert (data_set.queries, data_set.targets) == (1, 3)
    data = PatientSearch(task="PPR").read(context.written)
    assert data.query_ids == ["9-1"] and [rows.tolist() for rows in data.judged] == [[0, 2]]


ROWS = ("10 11 5 1", "10 12  2", "10 13 0 3", "10 11 1 4", "10 14 2 5", "20 11 3 1", "30 40 4 1", "50 11 4 1")
STUDY = "\n".join(["PaperId RecommendedPaperId StudyScore ComputedRankGlobal", *ROWS]).replace(" ", "\t")


def test_recommendation(context):
    """12 and 13 have no grade, 11 is graded twice, 14, 40 and 50 have no text."""
    text(context.raw / "recommendation/user_study_results.tsv", STUDY)
    works = [{"id": f"https://openalex.org/W{i}", "display_name": f"Paper {i}"} for i in (10, 20, 99)]
    lines(context.raw / "recommendation/papers.jsonl", (work | {"referenced_works": []} for work in works))
    lines(context.raw / "recommendation/papers-more.jsonl", [{"id": i, "title": f"Paper {i}"} for i in (11, 30)])
    data_set = write_recommendation(context)
    assert (data_set.queries, data_set.targets) == (2, 1.0)
    assert {reason: len(names) for reason, names in data_set.dropped.ids.items()} == {
        "recommendation without a score": 2,
        "duplicate recommendation, the first grade is used": 1,
        "recommendation without a text, dropped": 2,
        "paper without a remaining recommendation": 1,
        "recommending paper without a text, dropped": 1,
        "no abstract": 3,
    }
    data = GradedPapers().read(context.written)
    assert data.query_ids == ["10", "20"] and [rows.tolist() for rows in data.grades] == [[5], [3]]
    assert not data.absent or not any(data.absent)


STUDY_OF_BOTH = """PaperId\tRecommendedPaperId\tMethod\tStudyScore\tSimilarity\tComputedRankByMethod\tComputedRankGlobal
10\t14\tContent\t4\t\t\t
10\t13\tContent\t5\t0.6\t2\t
10\t12\tBehavior\t2\t0.7\t3\t
10\t11\tBehavior\t1\t0.9\t1\t1
"""


def test_ranks_of_the_recommender_are_scored_as_a_system(context):
    """Its order is 11 (its global rank), 12 and 13 (by similarity), 14 (which it does not rank): grades 1, 2, 5, 4."""
    text(context.raw / "recommendation/user_study_results.tsv", STUDY_OF_BOTH)
    lines(context.raw / "recommendation/papers.jsonl", [{"id": i, "title": f"Paper {i}"} for i in range(10, 15)])
    write_recommendation(context)
    (result,) = evaluate("kanakia", "scimult/recommendation", context.out)
    gains = [grade / log2(place + 1) for place, grade in enumerate((1, 2, 5, 4), 1)]
    best = [grade / log2(place + 1) for place, grade in enumerate((5, 4, 2, 1), 1)]
    assert result.metrics["ndcg@5"].value == pytest.approx(sum(gains) / sum(best))


HEAD = "PaperId\tRecommendedPaperId\tMethod\tStudyScore\tStudyRankGlobal\tSimilarity\tComputedRankGlobal\n"
FIRST = "1\t10\tContent\t2\t2\t0.9\t1"
RATED = (
    f"{HEAD}{FIRST}\n1\t11\tBoth\t5\t1\t0.8\t2\n1\t12\tContent\t0\t3\t0.7\t3\n1\t13\tContent\t\t4\t\t\n"
    "1\t14\tBehavior\t3.0\t4\t0.6\t\n2\t20\tContent\t4\t1\t\t1.0\n2\t21\tContent\t1\t1\t\t\n"
)


def test_rows_of_the_study_without_a_score_are_counted(tmp_path):
    dropped = DropReport()
    scores = [
        ("1", "10", 2, (1, -0.9)),
        ("1", "11", 5, (2, -0.8)),
        ("1", "14", 3, (inf, -0.6)),
        ("2", "20", 4, (1, inf)),
        ("2", "21", 1, (inf, inf)),
    ]
    assert list(retrieval.read_study(text(tmp_path / "s.tsv", RATED), dropped)) == scores
    assert dropped.ids["recommendation without a score"] == ["1 12", "1 13"]


def test_what_is_wrong_with_a_study_is_told(tmp_path):
    rows = '1\t10\t"two\nlines"\t2\t2\t0.9\t2\n' + FIRST.replace("\t2\t2\t", "\tgood\t2\t")
    for content, message in (
        (HEAD.replace("StudyScore", "Score") + FIRST, "no column StudyScore"),
        (HEAD + rows, "line 4: 'good' is not a number"),
    ):
        with pytest.raises(InputError, match=message):
            list(retrieval.read_study(text(tmp_path / "a.tsv", content), DropReport()))
