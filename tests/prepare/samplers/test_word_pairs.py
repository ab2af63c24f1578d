"""Pairs of words and papers: lists with clicks, titles, summaries."""

import pytest

from sciprism.errors import InputError
from sciprism.papers import Paper
from sciprism.prepare.samplers.drawing import NONE, Sampled
from sciprism.prepare.samplers.search_pairs import SHOWN, SearchList, SearchPairs
from sciprism.prepare.samplers.text_pairs import TextPairs, title_and_abstract


def made(names):
    return [Paper(id=name, title=f"Title of {name}") for name in names]


def ids(items):
    return [item.id for item in items]


def test_clicked_papers_are_positives_best_first_and_the_others_negatives():
    report = Sampled()
    lists = [
        SearchList("dark matter", made("abcd"), [1, 0, 14, 0.0]),
        SearchList("ants", made("ab"), [0, 0]),
        SearchList("  ", made("x"), [1]),
        SearchList("all liked", made("ab"), [2, 1]),
        SearchList("one twice", [*made("ab"), *made("a"), Paper(id="empty")], [0, 0, 3, 1]),
    ]
    found = list(SearchPairs().sample(lists, report=report))
    assert [(e.query, ids(e.positives), sorted(ids(e.negatives))) for e in found] == [
        ("dark matter", ["c", "a"], ["b", "d"]),
        ("all liked", ["a", "b"], []),
        ("one twice", ["a"], ["b"]),
    ]
    assert report.negatives == {SHOWN: 3, NONE: 2} and report.pairs == 5
    assert report.dropped.ids == {
        "nothing clicked": ["ants"],
        "query without words": ["x"],
        "no text": ["empty"],
    }


def test_negatives_of_a_long_list_are_drawn():
    shown = SearchList("q", made("abcdefghij"), [1, *[0] * 9])
    (found,) = SearchPairs(negatives=3).sample([shown])
    assert len({*ids(found.negatives)}) == 3
    assert found == next(SearchPairs(negatives=3).sample([shown]))
    assert len(next(SearchPairs(negatives=0).sample([shown])).negatives) == 9


def test_a_list_needs_a_score_for_each_paper():
    with pytest.raises(InputError, match="'q': 2 papers, 1 scores"):
        SearchList("q", made("ab"), [1])


def test_titles_ask_for_abstracts_without_their_title():
    papers = [
        Paper(id="a", title="Ice", abstract="Water that is cold.", venue="V"),
        Paper(id="b", title="", abstract="No title."),
        Paper(id="c", title="Fire"),
    ]
    report = Sampled()
    (found,) = TextPairs().sample(title_and_abstract(papers), report=report)
    assert found.query == "Ice" and found.negatives == ()
    assert found.positives == (Paper(id="a", abstract="Water that is cold."),)
    assert report.dropped.ids == {"no words to ask with": ["b"], "no text": ["c"]}
    assert report.queries == report.pairs == 1 and report.negatives == {NONE: 1} and report.hard == 0


def test_texts_are_drawn_by_the_papers_ids():
    pairs = [(f"text {i}", paper) for i, paper in enumerate(made([f"p{i}" for i in range(60)]))]
    report = Sampled()
    some = list(TextPairs(most=7).sample(pairs, report=report))
    assert len(some) == 7 and report.dropped.count("beyond the number asked for") == 53
    assert some == sorted(some, key=lambda e: int(e.positives[0].id[1:]))
    assert {e.query for e in TextPairs(most=7).sample(pairs[::-1])} == {e.query for e in some}
