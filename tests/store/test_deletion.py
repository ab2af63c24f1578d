"""Deleted papers are in no search, count or export; a deletion is whole or not there, whenever it is stopped."""

from pathlib import Path

import pytest

from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from kill_switch import killed_after
from sciprism.errors import DamagedFileError, InputError
from sciprism.store import CollectionLayout, StoredCollection, delete, embed
from sciprism.store.paper_lookup import list_ids

LAYOUT = CollectionLayout(dtype="int8", shard_size=20)


def ids(folder: Path) -> list[str]:
    return list_ids(StoredCollection.open(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    embed(some_papers(45), FakeEncoder(), tmp_path / "c", layout=LAYOUT)
    return tmp_path / "c"


def test_deleted_papers_are_gone_until_they_come_again(folder: Path) -> None:
    report = delete(folder, ["p3", "p44", "p3"])
    stored = StoredCollection.open(folder)
    assert (report.deleted, report.papers, len(stored), stored.rows) == (2, 43, 43, 45)
    assert not {"p3", "p44"} & set(list_ids(stored)) and len(list_ids(stored)) == 43
    assert stored.count_missing_abstracts() == sum(not p.abstract for p in some_papers(45)) - 1
    assert stored.mask().sum() == 43
    with pytest.raises(InputError, match="no paper with the id 'p3'"):
        stored.paper("p3")
    stored.verify()
    again = embed(some_papers(4), FakeEncoder(), folder)
    assert (again.new, again.unchanged, again.papers) == (1, 3, 44)
    assert delete(folder, ["p3"]).papers == 43 and "p3" not in ids(folder)
    assert [path.name for path in (folder / "deleted").iterdir()] == ["000001.npy"]


def test_an_unknown_id_deletes_nothing_unless_it_may_be_missing(folder: Path) -> None:
    before = snapshot(folder)
    with pytest.raises(InputError, match=r"'p99' \(1 of 2\); nothing was deleted"):
        delete(folder, ["p1", "p99"])
    assert snapshot(folder) == before
    report = delete(folder, ["p1", "p99", "\udcff"], missing_ok=True)
    assert (report.deleted, report.unknown, len(ids(folder))) == (1, ("p99", "\udcff"), 44)
    with pytest.raises(InputError, match="does not exist"):
        delete(folder.parent / "none", ["p1"])
    assert not (folder.parent / "none").exists()


def test_prune_makes_the_collection_the_input(folder: Path) -> None:
    changed = [*some_papers(30, 10), *some_papers(2, 50)]
    report = embed(changed, FakeEncoder(), folder, prune=True)
    assert (report.new, report.unchanged, report.pruned, report.papers) == (2, 30, 15, 32)
    assert sorted(ids(folder)) == sorted(paper.id for paper in changed)
    assert embed(changed, FakeEncoder(), folder, prune=True).pruned == 0
    kept = embed([*changed[1:], changed[0].__class__(id="p10")], FakeEncoder(), folder, prune=True, skip_bad=True)
    assert (kept.bad, kept.pruned) == (1, 0), "a record that cannot be used takes no paper away"


def test_prune_by_an_input_of_other_papers_is_refused(folder: Path) -> None:
    for strangers in ([], [paper.__class__(id=f"x{paper.id}", title=paper.title) for paper in some_papers(2)]):
        with pytest.raises(InputError, match="has none of the 45 papers"):
            embed(strangers, FakeEncoder(), folder, prune=True)
    assert {paper.id for paper in some_papers(45)} <= set(ids(folder))


@pytest.mark.parametrize("changes", range(8))
def test_a_deletion_that_is_killed_is_whole_or_not_there(folder: Path, changes: int) -> None:
    with killed_after(changes, folder):
        delete(folder, ["p3", "p30"])
    found = StoredCollection.open(folder)
    found.verify()
    assert len(found) in (45, 43) and len(list_ids(found)) == len(found)
    delete(folder, ["p3", "p30"], missing_ok=True)
    embed(some_papers(2), FakeEncoder(), folder)
    assert len(ids(folder)) == 43 and len(list((folder / "deleted").iterdir())) == 1


def test_a_damaged_list_of_deleted_rows_is_refused(folder: Path) -> None:
    delete(folder, ["p3"])
    path = folder / "deleted" / "000000.npy"
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="its checksum differs"):
        StoredCollection.open(folder).mask()
    assert StoredCollection.open(folder).manifest.papers == 44
