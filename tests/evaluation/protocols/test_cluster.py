"""Clusters of synthetic mentions: each person has a year and a region of the vector space."""

import numpy as np
import pytest

from sciprism.datasets.inputs import Signatures
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import bootstrap_interval, estimate
from sciprism.evaluation.protocols.cluster import ClusterProtocol, ClusterSourcesProtocol
from sciprism.evaluation.task import EvaluationContext
from sciprism.papers.records import Paper, Signature

pytest.importorskip("lightgbm")
VIEW = EvaluationContext(format="proximity")


class Corners:
    """Vectors near the corner that a paper's venue names."""

    name, fingerprint = "corners", "c"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += [paper.id for paper in texts.items]
        noise = np.random.default_rng(0).normal(0, 0.05, (len(texts.items), 8))
        noise[np.arange(len(noise)), [int(paper.keywords[0]) for paper in texts.items]] += 1
        return noise.astype(np.float32)


def build_mentions(blocks=18, persons=3, papers=4, sources=("one",)):
    """Persons of a block share a surname; half of the mentions have initials only, so names do not tell."""
    rng = np.random.default_rng(0)
    found, listed, named = [], [], []
    names = [f"block{b}" for b in range(blocks)]
    for b, block in enumerate(names):
        for person in range(persons):
            for _ in range(papers):
                keyword = str((b + person) % 8)
                year = 1980 + 5 * person + int(rng.integers(0, 15))
                listed.append(Paper(id=str(len(listed)), title="Words", year=year, keywords=(keyword,)))
                first = ["Ann", "Abe", "Ada"][person] if rng.random() < 0.5 else "A."
                facts = {"name": f"{first} {block}", "block": block, "author": f"{block}-{person}"}
                found.append(Signature(id=f"m{len(found)}", paper=len(listed) - 1, **facts))
                named.append(sources[b % len(sources)])
    listed.append(Paper(id="only cited"))
    third = blocks // 3
    return Signatures(
        papers=listed,
        signatures=found,
        train=frozenset(names[:third]),
        dev=frozenset(names[third : 2 * third]),
        test=frozenset(names[2 * third :]),
        source=named if len(sources) > 1 else None,
    )


@pytest.fixture(scope="module")
def outcome():
    system = Corners()
    found = ClusterProtocol(repeats=2).evaluate(build_mentions(), system, VIEW)
    assert "only cited" not in system.asked
    return found


def test_vectors_that_know_persons_raise_b3(outcome):
    values = {name: estimate(item_scores) for name, item_scores in outcome.item_scores.items()}
    assert list(values) == ["b3", "b3 without embedding", "b3 exact name", "difference"]
    assert values["b3"] > 0.95 > 0.85 > values["b3 without embedding"]
    assert values["difference"] == pytest.approx(values["b3"] - values["b3 without embedding"])
    low, high = bootstrap_interval(outcome.item_scores["difference"], seed=0)
    assert 0 < low < values["difference"] < high
    data = build_mentions()
    ids = {mention.id for mention in data.signatures if mention.block in data.test}
    assert all(set(item_scores.ids) == ids for item_scores in outcome.item_scores.values())
    assert len(outcome.item_scores["b3"].parts) == 2 and outcome.details["mentions"] == len(ids)


def test_the_exact_name_rule_by_hand(outcome):
    """Within a block equal names make a cluster: independent count with plain sets."""
    data = build_mentions()
    mentions = [mention for mention in data.signatures if mention.block in data.test]
    guess = {m.id: {o.id for o in mentions if (o.block, o.name) == (m.block, m.name)} for m in mentions}
    gold = {m.id: {o.id for o in mentions if o.author == m.author} for m in mentions}
    precision = np.mean([len(guess[m.id] & gold[m.id]) / len(guess[m.id]) for m in mentions])
    recall = np.mean([len(guess[m.id] & gold[m.id]) / len(gold[m.id]) for m in mentions])
    expected = 2 * precision * recall / (precision + recall)
    assert estimate(outcome.item_scores["b3 exact name"]) == pytest.approx(expected)


def test_sources_make_a_grid_and_unions():
    data = build_mentions(blocks=24, sources=("one", "two"))
    found = ClusterSourcesProtocol(trials=0).evaluate(data, Corners(), VIEW)
    assert set(found.details["grid"]) == {"one on one", "one on two", "two on one", "two on two"}
    # of two sources, the union without the target is the other one
    assert found.details["union"]["one"] == found.details["grid"]["two on one"]
    assert found.item_scores["grid"].ids == tuple(found.details["grid"])
    assert estimate(found.item_scores["union"]) == pytest.approx(np.mean(list(found.details["union"].values())))
    assert estimate(found.item_scores["grid"]) > 0.9
    with pytest.raises(InputError, match="two sources"):
        ClusterSourcesProtocol(trials=0).evaluate(build_mentions(), Corners(), VIEW)


def test_an_unknown_metric():
    with pytest.raises(InputError, match="b4"):
        ClusterProtocol(metrics=("b4",))
