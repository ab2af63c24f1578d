"""The interests of a library: how many there are, which papers are in each, what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from sciprism.arrays import normalize_rows
from sciprism.papers.records import Paper
from sciprism.uses.recommending import interests as module
from sciprism.uses.recommending.interests import (
    describe_interests,
    find_interests,
    find_typical_terms,
)


def build_groups(*sizes: int, spread: float = 0.2, dim: int = 8) -> np.ndarray:
    """Vectors in groups around different axes."""
    random = np.random.default_rng(0)
    parts = [np.eye(dim)[axis] + spread * random.standard_normal((size, dim)) for axis, size in enumerate(sizes)]
    return normalize_rows(np.concatenate(parts).astype(np.float32))


@pytest.mark.parametrize("sizes", [(30, 20, 4), (12, 12), (40, 3), (5, 5, 5, 5)])
def test_the_number_is_that_of_the_groups_and_small_ones_are_found(sizes: tuple[int, ...]) -> None:
    found = find_interests(build_groups(*sizes))
    assert found.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


def test_interests_do_not_depend_on_the_order_of_the_papers() -> None:
    vectors = build_groups(30, 20, 4)
    order = np.random.default_rng(1).permutation(len(vectors))
    assert find_interests(vectors[order]).tolist() == find_interests(vectors)[order].tolist()


def test_a_paper_far_from_all_others_is_no_interest_of_its_own() -> None:
    vectors = np.concatenate([build_groups(30, 20), -build_groups(1)])
    found = find_interests(vectors)
    assert np.bincount(found).tolist() in ([31, 20], [30, 21])
    assert len(np.bincount(find_interests(vectors, 3))) == 3, "three are asked for"


def test_a_large_library_is_grouped_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = build_groups(30, 20, 10)
    monkeypatch.setattr(module, "MAX_COMPARED", 30)
    assert find_interests(vectors).tolist() == np.repeat(np.arange(3), (30, 20, 10)).tolist()


def test_a_library_without_groups_or_of_few_papers_is_one_interest() -> None:
    assert find_interests(build_groups(3)).tolist() == [0, 0, 0]
    assert find_interests(build_groups(1)).tolist() == [0]
    same = np.repeat(build_groups(1), 9, axis=0)
    assert find_interests(same).tolist() == [0] * 9, "all papers have one vector"


def test_a_number_that_is_asked_for_is_met_but_not_beyond_the_papers() -> None:
    vectors = build_groups(30, 20, 4)
    assert np.unique(find_interests(vectors, 5)).tolist() == [0, 1, 2, 3, 4]
    assert sorted(find_interests(build_groups(3, spread=0.9), 10).tolist()) == [0, 1, 2]


def test_terms_are_typical_of_one_group_and_share_no_word() -> None:
    halos = [
        Paper(id=f"h{n}", title=f"Dark matter halos in simulation {n}", abstract="We study galaxies.") for n in "abc"
    ]
    cells = [Paper(id=f"c{n}", title=f"Gene editing of cells {n}", abstract="We study galaxies.") for n in "abc"]
    terms = find_typical_terms([*halos, *cells], [np.arange(3), np.arange(3, 6)])
    assert terms == [("dark matter halos", "simulation"), ("gene editing", "cells")]
    assert find_typical_terms([Paper(id="a", title="On 2 of it")], [np.arange(1)]) == [()]


NAMED = {
    "large graphs": "A visualisation of large graphs; Visualizations of large graphs: a study",
    "dna repair": "DNA repair in yeast; How DNA repair fails",
    "cell lung cancer": "Treating small cell lung cancer; Small cell lung cancer and smoking",
    "machine learning": "Machine learning of rules; Interactive machine learning",
    "elektrodynamik": "Zur Elektrodynamik bewegter Körper; Elektrodynamik der Kontinua; Elektrodynamik",
}


@pytest.mark.parametrize("name", NAMED)
def test_terms_are_phrases_of_titles_without_near_doubles(name: str) -> None:
    papers = [Paper(id=title, title=title) for title in NAMED[name].split("; ")]
    others = [Paper(id=str(n), title=f"Visual parsing, with visualization: a parser {n}") for n in range(9)]
    groups = [np.arange(len(papers)), np.arange(len(papers), len(papers) + 9)]
    terms, (*doubles,) = find_typical_terms([*papers, *others], groups)
    assert terms[0] == name
    assert sum(term.startswith("pars") for term in doubles) <= 1 == sum("visual" in term for term in doubles)


def test_an_interest_without_terms_has_the_title_of_its_central_paper() -> None:
    papers = [Paper(id="a", title="On it"), Paper(id="b", title="On that"), Paper(id="c", title="Of this")]
    (only,) = describe_interests(papers, build_groups(3, spread=0.01), np.zeros(3, np.int64))
    assert only.terms == () and only.name == only.central and only.central in {paper.title for paper in papers}
    assert only.papers == 3 and only.number == 1
