"""Metrics that the data of a custom task cannot inform have a reason and no number."""

import json

import numpy as np
import pytest

from sciprism.datasets.inputs import (
    LabelInput,
    MatchInput,
    PairInput,
    ProbeInput,
    RerankInput,
    RetrievalInput,
    Signatures,
    TaggingInput,
)
from sciprism.evaluation import evaluate
from sciprism.evaluation.protocols.cluster import ClusterProtocol
from sciprism.evaluation.protocols.fine_tuning import PairProtocol, TagProtocol
from sciprism.evaluation.protocols.label import LabelProtocol, NearestLabelProtocol
from sciprism.evaluation.protocols.match import MatchProtocol
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.protocols.rank import RerankProtocol, RetrieveProtocol
from sciprism.evaluation.uninformative import explain_uninformative
from sciprism.papers.records import Label, Signature

NUMBERS = {"metric": "kendall_tau", "loss": "epsilon_insensitive"}
NAMES = list("abcdef")


def arrays(rows):
    return [np.array(each) for each in rows]


def match(pairs, ratings):
    people = {"reviewer_ids": ["r", "s"], "profiles": arrays([[4], [3]])}
    return MatchInput(paper_ids=NAMES, papers=NAMES, **people, pairs=np.array(pairs), ratings=np.array(ratings, float))


def rerank(*grades):
    names, pools = NAMES[: len(grades)], [np.arange(len(each)) for each in grades]
    found = {"candidate_ids": NAMES, "candidates": NAMES, "pools": pools, "grades": arrays(grades)}
    return RerankInput(query_ids=names, queries=names, **found)


def retrieval(judged, grades, documents=4):
    found = {"document_ids": NAMES[:documents], "documents": NAMES[:documents]}
    return RetrievalInput(query_ids=["q"], queries=["q"], **found, judged=arrays([judged]), grades=arrays([grades]))


def split(kind, targets, **more):
    names = [str(n) for n in range(len(targets))]
    given = {"items": names} if kind is ProbeInput else {"texts": [(name,) for name in names]}
    return kind(ids=names, train=np.arange(2), test=np.arange(2, len(targets)), targets=targets, **given, **more)


def labels(gold, count):
    names = [str(n) for n in range(len(gold))]
    vocabulary = [Label(id=str(n), name=str(n)) for n in range(count)]
    return LabelInput(paper_ids=names, papers=names, labels=vocabulary, gold=arrays(gold))


def mentions(*authors):
    signatures = [Signature(id=str(n), paper=0, name="A", block="a", author=each) for n, each in enumerate(authors)]
    return Signatures(papers=[], signatures=signatures, train=frozenset(), dev=frozenset(), test=frozenset("a"))


BOTH = MatchProtocol(metrics=("hard p@1", "pairwise"))
RANK = RerankProtocol(metrics=("map", "ndcg", "recall@3"))
RETRIEVE = RetrieveProtocol(metrics=("ndcg@10", "recall@4"))
MACRO = ProbeProtocol(metric="accuracy")
WORDS = {"words": [("w",)] * 2, "tags": [("B-x",), ("O",)]}
CASES = [
    (match([(0, 0), (1, 0)], [3, 0]), BOTH, {"hard p@1": "every order of the rated reviewers of a submission"}),
    (match([(0, 0), (0, 1)], [3, 0]), BOTH, {"pairwise": "no reviewer has two papers with different ratings"}),
    (rerank([1, 0, 0], [2, 0]), RANK, {"recall@3": "every order of the candidates of a query scores the same"}),
    (rerank([1, 1], [0, 0]), RANK, dict.fromkeys(RANK.metrics, "every order")),
    (rerank([2, 1], [2, 1, 1]), RANK, dict.fromkeys(("map", "recall@3"), "scores the same")),
    (retrieval([0], [1]), RETRIEVE, {"recall@4": "every order of the papers of a query scores the same"}),
    (retrieval([0], [1], 5), RETRIEVE, {}),
    (labels([[0], [1]], 2), LabelProtocol(metrics=("recall@1", "recall@2")), {"recall@2": "has 2 labels"}),
    (labels([[1], [1]], 2), NearestLabelProtocol(metrics=("accuracy",)), {"accuracy": "every paper has the same"}),
    (split(ProbeInput, ["a", "b", "a", "a"]), MACRO, {"accuracy": "every test paper has the same target"}),
    (split(ProbeInput, ["a", "b", "b", "a"]), MACRO, {}),
    (split(ProbeInput, [1.0, 2.0, 5.0, 5.0]), ProbeProtocol(**NUMBERS), {"kendall_tau": "every test paper"}),
    (split(ProbeInput, [1.0, 1.0, 5.0, 6.0]), ProbeProtocol(**NUMBERS), {"kendall_tau": "every training paper"}),
    (
        split(ProbeInput, ["y", "n", "n", "m"], positive="y"),
        ProbeProtocol(metric=("accuracy", "f1_binary")),
        {"f1_binary": "every"},
    ),
    (split(PairInput, ["a", "b", "a", "a"]), PairProtocol(), {"accuracy": "every test text"}),
    (mentions("x", "x"), ClusterProtocol(metrics=("b3",)), {"b3": "to join all mentions is always right"}),
    (mentions("x", "y"), ClusterProtocol(metrics=("b3",)), {"b3": "to join none is always right"}),
    (mentions("x", "y", "x"), ClusterProtocol(metrics=("b3",)), {}),
    (
        TaggingInput(ids=["a", "b"], train=np.array([0]), test=np.array([1]), **WORDS),
        TagProtocol(),
        {"entity_f1": "no word of the test texts is tagged"},
    ),
]


@pytest.mark.parametrize(("data", "protocol", "wanted"), CASES)
def test_metrics_that_cannot_vary_are_named(data, protocol, wanted):
    found = explain_uninformative(data, protocol)
    assert found.keys() == wanted.keys()
    assert all(wanted[name] in reason for name, reason in found.items()), found


def test_such_a_metric_has_no_number_and_a_task_of_them_fails(tmp_path):
    (tmp_path / "papers.csv").write_text("id,title\n" + "".join(f"{n},Title {n}\n" for n in "abcd"))
    (tmp_path / "reviewers.csv").write_text("reviewer_id,papers\nr,c\ns,d\n")
    (tmp_path / "ratings.csv").write_text("paper_id,reviewer_id,rating\na,r,3\nb,r,0\n")
    head = '[[task]]\nprotocol = "match"\nformat = "proximity"\ndata = "."\n'
    (tmp_path / "mine.toml").write_text(
        f'{head}name = "both"\nmetric = ["hard p@1", "pairwise"]\n{head}name = "none"\nmetric = "hard p@1"\n'
    )
    results = evaluate("random", tmp_path / "mine.toml", output=tmp_path / "out")
    both, none = results
    reason = "every order of the rated reviewers of a submission scores the same"
    assert list(both.metrics) == ["pairwise"] and both.details["without number"] == {"hard p@1": reason}
    assert (none.status, none.metrics) == ("failed", {}) and f"hard p@1: {reason}" in none.reason
    assert any(f"both: no hard p@1: {reason}" in note for note in results.report().notes)
    assert json.loads((tmp_path / "out" / "random" / "mine" / "both.json").read_text())["details"]["without number"]
