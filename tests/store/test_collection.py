"""Opening a collection: what it finds, what it filters, and what it says of a damaged one."""

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

PAPERS = some_papers(60)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> StoredCollection:
    folder = tmp_path_factory.mktemp("collection")
    embed(PAPERS, FakeEncoder(), folder, layout=CollectionLayout(shard_size=25))
    embed([replace(PAPERS[7], title="New text")], FakeEncoder(), folder)
    return StoredCollection.open(folder)


YEARS, FIELDS = st.none() | st.integers(1940, 2020), st.sampled_from(["", "physics", "Mathematics", "phys"])
VENUES = st.sampled_from(["", "nature", "PHYSICAL", "icml", "nowhere", "e"])


@given(chosen=st.builds(Filter, year_from=YEARS, year_to=YEARS, venue=VENUES, field=FIELDS))
@settings(max_examples=60, deadline=None)
def test_filters_agree_with_a_plain_loop(collection: StoredCollection, chosen: Filter) -> None:
    def passes(paper: Paper) -> bool:
        first, last = chosen.year_from or 0, chosen.year_to or 9999
        if paper.year is None and (chosen.year_from, chosen.year_to) != (None, None):
            return False
        if chosen.field and chosen.field.lower() not in [name.lower() for name in paper.fields]:
            return False
        return chosen.venue.lower() in paper.venue.lower() and (paper.year is None or first <= paper.year <= last)

    mask = collection.mask(chosen)
    assert mask is not None and len(mask) == 61
    expected = [i for i, paper in enumerate([*PAPERS, PAPERS[7]]) if passes(paper) and i != 7]
    assert np.flatnonzero(mask).tolist() == expected


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
            embed(PAPERS[:40], FakeEncoder(), tmp_path)
        assert snapshot(tmp_path) == before


def test_a_person_can_read_the_manifest(tmp_path: Path) -> None:
    manifest, _ = damaged(tmp_path)
    stated = json.loads(manifest.read_text())
    assert stated["papers"] == 30 and stated["superseded"] == 0
    assert stated["encoder"] == {"name": "fake", "options": {}, "fingerprint": "f0", "distance": "cosine"}
    assert stated["input"] == {"read": 30, "duplicates": 0, "bad": 0}
    assert stated["spaces"]["near"]["formats"] == ["proximity"]
    assert set(stated["shards"][0]["files"]) == {"papers/000000.parquet", "vectors/0-near/000000.npy"}
