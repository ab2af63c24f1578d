"""Paper and label pairs: the papers that negatives come from, the maximum of a label."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.papers import Label, Paper
from sciprism.prepare.samplers.examples import BEYOND_LABEL_LIMIT, sample_label_pairs
from sciprism.prepare.samplers.sampling import NONE, SampleReport, Sampling

LABELS = [Label(id=f"l{i}", name=f"label {i}") for i in range(6)]


def paper(name, **more):
    return Paper(id=name, title=f"Title of {name}", **more)


def rows(items):
    return sorted(LABELS.index(item) for item in items)


@pytest.mark.parametrize(
    ("kind", "own", "other"),
    [
        ("citation", {"references": ("b", "gone")}, {}),
        ("author", {"authors": ("Ann", "Bo")}, {"authors": ("Bo",)}),
        ("venue", {"venue": "CG&A"}, {"venue": "CG&A"}),
        (NONE, {"venue": "", "authors": ("Ann",)}, {"venue": "", "references": ("a",)}),
    ],
)
def test_each_relation_gives_a_label_that_the_paper_does_not_have(kind, own, other):
    """A paper that cites the query gives no label (SciMult, 3.4: "p cites")."""
    report = SampleReport()
    papers = [paper("a", **own), paper("b", **other), paper("c")]
    found = list(sample_label_pairs(papers, LABELS, [[0, 1], [1, 2], [3]], Sampling(report=report)))
    assert [rows(e.positives) for e in found] == [[0, 1], [1, 2], [3]]
    assert rows(found[0].negatives) == ([] if kind == NONE else [2])
    assert report.pairs == 5 and report.negatives[kind] >= 1
    assert report.negatives.total() == report.pairs


def test_every_kind_is_used_where_all_are_there():
    papers = [
        Paper(id=f"p{i}", title="t", venue="V", authors=("A",), references=(f"p{(i + 1) % 300}",)) for i in range(300)
    ]
    report = SampleReport()
    list(sample_label_pairs(papers, LABELS, [[i % 6] for i in range(300)], Sampling(report=report), max_per_label=0))
    assert {*report.negatives} == {"citation", "author", "venue"}
    assert all(count == pytest.approx(100, abs=40) for count in report.negatives.values())


def test_no_label_in_more_pairs_than_its_maximum_and_the_rest_is_counted():
    papers = [paper(f"p{i}") for i in range(50)]
    labels_of = [[0, 1] if i < 10 else [0] for i in range(50)]
    report = SampleReport()
    found = list(
        sample_label_pairs(
            [*papers, paper("bare")], LABELS, [*labels_of, []], Sampling(report=report), max_per_label=20
        )
    )
    counts = Counter(label.id for e in found for label in e.positives)
    assert counts == {"l0": 20, "l1": 10} and report.pairs == 30
    assert report.dropped.count(BEYOND_LABEL_LIMIT) == 30 and report.dropped.ids["no label"] == ["bare"]
    again = list(sample_label_pairs(papers[::-1], LABELS, labels_of[::-1], Sampling(), max_per_label=20))
    assert {e.query.id for e in again} == {e.query.id for e in found}  # whatever the order of the papers
    other = sample_label_pairs(papers, LABELS, labels_of, Sampling(seed=1), max_per_label=20)
    assert {e.query.id for e in other} != {e.query.id for e in found}


def test_a_label_beyond_its_maximum_is_no_negative_of_its_paper():
    papers = [paper(f"p{i}", venue="V") for i in range(8)]
    for example in sample_label_pairs(papers, LABELS, [[0, 1, 2]] * 8, Sampling(), max_per_label=1):
        assert not example.negatives


@given(
    labels_of=st.lists(st.sets(st.integers(0, 5), max_size=4), min_size=1, max_size=12),
    links=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    cap=st.integers(1, 4),
    seed=st.integers(0, 3),
)
def test_maxima_hold_and_no_positive_is_a_negative(labels_of, links, cap, seed):
    papers = [paper(f"p{i}", venue=str(links[i]), references=(f"p{links[i]}",)) for i in range(len(labels_of))]
    report, counts = SampleReport(), Counter()
    for example in sample_label_pairs(papers, LABELS, labels_of, Sampling(seed=seed, report=report), max_per_label=cap):
        own = labels_of[int(example.query.id[1:])]
        assert {*rows(example.positives)} <= own and not {*rows(example.negatives)} & own
        assert len({*rows(example.negatives)}) == len(example.negatives) <= len(example.positives)
        counts.update(rows(example.positives))
    held = Counter(label for each in labels_of for label in each)
    assert counts == {label: min(cap, count) for label, count in held.items()}
    assert report.pairs == counts.total() == report.negatives.total()
