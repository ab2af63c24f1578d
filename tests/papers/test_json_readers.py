"""OpenAlex, Semantic Scholar, arXiv, BEIR and our own rows: all JSON, one object a paper."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

SAMPLES = Path(__file__).parent / "samples"
READERS = ["openalex", "semantic_scholar", "arxiv", "beir", "jsonl", "openreview"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "papers.jsonl"


def read(reader: str, path: Path, *rows: object) -> list[Paper | BadRecord]:
    if rows:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(paper_readers[reader].read(InputFile(path), ReadOptions()))


def sample(reader: str) -> list[Paper | BadRecord]:
    return read(reader, SAMPLES / f"{reader}.jsonl")


def test_values_that_mean_none_in_json(read) -> None:
    rows = (
        '{"pmid": 0, "title": "On tides", "doi": NaN, "year": NaN}\n'
        '{"pmid": "0", "title": "On dunes", "doi": "10.5555/dune", "authors": "Alder, Ann and Birch, Bo"}\n'
        '{"id": "NA", "title": NaN, "abstract": "Of sand.", "authors": [NaN, "Null"], "doi": "n/a"}\n'
        '{"id": 0, "title": "On wind", "doi": null}\n'
    )
    papers, report = read("none.jsonl", rows)
    assert report.files[0].format == "jsonl" and [paper.id[:5] for paper in papers] == ["sha1:", "doi:1", "sha1:", "0"]
    assert [paper.ids for paper in papers] == [{}, {"doi": "10.5555/dune"}, {}, {}]
    assert papers[1].authors == ("Ann Alder", "Bo Birch") and (papers[2].title, papers[2].authors) == ("", ("Null",))


def test_openalex_sample():
    assert sample("openalex") == [
        Paper(
            id="W9000000001",
            title="Uptake of CO<sub>2</sub> by bladder wrack",
            abstract="Wrack takes up carbon. Wrack doubles it.",
            authors=("Åsa Brandström", "J. Q. Doe"),
            venue="Invented journal of tidal medicine",
            year=1999,
            fields=("Agricultural and Biological Sciences", "Earth and Planetary Sciences"),
            keywords=(
                *("Fucus vesiculosus", "Fucus"),
                *("Aquatic Science", "Oceanography", "Seaweed physiology", "Carbon in tidal zones"),
            ),
            references=("W9000000003", "W9000000004"),
            ids={
                "openalex": "W9000000001",
                "doi": "https://doi.org/10.9999/Tidal.1",
                "pmid": "90000001",
                "pmcid": "9000001",
                "mag": "9000000001",
            },
        ),
        Paper(
            id="W9000000002",
            title="A letter about wrack",
            venue="Invented letters",
            year=2021,
            fields=("Biology",),
            ids={"openalex": "W9000000002", "mag": "9000000002"},
        ),
    ]


def test_semantic_scholar_sample():
    assert sample("semantic_scholar") == [
        Paper(
            id="00000000000000000000000000000000000000a1",
            title="Uptake of carbon by bladder wrack",
            abstract="Wrack takes up carbon.",
            authors=("Åsa Brandström", "J. Q. Doe"),
            venue="Invented journal of tidal medicine",
            year=1999,
            fields=("Biology", "Environmental Science"),
            references=("00000000000000000000000000000000000000c3",),
            ids={
                "s2": "00000000000000000000000000000000000000a1",
                "doi": "10.9999/tidal.1",
                "arxiv": "9901.00001",
                "pmid": "90000001",
                "pmcid": "9000001",
                "mag": "9000000001",
            },
        ),
        Paper(
            id="00000000000000000000000000000000000000b2",
            title="A letter about wrack",
            venue="Invented letters",
            year=2021,
            ids={"s2": "00000000000000000000000000000000000000b2"},
        ),
    ]


def test_arxiv_sample():
    assert sample("arxiv") == [
        Paper(
            id="9901.00001",
            title="Uptake of carbon by\n  bladder wrack",
            abstract="  Wrack takes up carbon,\nand more of it at low tide.\n",
            authors=("Åsa Brandström", "J. Q. Doe Jr", "Ann Somebody"),
            venue="Invent. J. Tidal Med. 12 (1999) 1-4",
            year=1998,
            fields=("q-bio.PE", "physics.ao-ph"),
            ids={"arxiv": "9901.00001", "doi": "10.9999/tidal.1"},
        ),
        Paper(
            id="q-bio/9901002",
            title="A letter about wrack",
            abstract="A letter.",
            authors=("A. Somebody",),
            venue="arXiv",
            year=2021,
            fields=("q-bio.OT",),
            ids={"arxiv": "q-bio/9901002"},
        ),
    ]


def test_beir_sample():
    assert sample("beir") == [
        Paper(
            id="d1",
            title="Uptake of carbon by bladder wrack",
            abstract="Wrack takes up carbon.",
            authors=("Brandström, Å.",),
            year=1999,
            keywords=("Fucus",),
            references=("d2",),
            ids={"pmid": "90000001", "url": "https://example.org/d1"},
        ),
        Paper(id="d2", abstract="A letter about wrack, without a title."),
    ]


@pytest.mark.parametrize("reader", READERS)
def test_only_its_own_reader_recognizes_a_sample(reader: str):
    head = InputFile(SAMPLES / f"{reader}.jsonl").head()
    assert [name for name in READERS if paper_readers[name].recognizes(head)] == [reader]


@pytest.mark.parametrize("key", ["results", "items", "data"])
def test_pages_of_an_api_are_read(file: Path, key: str):
    works = [json.loads(line) for line in (SAMPLES / "openalex.jsonl").read_text().splitlines()]
    file.write_text(json.dumps({"meta": {"count": 2}, key: works}, indent=1))
    assert read("openalex", file) == sample("openalex")


def test_openalex_abstract_that_is_no_index_is_a_bad_record(file: Path):
    one, two = read("openalex", file, {"id": "W1", "abstract_inverted_index": {"a": 3}}, {"id": "W2"})
    assert isinstance(one, BadRecord)
    assert (one.number, one.line) == (1, 1)
    assert "abstract_inverted_index" in one.reason
    assert two == Paper(id="W2", ids={"openalex": "W2"})


def test_openalex_concepts_are_fields_where_they_are_of_the_widest_level(file: Path):
    """Without levels nobody can say, and all are."""
    concepts = [{"display_name": name, "level": level} for name, level in (("Art", 0), ("Opera", 2))]
    plain = [{"display_name": each["display_name"]} for each in concepts]
    works = [{"id": "W1", "concepts": each} for each in (concepts, concepts[1:], plain)]
    found = [(paper.fields, paper.keywords) for paper in read("openalex", file, *works)]
    assert found == [(("Art",), ("Opera",)), ((), ("Opera",)), (("Art", "Opera"), ())]


def test_semantic_scholar_bulk_and_old_corpus(file: Path):
    bulk = {
        "corpusid": 7,
        "externalids": {"DOI": "10.1/x"},
        "title": "T",
        "s2fieldsofstudy": [{"category": "Art"}],
    }
    old = {
        "id": "abc",
        "title": "T",
        "paperAbstract": "A",
        "journalName": "J",
        "outCitations": ["d", "e"],
        "year": 9,
    }
    assert read("semantic_scholar", file, bulk, old) == [
        Paper(id="7", title="T", fields=("Art",), ids={"s2": "7", "doi": "10.1/x"}),
        Paper(id="abc", title="T", abstract="A", venue="J", year=9, references=("d", "e"), ids={"s2": "abc"}),
    ]


def read_reply(file: Path, reply: object) -> tuple[list[Paper], ReadReport]:
    report = ReadReport()
    file.with_suffix(".json").write_text(json.dumps(reply))
    return list(read_papers(file.with_suffix(".json"), report=report)), report


WORK = {"DOI": "10.5555/A", "title": ["T"], "issued": {"date-parts": [[2001]]}}
PAPER = {"paperId": "a", "title": "T", "year": 2001}
RESULT = {"id": "7", "source": "MED", "title": "T", "authorString": "Doe J.", "pubYear": "2001"}
ITEM = {"itemType": "book", "title": "T", "date": "2001", "citationKey": "doe2001"}
MESSAGE = {"facets": {}, "total-results": 1, "items": [WORK], "query": {"start-index": 0}}
REPLY = {"status": "ok", "message-type": "work-list", "message": MESSAGE}
COLLECTIONS = {f"c{number}": {"key": f"c{number}", "items": [1], "name": "x" * 99} for number in range(999)}
REPLIES = {
    "Crossref, works": ("csl_json", "doi:10.5555/a", REPLY),
    "Crossref, one work": ("csl_json", "doi:10.5555/a", {"status": "ok", "message-type": "work", "message": WORK}),
    "Crossref, pages of habanero": ("csl_json", "doi:10.5555/a", [REPLY]),
    "Crossref, the public data file": ("csl_json", "doi:10.5555/a", {"items": [WORK]}),
    "Europe PMC, search": ("europe_pmc", "7", {"hitCount": 1, "resultList": {"result": [RESULT]}}),
    "Europe PMC, citations": ("europe_pmc", "7", {"hitCount": 1, "citationList": {"citation": [RESULT]}}),
    "Europe PMC, references": ("europe_pmc", "7", {"hitCount": 1, "referenceList": {"reference": [RESULT]}}),
    "Semantic Scholar, batch": ("semantic_scholar", "a", [PAPER]),
    "Semantic Scholar, search": ("semantic_scholar", "a", {"total": 1, "offset": 0, "data": [PAPER]}),
    "Semantic Scholar, references": ("semantic_scholar", "a", {"data": [{"contexts": [], "citedPaper": PAPER}]}),
    "Semantic Scholar, citations": ("semantic_scholar", "a", {"data": [{"intents": [], "citingPaper": PAPER}]}),
    "Semantic Scholar, recommendations": ("semantic_scholar", "a", {"recommendedPapers": [PAPER]}),
    "Semantic Scholar, an author": ("semantic_scholar", "a", {"authorId": "1", "name": "A", "papers": [PAPER]}),
    "Semantic Scholar, authors": ("semantic_scholar", "a", [{"authorId": "1", "papers": [PAPER]}]),
    "Semantic Scholar, snippets": ("semantic_scholar", "a", {"data": [{"snippet": {"text": "x"}, "paper": PAPER}]}),
    "OpenAlex": ("openalex", "W1", {"meta": {}, "results": [{"id": "https://openalex.org/W1", "title": "T"}]}),
    "OpenAlex, pages of pyalex": ("openalex", "W1", [[{"id": "https://openalex.org/W1", "title": "T"}], []]),
    "Zotero": ("zotero_json", "K", [{"key": "K", "library": {"id": 1}, "data": ITEM}]),
    "Zotero, one item": ("zotero_json", "K", {"key": "K", "library": {"id": 1}, "data": ITEM}),
    "Better BibTeX": (
        "zotero_json",
        "doe2001",
        {"config": {"label": "BetterBibTeX JSON"}, "collections": COLLECTIONS, "items": [ITEM]},
    ),
    "BioASQ": ("jsonl", "7", {"articles": [{"abstractText": "A", "pmid": "7", "title": "T", "meshMajor": ["Light"]}]}),
    "DataCite, one": (
        "datacite",
        "doi:10.5555/a",
        {"data": {"id": "10.5555/a", "attributes": {"doi": "10.5555/a", "titles": [{"title": "T"}], "creators": []}}},
    ),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_replies_of_apis_are_read(file: Path, reply: str):
    reader, id, content = REPLIES[reply]
    (paper,), report = read_reply(file, content)
    assert (report.files[0].format, paper.id, paper.title) == (reader, id, "T")


def test_what_replies_hold_in_the_place_of_papers_is_counted_or_named(file: Path):
    unknown = {"citedPaper": {"paperId": None, "title": "A book that is not there", "year": 1999}}
    (paper,), report = read_reply(file, {"data": [{"citedPaper": None}, unknown]})
    assert (paper.id[:5], paper.year, paper.ids) == ("sha1:", 1999, {})
    assert report.files[0].note == "not papers: 1 unknown id"
    assert read_reply(file, [PAPER, None, None])[1].files[0].note == "not papers: 2 unknown ids"
    note = {"key": "N", "data": {"itemType": "note", "note": "x"}}
    gone = {"key": "G", "data": ITEM | {"deleted": 1}}
    zotero = [note, {"key": "K", "data": ITEM}, gone]
    assert read_reply(file, zotero)[1].files[0].note == "not papers: 1 deleted item, 1 note"
    for reply, named in [
        (
            {"publications": [{"id": "p", "title": "T"}], "_stats": {}},
            "an object that holds the list 'publications'; save",
        ),
        ([PAPER, {"authorId": "1", "name": "A"}], "record 2 .*: an author, not a paper"),
        (
            {"error": "Paper not found"},
            r"not in a known format \(JSON that begins '{\"error\": \"Paper not found\"}'\)",
        ),
        ({"status": "ok", "message-type": "journal-list", "message": {"items": []}}, "JSON that begins .*journal-list"),
    ]:
        with pytest.raises(InputError, match=named):
            read_reply(file, reply)


def test_datacite_says_where_a_paper_is_printed_and_who_its_authors_are(file: Path):
    orcid = {"nameIdentifier": "https://orcid.org/0000-0001-5366-5194", "nameIdentifierScheme": "ORCID"}
    creators = [
        {"name": "Roe, Kim", "givenName": "Kim", "familyName": "Roe", "nameIdentifiers": [orcid]},
        {"name": "Institute of Tides, Section Two", "nameType": "Organizational", "nameIdentifiers": []},
        {"name": "Lee, Bo", "nameIdentifiers": [{"nameIdentifier": "12", "nameIdentifierScheme": "GND"}]},
    ]
    container = {"title": "Tides", "volume": "29", "issue": "7", "firstPage": "994", "lastPage": "1013"}
    attributes = {"doi": "10.5555/a", "titles": [{"title": "T"}], "creators": creators, "container": container}
    (paper,), _ = read_reply(file, {"data": [{"id": "10.5555/a", "attributes": attributes}]})
    assert paper.authors == ("Kim Roe", "Institute of Tides, Section Two", "Bo Lee")
    assert paper.orcids == {"Kim Roe": orcid["nameIdentifier"]}
    assert (paper.venue, paper.volume, paper.issue, paper.pages) == ("Tides", "29", "7", "994-1013")


def test_replies_of_arxiv_s_api_give_the_papers_of_the_snapshot(read):
    report = ReadReport()
    first, second = read_papers(SAMPLES / "arxiv_atom.xml", report=report)
    assert (first.id, first.title, first.year) == ("2199.00001", "Tides of invented moons", 2021)
    assert (first.abstract, first.venue) == (
        "We weigh the tides of moons that we made up.",
        "Invented J. Tides 4 (2022) 11-19",
    )
    assert (first.authors, first.fields) == (("Åsa K. Brandström", "J. Q. Doe"), ("astro-ph.EP", "physics.ao-ph"))
    assert first.ids == {"arxiv": "2199.00001", "doi": "10.9999/tidal.3"}
    assert (second.id, second.venue, report.files[0].note) == (
        "astro-ph/9900001",
        "arXiv",
        "1 withdrawn paper (astro-ph/9900001)",
    )
    reply = (
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>http://arxiv.org/api/errors#x</id>"
        "<title>Error</title><summary>incorrect id format for abc</summary></entry></feed>"
    )
    with pytest.raises(InputError, match="no paper, but the reply Error: incorrect id format for abc"):
        read("e.xml", reply)


def test_arxiv_authors_in_one_text(file: Path):
    text = "C. Bal\\'azs (1), E. L. Berger and P. Nadolsky, and the LAT\n Collaboration ((1) Michigan)"
    (paper,) = read("arxiv", file, {"id": "1", "title": "T", "authors": text})
    assert isinstance(paper, Paper)
    assert paper.authors == ("C. Balázs", "E. L. Berger", "P. Nadolsky", "the LAT Collaboration")


def test_a_reply_of_zenodo_has_its_fields_inside(file: Path):
    creators = [{"name": "Roe, Kim", "orcid": "0000-0001-5366-5194"}, {"name": "Institute of Tides"}]
    inside = {"title": "T", "publication_date": "2020-10-01", "description": "<p>Words.</p>", "creators": creators}
    inside |= {"journal": {"title": "Tides", "volume": "4"}, "keywords": ["salt"]}
    (paper,), report = read_reply(file, {"id": 12, "doi": "10.5555/a", "title": "T", "metadata": inside})
    assert (report.files[0].format, paper.id, paper.ids) == ("jsonl", "12", {"doi": "10.5555/a"})
    assert (paper.authors, paper.year, paper.abstract) == (("Kim Roe", "Institute of Tides"), 2020, "Words.")
    assert (paper.venue, paper.keywords) == ("Tides", ("salt",))


def test_rows_that_name_things_as_others_do(file: Path):
    row = {
        "paper_id": 12,
        "title": "T",
        "text": "A",
        "author": "Doe, Jane; Roe, Rick",
        "journal": "J",
        "year": "1999",
        "field": "Physics",
        "categories": ["ph.x"],
        "mesh": ["Light"],
        "doi": "10.1/x",
        "keywords": None,
        "citation_count": 3,
    }
    assert read("jsonl", file, row, {"id": "pmid:9854", "title": "T"}) == [
        Paper(
            id="12",
            title="T",
            abstract="A",
            authors=("Jane Doe", "Rick Roe"),
            venue="J",
            year=1999,
            fields=("Physics", "ph.x"),
            keywords=("Light",),
            ids={"doi": "10.1/x"},
        ),
        Paper(id="pmid:9854", title="T", ids={"pmid": "9854"}),
    ]


BO = {"lastname": "Birch", "forename": "Bo C", "initials": "BC"}
OTHERS = {  # what writes such objects -> one of them, and what is right
    "pubmed_parser": (
        {"title": "T", "pmid": "9", "authors": [BO], "pubdate": "2019"},
        ("9", ("Bo C Birch",), "", 2019),
    ),
    "pubmed_parser, texts": (
        {"title": "T", "pmid": "9", "authors": "Alder|Ann|A|;Birch|Bo C|BC|", "mesh_terms": "D000001:Frogs"},
        ("9", ("Ann Alder", "Bo C Birch"), "", None),
    ),
    "PyMed": (
        {"title": "T", "doi": "10.5/a\n10.5/cited", "authors": [{"lastname": "Alder", "firstname": "Ann"}]},
        ("10.5/a", ("Ann Alder",), "", None),
    ),
    "NASA ADS": (
        {
            "response": {
                "docs": [{"bibcode": "B", "title": ["T"], "author": ["Alder, Ann"], "pub": "J", "year": "2019"}]
            }
        },
        ("B", ("Ann Alder",), "J", 2019),
    ),
    "IEEE Xplore": (
        {"articles": [{"doi": "10.5/a", "title": "T", "authors": {"authors": [{"full_name": "A. Lee"}]}}]},
        ("10.5/a", ("A. Lee",), "", None),
    ),
    "Lens": (
        {"data": [{"lens_id": "L", "title": "T", "year_published": 2019, "source": {"title": "J"}, "authors": []}]},
        ("L", (), "J", 2019),
    ),
    "DBLP": (
        {
            "result": {
                "hits": {"hit": [{"info": {"doi": "10.5/a", "title": "T", "authors": {"author": {"text": "A B"}}}}]}
            }
        },
        ("10.5/a", ("A B",), "", None),
    ),
    "HotCRP": (
        [{"pid": 1, "title": "T", "authors": [{"first": "Bo", "last": "Birch", "email": "b@x.edu"}]}],
        ("1", ("Bo Birch",), "", None),
    ),
    "a source that is a database": ({"id": "1", "title": "T", "source": "pubmed"}, ("1", (), "", None)),
}


@pytest.mark.parametrize("other", OTHERS)
def test_objects_with_the_names_of_tables(file: Path, other: str):
    content, right = OTHERS[other]
    (paper,), report = read_reply(file, content)
    assert report.files[0].format == "jsonl"
    assert (paper.id, paper.authors, paper.venue, paper.year) == right


def test_one_table_gives_one_paper_in_every_form_and_unread_names_are_listed(tmp_path: Path):
    row = {
        "title": "Frogs",
        "authors": "Alder, Ann; Birch, Bo",
        "date": "2019-05-01",
        "journal": "J",
        "doi": "10.5555/a",
    }
    row |= {"keywords": "pond; frog", "volume": "3", "odd": "x"}
    (tmp_path / "t.jsonl").write_text(json.dumps(row))
    (tmp_path / "t.csv").write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in (row, row.values())))
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "t.parquet")
    found = []
    for form in ("jsonl", "csv", "parquet"):
        report = ReadReport()
        (paper,) = read_papers(tmp_path / f"t.{form}", report=report)
        assert report.files[0].unread_columns == ("odd",)
        found.append(replace(paper, id="a"))
    assert found[0] == found[1] == found[2] and found[0].authors == ("Ann Alder", "Bo Birch") and found[0].year == 2019
    with pytest.raises(InputError, match="no title and no abstract; nearest to title: 'titel'; keys: odd, titel"):
        read_reply(tmp_path / "bad", [{"id": "1", "title": "T"}, {"odd": 1, "titel": "T"}])


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"id": "1", "title": {"en": "T"}}, "title"),
        ({"id": "1", "title": "T", "authors": [[1]]}, "list of texts"),
        ({"id": "1", "title": "T", "ids": ["x"]}, "ids"),
        ({"id": True, "title": "T"}, "id is True"),
        (["id", "title"], "not an object"),
        (None, "not an object"),
        ({"id": "1", "title": "T", "ids": "x" * 9999}, "ids"),
    ],
)
def test_wrong_types_are_bad_records_with_a_short_reason(file: Path, row: object, word: str):
    good = {"id": "1", "title": "T"}
    before, bad, after = read("jsonl", file, good, row, good)
    assert before == after == Paper(id="1", title="T")
    assert isinstance(bad, BadRecord)
    assert (bad.number, bad.line) == (2, 2)
    assert word in bad.reason
    assert len(bad.reason) < 400


def test_broken_line_10001_is_reported_and_the_rest_is_read(file: Path):
    rows = [json.dumps({"id": str(n), "title": "T"}) for n in range(12_000)]
    rows[10_000] = rows[10_000][:-3]
    file.write_text("\n".join(rows))
    with pytest.raises(InputError, match=r"record 10001 \(line 10001\): not valid JSON"):
        list(read_papers(file))
    report = ReadReport()
    assert sum(1 for _ in read_papers(file, skip_bad=True, report=report)) == 11_999
    assert [(bad.number, bad.line) for bad in report.skipped] == [(10_001, 10_001)]


names = st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=4).map(tuple)
papers = st.builds(
    Paper,
    id=st.from_regex(r"[A-Za-z0-9./-]{1,12}", fullmatch=True),
    title=st.text(max_size=40),
    abstract=st.text(max_size=80),
    authors=names,
    venue=st.text(max_size=12),
    year=st.none() | st.integers(1000, 2100),
    fields=names,
    keywords=names,
    references=names,
    ids=st.dictionaries(st.sampled_from(["doi", "pmid", "arxiv", "url"]), st.text(min_size=1, max_size=12)),
)


@given(st.lists(papers, min_size=1, max_size=5))
def test_our_rows_come_back(file: Path, written: list[Paper]):
    assert read("jsonl", file, *(paper.to_json() for paper in written)) == written


@given(st.lists(st.sampled_from(["the", "of", "wrack", "<i>", "água", "3"]), max_size=30))
def test_openalex_abstracts_come_back(file: Path, words: list[str]):
    index = {word: [place for place, other in enumerate(words) if other == word] for word in reversed(words)}
    (paper,) = read("openalex", file, {"id": "https://openalex.org/W1", "abstract_inverted_index": index})
    assert isinstance(paper, Paper)
    assert paper.abstract == " ".join(words)


@given(papers)
def test_papers_written_as_others_do_come_back(file: Path, paper: Paper):
    common = {"title": paper.title, "year": paper.year}
    beir = {"_id": paper.id, "text": paper.abstract, "metadata": {"authors": paper.authors}, **common}
    (read_beir,) = read("beir", file, {**beir, "title": paper.title})
    scholar = {
        "paperId": paper.id,
        "abstract": paper.abstract,
        "authors": [{"name": n} for n in paper.authors],
    }
    (read_scholar,) = read("semantic_scholar", file, scholar | common)
    arxiv = {
        "id": paper.id,
        "abstract": paper.abstract,
        "authors_parsed": [[n, "", ""] for n in paper.authors],
    }
    (read_arxiv,) = read("arxiv", file, {**arxiv, **common, "update_date": f"{paper.year}-01-02"})
    for found in (read_beir, read_scholar, read_arxiv):
        assert isinstance(found, Paper)
        assert (found.id, found.title, found.abstract) == (paper.id, paper.title, paper.abstract)
        assert found.authors == paper.authors


def test_openreview_of_both_versions(tmp_path: Path):
    lines = [json.loads(line) for line in (SAMPLES / "openreview.jsonl").read_text().splitlines()]
    (tmp_path / "api.json").write_text(json.dumps({"count": 4, "notes": [*lines, lines[0] | {"ddate": 1}]}, indent=1))
    report = ReadReport()
    two, one = read_papers(tmp_path / "api.json", report=report)
    assert (two.title, two.authors) == ("Learning the tides", ("Åsa Brandström", "J. Q. Doe"))
    assert (two.venue, two.year, two.keywords) == ("Tides 2024 poster", 2024, ("tides", "harbours"))
    assert two.fields == ("applications to physical sciences",)
    assert (one.id, one.year, one.keywords, one.abstract) == ("kLmNoPqRsT", 2019, ("wrack", "carbon"), "")
    assert one.ids == {"arxiv": "1909.00001", "url": "https://arxiv.org/abs/1909.00001"}
    assert (report.files[0].format, report.files[0].note) == ("openreview", "not papers: 1 deleted note, 1 reply")


def test_specter_metadata():
    one, two = read_papers(SAMPLES / "specter.json")
    assert (one.id, one.ids, one.authors) == ("0123456789abcdef" * 2 + "01234567", {"s2": one.id}, ())
    assert (one.abstract, one.year, one.references) == ("Wrack takes up carbon.", 1999, ("c3", "d4"))
    assert (two.id, two.title, two.abstract) == ("b2", "Tides in {small} harbours", "")
    assert two.authors == ("Åsa Brandström",)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = [
    *(
        "id",
        "_id",
        "paperId",
        "title",
        "abstract",
        "text",
        "metadata",
        "authors",
        "authors_parsed",
        "versions",
    ),
    *("abstract_inverted_index", "authorships", "topics", "concepts", "ids", "mesh", "references", "doi"),
    *("externalIds", "s2FieldsOfStudy", "citedPaper", "categories", "year", "publication_year", "keywords"),
    *("primary_location", "referenced_works", "fieldsOfStudy", "update_date", "field", "corpusid"),
    *("content", "pdate", "cdate"),
]


@pytest.mark.parametrize("reader", READERS)
@given(row=st.dictionaries(st.sampled_from(keys), values, max_size=8))
def test_any_object_is_a_paper_or_a_bad_record(file: Path, reader: str, row: dict[str, object]):
    if row.get("citedPaper", "") is not None or reader != "semantic_scholar":  # null is an id that is not known
        (found,) = read(reader, file, row)
        assert isinstance(found, Paper | BadRecord)
    file.write_text(json.dumps({"a": row, "b": [row]}))
    assert len(list(paper_readers["specter"].read(InputFile(file), ReadOptions()))) == 2


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("conference_papers/papers-0", 24_373),
        ("citegraph_vis/papers", 4_515),
        ("xmc_pubmed_mesh/papers", 12_719),
    ],
)
def test_real_rows_are_all_read(name: str, count: int):
    found = list(read_papers(Path(os.environ["SCIPRISM_DATA"]) / f"{name}.jsonl.gz"))
    assert len(found) == count
    assert all(paper.abstract for paper in found)


def test_openreview_archives_hold_id_and_content_alone(tmp_path):
    """As `archives/~Ann_Lee1.jsonl`, from which expertise is computed."""
    rows = [
        {"id": "a", "content": {"title": "Stars", "abstract": "On stars."}},
        {"id": "b", "content": {"title": "Dna"}},
    ]
    (tmp_path / "~Ann_Lee1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(read_papers(tmp_path / "~Ann_Lee1.jsonl"))
    assert [(paper.id, paper.title, paper.abstract) for paper in found] == [
        ("a", "Stars", "On stars."),
        ("b", "Dna", ""),
    ]
