"""Records that say of their paper that it is retracted, each format in its own way; the report counts them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest
from pyarrow import parquet

from build_zotero import ZoteroBuilder
from sciprism.papers import ReadReport, read_papers

# Of each format a retracted paper, the notice that retracts it, and a paper of neither kind.
PUBMED = "<PubmedArticleSet>{}</PubmedArticleSet>".format(
    "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article><ArticleTitle>Tides of milk</ArticleTitle>"
        f"<PublicationTypeList><PublicationType>Journal Article</PublicationType><PublicationType>{kind}"
        "</PublicationType></PublicationTypeList></Article></MedlineCitation></PubmedArticle>"
        for number, kind in ((1, "Retracted Publication"), (2, "Retraction of Publication"), (3, "Review"))
    )
)
NBIB = "".join(
    f"PMID- {number}\nTI  - Tides of milk\nPT  - Journal Article\nPT  - {kind}\n\n"
    for number, kind in ((1, "Retracted Publication"), (2, "Retraction of Publication"), (3, "Review"))
)
EUROPE_PMC = json.dumps(
    {
        "resultList": {
            "result": [
                {"id": str(number), "source": "MED", "title": "Tides of milk", "pubTypeList": {"pubType": kinds}}
                for number, kinds in ((1, ["research-article", "Retracted Publication"]), (2, ["Retraction"]), (3, []))
            ]
        }
    }
)
WEB_OF_SCIENCE = "FN Clarivate Analytics Web of Science\nVR 1.0\n{}EF\n".format(
    "".join(
        f"PT J\nTI Tides of milk\nDT {kind}\nUT WOS:{number}\nER\n\n"
        for number, kind in ((1, "Article; Retracted\n   Publication"), (2, "Retraction"), (3, "Article"))
    )
)
SCOPUS = "Title,EID,Document Type\nTides of milk,1,Retracted\nTides of milk,2,Erratum\nTides of milk,3,Article\n"
BIBTEX = "@article{1, title={Tides of milk}, type={Retracted}}\n@article{2, title={Retracted: tides}, type={Erratum}}"
RIS = "TY  - JOUR\nID  - a1\nTI  - Tides of milk\nM3  - Article; Retracted Publication\nER  - \n"
ENDNOTE = "%0 Journal Article\n%F a1\n%T Tides of milk\n%9 Article; Retracted Publication\n"
OPENALEX = "".join(
    json.dumps({"id": f"https://openalex.org/W{number}", "title": "Tides of milk", "is_retracted": number == 1}) + "\n"
    for number in (1, 2)
)
CROSSREF = "".join(
    json.dumps(
        {
            "DOI": f"10.9999/{number}",
            "type": "journal-article",
            "title": ["Tides of milk"],
            "container-title": [],
            **more,
        }
    )
    + "\n"
    for number, more in enumerate(
        (
            {"updated-by": [{"type": "correction"}, {"type": "retraction", "source": "retraction-watch"}]},
            {"update-to": [{"type": "retraction", "DOI": "10.9999/1"}]},
            {"updated-by": [{"type": "correction", "source": "publisher"}]},
        ),
        1,
    )
)


@pytest.mark.parametrize(
    ("name", "content", "id"),
    [
        ("papers.xml", PUBMED, "1"),
        ("papers.nbib", NBIB, "1"),
        ("reply.json", EUROPE_PMC, "1"),
        ("savedrecs.txt", WEB_OF_SCIENCE, "WOS:1"),
        ("scopus.csv", SCOPUS, "1"),
        ("scopus.bib", BIBTEX, "1"),
        ("wos.ris", RIS, "a1"),
        ("wos.enw", ENDNOTE, "a1"),
        ("works.jsonl", OPENALEX, "W1"),
        ("crossref.jsonl", CROSSREF, "doi:10.9999/1"),
        ("works.csv", "id,title,authorships,is_retracted\nW1,Tides,[],True\nW2,Tides,[],False\n", "W1"),
    ],
)
def test_a_retracted_paper_is_counted_and_named_and_its_notice_is_not(tmp_path, name, content, id):
    (tmp_path / name).write_text(content)
    assert note_of(tmp_path / name) == f"1 retracted paper ({id})"


def test_so_are_those_of_a_parquet_file_and_of_zotero(tmp_path):
    rows = [{"id": f"https://openalex.org/W{n}", "title": "Tides", "is_retracted": n > 2} for n in range(1, 9)]
    parquet.write_table(
        pa.Table.from_pylist([row | {"authorships": [{"author": {"id": "A1"}}]} for row in rows]),
        tmp_path / "works.parquet",
    )
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
