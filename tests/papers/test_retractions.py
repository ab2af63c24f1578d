"""Records that say of their paper that it is retracted, each format in its own way; the report counts them."""

import sqlite3
from contextlib import closing

import pyarrow as pa
from pyarrow import parquet

from build_zotero import ZoteroBuilder
from sciprism.papers import ReadReport, read_papers


def test_retracted_papers_of_a_parquet_file_and_of_zotero(tmp_path):
    work = {"title": "Tides", "authorships": [{"author": {"id": "A1"}}]}
    rows = [{"id": f"https://openalex.org/W{n}", "is_retracted": n > 2, **work} for n in range(1, 9)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "works.parquet")
    assert note_of(tmp_path / "works.parquet") == "6 retracted papers (W3, W4, W5, W6, W7, ...)"
    with closing(sqlite3.connect(tmp_path / "zotero.sqlite")) as database, database:
        library = ZoteroBuilder(database)
        library.add_item("journalArticle", "KEPT0001", {"title": "Tides"})
        number = library.add_item("journalArticle", "GONE0001", {"title": "Tides of milk"})
        database.execute("INSERT INTO retractedItems VALUES (?, '{}', 0)", [number])
    assert note_of(tmp_path / "zotero.sqlite") == "1 retracted paper (GONE0001)"
    with closing(sqlite3.connect(tmp_path / "zotero.sqlite")) as database, database:
        database.execute("DROP TABLE retractedItems")  # as in libraries of an earlier Zotero
    assert note_of(tmp_path / "zotero.sqlite") == ""


def note_of(path):
    report = ReadReport()
    list(read_papers(path, report=report))
    return report.files[0].note
