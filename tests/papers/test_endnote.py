"""EndNote's two formats: XML and tagged text."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/&<>", min_size=1, max_size=50)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title
ROWS = st.lists(
    st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=1), max_size=3, unique=True), st.integers(1500, 2030)),
    min_size=1,
    max_size=6,
)


def xml(*records: str, declaration: str = "") -> str:
    return f"{declaration}<xml><records>{''.join(f'<record>{record}</record>' for record in records)}</records></xml>"


def test_records_of_mendeley_and_ids(read) -> None:
    title = "<titles><title>{}</title></titles>"
    papers, report = read(
        "m.xml",
        xml(
            '<database name="a.enl">a.enl</database><rec-number>3</rec-number>'
            + title.format("One")
            + "<urls><web-urls><url>https://doi.org/10.1000/ONE</url></web-urls></urls>"
            "<dates><pub-dates><date>2001-02</date></pub-dates></dates>",
            '<database name="a.enl">a.enl</database><rec-number>4</rec-number>' + title.format("Two"),
            "<label>Roe2002</label><accession-num>12</accession-num>" + title.format("Three"),
            "<accession-num>WOS:5</accession-num><keywords><keyword>a&#xD;b; c</keyword></keywords>"
            + title.format("4"),
            "<rec-number>6</rec-number>",
        ),
        skip_bad=True,
    )
    assert [paper.id for paper in papers] == ["doi:10.1000/one", "a.enl:4", "Roe2002", "WOS:5"]
    assert (papers[0].year, papers[3].keywords) == (2001, ("a b", "c"))
    assert [bad.reason for bad in report.skipped] == ["no title and no abstract"]


def test_control_characters_and_wrong_encodings_are_no_fault_of_the_xml(read) -> None:
    record = "<titles><title>Gr\u00f6\u00dfe\x0b und\x01 Ma\u00df</title></titles>"
    for declaration, encoding in [
        ("", "latin-1"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?>", "latin-1"),
        ("", "utf-8"),
    ]:
        papers, _ = read("c.xml", xml(record, declaration=declaration).encode(encoding))
        assert [paper.title for paper in papers] == ["Gr\u00f6\u00dfe und Ma\u00df"]


def test_other_xml_is_named(read) -> None:
    with pytest.raises(InputError, match=r"o\.xml: not in a known format \(XML of <modsCollection>\); known: "):
        read("o.xml", '<?xml version="1.0"?>\n<!-- a list -->\n<modsCollection xmlns="x"><mods/></modsCollection>')


@settings(max_examples=60, deadline=None)
@given(ROWS, st.booleans())
def test_written_xml_then_read_is_equal(read, rows, styled) -> None:
    def style(text: str) -> str:
        text = escape(text)
        return f'<style face="normal" font="default" size="100%">{text}</style>' if styled else text

    records = [
        f"<label>k{i}</label><contributors><authors>{''.join(f'<author>{style(name)}</author>' for name in names)}"
        f"</authors></contributors><titles><title>{style(title)}</title></titles><dates><year>{style(str(year))}</year>"
        f"</dates><abstract>{style(abstract)}</abstract>"
        for i, (title, abstract, names, year) in enumerate(rows)
    ]
    papers, _ = read("w.xml", xml(*records))
    _check(papers, rows)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.booleans())
def test_written_tags_then_read_are_equal(read, rows, typed) -> None:
    text = "".join(
        ("%0 Journal Article\n" if typed else "")
        + f"%F k{i}\n"
        + "".join(f"%A {name}\n" for name in names)
        + f"%T {title}\n%D {year}\n%X {abstract}\n\n"
        for i, (title, abstract, names, year) in enumerate(rows)
    )
    papers, _ = read("w.enw", text)
    _check(papers, rows)


def _check(papers, rows) -> None:
    assert [(p.id, p.title, p.abstract, p.authors, p.year) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), tuple(names), year)
        for i, (title, abstract, names, year) in enumerate(rows)
    ]


def test_records_that_begin_with_their_title_keep_their_own_fields(read) -> None:
    """As Digital Commons writes them: the title before the type, and some records without a type."""
    contents = "%T Contents\n%B Tides\n%D 2021\n\n\n"
    first = "%T One\n%0 Journal Article\n%A Roe, Kim\n%D 2020\n%X A text.\n\nIts second paragraph.\n\n\n"
    last = "%T Two\n%0 Journal Article\n%A Lee, Bo\n%D 2019\n%X Words.\n"
    for text in (first + contents + last, contents + first + last):
        papers, report = read("commons.txt", text)
        assert {paper.title: (paper.authors, paper.year, paper.abstract) for paper in papers} == {
            "One": (("Kim Roe",), 2020, "A text. Its second paragraph."),
            "Contents": ((), 2021, ""),
            "Two": (("Bo Lee",), 2019, "Words."),
        }
        assert (report.files[0].format, len(papers)) == ("enw", 3)
    papers, _ = read("usual.enw", "%0 Book\n%A Roe, Kim\n%T One\n%0 Book\n%A Lee, Bo\n%T Two\n")
    assert [(paper.title, paper.authors) for paper in papers] == [("One", ("Kim Roe",)), ("Two", ("Bo Lee",))]


def test_lines_outside_of_records_are_counted(read) -> None:
    text = "My list\n\n%~ A database\n\n%0 Book\n%X 12\n% of all.\n\n%5 more\n%T One\n\nset 2\n\n%0 Book\n%T Two\n"
    papers, report = read("head.enw", text)
    assert [(paper.title, paper.abstract) for paper in papers] == [("One", "12 % of all. %5 more"), ("Two", "")]
    assert (report.skipped_count, report.files[0].note) == (0, "not papers: 3 other lines")
