from __future__ import annotations

from textwrap import wrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/", min_size=1, max_size=200)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title


def test_every_field(read) -> None:
    papers, _ = read(
        "all.nbib",
        "PMID- 11\nTI  - A title\n      goes on.\nAB  - Text - with dashes.\n"
        "FAU - Doe, Jane\nAU  - Doe J\nCN  - A Group\n"
        "JT  - The journal\nTA  - J\nDP  - 1999 Jan-Feb\nMH  - *Brain/metabolism\nMH  - Humans\nOT  - *word\n"
        "AID - S01 [pii]\nAID - 10.1000/X [doi]\nPMC - PMC5\n\n"
        "PMID- 12\nTI  - Second\nLID - 10.1000/y [doi]\nAU  - Roe R\n",
    )
    first, second = papers
    assert (first.id, first.title, first.abstract) == ("11", "A title goes on.", "Text - with dashes.")
    assert (first.authors, first.venue, first.year) == (("Jane Doe", "A Group"), "The journal", 1999)
    assert first.keywords == ("Brain", "Humans", "word")
    assert first.ids == {"pmid": "11", "pmcid": "PMC5", "doi": "10.1000/x"}
    assert (second.authors, second.ids["doi"]) == (("Roe R",), "10.1000/y")


def test_records_of_eric_have_no_pmid(read) -> None:
    text = """
OWN - ERIC
TI  - Tides in lessons
AU  - Roe, Kim
OT  - Oceanography
JT  - School Science
AID - http://dx.doi.org/10.5555/A
OID - EJ000001
VI  - 10
IP  - 1
PG  - 1-9
DP  - 2000
LID - http://eric.ed.gov/?id=EJ000001
AB  - Lessons on tides help.
ISSN - ISSN-0000-0000
LA  - English

OWN - ERIC
TI  - A report
OID - ED000002
DP  - 2001
VI  -
AB  - Words.
"""
    for name in ("eric.nbib", "eric.txt"):
        (first, second), report = read(name, text)
        assert (report.files[0].format, report.files[0].note) == ("nbib", "")
        assert (first.id, first.title, first.abstract) == ("EJ000001", "Tides in lessons", "Lessons on tides help.")
        assert (first.authors, first.venue, first.year, first.pages) == (("Kim Roe",), "School Science", 2000, "1-9")
        assert first.ids == {"doi": "10.5555/a", "url": "http://eric.ed.gov/?id=EJ000001"}
        assert (second.id, second.year, second.keywords) == ("ED000002", 2001, ())


def test_a_title_that_is_not_available_is_that_of_the_paper_s_language(read) -> None:
    papers, _ = read("fr.nbib", "PMID- 1\nTI  - [Not Available].\nTT  - Les marees.\nLA  - fre\nAB  - Words.\n")
    assert papers[0].title == "Les marees."
    papers, _ = read("jpn.nbib", "PMID- 1\nTI  - [Not Available].\nLA  - jpn\n")  # as PMID 37967964
    assert papers[0].title == "[Not Available]."


def test_records_need_no_empty_line_between_them(read) -> None:
    papers, _ = read("dense.nbib", "PMID- 1\nTI  - One\nPMID- 2\nTI  - Two\n")
    assert [paper.id for paper in papers] == ["1", "2"]


@pytest.mark.parametrize("between", ["\n", ""])
@pytest.mark.parametrize("with_pmid", [(), (1,), (0, 2)])
@pytest.mark.parametrize(
    "begin", ["STAT- MEDLINE\n", "FAU - Alder, Ann\nAU  - Alder A\nFAU - Oak, O\nAU  - Oak O\n", ""]
)
def test_records_without_a_pmid(read, between: str, with_pmid: tuple[int, ...], begin: str) -> None:
    lines = begin + "TI  - A count of {}.\nAB  - We counted\n      {}.\nJT  - Ponds\nDP  - 2019\n"
    names = ("frogs", "newts", "toads")
    records = [f"PMID- 1{n}\n" * (n in with_pmid) + lines.format(name, name) for n, name in enumerate(names)]
    if between or not with_pmid:  # else nothing says that the next record begins
        papers, report = read("a.nbib", between.join(records))
        assert [paper.title for paper in papers] == [f"A count of {name}." for name in names]
        assert [paper.ids.get("pmid") for paper in papers] == [f"1{n}" if n in with_pmid else None for n in range(3)]
        assert {len(paper.authors) for paper in papers} == {begin.count("FAU")} and not report.files[0].note


def test_record_without_text_is_reported_with_its_line(read) -> None:
    papers, report = read("bad.nbib", "PMID- 1\nTI  - One\n\nPMID- 2\nDP  - 1999\n", skip_bad=True)
    assert len(papers) == 1
    assert [(bad.number, bad.line) for bad in report.skipped] == [(2, 4)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=5))
def test_written_then_read_is_equal(read, rows) -> None:
    def lines(tag: str, text: str) -> str:
        return "\n".join(wrap(f"{tag:<4}- {text}", 88, subsequent_indent="      ", break_on_hyphens=False)) + "\n"

    rows = [(clean_text(title), clean_text(abstract)) for title, abstract in rows]
    text = "\n".join(
        f"PMID- {i}\n" + lines("TI", title) + lines("AB", abstract) for i, (title, abstract) in enumerate(rows, 1)
    )
    papers, _ = read("written.nbib", text)
    assert [(paper.title, paper.abstract) for paper in papers] == rows


@pytest.mark.parametrize("form", ["{0:<4}- ", "{0} - ", "{0}-"])
def test_a_line_in_another_form_than_the_tags_is_text(read, form: str) -> None:
    rows = [("PMID", "1"), ("TI", "One"), ("AB", "We saw\nDNA binding\nRNA:dependent"), ("DP", "1999"), ("", "")]
    rows += [("PMID", "2"), ("TI", "Two"), ("DP", "2000")]
    file = "".join(f"{form.format(tag)}{value}\n" if tag else "\nSaved by hand\n\n" for tag, value in rows)
    file = file.replace("DNA ", "DNA -" if form == "{0}-" else "DNA-").replace(
        "RNA:", "RNA - " if form == "{0}-" else "RNA-"
    )
    papers, report = read("forms.nbib", file)
    assert [(paper.title, paper.year) for paper in papers] == [("One", 1999), ("Two", 2000)]
    assert "binding RNA" in papers[0].abstract and papers[0].abstract.endswith("dependent")
    assert report.files[0].note == "not papers: 1 other line"


def test_where_no_text_is_indented_other_words_than_tags_are_text(read) -> None:
    papers, _ = read("flat.nbib", "PMID- 1\nTI  - One\nAB  - We saw\nHER2- and\nATP - dependent cells\nDP  - 1999\n")
    assert (papers[0].abstract, papers[0].year) == ("We saw HER2- and ATP - dependent cells", 1999)
