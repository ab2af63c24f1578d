import random
from itertools import combinations

import pytest

from sciprism.errors import InputError
from sciprism.papers.duplicates import MinHashSignatures, find_duplicates, find_versions
from sciprism.papers.records import Paper

LONG = "On the measurement of the velocity of light in moving water"


def groups(*papers: Paper, near: float | None = 0.8) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    return [(group.positions, group.reasons) for group in find_duplicates(papers, near_duplicates=near).groups]


def paper(title: str = "", author: str = "", year: int | None = None, **other: object) -> Paper:
    paper.count += 1
    row = {"id": f"p{paper.count}", "title": title, "authors": [author] if author else [], "year": year}
    return Paper.from_json(row | other)


paper.count = 0


def test_same_id_is_found_and_named_in_reading_order():
    found = find_duplicates([Paper(id="b"), Paper(id="a"), Paper(id="c"), Paper(id="a"), Paper(id="a")])
    assert (found.papers, found.surplus) == (5, 2)
    assert [(g.ids, g.positions, g.reasons) for g in found.groups] == [(("a", "a", "a"), (1, 3, 4), ("id",))]


def test_one_paper_with_doi_and_pmid_joins_two_others():
    found = groups(paper(ids={"doi": "10.1/a"}), paper(ids={"pmid": "7"}), paper(ids={"doi": "10.1/a", "pmid": "7"}))
    assert found == [((0, 1, 2), ("doi", "pmid"))]
    assert groups(paper(ids={"isbn": "978"}), paper(ids={"isbn": "978"})) == [], "chapters"


FORESTS, LIGHT = ("Random forests", "Leo Breiman", 2001), (LONG, "H. Fizeau", 1851)


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        *(((LONG,), (LONG.replace(old, new),), True) for old, new in ((LONG, LONG.upper() + "."), (" of ", " — of "))),
        *(((LONG,), (LONG.replace(old, new),), True) for old, new in (("velo", "vélo"), ("moving ", "moving-"))),
        *(((title, "Ada Low", 1843),) * 2 + (False,) for title in ("Editorial", "INTRODUCTION.", "In this issue")),
        (FORESTS, ("Random Forests", "Breiman, L.", 2001), True),  # a short title needs author and year
        (FORESTS[:1], FORESTS[:1], False),
        (FORESTS[:2], FORESTS[:2], False),
        (FORESTS, ("Random forests", "I. Goodfellow", 2001), False),
        (LIGHT, (LONG, "Fizeau, Hippolyte", 1852), True),
        (LIGHT[:2], (LONG, "A. Michelson"), False),
        ((LONG, "", 1851), (LONG, "", 1886), False),
        ((LONG,), (LONG, "", 1851), True),
    ],
)
def test_titles_are_compared_with_authors_and_years(one, other, joined):
    assert groups(paper(*one), paper(*other)) == ([((0, 1), ("title",))] if joined else [])


def test_yearly_series_under_one_title_does_not_chain():
    """1900 and 1901 may be print and online dates of one work, 1902 is the next one."""
    assert groups(*(paper(LONG, year=year) for year in (1902, 1900, 1901, 1903))) == [
        ((0, 3), ("title",)),
        ((1, 2), ("title",)),
    ]


def test_paper_without_year_joins_only_where_one_work_is_possible():
    assert groups(paper(LONG), paper(LONG, year=1851), paper(LONG, year=1886)) == []


def text(seed: int, words: int = 120) -> list[str]:
    draw = random.Random(seed)
    return [f"w{draw.randrange(4000)}" for _ in range(words)]


def test_near_text_joins_and_none_switches_it_off():
    words = text(1)
    changed = [*words[:60], "other", *words[61:]]  # 3 of 118 shingles differ: 115 / 121 = 0.95
    pair = paper("One", abstract=" ".join(words)), paper("Two", abstract=" ".join(changed))
    assert groups(*pair) == [((0, 1), ("text",))]
    assert groups(*pair, near=None) == []


def test_short_texts_and_other_texts_do_not_join():
    notice = "This article has been withdrawn at the request of its authors."
    assert groups(paper("One", abstract=notice), paper("Two", abstract=notice)) == []
    assert groups(paper(abstract=" ".join(text(1))), paper(abstract=" ".join(text(2)))) == []


def test_chinese_texts_are_compared_by_characters():
    one = "深度学习在医学影像分析中的应用日益广泛本文综述了卷积神经网络的主要方法及其在肿瘤检测中的表现与局限"
    other = "本文研究黄土高原土壤侵蚀过程与降雨强度之间的关系并建立了一个新的预测模型以指导水土保持工程的设计"
    assert groups(paper(abstract=one), paper(abstract=one + "。"), paper(abstract=other)) == [((0, 1), ("text",))]


def exact_similarity(one: list[str], other: list[str]) -> float:
    first, second = ({tuple(words[i : i + 3]) for i in range(len(words) - 2)} for words in (one, other))
    return len(first & second) / len(first | second)


def test_near_pairs_agree_with_exact_similarity():
    """60 families of texts, each member losing a random share of its words' places to others."""
    draw = random.Random(7)
    texts: list[list[str]] = []
    for family in range(60):
        words = text(100 + family)
        for _ in range(4):
            rate = draw.choice([0.0, 0.01, 0.03, 0.06, 0.2])
            texts.append([draw.choice(words) if draw.random() < rate else word for word in words])
    signatures = MinHashSignatures()
    for place, words in enumerate(texts):
        signatures.add(place, " ".join(words))
    found = {tuple(sorted(pair)) for pair in signatures.pairs(0.8)}
    exact = {pair: exact_similarity(texts[pair[0]], texts[pair[1]]) for pair in combinations(range(len(texts)), 2)}
    clear = {pair for pair, similarity in exact.items() if similarity >= 0.9}  # 3 standard errors above
    assert len(clear) > 40
    assert clear <= found
    assert min(exact[pair] for pair in found) >= 0.69  # 3 standard errors below
    near = {pair for pair, similarity in exact.items() if similarity >= 0.8}
    assert len(found & near) / max(len(near), len(found)) >= 0.9


@pytest.mark.parametrize("near", [0.0, -1.0, 1.01])
def test_near_out_of_range_is_an_input_error(near: float):
    with pytest.raises(InputError, match="near"):
        find_duplicates([], near_duplicates=near)


ABSTRACT = "Marshes of two coasts were cored to one metre, " * 4


@pytest.mark.parametrize(
    ("papers", "versions"),
    [
        ([{"title": "Marshes", "year": 2018}, {"title": "MARSHES.", "year": 2024, "abstract": "x"}], [[1, 0]]),
        ([{"title": "Marshes", "abstract": ABSTRACT}, {"title": "Coasts", "abstract": ABSTRACT}], [[0, 1]]),
        ([{"title": "Marshes, part I", "abstract": "x"}, {"title": "Marshes, part II"}], [[0], [1]]),
        ([{"title": "Annual report of a marsh", "year": year} for year in (2018, 2019)], [[0], [1]]),
        ([{"title": "Marshes", "ids": {"doi": f"10.1234/{n}"}} for n in range(2)], [[0], [1]]),
        ([{"title": "Marshes", "ids": {"doi": doi}} for doi in ("10.48550/arXiv.2001.00001", "10.1234/1")], [[0, 1]]),
        ([{"title": "Editorial", "year": 2018, "abstract": str(n)} for n in range(2)], [[0], [1]]),
    ],
)
def test_versions_in_the_list_of_one_person_are_found_whatever_their_years(papers, versions):
    assert find_versions([Paper(id=str(n), **fields) for n, fields in enumerate(papers)]) == versions
