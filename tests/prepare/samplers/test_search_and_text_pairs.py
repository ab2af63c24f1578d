"""Pairs of words and papers: lists with clicks, titles, summaries."""

from sciprism.papers import Paper
from sciprism.prepare.samplers.examples import NOT_CLICKED, ScoredList, pair_texts, sample_clicks
from sciprism.prepare.samplers.sampling import BEYOND_LIMIT, NONE, SampleReport, Sampling


def build_papers(names):
    return [Paper(id=name, title=f"Title of {name}") for name in names]


def ids(items):
    return [item.id for item in items]


def test_clicked_papers_are_positives_best_first_and_the_others_negatives():
    report = SampleReport()
    lists = [
        ScoredList("dark matter", build_papers("abcd"), [1, 0, 14, 0.0]),
        ScoredList("ants", build_papers("ab"), [0, 0]),
        ScoredList("  ", build_papers("x"), [1]),
        ScoredList("all liked", build_papers("ab"), [2, 1]),
        ScoredList("one twice", [*build_papers("ab"), *build_papers("a"), Paper(id="empty")], [0, 0, 3, 1]),
    ]
    found = list(sample_clicks(lists, Sampling(report=report)))
    assert [(e.query, ids(e.positives), sorted(ids(e.negatives))) for e in found] == [
        ("dark matter", ["c", "a"], ["b", "d"]),
        ("all liked", ["a", "b"], []),
        ("one twice", ["a"], ["b"]),
    ]
    assert report.negatives == {NOT_CLICKED: 3, NONE: 2} and report.pairs == 5
    assert report.dropped.ids == {
        "nothing clicked": ["ants"],
        "query without words": ["x"],
        "no text": ["empty"],
    }


def test_negatives_of_a_long_list_are_sampled():
    shown = ScoredList("q", build_papers("abcdefghij"), [1, *[0] * 9])
    (found,) = sample_clicks([shown], Sampling(), negatives=3)
    assert len({*ids(found.negatives)}) == 3
    assert found == next(sample_clicks([shown], Sampling(), negatives=3))
    assert len(next(sample_clicks([shown], Sampling(), negatives=0)).negatives) == 9


def test_texts_and_papers_without_words_are_counted():
    papers = [Paper(id="a", abstract="Water that is cold."), Paper(id="b", abstract="No title."), Paper(id="c")]
    report = SampleReport()
    (found,) = pair_texts(zip(("Ice", " ", "Fire"), papers, strict=True), Sampling(report=report))
    assert (found.query, found.positives, found.negatives) == ("Ice", (papers[0],), ())
    assert report.dropped.ids == {"query without words": ["b"], "no text": ["c"]}
    assert report.queries == report.pairs == 1 and report.negatives == {NONE: 1} and report.hard == 0


def test_texts_are_selected_by_the_papers_ids():
    pairs = [(f"text {i}", paper) for i, paper in enumerate(build_papers([f"p{i}" for i in range(60)]))]
    report = SampleReport()
    some = list(pair_texts(pairs, Sampling(limit=7, report=report)))
    assert len(some) == 7 and report.dropped.count(BEYOND_LIMIT) == 53
    assert some == sorted(some, key=lambda e: int(e.positives[0].id[1:]))
    assert {e.query for e in pair_texts(pairs[::-1], Sampling(limit=7))} == {e.query for e in some}
