"""Every database gives the answers of the local search, also after updates and under every filter."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from build_databases import AUTHORS, ENCODER, FIELDS, VENUES, build_collection, new_address, random_papers
from fake_encoder import FakeEncoder
from sciprism.databases import RemoteCollection, push
from sciprism.databases.database import KINDS as KNOWN
from sciprism.errors import InputError
from sciprism.index import choose_share, fuse
from sciprism.papers.records import Paper
from sciprism.store import Filter, StoredCollection, delete
from sciprism.uses.search import Ranking, search

PAPERS = 70
QUERIES = ["word3 word17 word20 word3", "word5", "word9 the word40 word2 word77 zebra", "zebra", "ｎｏ2 图"]


@pytest.fixture(scope="module", params=sorted(KNOWN))
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return new_address(request.param, tmp_path_factory.mktemp("there"))


@pytest.fixture(scope="module")
def folder(address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that was pushed, of which more is there than its papers: superseded and deleted rows."""
    folder = tmp_path_factory.mktemp("collection")
    build_collection(folder, random_papers(10, edition=1))
    build_collection(folder, random_papers(PAPERS))
    delete(folder, ["paper/5", "paper/50"])
    assert push(folder, address).new == PAPERS - 2
    return folder


def rank(remote, encoder, queries, k=10, *, mode="exact", filter=None, why=True):
    return remote.rank(encoder, queries, k, mode, filter, why)


def assert_equal(here: Sequence[Ranking], there: Sequence[Ranking]) -> None:
    """Equal scores at every rank, and equal hits wherever the score is not that of a neighbour."""
    assert [ranking.query for ranking in here] == [ranking.query for ranking in there]
    for ours, theirs in zip(here, there, strict=True):
        scores = np.array([hit.score for hit in ours.hits])
        np.testing.assert_allclose([hit.score for hit in theirs.hits], scores, rtol=1e-5, atol=1e-6)
        for hit, other in zip(ours.hits, theirs.hits, strict=True):
            alone = (np.abs(scores - hit.score) <= 2e-6).sum() == 1 and hit.rank < len(scores)
            if alone:
                assert {**other.to_json(), "score": 0} == {**hit.to_json(), "score": 0} and other.paper == hit.paper


@pytest.mark.parametrize("filter", [None, Filter(venue="NATURE", year_from=1960, field="physics")])
def test_exact_searches_are_the_local_ones(folder: Path, address: str, filter: Filter | None) -> None:
    with RemoteCollection(address) as remote:
        assert len(remote) == PAPERS - 2
        here = search(StoredCollection.open(folder), ENCODER, QUERIES, 12, filter=filter, mode="exact")
        assert_equal(here, rank(remote, ENCODER, QUERIES, 12, filter=filter))


def test_filters_agree_on_random_papers(folder: Path, address: str) -> None:
    stored = StoredCollection.open(folder)
    rng = np.random.default_rng(0)
    parts = ["", *(venue[i : i + 3] for venue in VENUES if venue for i in range(0, len(venue) - 2, 3))]
    empty = 0
    with RemoteCollection(address) as remote:
        for _ in range(40):
            first, last = sorted(rng.integers(1945, 2025, 2).tolist())
            years = {name: year for name, year in (("year_from", first), ("year_to", last)) if rng.random() < 0.5}
            words = {"venue": parts, "field": FIELDS, "author": [*AUTHORS, "two b", "three"]}
            drawn = {name: str(rng.choice(of)).swapcase() for name, of in words.items() if rng.random() < 0.4}
            chosen = Filter(**years, **drawn)
            [here] = search(stored, ENCODER, "word1", len(stored), filter=chosen, why=False, mode="exact")
            found = set()
            try:
                [there] = rank(remote, ENCODER, ["word1"], len(stored), filter=chosen, why=False)
                found = {hit.id for hit in there.hits}
            except InputError as error:
                assert str(error).startswith("no paper of ")
            assert found == {hit.id for hit in here.hits}, chosen
            empty += not found
    assert 0 < empty < 35


@pytest.mark.parametrize("distance", ["dot", "euclidean"])
def test_other_distances(tmp_path: Path, address: str, distance: str) -> None:
    encoder = FakeEncoder(dim=32, distance=distance)
    stored = build_collection(tmp_path / "collection", random_papers(20), encoder, ("search",))
    with_other = f"{address}_{distance}"
    assert push(tmp_path / "collection", with_other).recall == 1
    with RemoteCollection(with_other) as remote:
        assert_equal(search(stored, encoder, QUERIES, 5, mode="exact"), rank(remote, encoder, QUERIES, 5))


def list_found(address: str, query: str, mode: str, **more: Filter) -> list[str]:
    with RemoteCollection(address) as remote:
        return [hit.id for hit in rank(remote, ENCODER, [query], 200, mode=mode, why=False, **more)[0].hits]


@pytest.mark.parametrize("query", ["word3 zebra", "zebra", "word1 AND word5 NOT word2", '"word1 word1" NOT word3'])
def test_words_are_found(folder: Path, address: str, query: str) -> None:
    stored = StoredCollection.open(folder)
    expected = {hit.id for hit in search(stored, ENCODER, [query], 200, mode="lexical", why=False)[0].hits}
    found = list_found(address, query, "lexical")
    assert set(found) == expected and len(found) == len(expected)


def test_words_rank_papers_that_have_more_of_them_first(tmp_path: Path, address: str) -> None:
    titles = {"both": "Halos of dark matter", "one": "Matter", "none": "Proteins"}
    papers = [Paper(id=id, title=title, year=1990, venue="Nature") for id, title in titles.items()]
    build_collection(tmp_path, papers)
    place = f"{address}_words"
    push(tmp_path, place)
    assert list_found(place, "dark matter", "lexical") == ["both", "one"]
    assert list_found(place, "dark matter", "lexical", filter=Filter(venue="nat", year_from=1990)) == ["both", "one"]
    with RemoteCollection(place) as remote:
        assert rank(remote, None, ["dark"], mode="lexical", why=False)[0].hits[0].id == "both"
        meaning, words, *both = (
            [(hit.score, hit.id) for hit in rank(remote, ENCODER, ["dark matter"], mode=mode, why=False)[0].hits]
            for mode in ("exact", "lexical", "hybrid", "auto")
        )
    expected = {id: score for score, id in fuse(meaning, words, choose_share("dark matter"), 10)}
    assert [{id: score for score, id in found} for found in both] == [pytest.approx(expected)] * 2
    assert [[id for _, id in found] for found in both] == [list(expected)] * 2


def test_an_approximate_index_is_built_and_dropped(folder: Path, address: str) -> None:
    with RemoteCollection(address) as remote, pytest.raises(InputError, match="--approximate"):
        rank(remote, ENCODER, QUERIES, mode="approximate")
    report = push(folder, address, approximate=True)
    assert (report.new, report.changed, report.deleted) == (0, 0, 0) and report.recall > 0.9
    exact = search(StoredCollection.open(folder), ENCODER, QUERIES, 12, mode="exact")
    with RemoteCollection(address) as remote:
        assert_equal(exact, rank(remote, ENCODER, QUERIES, 12))
        found = rank(remote, ENCODER, QUERIES, 12, mode="approximate", filter=Filter(year_from=1950))
        assert all(len(ranking.hits) == 12 for ranking in found)
    push(folder, address)
    with RemoteCollection(address) as remote, pytest.raises(InputError, match="--approximate"):
        rank(remote, ENCODER, QUERIES, mode="approximate")


def test_an_update_sends_what_is_new_changed_or_gone(folder: Path, address: str) -> None:
    again = push(folder, address)
    assert (again.new, again.changed, again.unchanged, again.deleted) == (0, 0, PAPERS - 2, 0)
    build_collection(folder, [*random_papers(4, edition=2), *random_papers(3, first=PAPERS)])
    delete(folder, [f"paper/{number}" for number in range(20, 26)])
    report = push(folder, address)
    assert (report.new, report.changed, report.deleted, report.papers) == (3, 4, 6, PAPERS - 5)
    with RemoteCollection(address) as remote:
        here = search(StoredCollection.open(folder), ENCODER, QUERIES, 12, mode="exact")
        assert_equal(here, rank(remote, ENCODER, QUERIES, 12))
