"""Exports of one search with a paper in several of them: it is stored once, whole, with all its places."""

from pathlib import Path
from typing import Any

import pytest

from build_data import lines
from fake_encoder import FakeEncoder
from folders import snapshot
from sciprism.errors import InputError
from sciprism.papers.identity import merge_records
from sciprism.papers.read import AbstractCompletion
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.embed import EmbedInput, FilesReport, embed_files

Row = dict[str, Any]
RIS = (
    "TY  - JOUR\nDO  - 10.5555/nap.1\nTI  - Naps of night nurses and recall\nPY  - 2019\nJO  - Sleep Notes\nER  - \n\n"
    "TY  - JOUR\nDO  - 10.5555/nap.2\nTI  - Dreams of harbour dogs\nPY  - 2018\nER  - \n"
)
NBIB = (
    "PMID- 501\nTI  - Naps of night nurses and recall.\nAB  - We tested thirty nurses after night work.\n"
    "FAU - Alder, Ann\nLID - 10.5555/nap.1 [doi]\nDP  - 2019\n"
)
BIB = "@article{alder19, title={Naps of night nurses and recall}, doi={10.5555/NAP.1}, keywords={sleep; work}}\n"


def embed_search(folder: Path, *names: str, **options: Any) -> FilesReport:
    """Embed files of one search into one collection."""
    source = EmbedInput(paths=[str(folder / name) for name in names])
    return embed_files(source, FakeEncoder(), folder / "c", AbstractCompletion(), **options)


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Three exports of one search: of one paper a bare record, one with an abstract, one with keywords."""
    for name, text in (("a.ris", RIS), ("b.nbib", NBIB), ("c.bib", BIB)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_paper_of_several_exports_is_stored_once_and_whole(exports: Path) -> None:
    report = embed_search(exports, "a.ris", "b.nbib", "c.bib")
    assert (report.stored.new, report.stored.papers, report.stored.bad) == (2, 2, 0)
    (merged,) = report.merged
    assert merged.records == ("doi:10.5555/nap.1", "501", "alder19") and merged.id == merged.records[0]
    assert set(merged.filled) == {"venue", "keywords"}
    collection = StoredCollection.open(exports / "c")
    paper = collection.papers([0])[0]
    assert paper.id == merged.id and paper.abstract == "We tested thirty nurses after night work."
    assert paper.venue == "Sleep Notes" and paper.keywords == ("sleep", "work")
    assert paper.ids["pmid"] == "501" and paper.ids["doi"] == "10.5555/nap.1"
    places = [Path(text.split(",")[0]).name for text in paper.place.list_all()] if paper.place else []
    assert places == ["b.nbib", "a.ris", "c.bib"]
    before = snapshot(exports / "c")
    again = embed_search(exports, "a.ris", "b.nbib", "c.bib")
    assert again.stored.unchanged == 2 and snapshot(exports / "c") == before


def test_a_later_export_takes_nothing_away(exports: Path) -> None:
    embed_search(exports, "b.nbib")
    stored = StoredCollection.open(exports / "c").papers([0])[0]
    write(exports, same=[{"id": stored.id, "title": stored.title, "venue": "Sleep"}])
    report = embed_search(exports, "same.jsonl")
    paper = StoredCollection.open(exports / "c").paper(stored.id)
    assert report.stored.updated == 1 and paper.abstract == stored.abstract and paper.venue == "Sleep"
    assert embed_search(exports, "same.jsonl").stored.unchanged == 1
    # a file that has changed counts alone, and so does --replace
    assert embed_search(exports, "same.jsonl", replace=True).stored.changed == 1


def test_what_differs_is_said_field_by_field(tmp_path: Path) -> None:
    row = {"id": "1", "title": "On frogs", "authors": ["A. Pond"], "year": 2020, "doi": "10.5555/a"}
    names = write(tmp_path, a=[row], b=[row | {"title": "On toads", "year": 2021, "doi": "10.5555/b"}])
    with pytest.raises(InputError) as error:
        embed_search(tmp_path, *names)
    said = "title 'On toads', not 'On frogs'; year '2021', not '2020'; doi '10.5555/b', not '10.5555/a'"
    assert said in str(error.value) and "authors" not in str(error.value)


def write(folder: Path, **files: list[Row]) -> list[str]:
    return [lines(folder / f"{name}.jsonl", rows).name for name, rows in files.items()]


ROW = {"id": "k", "title": "Tides of invented harbours", "year": 2001, "authors": ["B. Quay"]}


@pytest.mark.parametrize(
    ("one", "other", "stored"),
    [
        ({}, {"title": "Tides of invented harbours."}, 1),  # one id, a full stop
        ({"doi": "10.5555/t"}, {"id": "other", "title": "Tides, of harbours", "doi": "10.5555/T"}, 1),
        ({"pmid": "7"}, {"id": "other", "pmid": "7"}, 1),
        ({"arxiv": "2001.00001v1"}, {"id": "other", "doi": "10.48550/arXiv.2001.00001"}, 1),
        ({}, {"id": "other"}, 2),  # a title alone proves nothing: `inspect` names them
        ({"doi": "10.5555/t"}, {"id": "other", "doi": "10.5555/u"}, 2),
        ({"isbn": "978"}, {"id": "other", "isbn": "978"}, 2),
    ],
)
def test_what_shows_that_records_of_two_files_are_one_paper(tmp_path: Path, one: Row, other: Row, stored: int) -> None:
    names = write(tmp_path, a=[ROW | one], b=[ROW | other])
    report = embed_search(tmp_path, *names)
    assert report.stored.papers == stored and len(report.merged) == (stored == 1)


def test_records_of_one_file_are_merged_only_where_no_text_contradicts(tmp_path: Path) -> None:
    bare, whole = ROW | {"title": "Tides of invented harbours."}, ROW | {"abstract": "Water rises."}
    assert embed_search(tmp_path, *write(tmp_path, a=[bare, whole])).stored.papers == 1
    with pytest.raises(InputError, match=r"before with another text, .*abstract 'Water falls.', not 'Water rises.'"):
        embed_search(tmp_path, *write(tmp_path, b=[whole, ROW | {"abstract": "Water falls."}]))
    # ids of one file are its own: two of one DOI stay
    rows = [ROW | {"doi": "10.5555/t", "id": name} for name in ("x", "y")]
    report = embed_search(tmp_path, *write(tmp_path, c=rows))
    assert report.stored.new == 2 and not report.merged


def test_the_fullest_record_counts_and_the_article_has_the_doi() -> None:
    whole = "one two three four five six"
    preprint = Paper(id="p", title="T", abstract=whole, ids={"doi": "10.1101/2020.01.01.000001"})
    article = Paper(id="a", title="T.", abstract="one two …", year=2021, ids={"doi": "10.5555/t", "pmid": "7"})
    merged = merge_records([article, preprint])
    assert merged == Paper(id="a", title="T", abstract=whole, year=2021, ids=article.ids)


def test_abstracts_of_a_supplement_stay_apart_under_its_doi(tmp_path: Path) -> None:
    record = "TY  - JOUR\nDO  - 10.5555/suppl\nTI  - {0}\nAU  - {1}, A\nSP  - S{2}\nER  - \n\n"
    rows = ("Vaccines in rural clinics", "Alder", 101), ("Sleep of night workers", "Birch", 102)
    (tmp_path / "a.ris").write_text("".join(record.format(*row) for row in rows))
    (tmp_path / "b.ris").write_text(record.format("Statins after stroke", "Cedar", 103))
    report = embed_search(tmp_path, "a.ris", "b.ris")
    assert (report.stored.new, report.containers, report.merged) == (3, 1, [])
