"""Boolean queries: what passes, in the order of BM25, and where malformed ones are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fake_encoder import FakeEncoder
from sciprism.errors import InputError
from sciprism.index import lexical
from sciprism.index.boolean_query import parse_query, select
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, Filter, StoredCollection, embed
from sciprism.uses.search import search

TEXTS = {
    "both": ("Sea ice and cloud feedback", "Ice of the sea melts."),
    "ice": ("Sea ice in winter", "We map the ice from space."),
    "far": ("Ice near the sea", "No cloud. The sea has ice floes; vitamin D is low."),
    "split": ("Clouds over sea", "Ice is elsewhere, and so is covid-19."),
    "cloud": ("Cloud seeding by NO₂", "Droplets of vitamin C grow."),
}


def build(folder: Path, papers: list[Paper], **layout: Any) -> StoredCollection:
    embed(papers, FakeEncoder(), folder, layout=CollectionLayout(**layout))
    lexical.build(StoredCollection.open(folder))
    return StoredCollection.open(folder)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> StoredCollection:
    papers = [Paper(id=id, title=title, abstract=abstract) for id, (title, abstract) in TEXTS.items()]
    return build(tmp_path_factory.mktemp("collection"), papers, shard_size=2)


def find(collection: StoredCollection, query: str, k: int = 9, filter: Filter | None = None) -> list[str]:
    [ranking] = search(collection, None, query, k, mode="lexical", filter=filter, why=False)
    return [hit.id for hit in ranking.hits]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ('"sea ice"', {"both", "ice"}),
        ('"ice of the sea"', {"both"}),
        ("sea cloud NOT floes", {"both"}),
        ("sea AND NOT (cloud OR clouds)", {"ice"}),
        ("(NOT sea) AND cloud", {"cloud"}),
        ("winter OR seeding AND droplets", {"ice", "cloud"}),
        ('ice NOT "sea ice" NOT "near the sea"', {"split"}),
        ("vitamin AND D", {"far"}),
        ("vitamin AND (winter OR NOT d)", {"cloud"}),
        ("covid-19 AND sea", {"split"}),
        ("NO2 AND the droplets", {"cloud"}),
        ('"mapping of ice"', set()),
        ('ice AND ("sea ice" OR "ice floes")', {"both", "ice", "far"}),
    ],
)
def test_what_passes(collection: StoredCollection, query: str, ids: set[str]) -> None:
    found = find(collection, query)
    assert set(found) == ids and find(collection, query, 1) == found[:1]
    parsed = parse_query(query)
    assert parsed is not None
    plain = find(collection, " ".join(parsed.list_ranked_words()))
    assert found == [id for id in plain if id in ids], "the order of BM25"


def test_plain_words_stay_plain(collection: StoredCollection) -> None:
    for query in ("Winter (map) of droplets", "winter and droplets", "A* or not to be", "R&D, C*-algebras"):
        assert parse_query(query) is None
    assert set(find(collection, "winter (map) droplets")) == {"ice", "cloud"}


def test_a_filter_holds(tmp_path: Path) -> None:
    papers = [Paper(id=str(i), title="Sea ice" if i % 2 else "Ice of a sea", year=2000 + i % 7) for i in range(700)]
    stored = build(tmp_path, papers, formats=("search",))
    later = [str(i) for i in range(700) if i % 2 and i % 7 == 3]
    assert find(stored, '"sea ice"', 700, Filter(year_from=2003, year_to=2003)) == later
    assert find(stored, '"sea ice" NOT sea', 9) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('ice AND "sea', 'quotation mark is not closed, at character 9: .*"sea'),
        ('ice AND ""', "hold no word, at character 9"),
        ("ice AND", "missing before the end of 'ice AND'"),
        ("OR sea", "missing before OR, at character 1"),
        ("ice AND () sea", r"missing before \), at character 10"),
        ("(ice AND sea", "parenthesis is not closed, at character 1"),
        ("ice) AND sea", "parenthesis closes none, at character 4"),
        ("NOT ice", "only what papers lack; join it by AND with another word, at character 1"),
        ('ice OR "of the"', "too short or common to rank papers; .*, at character 8"),
        ("ice OR the", "common words and signs alone find nothing"),
        ("ice NOT the", "NOT needs a less common word"),
        ("ice or sea AND cloud", "written in capitals; or put or in quotes, at character 5"),
        ("cloud* cover", r"not completed at \*"),
        ("ice[tiab] AND sea", "square brackets mean nothing"),
        ("ti:ice AND sea", "there are no fields"),
        ("TITLE(ice AND sea)", "it names a field; there are none, at character 1"),
        ("ice NEAR/3 sea AND cloud", "operators are AND, OR and NOT"),
        ("(" * 300 + "ice AND sea" + ")" * 300, "more than 100 parentheses"),
    ],
)
def test_a_malformed_query_says_where(collection: StoredCollection, query: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^query 2: .*{message}"):
        search(collection, None, ["ice", query], mode="lexical", why=False)


def test_a_limit_that_hides_papers_is_said() -> None:
    query = parse_query('"sea ice"')
    assert query is not None

    def read(items: Sequence[int]) -> list[Paper]:
        return [Paper(id=str(item), title="Sea ice" if item % 90 == 89 else "Ice of the sea") for item in items]

    assert select(query, 4, range, read) == [89, 179, 269, 359]
    assert select(query, 4, lambda depth: range(min(depth, 300)), read) == [89, 179, 269]
    with pytest.raises(InputError, match=r"of the 300 papers that share most words .* 3 pass"):
        select(query, 4, range, read, 300)


def test_random_queries_pass_what_the_words_of_the_papers_say(tmp_path: Path) -> None:
    """Parsed and searched as by an independent evaluation: Python's own operators over sets of words."""
    random = np.random.default_rng(5)
    words = [f"w{number}" for number in range(9)]
    texts = [[*random.choice(words, random.integers(1, 7))] for _ in range(150)]
    stored = build(tmp_path, [Paper(id=str(i), title=" ".join(text)) for i, text in enumerate(texts)])

    def draw(depth: int) -> tuple[str, str]:
        """Return a query, and what Python evaluates it by."""
        kind = random.integers(5) if depth else 4
        if kind < 4:
            (one, first), (other, second) = draw(depth - 1), draw(depth - 1)
            sign, meaning = (("AND", "and"), ("", "and"), ("OR", "or"), ("NOT", "and not"))[kind]
            return f"({one} {sign} {other})", f"({first} {meaning} {second})"
        chosen = [str(word) for word in random.choice(words, random.integers(1, 3))]
        return f'"{" ".join(chosen)}"', f"({' '.join(['', *chosen, ''])!r} in text)"

    for _ in range(60):
        query, meaning = draw(3)
        wanted = {i for i, text in enumerate(texts) if eval(meaning, {"text": f" {' '.join(text)} "})}
        assert {int(id) for id in find(stored, query, 150)} == wanted, query
