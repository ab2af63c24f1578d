from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/", min_size=1, max_size=50)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title


def test_every_dialect_of_tags(read) -> None:
    papers, _ = read(
        "dialects.ris",
        "TY  - JOUR\nT1  - One\nA1  - Doe, Jane\nN2  - Text\nY1  - 2001/02/03\nJF  - Journal\nER  - \n"
        "TY  - JOUR\nTI  - Two\nAU  - Roe, R., Jr\nAB  - Text\nPY  - 2002\nT2  - Journal\n"
        "DO  - 10.1000/TWO\nER  - \n"
        "TY - CHAP\nCT - Three\nAU - Poe, E\nDA - 2003/1\nBT - Book\n"
        "UR - https://doi.org/10.1000/three\nER -\n",
    )
    assert [paper.title for paper in papers] == ["One", "Two", "Three"]
    assert [paper.authors for paper in papers] == [("Jane Doe",), ("R. Roe Jr",), ("E Poe",)]
    assert [paper.year for paper in papers] == [2001, 2002, 2003]
    assert [paper.venue for paper in papers] == ["Journal", "Journal", "Book"]
    assert [paper.ids.get("doi") for paper in papers] == [None, "10.1000/two", "10.1000/three"]


def test_junk_lines_missing_ends_and_long_values(read) -> None:
    papers, report = read(
        "junk.ris",
        "Exported by a machine\n\n1.\nTY  - JOUR\nTI  - A title\nthat goes on\nAB  - First.\n\nSecond.\n"
        "IV - results\nKW  - one\ntwo\nKW  - three; four\nER  - \nJunk between records\n\n<2>\n"
        "TY  - JOUR\nTI  - No end\nTY  - JOUR\nTI  - Last",
    )
    assert [paper.title for paper in papers] == ["A title that goes on", "No end", "Last"]
    assert papers[0].abstract == "First. Second. IV - results"
    assert papers[0].keywords == ("one", "two", "three", "four")
    assert report.skipped_count == 0


def test_records_without_a_type_line(read) -> None:
    papers, _ = read("typeless.ris", "TI  - One\nAU  - Doe, J\nER  - \n\nTI  - Two\nER  - \n")
    assert [paper.title for paper in papers] == ["One", "Two"]


def test_a_file_that_ends_in_the_middle_of_a_record_says_so(read) -> None:
    record = "TY  - JOUR\nTI  - One\nAB  - Some words.\nER  - \n"
    for cut in ("", "\n\n", "TY  - JOUR\nTI  - Tw", "TY  - JOUR\nTI  - Two\nAB  - Wor"):
        papers, report = read("cut.ris", record + cut)
        assert len(papers) == 1 + bool(cut.strip())
        assert ("the last record has no ER" in report.files[0].note) == bool(cut.strip())
    _, report = read("endless.ris", record.replace("ER  - \n", "") * 2)  # as some programs write
    assert report.files[0].note == ""


def test_latin_1_is_read_and_said(read) -> None:
    text = "TY  - JOUR\nTI  - Über die Größe\nAU  - Lévêque, François\nER  - \n"
    papers, report = read("latin.ris", text.encode("latin-1"))
    assert papers[0].title == "Über die Größe"
    assert papers[0].authors == ("François Lévêque",)
    assert report.files[0].note == "read as cp1252 in 2 lines"


def test_record_without_text_names_its_line(read) -> None:
    text = "TY  - JOUR\nTI  - Good\nER  - \n\nTY  - JOUR\nAU  - Nobody\nER  - \n"
    papers, report = read("empty.ris", text, skip_bad=True)
    assert len(papers) == 1
    assert str(report.skipped[0]).endswith("empty.ris, record 2 (line 5): no title and no abstract")


def test_ids_of_other_systems(read) -> None:
    papers, _ = read(
        "ids.ris",
        "TY  - JOUR\nTI  - A\nAN  - 123\nDB  - PubMed\nER  - \nTY  - JOUR\nTI  - B\nAN  - 2010-1-1\nER  - \n"
        "TY  - JOUR\nTI  - C\nM3  - doi: 10.1000/c.\nC2  - PMC77\nN1  - Cites 10.1000/other\nER  - \n",
    )
    assert [paper.id for paper in papers] == ["pmid:123", "2010-1-1", "doi:10.1000/c"]
    assert papers[2].ids == {"doi": "10.1000/c", "pmcid": "PMC77"}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=1), max_size=3), st.integers(1500, 2030)),
        min_size=1,
    )
)
def test_written_then_read_is_equal(read, rows) -> None:
    text = "".join(
        f"TY  - JOUR\nID  - k{i}\nTI  - {title}\nAB  - {abstract}\n"
        + "".join(f"AU  - {name}\n" for name in names)
        + f"PY  - {year}\nER  - \n\n"
        for i, (title, abstract, names, year) in enumerate(rows)
    )
    papers, _ = read("written.ris", text)
    assert [(p.id, p.title, p.abstract, p.authors, p.year) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), tuple(dict.fromkeys(names)), year)
        for i, (title, abstract, names, year) in enumerate(rows)
    ]


def test_record_numbers_of_endnote_and_the_end_mark_are_neither_ids_nor_records(read) -> None:
    text = "TY  - JOUR\nID  - 12\nTI  - {}\nPY  - 2001\nER  - \n"
    papers, report = read("a.ris", text.format("One") + text.format("Two") + "EF  - \n")
    assert report.skipped_count == 0
    assert [paper.title for paper in papers] == ["One", "Two"]
    assert len({paper.id for paper in papers} | {"12"}) == 3


LIKE_TAGS = "ER-positive cells\nT2-weighted and\nER - that is, none\nCT-guided; ID - no, TY - no\nIV - results"


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize("dash", ["  - ", " - ", "- ", "  -"])
def test_a_line_in_another_form_than_the_tags_of_its_record_is_text(read, dash: str, indent: str) -> None:
    text = LIKE_TAGS.replace("ER - that", "ER  -that") if dash == " - " else LIKE_TAGS
    lines = [
        "TY:JOUR",
        "TI:One",
        f"AB:We saw\n{text}",
        "PY:2001",
        "VL:3",
        "JO:Letters",
        "ER:",
        "TY:JOUR",
        "TI:Two",
        "ER:",
    ]
    file = "".join(f"{indent}{line.replace(':', dash, 1)}\n" for line in lines)
    papers, report = read("forms.ris", file.replace(f"{dash}\n", f"{dash.rstrip()}\n"))
    assert [(paper.title, paper.year, paper.venue) for paper in papers] == [("One", 2001, "Letters"), ("Two", None, "")]
    assert papers[0].abstract == f"We saw {' '.join(text.split())}"
    assert report.files[0].note == ""


def test_forms_that_are_mixed_where_no_text_goes_on(read) -> None:
    papers, _ = read("mixed.ris", "TY  - JOUR\nTI - One\nPY  - 2001\nDO - 10.1/x\nSP -\nAB  - Of\nDO - it\nER -\n")
    assert (papers[0].title, papers[0].ids, papers[0].abstract) == ("One", {"doi": "10.1/x"}, "Of DO - it")


def test_psycnet_stars_main_headings_and_has_a_tag_for_the_pmid(read) -> None:
    papers, _ = read(
        "psycnet.ris",
        "TY  - BOOK\nPMID  - 12\nT1  - One\nA1  - Roe, Kim\nKW  - *Memory\nKW  - *-Algebras\nKW  - A* search\n"
        "SN  - 9780000000002\nER  -\n",
    )
    assert papers[0].keywords == ("Memory", "*-Algebras", "A* search")
    assert papers[0].ids == {"pmid": "12", "isbn": "9780000000002"}


def test_lines_outside_of_records_are_counted(read) -> None:
    record = "{}.\nTY  - JOUR\nT1  - {}\nY1  - 2020//\nER  -  \n\nLink to the text: https://example.org/{}\n\n"
    strategy = "C1  - Database: Invented <1990>\n\nSearch Strategy:\n1     exp oars/ (12)\nT2-weighted.mp.\n"
    end = "TI  - A record that has lost its type\nER  - \nC1  - Saved: today\n"
    papers, report = read("ovid.ris", record.format(1, "One", 1) + strategy + record.format(2, "Two", 2) + end)
    assert [paper.title for paper in papers] == ["One", "Two", "A record that has lost its type"]
    assert (report.skipped_count, report.files[0].note) == (0, "not papers: 9 other lines")


def test_a_record_without_values_is_reported(read) -> None:
    papers, report = read("empty.ris", "TY  - \nTI  - \nER  - \nTY  - JOUR\nTI  - T\n", skip_bad=True)
    assert (len(papers), [bad.line for bad in report.skipped]) == (1, [1])
