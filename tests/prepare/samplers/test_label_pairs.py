"""Paper and label pairs: which papers lend negatives, the cap of a label."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers import Label, Paper
from sciprism.prepare.samplers.drawing import NONE, Sampled
from sciprism.prepare.samplers.label_pairs import BEYOND, LabelPairs

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
def test_each_tie_lends_a_label_that_the_paper_has_not(kind, own, other):
    """A paper that cites the query lends nothing (SciMult, 3.4: "p cites")."""
    report = Sampled()
    papers = [paper("a", **own), paper("b", **other), paper("c")]
    found = list(LabelPairs().sample(papers, LABELS, [[0, 1], [1, 2], [3]], report=report))
    assert [rows(e.positives) for e in found] == [[0, 1], [1, 2], [3]]
    assert rows(found[0].negatives) == ([] if kind == NONE else [2])
    assert report.pairs == 5 and report.negatives[kind] >= 1
    assert report.negatives.total() == report.pairs
    assert not any(e.negatives for e in LabelPairs(hard=False).sample(papers, LABELS, [[0], [1], [2]]))


def test_every_kind_is_used_where_all_are_there():
    papers = [
        Paper(id=f"p{i}", title="t", venue="V", authors=("A",), references=(f"p{(i + 1) % 300}",))
        for i in range(300)
    ]
    report = Sampled()
    list(LabelPairs(cap=0).sample(papers, LABELS, [[i % 6] for i in range(300)], report=report))
    assert {*report.negatives} == {"citation", "author", "venue"}
    assert all(count == pytest.approx(100, abs=40) for count in report.negatives.values())


def test_no_label_in_more_pairs_than_the_cap_and_the_rest_is_counted():
    papers = [paper(f"p{i}") for i in range(50)]
    carried = [[0, 1] if i < 10 else [0] for i in range(50)]
    report = Sampled()
    found = list(LabelPairs(cap=20).sample([*papers, paper("bare")], LABELS, [*carried, []], report=report))
    counts = Counter(label.id for e in found for label in e.positives)
    assert counts == {"l0": 20, "l1": 10} and report.pairs == 30
    assert report.dropped.count(BEYOND) == 30 and report.dropped.ids["no label"] == ["bare"]
    again = list(LabelPairs(cap=20).sample(papers[::-1], LABELS, carried[::-1]))
    assert {e.query.id for e in again} == {e.query.id for e in found}  # whatever the order of the papers
    other = LabelPairs(cap=20, seed=1).sample(papers, LABELS, carried)
    assert {e.query.id for e in other} != {e.query.id for e in found}


def test_a_label_beyond_the_cap_is_no_negative_of_its_paper():
    papers = [paper(f"p{i}", venue="V") for i in range(8)]
    for example in LabelPairs(cap=1).sample(papers, LABELS, [[0, 1, 2]] * 8):
        assert not example.negatives


@given(
    carried=st.lists(st.sets(st.integers(0, 5), max_size=4), min_size=1, max_size=12),
    ties=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    cap=st.integers(1, 4),
    seed=st.integers(0, 3),
)
def test_caps_hold_and_no_positive_is_a_negative(carried, ties, cap, seed):
    papers = [paper(f"p{i}", venue=str(ties[i]), references=(f"p{ties[i]}",)) for i in range(len(carried))]
    report, counts = Sampled(), Counter()
    for example in LabelPairs(cap=cap, seed=seed).sample(papers, LABELS, carried, report=report):
        own = carried[int(example.query.id[1:])]
        assert {*rows(example.positives)} <= own and not {*rows(example.negatives)} & own
        assert len({*rows(example.negatives)}) == len(example.negatives) <= len(example.positives)
        counts.update(rows(example.positives))
    held = Counter(label for each in carried for label in each)
    assert counts == {label: min(cap, count) for label, count in held.items()}
    assert report.pairs == counts.total() == report.negatives.total()


def test_as_many_lists_of_labels_as_papers():
    with pytest.raises(InputError, match="2 papers, but labels of 1"):
        list(LabelPairs().sample([paper("a"), paper("b")], LABELS, [[0]]))
