from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_abstract, clean_title

ITEM = {"id": "a", "type": "article-journal", "title": "T"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "id",
    "title",
    "abstract",
    "author",
    "issued",
    "container-title",
    "keyword",
    "note",
    "DOI",
    "number",
    "subtitle",
    "created",
    "reference",
    "message",
)


def one(read, **fields):
    papers, _ = read("one.json", json.dumps([ITEM | fields]))
    return papers[0]


@pytest.mark.parametrize(
    ("issued", "year"),
    [
        ({"date-parts": [["2019", 5, 1]]}, 2019),
        ({"date-parts": [[1905]]}, 1905),
        ({"date-parts": [[2001, 1], [2002, 2]]}, 2001),
        ({"raw": "May 2003"}, 2003),
        ({"literal": "circa 1850"}, 1850),
        ("2004-05", 2004),
        (2005, 2005),
        ({"date-parts": [[]]}, None),
        ({}, None),
        (None, None),
    ],
)
def test_years(read, issued, year) -> None:
    assert one(read, issued=issued).year == year


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ({"issued": {"date-parts": [[None]]}, "published-print": {"date-parts": [[2016, 2]]}}, 2016),
        ({"issued": {"date-parts": [[None]]}, "created": {"date-parts": [[2017, 5, 8]]}}, 2017),
        ({"issued": {"date-parts": [[0]]}, "posted": {"date-parts": [["2018"]]}}, 2018),
        ({"issued": {"date-parts": [None]}, "accepted": {"raw": "n.d."}, "submitted": "2015-01"}, 2015),
        ({"issued": {}, "journal-issue": {"published-print": {"date-parts": [[1999]]}}, "created": "2003"}, 1999),
        ({"issued": {"date-parts": [[2012]]}, "published-online": {"date-parts": [[2011]]}}, 2012),
        ({"issued": {"date-parts": [[None]]}, "accessed": {"date-parts": [[2020]]}}, None),
    ],
)
def test_the_first_date_that_is_one_gives_the_year(read, fields, year) -> None:
    assert one(read, **fields).year == year


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"title": ["TIDE"], "subtitle": ["A harbour model"], "short-title": ["TIDE"]}, "TIDE: A harbour model"),
        ({"title": "TIDE", "subtitle": "A harbour model"}, "TIDE: A harbour model"),
        ({"title": "TIDE: A harbour model", "subtitle": ["a <i>harbour</i> model"]}, "TIDE: A harbour model"),
        ({"title": ["TIDE"], "subtitle": ["TIDE: A harbour model"]}, "TIDE: A harbour model"),
        ({"title": ["TIDE:"], "subtitle": [": A model", "Part 2"]}, "TIDE: A model: Part 2"),
        ({"title": ["Is it high?"], "subtitle": ["(a preprint)"]}, "Is it high? (a preprint)"),
        ({"title": [], "short-title": ["TIDE"], "subtitle": ["A model"]}, "TIDE: A model"),
        ({"title": ["A harbour model"], "short-title": ["TIDE"]}, "TIDE: A harbour model"),
        ({"title": ["A model of the tides"], "short-title": ["Tides"]}, "A model of the tides"),
        ({"title": ["A model of the tides"], "short-title": ["Model of Tides"]}, "A model of the tides"),
        ({"title": [""], "title-short": "TIDE", "subtitle": []}, "TIDE"),
        ({"title": ["On <i>Fucus</i> &amp; H<sub>2</sub>O", "Sur le varech"]}, "On Fucus & H2O"),
        ({"title": None, "subtitle": ["A model"]}, "A model"),
        ({"title": "Tides", "title-short": "Flux"}, "Tides"),
    ],
)
def test_title_and_subtitle_are_the_title(read, fields, title) -> None:
    assert one(read, **fields).title == title


@pytest.mark.parametrize(
    ("fields", "venue"),
    [
        ({"container-title": [], "short-container-title": ["J. Tides"], "publisher": "P"}, "J. Tides"),
        ({"container-title": [""], "event": {"name": "Tide Days"}, "publisher": "P"}, "Tide Days"),
        ({"institution": [{"name": "tidRxiv"}], "publisher": "P"}, "tidRxiv"),
        ({"container": {"title": "Letters"}}, "Letters"),
    ],
)
def test_venues(read, fields, venue) -> None:
    assert one(read, **fields).venue == venue


def test_names(read) -> None:
    people = [
        {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
        {"literal": "World Health Organization"},
        {"family": "King", "given": "M. L.", "suffix": "Jr"},
        {"family": "Plato"},
        {"family": "others"},
    ]
    assert one(read, author=people).authors == (
        "Ludwig van Beethoven",
        "World Health Organization",
        "M. L. King Jr",
        "Plato",
    )


def test_the_json_of_papis_has_the_keys_of_bibtex(read) -> None:
    people = [{"given": "Kim", "family": "Roe"}, {"given": "Bo", "family": "van Lee"}]
    row = {"title": "T", "author": "Roe, Kim and van Lee, Bo", "author_list": people, "year": 2014, "doi": "10.5555/A"}
    row |= {"journal": "Tides", "publisher": "Sea Press", "pages": "140501", "volume": "89", "type": "article"}
    papers, report = read("papis.json", json.dumps([row]))
    assert (report.files[0].format, papers[0].authors, papers[0].year) == ("csl_json", ("Kim Roe", "Bo van Lee"), 2014)
    assert (papers[0].venue, papers[0].pages, papers[0].ids) == ("Tides", "140501", {"doi": "10.5555/a"})


def test_ids_keywords_and_markup(read) -> None:
    paper = one(
        read,
        id=12,
        DOI="https://doi.org/10.1000/ABC",
        note="PMID: 77\narXiv: 2101.00001\nread twice",
        keyword="one, two",
        abstract="<jats:title>Abstract</jats:title><jats:p>H<sub>2</sub>O &amp; more</jats:p>",
        reference=[{"DOI": "10.1000/X", "key": "1"}, {"unstructured": "A book"}],
        subject=["Oceanography"],
        **{"container-title": ["Journal"]},
    )
    assert (paper.references, paper.fields) == (("doi:10.1000/x",), ("Oceanography",))
    assert paper.id == "12"
    assert paper.ids == {"doi": "10.1000/abc", "pmid": "77", "arxiv": "2101.00001"}
    assert paper.keywords == ("one", "two")
    assert paper.abstract == "H2O & more"
    assert paper.venue == "Journal"


def test_an_id_that_is_the_address_of_the_doi_is_the_doi(read) -> None:
    paper = one(read, id="https://doi.org/10.5555/Tide.1")
    assert (paper.id, paper.ids) == ("doi:10.5555/tide.1", {"doi": "10.5555/tide.1"})


@pytest.mark.parametrize(("more", "key"), [({}, "ABCD2345"), ({"citation-key": "keller2020tides"}, "keller2020tides")])
def test_an_item_of_zotero_has_its_citation_key_else_its_key(read, more, key) -> None:
    assert one(read, id="http://zotero.org/users/7/items/ABCD2345", **more).id == key


def test_items_that_are_no_objects_are_skipped_and_counted(read) -> None:
    papers, report = read("mixed.json", json.dumps([ITEM, 3, "x", ITEM | {"id": "b"}]), skip_bad=True)
    assert [paper.id for paper in papers] == ["a", "b"]
    assert [bad.number for bad in report.skipped] == [2, 3]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6), min_size=1, max_size=4))
def test_any_json_is_a_paper_or_counted(read, rows) -> None:
    papers, report = read("any.json", json.dumps(rows), reader="csl_json", skip_bad=True)
    assert len(papers) + report.skipped_count == len(rows)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.text(min_size=1), st.text()), min_size=1, max_size=5),
    st.sampled_from([None, 1, "\t"]),
)
def test_written_then_read_is_equal(read, rows, indent) -> None:
    rows = [(title, abstract) for title, abstract in rows if clean_title(title)]
    if not rows:
        return
    items = [ITEM | {"id": f"k{i}", "title": t, "abstract": a} for i, (t, a) in enumerate(rows)]
    papers, _ = read("written.csl.json", json.dumps(items, indent=indent))
    assert [(p.id, p.title, p.abstract) for p in papers] == [
        (f"k{i}", clean_title(t), clean_abstract(a)) for i, (t, a) in enumerate(rows)
    ]
