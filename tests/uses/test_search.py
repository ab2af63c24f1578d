"""Search and similar papers, from words to a ranked list with reasons."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from fake_encoder import FakeEncoder
from five_papers import PAPERS
from sciprism.errors import InputError
from sciprism.index import approximate, exact, lexical
from sciprism.index.int8_copy import Int8Copy, find_int8_product
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, Filter, StoredCollection, embed
from sciprism.store.paper_lookup import find_paper
from sciprism.uses.search import search, similar, similar_to_papers

ENCODER = FakeEncoder(dim=256)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> StoredCollection:
    folder = tmp_path_factory.mktemp("collection")
    embed(PAPERS, ENCODER, folder, layout=CollectionLayout(shard_size=2))
    lexical.build(StoredCollection.open(folder))
    return StoredCollection.open(folder)


def test_many_queries_give_what_each_gives_alone(collection: StoredCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("sciprism.uses.search"), "QUERY_BATCH", 2)
    queries = ["guide RNA cut", "attention sequences", "dark halos"]
    for mode in ("hybrid", "exact"):
        together = search(collection, ENCODER, queries, 2, mode=mode)
        assert together == [search(collection, ENCODER, query, 2, mode=mode)[0] for query in queries]
        assert [ranking.query for ranking in together] == queries
    assert [ranking.hits[0].id for ranking in together] == ["crispr", "attention", "halo"]


def test_later_searches_use_one_int8_copy_and_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    papers = [Paper(id=f"p{i}", title=f"Word{i % 97} word{i % 89} word{i % 7}") for i in range(300)]
    embed(papers, ENCODER, tmp_path, layout=CollectionLayout(shard_size=70))
    collection, copied, rankings = StoredCollection.open(tmp_path), [], []
    monkeypatch.setattr(exact, "SEARCHES", 2)
    for rows in (301, 301, 301, 300, 300):  # the last two searches are of a collection that is large enough
        monkeypatch.setattr(exact, "MIN_ROWS", rows)
        rankings.append(search(collection, ENCODER, "word5 word6", 3, why=False))
        copied += [isinstance(copy, Int8Copy) for copy in exact._copies[collection].values()]
    assert rankings == rankings[:1] * 5
    assert copied == [False] * 3 + [find_int8_product() is not None] * 2


def test_approximate_mode(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    embed(PAPERS, ENCODER, tmp_path)
    collection = StoredCollection.open(tmp_path)
    approximate.build(collection)
    exact = search(collection, ENCODER, "guide enzyme", 3)
    assert search(collection, ENCODER, "guide enzyme", 3, mode="approximate") == exact
    found = similar(collection, None, "crispr", 1, mode="approximate")
    assert [hit.id for hit in found.hits] == ["editing"]


def test_similar_leaves_the_paper_itself_out(collection: StoredCollection) -> None:
    ranking = similar(collection, None, "crispr")
    assert ranking.hits[0].id == "editing" and len(ranking.hits) == 4
    assert "crispr" not in [hit.id for hit in ranking.hits]
    assert ranking.query == "crispr" and ranking.hits[0].why == ""
    reasoned = similar(collection, ENCODER, "crispr", 1)
    assert reasoned.hits[0].why == "A guide RNA directs the enzyme."
    later = similar(collection, None, "crispr", filter=Filter(year_from=2014))
    assert [hit.id for hit in later.hits] == ["attention"]


@pytest.mark.parametrize(
    "name", ["arXiv:2001.00001v2", "https://arxiv.org/abs/2001.00001", "PMC900", "frogs in ponds."]
)
def test_a_paper_is_found_by_its_identifiers_and_title(tmp_path: Path, name: str) -> None:
    frogs = Paper(id="f", title="Frogs in ponds", ids={"doi": "10.48550/arxiv.2001.00001", "pmcid": "PMC900"})
    embed([*PAPERS, frogs], ENCODER, tmp_path)
    collection = StoredCollection.open(tmp_path)
    assert collection.papers([find_paper(collection, name)]) == [frogs]
    if "." not in name[-1]:
        assert search(collection, ENCODER, name, 2)[0].hits[0].id == "f"
        other = search(collection, ENCODER, name, 2, filter=Filter(year_from=2012))[0].hits
        assert "f" not in [hit.id for hit in other]


def test_papers_from_elsewhere_have_their_own_rankings(collection: StoredCollection) -> None:
    new = Paper(id="cas9", title="A guide RNA", abstract="It cuts DNA.")
    copies = [replace(PAPERS[0], id="other-id"), replace(PAPERS[2], title="Programmable DNA cutting!")]
    found = similar_to_papers(collection, ENCODER, [new, *copies], 9)
    assert [ranking.query for ranking in found] == ["cas9", "other-id", "crispr"]
    assert [len(ranking.hits) for ranking in found] == [5, 4, 4]
    assert found[0].hits[0].id == "crispr" and found[0].hits[0].why == "A guide RNA directs the enzyme to cut DNA."
    assert [[hit.id for hit in ranking.hits] for ranking in found[1:]] == [
        [hit.id for hit in similar(collection, None, id).hits] for id in ("halo", "crispr")
    ], "a copy is known by its title"
    assert similar_to_papers(collection, ENCODER, [], 9) == []
    with pytest.raises(InputError, match="paper 'x' has no title and no abstract"):
        similar_to_papers(collection, ENCODER, [Paper(id="x")])


def test_requests_that_cannot_be_met(collection: StoredCollection) -> None:
    other = FakeEncoder("other", "f9")
    for wrong, message in (
        (lambda: similar(collection, other, "halo"), "vectors of fake.*not of other"),
        (lambda: search(collection, ENCODER, "x", 0), "k is 0"),
        (lambda: similar(collection, None, "halo", 0), "k is 0"),
        (lambda: similar(collection, None, "halo", mode="lexical"), "mode 'lexical' is not one of exact"),
        (lambda: search(collection, None, "x"), "a search of mode hybrid with reasons needs an encoder"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()


def test_a_space_without_queries_is_refused(tmp_path: Path) -> None:
    embed(PAPERS, ENCODER, tmp_path, layout=CollectionLayout(formats=("classification",)))
    with pytest.raises(InputError, match=r"are in the space near; .* holds kind; .*--formats search"):
        search(StoredCollection.open(tmp_path), ENCODER, "x")
    assert len(similar(StoredCollection.open(tmp_path), None, "halo").hits) == 4


def test_an_empty_collection_finds_nothing(tmp_path: Path) -> None:
    embed([], ENCODER, tmp_path)
    assert search(StoredCollection.open(tmp_path), ENCODER, "x")[0].hits == ()
