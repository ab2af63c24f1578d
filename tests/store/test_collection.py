"""Opening a collection: what it finds, what it filters, and what it says of a damaged one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, Filter, StoredCollection, embed


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    return some_papers(60)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, papers: list[Paper]) -> StoredCollection:
    folder = tmp_path_factory.mktemp("collection")
    embed(papers, FakeEncoder(), folder, layout=CollectionLayout(shard_size=25))
    embed([replace(papers[7], title="New text")], FakeEncoder(), folder)
    return StoredCollection.open(folder)


@given(
    year_from=st.none() | st.integers(1940, 2020),
    year_to=st.none() | st.integers(1940, 2020),
    venue=st.sampled_from(["", "nature", "PHYSICAL", "icml", "nowhere", "e"]),
    field=st.sampled_from(["", "physics", "Mathematics", "phys"]),
)
@settings(max_examples=60, deadline=None)
def test_filters_agree_with_a_plain_loop(
    collection: StoredCollection,
    papers: list[Paper],
    year_from: int | None,
    year_to: int | None,
    venue: str,
    field: str,
) -> None:
    def passes(paper: Paper) -> bool:
        if (year_from is not None or year_to is not None) and paper.year is None:
            return False
        if year_from is not None and paper.year is not None and paper.year < year_from:
            return False
        if year_to is not None and paper.year is not None and paper.year > year_to:
            return False
        if field and field.lower() not in [name.lower() for name in paper.fields]:
            return False
        return venue.lower() in paper.venue.lower()

    mask = collection.mask(Filter(year_from=year_from, year_to=year_to, venue=venue, field=field))
    assert mask is not None and len(mask) == 61
    expected = [i for i, paper in enumerate([*papers, papers[7]]) if passes(paper) and i != 7]
    assert np.flatnonzero(mask).tolist() == expected


def test_no_filter_and_nothing_superseded_needs_no_mask(tmp_path: Path) -> None:
    embed(some_papers(5), FakeEncoder(), tmp_path)
    assert StoredCollection.open(tmp_path).mask() is None
    assert StoredCollection.open(tmp_path).mask(Filter()) is None
    embed([], FakeEncoder(), tmp_path / "empty")
    assert StoredCollection.open(tmp_path / "empty").mask(Filter(year_from=1990)) is None
    rows = [4, 0, 2, 0]
    assert StoredCollection.open(tmp_path).papers(rows) == [some_papers(5)[row] for row in rows]


def test_what_a_collection_lacks_is_an_error(collection: StoredCollection) -> None:
    with pytest.raises(InputError, match=r"the space near .*none of 'kind'; embed the papers for that format"):
        collection.vectors("kind")
    for row in (61, -1):
        with pytest.raises(IndexError):
            collection.papers([row])


def damaged(tmp_path: Path) -> tuple[Path, Path]:
    embed(some_papers(30), FakeEncoder(), tmp_path, layout=CollectionLayout(shard_size=20))
    return tmp_path / "manifest.json", tmp_path / "vectors" / "0-near" / "000000.npy"


def test_no_collection_or_a_foreign_or_torn_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is empty, not a collection.*sciprism embed FILES -o"):
        StoredCollection.open(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        StoredCollection.open(tmp_path / "nowhere")
    manifest, _ = damaged(tmp_path)
    for content, message in (
        ("", "is damaged, or not of this version"),
        ("[]", "is damaged, or not of"),
        ('{"layout": 1}', r"encoder: Field required.*embed into a new folder"),
        ('{"layout": 4}', "not of this version of sciprism .layout: Input should be 1"),
    ):
        manifest.write_text(content)
        with pytest.raises(InputError, match=message):
            StoredCollection.open(tmp_path)


def test_a_changed_truncated_or_missing_file_is_found_and_nothing_is_added(tmp_path: Path) -> None:
    _, values = damaged(tmp_path)
    content = values.read_bytes()
    changed = content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]
    for damage, message in (
        (changed, "damaged or changed: its checksum differs; restore it"),
        (content[:-10], f"{len(content) - 10} bytes long instead of {len(content)}; restore it"),
        (None, "missing"),
    ):
        values.unlink() if damage is None else values.write_bytes(damage)
        before = snapshot(tmp_path)
        with pytest.raises(DamagedFileError, match=f"000000.npy is {message}"):
            StoredCollection.open(tmp_path).verify()
        with pytest.raises(DamagedFileError, match=f"000000.npy is {message}"):
            embed(some_papers(40), FakeEncoder(), tmp_path)
        assert snapshot(tmp_path) == before


def test_a_person_can_read_the_manifest(tmp_path: Path) -> None:
    manifest, _ = damaged(tmp_path)
    stated = json.loads(manifest.read_text())
    assert stated["papers"] == 30 and stated["missing_abstracts"] == 4 and stated["superseded"] == 0
    assert stated["encoder"] == {"name": "fake", "options": {}, "fingerprint": "f0", "distance": "cosine"}
    assert stated["input"] == {"read": 30, "duplicates": 0, "bad": 0}
    assert stated["spaces"]["near"]["formats"] == ["proximity"]
    assert set(stated["shards"][0]["files"]) == {"papers/000000.parquet", "vectors/0-near/000000.npy"}


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
records = st.builds(
    Paper,
    id=words.filter(bool),
    title=words.map(lambda title: f"T{title}"),
    abstract=words,
    authors=st.tuples(words, words),
    venue=words,
    year=st.none() | st.integers(-3000, 3000),
    fields=st.tuples(words),
    keywords=st.just(()),
    references=st.tuples(words),
    ids=st.dictionaries(words, words, max_size=2),
)


@given(st.lists(records, max_size=8, unique_by=lambda paper: paper.id))
@settings(max_examples=25, deadline=None)
def test_any_paper_comes_back_as_it_went_in(tmp_path_factory: object, papers: list[Paper]) -> None:
    folder = tmp_path_factory.mktemp("any")
    embed(papers, FakeEncoder(), folder, layout=CollectionLayout(shard_size=3))
    collection = StoredCollection.open(folder)
    assert collection.papers(range(len(papers))) == papers
    assert [collection.find(paper.id) for paper in papers] == list(range(len(papers)))
