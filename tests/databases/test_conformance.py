"""Every database gives the answers of the local search, also after updates and under every filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from build_databases import (
    AUTHORS,
    ENCODER,
    FIELDS,
    SERVERS,
    VENUES,
    build_collection,
    local_address,
    random_papers,
    server_address,
)
from database_servers import serve_milvus, serve_qdrant
from fake_encoder import FakeEncoder
from sciprism.databases import RemoteCollection, databases, push
from sciprism.errors import InputError
from sciprism.index import approximate
from sciprism.store import Filter, StoredCollection, delete
from sciprism.uses.rankings import Ranking
from sciprism.uses.search import search

PAPERS = 70
QUERIES = ["word3 word17 word20 word3", "word5", "word9 the word40 word2 word77 zebra", "zebra", "ｎｏ2 图"]
BOOLEAN_QUERIES = [
    '"thin no2 films" NOT word1',
    "word1 AND word5 NOT word2",
    '"word1 word1" OR "the end 7 of"',
    '"word1 word2" NOT word3',
    "word5",
]
MODES = ("exact", "approximate", "lexical", "hybrid")
WIRES = {"qdrant": serve_qdrant, "milvus": serve_milvus}
PLACES = [
    pytest.param((kind, place), marks=[pytest.mark.slow] * (kind == "milvus" and place == "wire"))
    for place in ("local", "wire", "server")
    for kind in sorted(SERVERS)
]
"""A folder of this machine; the same behind the network protocol; a real server, where the environment names one."""


def test_every_database_is_tested() -> None:
    assert databases.keys() == SERVERS.keys() == WIRES.keys()


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kind, place = request.param
    pytest.importorskip({"qdrant": "qdrant_client", "milvus": "pymilvus"}[kind])
    if place == "local":
        yield local_address(kind, tmp_path_factory.mktemp(kind))
    elif place == "wire":
        with WIRES[kind](tmp_path_factory.mktemp(kind)) as server:
            yield f"{server}/papers"
    elif (found := server_address(kind)) is None:
        pytest.skip(f"{SERVERS[kind]} names no server, such as {kind}://localhost")
    else:
        yield found


@pytest.fixture(scope="module")
def folder(address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, of which more is there than its papers: superseded and deleted rows."""
    folder = tmp_path_factory.mktemp("collection")
    build_collection(folder, random_papers(10, edition=1))
    build_collection(folder, random_papers(PAPERS))
    delete(folder, ["paper/5", "paper/50"])
    approximate.build(StoredCollection.open(folder))
    return folder


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


def assert_all_modes_equal(stored: StoredCollection, address: str, filter: Filter | None = None) -> None:
    with RemoteCollection(address) as remote:
        assert len(remote) == len(stored)
        for mode in MODES if remote.record.approximate else ("exact", "lexical", "hybrid"):
            if mode in ("exact", "hybrid") and remote.record.approximate and address.startswith("milvus"):
                continue  # which has one index; that it says so is tested below
            queries = [*QUERIES, *(BOOLEAN_QUERIES if mode == "lexical" else ())]
            here = search(stored, ENCODER, queries, 12, mode=mode, filter=filter)
            assert_equal(here, remote.rank(ENCODER, queries, 12, mode=mode, filter=filter))


def test_searches_are_the_local_ones(folder: Path, address: str) -> None:
    stored = StoredCollection.open(folder)
    report = push(folder, address)
    assert report.papers == len(stored) == PAPERS - 2 and report.lexical and not report.shortened
    assert [each.space for each in report.spaces] == ["near", "kind"]
    for each in report.spaces:
        assert (each.new, each.changed, each.unchanged, each.deleted) == (len(stored), 0, 0, 0)
        assert (each.check.papers, each.check.recall) == (len(stored), 1.0) and each.check.score_difference < 1e-5
    assert report.spaces[0].check.lexical_recall == 1.0 and report.spaces[1].check.lexical_recall is None
    assert_all_modes_equal(stored, address)
    assert_all_modes_equal(stored, address, Filter(venue="NATURE", year_from=1960, field="physics"))


@pytest.mark.slow
def test_filters_agree_on_random_papers(folder: Path, address: str) -> None:
    push(folder, address)
    stored = StoredCollection.open(folder)
    rng = np.random.default_rng(0)
    parts = ["", *(venue[i : i + 3] for venue in VENUES if venue for i in range(0, len(venue) - 2, 3))]
    empty = 0
    with RemoteCollection(address) as remote:
        for _ in range(60):
            first, last = sorted(rng.integers(1945, 2025, 2).tolist())
            chosen = Filter(
                year_from=first if rng.random() < 0.5 else None,
                year_to=last if rng.random() < 0.5 else None,
                venue=str(rng.choice(parts)).swapcase() if rng.random() < 0.6 else "",
                field=str(rng.choice(FIELDS)).swapcase() if rng.random() < 0.3 else "",
                author=str(rng.choice([*AUTHORS, "two b", "three"])).swapcase() if rng.random() < 0.3 else "",
            )
            [here] = search(stored, ENCODER, "word1", len(stored), filter=chosen, why=False)
            try:
                [there] = remote.rank(ENCODER, ["word1"], len(stored), filter=chosen, why=False)
            except InputError as error:
                assert str(error).startswith("no paper of ")
                found = set()
            else:
                found = {hit.id for hit in there.hits}
            assert found == {hit.id for hit in here.hits}, chosen
            empty += not found
    assert empty < 50


@pytest.mark.slow
def test_an_update_sends_what_is_new_changed_or_gone(folder: Path, address: str) -> None:
    push(folder, address)
    again = push(folder, address)
    assert {(each.new, each.changed, each.unchanged, each.deleted) for each in again.spaces} == {(0, 0, PAPERS - 2, 0)}
    build_collection(folder, [*random_papers(4, edition=2), *random_papers(3, first=PAPERS)])
    delete(folder, [f"paper/{number}" for number in range(20, 26)])
    stored = StoredCollection.open(folder)
    report = push(folder, address)
    by_space = {each.space: each for each in report.spaces}
    assert (by_space["kind"].new, by_space["kind"].changed, by_space["kind"].deleted) == (3, 4, 6)
    assert by_space["near"].new == 3 and by_space["near"].check.lexical_recall == 1.0
    assert_all_modes_equal(stored, address)


@pytest.mark.slow
def test_an_approximate_index(folder: Path, address: str) -> None:
    approximate.build(StoredCollection.open(folder))
    push(folder, address)
    with RemoteCollection(address) as remote, pytest.raises(InputError, match="--approximate"):
        remote.rank(ENCODER, QUERIES, mode="approximate")
    report = push(folder, address, approximate=True)
    assert {(each.new, each.changed, each.deleted) for each in report.spaces} == {(0, 0, 0)}
    assert_all_modes_equal(StoredCollection.open(folder), address)
    if address.startswith("milvus"):
        with RemoteCollection(address) as remote, pytest.raises(InputError, match="--mode approximate"):
            remote.rank(ENCODER, QUERIES, mode="exact")
    push(folder, address)
    assert_all_modes_equal(StoredCollection.open(folder), address)


@pytest.mark.parametrize("distance", ["dot", "euclidean"])
def test_other_distances(tmp_path: Path, address: str, distance: str) -> None:
    encoder = FakeEncoder(dim=32, distance=distance)
    stored = build_collection(tmp_path / "collection", random_papers(20), encoder, ("search",))
    with_other = f"{address}_{distance}"
    push(tmp_path / "collection", with_other)
    with RemoteCollection(with_other) as remote:
        assert_equal(search(stored, encoder, QUERIES, 5), remote.rank(encoder, QUERIES, 5))
