"""Approximate and lexical indexes: what they find, and that an outdated one is never searched."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bm25s
import faiss
import numpy as np
import pytest
from bm25s.tokenization import Tokenizer

from fake_encoder import FakeEncoder, some_papers
from sciprism.errors import InputError
from sciprism.index import approximate, choose_share, fuse, lexical, topk
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed


def build_collection(folder: Path, papers: list[Paper], **encoder: object) -> StoredCollection:
    embed(papers, FakeEncoder(**encoder), folder, layout=CollectionLayout(shard_size=150))
    return StoredCollection.open(folder)


@pytest.mark.parametrize("distance", ["cosine", "dot", "euclidean"])
def test_approximate_search_finds_what_exact_search_finds(tmp_path: Path, distance: str) -> None:
    collection = build_collection(tmp_path, some_papers(400), dim=24, distance=distance)
    [built] = approximate.build(collection, 0.99)
    assert (built.space, built.reached) == ("near", True)
    queries = np.random.default_rng(0).normal(size=(20, 24)).astype(np.float32)
    scores, rows = approximate.search(collection, "near", queries, 10, None)
    exact_scores, exact_rows = topk(queries, collection.vectors("near"), 10, distance=distance)
    same = [len(set(a) & set(b)) / 10 for a, b in zip(rows, exact_rows, strict=True)]
    agree = rows == exact_rows
    assert np.mean(same) > 0.95 and agree.all(axis=1).mean() > 0.5
    np.testing.assert_array_equal(scores[agree], exact_scores[agree])


def test_lexical_search_ranks_by_words_however_they_are_printed(tmp_path: Path) -> None:
    texts = {
        "Dark matter halos": "Halos of galaxies.",
        "Dark matter": "Searches for particles of dark matter in the lab.",
        "CRISPR": "Gene editing.",
        "Dark matter  halos": "Halos of galaxies.",
        "Uptake of NO₂ by Wiﬁ sensors": "",
        "Ｗｉｄｅ ２Ｄ letters": "",
        "Ménière’s co\u00adoperation": "",
        "图像分割综述": "",
        "Graphene in layers": "Former words.",
    }
    papers = [Paper(id=str(i), title=title, abstract=abstract) for i, (title, abstract) in enumerate(texts.items())]
    build_collection(tmp_path, papers)
    collection = build_collection(tmp_path, [replace(papers[8], abstract="Other words.")])
    lexical.build(collection)
    wanted = {"halos": [0, 3], "the crispr": [2], "unheard": [], "of the": [], "former": [], "graphene": [9]}
    wanted |= {"NO2": [4], "no₂": [4], "wifi": [4], "wide": [5], "２ｄ": [5], "meniere": [6], "分割": [7], "icy": []}
    scores, rows = lexical.search(collection, [*wanted, "Cooper\u00adation"], 3, collection.mask())
    assert [[row for row in line if row >= 0] for line in rows.tolist()] == [*wanted.values(), [6]]
    assert scores[0, 0] == scores[0, 1] > 0 and np.isneginf(scores[0, 2])
    _, rows = lexical.search(collection, ["dark halos"], 3, np.arange(10) > 0)
    assert rows.tolist() == [[3, 1, -1]]


def test_the_lexical_index_is_that_of_bm25s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made batch by batch, it has the postings that bm25s makes of all texts at once."""
    monkeypatch.setattr("sciprism.index.lexical.BATCH", 100)
    random = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    texts = [" ".join(random.choice(words, random.integers(0, 40))) for _ in range(730)]
    papers = [Paper(id=str(i), title=words[i % 7], abstract=text) for i, text in enumerate(texts)]
    collection = build_collection(tmp_path, papers)
    lexical.build(collection)
    tokenizer = Tokenizer(stopwords="english")
    whole = [f"{paper.title} {paper.abstract}" for paper in papers]
    documents = tokenizer.tokenize(whole, update_vocab=True, show_progress=False)
    wanted, found = bm25s.BM25(), bm25s.BM25.load(tmp_path / "index" / "lexical")
    wanted.index((documents, tokenizer.get_vocab_dict()), show_progress=False)
    assert found.vocab_dict == wanted.vocab_dict and found.scores["num_docs"] == 730
    for name in ("indptr", "indices", "data"):
        np.testing.assert_allclose(found.scores[name], wanted.scores[name], rtol=1e-6 if name == "data" else 0)
    assert not list((tmp_path / "index" / "lexical").glob("*.part"))


def test_an_index_of_an_earlier_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = build_collection(tmp_path, some_papers(5))
    monkeypatch.setattr(lexical, "WORDS", 1)
    lexical.build(collection)
    monkeypatch.undo()
    with pytest.raises(InputError, match=f"earlier version.*run: sciprism index {tmp_path} --lexical"):
        lexical.search(collection, ["topic"], 2, None)
    lexical.build(collection)
    assert lexical.search(collection, ["topic"], 2, None)[1][0, 0] >= 0


def test_what_a_killed_build_left_is_no_part_of_the_next(tmp_path: Path) -> None:
    collection = build_collection(tmp_path, some_papers(3))
    lexical.build(collection)
    record = (tmp_path / "index" / "lexical" / "built_from.json").read_bytes()
    (tmp_path / "index" / "lexical" / "built_from.json.part").write_bytes(record[:9])
    lexical.build(collection)
    assert (tmp_path / "index" / "lexical" / "built_from.json").read_bytes() == record


def test_a_full_disk_is_named_with_the_file_and_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(some_papers(400), FakeEncoder(), tmp_path)
    stored = StoredCollection.open(tmp_path)
    callback = faiss.PyCallbackIOWriter

    def fill(write: Callable[[bytes], int]) -> faiss.PyCallbackIOWriter:
        def fail(content: bytes) -> int:
            write(content)
            raise OSError(errno.ENOSPC, "No space left on device")

        return callback(fail)

    monkeypatch.setattr(faiss, "PyCallbackIOWriter", fill)
    with pytest.raises(OSError, match=r"No space left on device: '.*\.faiss'"):
        approximate.build(stored)
    assert not [*tmp_path.rglob("*.part")]
    monkeypatch.undo()
    assert [built.space for built in approximate.build(stored)] == ["near"]


@pytest.mark.parametrize("count", [2, 3, 17])
def test_few_papers_can_be_indexed(tmp_path: Path, count: int) -> None:
    collection = build_collection(tmp_path, some_papers(count))
    approximate.build(collection)
    queries = np.random.default_rng(0).normal(size=(2, 16)).astype(np.float32)
    _, rows = approximate.search(collection, "near", queries, 20, None)
    assert np.sort(rows[:, :count]).tolist() == [[*range(count)]] * 2


ASKING: dict[str, Callable[[StoredCollection], object]] = {
    "approximate": lambda collection: approximate.search(collection, "near", np.ones((1, 16), np.float32), 2, None),
    "lexical": lambda collection: lexical.search(collection, ["topic"], 2, None),
}


@pytest.mark.parametrize("kind", ASKING)
def test_an_index_that_is_missing_stale_or_unfinished_says_what_to_run(tmp_path: Path, kind: str) -> None:
    ask, build = ASKING[kind], {"approximate": approximate.build, "lexical": lexical.build}[kind]
    collection = build_collection(tmp_path, some_papers(20))
    with pytest.raises(InputError, match=f"has no {kind} index; run: sciprism index {tmp_path} --{kind}"):
        ask(collection)
    build(collection)
    ask(collection)
    collection = build_collection(tmp_path, some_papers(30))
    with pytest.raises(InputError, match=f"built from 20 rows.*now 30 rows.*sciprism index {tmp_path} --{kind}"):
        ask(collection)
    build(collection)
    ask(collection)
    home = next((tmp_path / "index" / kind).rglob("built_from.json")).parent
    for file in home.iterdir():
        if file.name != "built_from.json":
            file.write_bytes(b"")
    with pytest.raises(InputError, match=f"damaged; run: sciprism index {tmp_path} --{kind}"):
        ask(StoredCollection.open(tmp_path))


def test_an_empty_collection_cannot_be_indexed(tmp_path: Path) -> None:
    collection = build_collection(tmp_path, [])
    with pytest.raises(InputError, match="no papers"):
        approximate.build(collection)
    assert not lexical.build(collection) and not lexical.is_ready(collection)


def test_fusion_worked_by_hand() -> None:
    meaning, words = [(0.9, 4), (0.8, 7), (0.5, 9)], [(6.0, 7), (3.0, 5)]
    assert fuse(meaning, words, 0.4, 3) == [(pytest.approx(0.85), 7), (pytest.approx(0.6), 4), (pytest.approx(0.2), 5)]
    assert fuse(meaning, [], 0.4, 1) == [(pytest.approx(0.6), 4)] and fuse([], words, 0.4, 1)[0][1] == 7
    deep = [(200.0 - item, item) for item in range(120)]  # those from the 100th on have 0
    assert [item for _, item in fuse(deep, [], 0.5, 120)] == list(range(120)), "ties keep their order"
    shares = {"dark matter halos": 0.7, "dark matter in halos": 0.4, 'a "dark matter" halo of a galaxy': 0.7}
    assert {query: choose_share(query) for query in shares} == shares
