from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import split_names
from sciprism.papers.cleaning import clean_text
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.read import read_papers

SAMPLES = Path(__file__).parent / "samples"
PLAIN = st.text(alphabet="abcXYZäß漢019 .,:;|\"\t\n'!", min_size=1, max_size=40).filter(clean_text)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Key,Author,Title,Publication Title,Publication Year", '1,"Doe, J; Roe, R",T,Nature,2001'),  # Zotero
        ("EID;Authors;Title;Source title;Year", '1;"Doe, J; Roe, R";T;Nature;2001'),  # Scopus
        (
            "PT\tUT\tAU\tTI\tSO\tPY\tID",
            "J\t1\tDoe, J; Roe, R\tT\tNature\t2001\tkeywords plus",
        ),  # Web of Science
        ("id|authors|title|venue|year", "1|J Doe; R Roe|T|Nature|2001"),
        ("sep=;\nid;authors;title;venue;year", "1;J Doe|R Roe;T;Nature;2001"),  # Excel's first line
        (
            "Paper ID,Authors,Article Title,Journal,Date",
            '1,"J Doe, R Roe",T,Nature,12 May 2001',
        ),  # Scholar's names
        (
            "About the data: Exported on May 1, 2024. Criteria: dunes.\n"
            "Rank,Publication ID,Title,Source title,Publication Date,PubYear,Authors",
            '1,1,T,Nature,2001-05,2001,"Doe, J; Roe, R"',
        ),  # Dimensions
        (
            "Lens ID,Title,Date Published,Publication Year,Source Title,Author/s",
            "1,T,2001-05-12,2001,Nature,J Doe; R Roe",
        ),
        (
            "Title,Authors,Abstract,Published Year,Published Month,Journal,DOI,Ref,Covidence #,Tags,id",
            'T,"Doe, J; Roe, R",A,2001,3,Nature,,1,#1,,1',
        ),
        (
            "(internal) id,(source) id,pubmed id,abstract,title,journal,authors,year",
            '1,2,0,A,T,Nature,"Doe, J\n and Roe, R\n",2001',
        ),  # Abstrackr
        ("key,title,year,journal,authors,notes,pubmed_id,pmc_id", '1,T,2001,Nature,"Doe, J and Roe, R",,,'),  # Rayyan
        ("TI\tSO\tPY\tAU\tID\tUT", "T\tNature\t2001\tDOE J;ROE R\tDUNES\t1"),  # bibliometrix
        (
            "Title,Author Names,Source title,Date of Publication,Medline PMID,Emtree Medical Index Terms,Item ID",
            'T,"Doe J., Roe R.",Nature,1 May 2001,,sleep,1',
        ),  # Embase
        ("Item ID,Title,Parent Title,Year,Authors,Abstract", "1,T,Nature,2001,Doe J; Roe R;,A"),  # EPPI Reviewer
        (
            "Item Title,Publication Title,Item DOI,Authors,Publication Year,URL,paper id",
            "T,Nature,,J DoeR Roe,2001,,1",
        ),  # Springer Link
        ("Identifier,Author,Title,Journal,Year", '1,"Doe, J & Roe, R",T,Nature,2001'),  # JabRef
        ("openalex_id,title,authors,venue,year", "1,T,\"[Author('J Doe'), Author('R Roe')]\",Nature,2001"),
        ("cord_uid,title,doi,publish_time,authors,journal", '1,T,,2001-05-01,"Doe, J; Roe, R",Nature'),
        ("id,title,authors,venue,year", "1,T,\"['J Doe', 'R Roe']\",Nature,2001.0"),  # pandas
        ("id,title,authors,venue,year,date", "1,T,J Doe; R Roe,Nature,NA,2001-01-01"),
        ("PMID,id,Title,Authors,Journal/Book,Publication Year", '2,1,T,"Doe J, Roe R.",Nature,2001'),  # PubMed
    ],
)
def test_headers_and_delimiters_are_guessed(read, header: str, row: str) -> None:
    papers, _ = read("guess.csv", f"{header}\n{row}\n")
    paper = papers[0]
    assert (paper.id, paper.title, paper.authors, paper.venue, paper.year) == (
        *("1", "T"),
        ("J DOE", "R ROE") if "DOE" in row else ("J. Doe", "R. Roe") if "J." in row else ("J Doe", "R Roe"),
        *("Nature", 2001),
    )


def test_scopus_export_and_the_nearest_header(read) -> None:
    header = (
        '"Authors","Author full names","Author(s) ID","Title","Year","Source title","Volume","Cited by","DOI","Link",'
        '"Abstract","Author Keywords","Index Keywords","References","PubMed ID","Document Type","Source","EID"'
    )
    row = (
        '"Doe J.; Roe R.","Doe, Jane (57000000000); Roe, Richard (57000000001)","57000000000; 57000000001","T","2001",'
        '"Nature","4","12","10.1000/t","https://www.scopus.com/x","[No abstract available]","sand; wind","Dunes; Sand",'
        '"Poe E., Sand through the ages, (1998)","123","Article","Scopus","2-s2.0-1"'
    )
    papers, _ = read("scopus.csv", f"\ufeff{header}\n{row}\n")
    (paper,) = papers
    assert (paper.id, paper.venue, paper.year, paper.abstract) == ("2-s2.0-1", "Nature", 2001, "")
    assert (paper.authors, paper.references) == (("Jane Doe", "Richard Roe"), ())
    assert paper.keywords == ("sand", "wind", "Dunes", "Sand")
    assert paper.ids == {"doi": "10.1000/t", "pmid": "123", "url": "https://www.scopus.com/x"}
    text = "Nr,Document Titel,Summary\n1,T,A text\n"
    with pytest.raises(InputError, match="columns: Nr, two lines;"):
        read("lines.csv", b'Nr;"two\nlines"\n1;A\n', reader="tables")
    nearest = r"no column 'title'; nearest: 'Document Titel'; columns: .*--columns 'title=Document Titel'"
    with pytest.raises(InputError, match=nearest):
        read("near.csv", text)


def test_cells_that_mean_none(read) -> None:
    papers, _ = read(
        "na.csv",
        "id,title,abstract,authors,venue,year,keywords,doi,pmid\n"
        "1,On sand,A text,NA,NA,NA,NA,NA,0\n2,On wind,nan,nan,-,nan,nan,nan,nan\n"
        '3,None,N/A,Null,null,n/a,-,-,-\nNA,NA,A text of no title,"Null, Ann",,,,,\n',
    )
    assert [(paper.title, paper.authors) for paper in papers] == [
        *(("On sand", ()), ("On wind", ())),
        *(("None", ("Null",)), ("", ("Ann Null",))),
    ]
    assert all(not (paper.venue or paper.year or paper.keywords or paper.ids) for paper in papers)
    assert [bool(paper.abstract) for paper in papers] == [True, False, False, True]
    assert papers[3].id.startswith("sha1:")


def test_a_column_shows_how_its_cells_join_values(read) -> None:
    rows = [f'{n},T,"{a}",k' for n, a in ((1, "Ann Alder, Bo Birch"), (2, "Cy Cedar"))]
    three = '3,T,"Ann Alder, Bo Birch, Cy Cedar",'
    papers, _ = read("joined.csv", "\n".join(["id,title,author,keywords", *rows, three]))
    assert papers[0].authors == ("Ann Alder", "Bo Birch")
    papers, _ = read("joined.csv", "\n".join(["id,title,author,keywords", *rows, '3,T,"Elm, Eve",k']))
    assert papers[0].authors == ("Bo Birch Ann Alder",)


def test_names_that_springer_glues(read) -> None:
    papers, _ = read("s.csv", "Item Title,Item DOI,Authors\nT,,Ann McBethJörg ÅlderBo (Bob) BirchEve LeRoy\n")
    assert papers[0].authors == ("Ann McBeth", "Jörg Ålder", "Bo (Bob) Birch", "Eve LeRoy")


def test_lists_that_pandas_printed(read) -> None:
    header, cells = "id,title,categories,keywords,references", ("['cs.AI', 'stat.ML']", "[]", "['b' 'c']")
    papers, _ = read(
        "lists.csv", f"{header}\n1,T,{','.join(chr(34) + cell + chr(34) for cell in cells)}\n2,U,cs.AI math.NT,,"
    )
    assert (papers[0].fields, papers[0].keywords, papers[0].references) == (("cs.AI", "stat.ML"), (), ("b", "c"))
    assert papers[1].fields == ("cs.AI", "math.NT")
    papers, _ = read(
        "crossref.csv", "title,container-title,author\n['On sand'],['Dunes'],\"[{'given': 'J', 'family': 'Doe'}]\"\n"
    )
    assert (papers[0].title, papers[0].venue, papers[0].authors) == ("On sand", "Dunes", ("J Doe",))


@pytest.mark.parametrize("format", ["openalex", "semantic_scholar"])
@pytest.mark.parametrize("flatten", [pd.DataFrame, pd.json_normalize])
def test_json_that_pandas_wrote_as_a_table_is_read_as_the_json(read, format, flatten) -> None:
    sample = (SAMPLES / f"{format}.jsonl").read_text()
    table = flatten([json.loads(line) for line in sample.splitlines()])
    papers, report = read(f"{format}.csv", table.to_csv(index=False))
    assert papers == read(f"{format}.jsonl", sample)[0]
    assert set(report.files[0].unread_columns) <= {
        "primary_location.is_oa",
        "primary_location.source.id",
        "journal.volume",
    }


def test_the_export_of_openalex(read) -> None:
    columns = {
        "id": "https://openalex.org/W41",
        "doi": "https://doi.org/10.5555/tide",
        "title": "Tides",
        "publication_year": "2018",
        "primary_location.source.display_name": "Journal of Tides",
        "authorships.author.display_name": "Ann Alder|Bo Birch",
        "authorships.author.orcid": "None|https://orcid.org/0",
        "topics.display_name": "Tidal flats|Dunes",
        "topics.field.display_name": "Earth Science|Earth Science",
        "keywords.display_name": "Tide|Moon",
        "ids.pmid": "https://pubmed.ncbi.nlm.nih.gov/31",
        "referenced_works": "https://openalex.org/W1|https://openalex.org/W2",
        "cited_by_count": "3",
        "abstract": "On tides.",
    }
    papers, _ = read("works.csv", f"{','.join(columns)}\n{','.join(columns.values())}\n")
    work = {
        "id": columns["id"],
        "doi": columns["doi"],
        "title": "Tides",
        "publication_year": 2018,
        "primary_location": {"source": {"display_name": "Journal of Tides"}},
        "authorships": [{"author": {"display_name": name}} for name in ("Ann Alder", "Bo Birch")],
        "topics": [
            {"display_name": name, "field": {"display_name": "Earth Science"}} for name in ("Tidal flats", "Dunes")
        ],
        "keywords": [{"display_name": "Tide"}, {"display_name": "Moon"}],
        "ids": {"pmid": columns["ids.pmid"]},
        "referenced_works": columns["referenced_works"].split("|"),
        "abstract": "On tides.",
    }
    assert papers == read("works.jsonl", json.dumps(work))[0]
    assert papers[0].authors == ("Ann Alder", "Bo Birch") and papers[0].references == ("W1", "W2")
    few = "id,title,publication_year\nhttps://openalex.org/W41,Tides,2018\n"
    assert read("few.csv", few)[0][0].ids == {"openalex": "W41"} and read("few.csv", few)[0][0].id == "W41"


@pytest.mark.parametrize(
    ("title", "authors", "clean", "names"),
    [
        ("The tides of lakes /", "Keller, Ada, 1809-1882.", "The tides of lakes", ("Ada Keller",)),
        ("On ice [electronic resource] : notes /", "Li, Wei, 1970- author.", "On ice : notes", ("Wei Li",)),
        (
            "Rain",
            "Berg, Jan, -1990; Lind, Eva, b. 1950-, editor; Moss, Ed",
            "Rain",
            ("Jan Berg", "Eva Lind", "Ed Moss"),
        ),
        ("Input [output] and/or", "Roe, R, Jr", "Input [output] and/or", ("R Roe Jr",)),
    ],
)
def test_what_catalogues_of_libraries_add_is_no_title_and_no_name(read, title, authors, clean, names) -> None:
    [paper], _ = read("catalogue.csv", f'id,title,authors,year\n1,"{title}","{authors}",c2001.')
    assert (paper.title, paper.authors, paper.year) == (clean, names, 2001)


def test_author_numbers_of_scopus_are_no_names(read) -> None:
    papers, _ = read("s.csv", 'Title,Author full names\nT,"Smith, John (57000000000); Roe, Kim (57000000001)"\n')
    assert papers[0].authors == ("John Smith", "Kim Roe")


def test_ids_in_the_cells_of_opencitations_meta_are_no_names(read) -> None:
    papers, _ = read(
        "meta.csv",
        "id,title,author,pub_date,venue,volume,issue,page,type,publisher,editor\n"
        '"doi:10.5555/A pmid:12 omid:br/061",T,"Roe, Kim [orcid:0000-0001-5366-5194 omid:ra/061]; Lee, Bo; '
        '[omid:ra/063]",2019-01-10,Tides [issn:1434-5161 omid:br/062],6,4,351-353,journal article,Out [crossref:1],\n'
        "omid:br/064,No other id,Fay [orcid:0000-0002-8420-0696],1999,,,,,book,,\n"
        "doi:10.5555/B,One id,,,,,,,,,\n",
    )
    assert [paper.id for paper in papers] == ["doi:10.5555/a", "omid:br/064", "doi:10.5555/B"]
    assert [paper.ids for paper in papers] == [{"doi": "10.5555/a", "pmid": "12"}, {}, {"doi": "10.5555/b"}]
    assert [paper.authors for paper in papers] == [("Kim Roe", "Bo Lee"), ("Fay",), ()]
    assert papers[0].orcids == {"Kim Roe": "0000-0001-5366-5194"}
    assert (papers[0].venue, papers[0].year, papers[0].pages) == ("Tides", 2019, "351-353")


def test_ids_and_lists(read) -> None:
    papers, _ = read(
        "lists.csv",
        "id,title,keywords,fields,references,DOI,PMID,arXiv ID\n"
        'a,T,"x; y|z","Physics; Chemistry","b; doi:10.1000/c; Whole, A. reference",'
        "10.1000/A,12,2101.00001v3\n",
    )
    assert papers[0].keywords == ("x", "y", "z")
    assert papers[0].fields == ("Physics", "Chemistry")
    assert papers[0].references == ("b", "doi:10.1000/c")
    assert papers[0].ids == {"doi": "10.1000/a", "pmid": "12", "arxiv": "2101.00001"}


def test_columns_name_what_cannot_be_guessed(read) -> None:
    text = "Headline,Gist,Nr\nA title,A text,7\n"
    with pytest.raises(InputError, match=r"no column 'title'; columns: Headline, Gist, Nr;.*--columns title="):
        read("own.csv", text)
    columns = {"title": "headline", "abstract": "Gist", "id": "Nr"}
    papers, _ = read("own.csv", text, options=ReadOptions(columns=columns))
    assert (papers[0].id, papers[0].title, papers[0].abstract) == ("7", "A title", "A text")
    with pytest.raises(InputError, match=r"no column 'Lead' for title; columns: Headline"):
        read("own.csv", text, options=ReadOptions(columns={"title": "Lead"}))
    with pytest.raises(InputError, match=r"no field 'headline'; fields: id, title"):
        read("own.csv", text, options=ReadOptions(columns={"headline": "Headline"}))


def test_rows_that_do_not_fit_are_reported_and_the_others_read(read) -> None:
    papers, report = read(
        "rows.csv",
        'id,title,abstract\na,"Two\nlines",x\n\nb,"open,y\nc,"Closed",z\nd,too,many,cells\n'
        'e,short\nf,"open at the end\n',
        skip_bad=True,
    )
    assert [(paper.id, paper.title) for paper in papers] == [
        ("a", "Two lines"),
        ("c", "Closed"),
        ("e", "short"),
    ]
    assert [bad.line for bad in report.skipped] == [5, 7, 9]
    assert "quotation" in report.skipped[0].reason
    assert "4 cells, but the header has 3" in report.skipped[1].reason


def test_quotation_marks_in_tab_separated_text(read) -> None:
    papers, _ = read("tabs.tsv", 'id\ttitle\tabstract\na\t"Quoted" start\tx\nb\t"open\ty\nc\t"a\tb"\tz\n')
    assert [paper.title for paper in papers] == ['"Quoted" start', '"open', "a b"]


def test_a_very_long_cell(read) -> None:
    papers, _ = read("long.csv", f'id,title,abstract\na,T,"{"word " * 50_000}"\n')
    assert len(papers[0].abstract.split()) == 50_000


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=2), max_size=3)), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_written_then_read_is_equal(read, rows, delimiter, quoting) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(["id", "title", "abstract", "authors"])
    for i, (title, abstract, names) in enumerate(rows):
        writer.writerow([f"k{i}", title, abstract, "; ".join(names)])
    papers, _ = read("written.csv", buffer.getvalue())
    assert [(p.id, p.title, p.abstract, p.authors) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), split_names(";".join(names)))
        for i, (title, abstract, names) in enumerate(rows)
    ]


def test_a_header_of_several_lines_is_one_line_in_a_message(tmp_path):
    (tmp_path / "a.csv").write_text('"titel\nof it",abstrct,x\n1,2,3\n')
    with pytest.raises(InputError, match="no column 'title'; nearest: 'titel of it'") as caught:
        list(read_papers(tmp_path / "a.csv"))
    assert "\n" not in str(caught.value)
