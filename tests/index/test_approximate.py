"""Approximate indexes: the recall that was asked for, lists that stay on disk, and builds that are killed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from build_commands import run
from fake_encoder import FakeEncoder
from kill_switch import killed_after
from sciprism.errors import InputError
from sciprism.index import approximate, exact
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, delete, embed

faiss = pytest.importorskip("faiss")
ROWS, DIM = 2000, 32


class ClusteredEncoder(FakeEncoder):
    """Gives numbered papers vectors around a hundred centres."""

    def encode_all(self, items: list[Paper], **_: object) -> dict[str, np.ndarray]:
        return {"proximity": make_vectors(int(items[0].id), len(items))}


def make_vectors(seed: int, count: int) -> np.ndarray:
    centres = np.random.default_rng(0).standard_normal((100, DIM))
    random = np.random.default_rng([1, seed])
    return (centres[random.integers(0, 100, count)] + random.standard_normal((count, DIM))).astype(np.float32)


@pytest.fixture(scope="module")
def papers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clustered")
    papers = (Paper(id=str(n), title=f"Title {n}", year=1950 + n % 70) for n in range(ROWS))
    embed(papers, ClusteredEncoder(dim=DIM), folder, layout=CollectionLayout(dtype="int8", shard_size=100))
    return folder


@pytest.fixture
def folder(papers_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(papers_folder, tmp_path / "c")


def build(folder: Path, wanted: float = 0.95) -> approximate.BuiltIndex:
    [built] = approximate.build(StoredCollection.open(folder), wanted)
    return built


def measure(folder: Path, mask: np.ndarray | None = None) -> float:
    """Return the recall@10 of new queries; the scores of what is found must be those of exact search."""
    collection = StoredCollection.open(folder)
    queries = make_vectors(ROWS, 200)
    scores, rows = approximate.search(collection, "near", queries, 10, mask)
    wanted_scores, wanted = exact.search(collection, "near", queries, 10, mask)
    known = {(i, row): score for i in range(200) for row, score in zip(wanted[i], wanted_scores[i], strict=True)}
    pairs = [(i, row, score) for i in range(200) for row, score in zip(rows[i], scores[i], strict=True)]
    hits = [(known[i, row], score) for i, row, score in pairs if (i, row) in known]
    assert all(known_score == score for known_score, score in hits)
    return len(hits) / len(known)


def test_the_wanted_recall_is_reached_and_recorded(folder: Path) -> None:
    low = build(folder, 0.6)
    assert low.reached and measure(folder) > 0.6 - 0.05
    high = build(folder, 0.97)
    assert high.reached and min(high.recall.values()) >= 0.97 and measure(folder) > 0.97 - 0.02
    assert (low.settings["effort"], low.settings["depth"]) < (high.settings["effort"], high.settings["depth"])
    record = json.loads(next(folder.rglob("built_from.json")).read_text())
    assert record["settings"] == high.settings and high.queries == 2 * approximate.QUERIES
    assert record["settings"]["recall@10 of papers"] == high.recall["papers"]


def test_lists_are_mapped_and_not_read(folder: Path) -> None:
    build(folder)
    [lists] = folder.rglob("*.lists")
    collection = StoredCollection.open(folder)
    approximate.search(collection, "near", make_vectors(1, 1), 1, None)
    assert 0 < collection.open_matrix.cache_info().currsize < len(collection.manifest.shards)
    index, _, _ = approximate._load_index(collection, "near")
    mapped = faiss.downcast_InvertedLists(index._index.invlists)
    assert isinstance(mapped, faiss.OnDiskInvertedLists) and mapped.read_only and mapped.filename == str(lists)
    assert lists.stat().st_size == ROWS * (DIM // approximate.DIMENSIONS_PER_BYTE + approximate.ID_BYTES)
    assert faiss.read_index(str(lists.with_suffix(".faiss"))).ntotal == 0, "the other file has no vectors"


def test_a_recall_out_of_reach_is_said_with_the_best(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(approximate, "double", lambda first, last: (first,))
    command = ("index", folder, "--approximate", "--recall")
    status, printed, error = run(monkeypatch, capsys, *command, "0.999")
    assert status == 0 and "without titles as queries" in error
    assert "0.999 was not reached, this is the best" in printed
    [best] = json.loads(run(monkeypatch, capsys, *command, "0.999", "--json")[1])["approximate"]
    assert not best["reached"] and 0.3 < min(best["recall"].values()) < 0.999
    assert measure(folder) == pytest.approx(best["recall"]["papers"], abs=0.1)
    for wrong in ("95", "0"):
        status, _, error = run(monkeypatch, capsys, *command, wrong)
        assert status == 2 and "recall" in error


def test_deleted_and_filtered_papers_are_never_found(folder: Path) -> None:
    build(folder)
    collection = StoredCollection.open(folder)
    gone = np.unique(exact.search(collection, "near", make_vectors(ROWS, 200), 1, None)[1])
    delete(folder, [paper.id for paper in collection.papers(gone)])
    mask = StoredCollection.open(folder).mask()
    assert mask is not None and not mask[gone].any()
    assert measure(folder, mask) > 0.9
    for share in (0.5, 0.15, 0.05):  # below a tenth, exact search answers
        chosen = mask & (np.random.default_rng(0).random(ROWS) < share)
        _, rows = approximate.search(StoredCollection.open(folder), "near", make_vectors(ROWS, 50), 10, chosen)
        assert (rows >= 0).all() and chosen[rows].all() and measure(folder, chosen) > 0.9


@pytest.mark.slow
def test_killed_at_any_change_of_the_disk_the_former_index_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximate, "PART_ROWS", 1000)
    monkeypatch.setattr(approximate, "QUERIES", 20)
    build(folder, wanted=0.5)
    queries = make_vectors(ROWS, 20)

    def answer() -> list[list[int]]:
        return approximate.search(StoredCollection.open(folder), "near", queries, 10, None)[1].tolist()

    before, used = answer(), {path.name for path in folder.rglob("index-*")}
    kept, changes = 0, 0
    while True:
        with killed_after(changes, folder) as made:
            build(folder, wanted=0.99)
        found = answer()
        kept += found == before
        if len(made) < changes:
            break
        changes += 1
    assert kept >= 10 and found != before
    assert {path.name for path in folder.rglob("index-*")}.isdisjoint(used) and not list(folder.rglob("unfinished"))
    assert len(list(folder.rglob("index-*"))) == 3


def test_a_killed_build_is_continued(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "PART_ROWS", 1000)

    def stop(work: str, *_: object) -> None:
        if work.startswith("merging"):
            raise KeyboardInterrupt

    collection = StoredCollection.open(folder)
    with pytest.raises(KeyboardInterrupt):
        approximate.build(collection, progress=stop)
    with pytest.raises(InputError, match="no approximate index"):
        measure(folder)
    works: list[str] = []
    approximate.build(collection, progress=lambda work, *_: works.append(work))
    assert not any(work.startswith("training") for work in works) and measure(folder) > 0.93


def test_papers_of_a_title_are_no_answers_to_it(tmp_path: Path) -> None:
    """Three papers of each title: a recall by papers that share the query's title would be that of an easy search."""
    papers = (Paper(id=str(n), title=f"Title  {n // 3}" if n % 2 else f"title {n // 3}", year=n) for n in range(300))
    embed(papers, ClusteredEncoder(dim=DIM), tmp_path / "c", layout=CollectionLayout(shard_size=64))
    collection = StoredCollection.open(tmp_path / "c")
    asked = [f"Title {n}" for n in range(50)], make_vectors(ROWS, 50)
    _, titles = approximate.build_queries(collection, "near", asked)
    assert (titles.name, len(titles.vectors), titles.needed) == ("titles", 50, 10)
    for number, rows in enumerate(titles.answers):
        found = rows[rows >= 0]
        assert len(found) >= 10 and number not in found // 3
