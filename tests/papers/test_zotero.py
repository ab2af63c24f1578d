"""Zotero's own files: the database that it keeps, and the RDF that it exports."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from build_zotero import ZoteroBuilder, build_zotero
from sciprism.errors import InputError
from sciprism.papers import Paper, ReadReport, read_papers


@pytest.fixture
def library(tmp_path: Path) -> Path:
    build_zotero(tmp_path / "zotero.sqlite")
    return tmp_path / "zotero.sqlite"


def ids(path: Path | str, **choices: object) -> list[str]:
    return [paper.id for paper in read_papers(path, **choices)]  # type: ignore[arg-type]


def test_items_of_all_libraries(library: Path) -> None:
    before, report = library.read_bytes(), ReadReport()
    wrack, tides, case = read_papers(library, report=report)
    texts = {"title": "Uptake of CO2 by bladder wrack", "abstract": "Wrack takes up carbon."}
    print = {"venue": "Journal of tidal medicine", "year": 1999, "authors": ("Åsa Brandström", "Tidal Society")}
    ids = {"doi": "10.9999/tidal.1", "pmid": "90000001", "url": "https://example.org/wrack"}
    assert wrack == Paper(id="WRACK001", **texts, **print, fields=("Tides",), keywords=("carbon", "kelp"), ids=ids)
    assert (tides.venue, tides.ids, tides.fields) == ("arXiv", {"arxiv": "2101.00001"}, ("Thesis",))
    assert (case.title, case.year, case.authors) == ("Harbour v. Sea", 1888, ("A B",))
    assert report.files[0].note == "not papers: 1 annotation, 1 attachment, 1 deleted item, 1 note"
    assert library.read_bytes() == before and list(library.parent.iterdir()) == [library]


def test_a_library_or_a_collection(library: Path) -> None:
    for part in ("My Library", "my library/thesis", "Thesis", "Thesis/"):
        assert ids(f"{library}#{part}") == ["WRACK001", "TIDES001"]
    assert ids(f"{library}#Thesis/Tides") == ["WRACK001"]
    assert ids(f"{library}#Reading group") == ids(f"{library}#reading group/Tides") == ["CASE0001"]
    with pytest.raises(InputError, match="write more of the path: My Library/Thesis/Tides; Reading group/Tides"):
        ids(f"{library}#Tides")
    names = "My Library; My Library/Thesis; My Library/Thesis/Tides; Reading group; Reading group/Tides$"
    with pytest.raises(InputError, match=rf"#Thesys: no such library or collection; it has: {names}"):
        ids(f"{library}#Thesys")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_an_open_zotero_neither_blocks_nor_hides_its_last_changes(library: Path, mode: str) -> None:
    with closing(sqlite3.connect(library)) as zotero:
        zotero.execute(f"PRAGMA journal_mode = {mode}")
        zotero.execute("PRAGMA locking_mode = EXCLUSIVE")
        with zotero:
            zotero.execute("INSERT INTO deletedItems (itemID) VALUES (1)")
        zotero.execute("BEGIN EXCLUSIVE")  # it is about to write
        assert ids(library) == ["TIDES001", "CASE0001"]
        with zotero:
            zotero.execute("DELETE FROM deletedItems WHERE itemID = 1")
    assert ids(library) == ["WRACK001", "TIDES001", "CASE0001"]


def test_deleted_collections_are_not_named(library: Path) -> None:
    with closing(sqlite3.connect(library)) as zotero, zotero:
        zotero.execute("INSERT INTO deletedCollections (collectionID) SELECT 3")
    assert [paper.fields for paper in read_papers(library)] == [("Tides",), ("Thesis",), ()]
    assert ids(f"{library}#Tides") == ["WRACK001"]
    with closing(sqlite3.connect(library)) as zotero, zotero:
        zotero.execute("DROP TABLE deletedCollections")  # Zotero 5
    assert len(ids(library)) == 3


def test_other_databases_and_items_without_text(tmp_path: Path, read) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other, other:
        other.execute("CREATE TABLE items (itemID)")
    with pytest.raises(InputError, match="not a library of Zotero 5 or later: no table collectionItems, collections"):
        ids(tmp_path / "other.sqlite")
    with closing(sqlite3.connect(tmp_path / "zotero.sqlite")) as database, database:
        ZoteroBuilder(database).add_item("webpage", "BARE0001", {"url": "https://example.org"})
    with pytest.raises(InputError, match=r"the item BARE0001 \(webpage\) has no title and no abstract"):
        ids(tmp_path / "zotero.sqlite")
    report = ReadReport()
    assert ids(tmp_path / "zotero.sqlite", skip_bad=True, report=report) == [] and report.skipped_count == 1
