from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError, ShownWarning
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.cleaning import clean_text
from sciprism.papers.input_file import ReadOptions

Rows = Sequence[Sequence[str | int]]
PLAIN = st.text(alphabet="abcXYZäß漢019 .,:;|\"\n'&!", min_size=1, max_size=40).filter(clean_text)
_DEFAULT = '<Default Extension="xml" ContentType="application/xml"/>'
_NAMESPACE = "http://schemas.openxmlformats.org"


def build_workbook(sheets: Mapping[str, Rows], *, stray: str = "") -> bytes:
    """Return the least of an Excel file: texts in the cells themselves, no styles."""
    types = f'<Types xmlns="{_NAMESPACE}/package/2006/content-types">{_DEFAULT}</Types>'
    relations = '<Relationship Id="r{0}" Type="{1}/officeDocument/2006/relationships/{2}" Target="{3}"/>'
    listed, linked, members = "", "", {}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{escape(name)}" sheetId="{number}" r:id="r{number}"/>'
        linked += relations.format(number, _NAMESPACE, "worksheet", f"worksheets/sheet{number}.xml")
        cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows) + stray
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_NAMESPACE}/spreadsheetml/2006/main"><dimension ref="A1"/>'
            f"<sheetData>{cells}</sheetData></worksheet>"
        )
    start, end = f'<Relationships xmlns="{_NAMESPACE}/package/2006/relationships">', "</Relationships>"
    linking = f'xmlns:r="{_NAMESPACE}/officeDocument/2006/relationships"'
    workbook = f'<workbook xmlns="{_NAMESPACE}/spreadsheetml/2006/main" {linking}>'
    members |= {
        "[Content_Types].xml": types,
        "_rels/.rels": start + relations.format(1, _NAMESPACE, "officeDocument", "xl/workbook.xml") + end,
        "xl/workbook.xml": f"{workbook}<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": start + linked + end,
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text)
    return packed.getvalue()


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


HEADERS = ["UT (Unique WOS ID)", "Article Title", "Author Full Names", "Abstract", "Publication Year"]
ROWS = [["WOS:1", "One", "Doe, Jane; Roe, Kim", "Text", 2001], ["WOS:2", "Two", "", "", 2002]]


def test_first_sheet_with_a_title_or_the_named_one(read, tmp_path: Path) -> None:
    notes = [["Exported on 1 May"], []]
    data = build_workbook({"Notes": notes, "savedrecs": [*notes, HEADERS, *ROWS], "More": [["Title"], ["Three"]]})
    with pytest.warns(ShownWarning, match="wos.xlsx: the first sheet .* was read, not 'Notes', 'More'; choose"):
        papers, report = read("wos.xlsx", data)
    assert report.files[0].note == "2 other sheets not read"
    assert [(p.id, p.title, p.authors, p.year) for p in papers] == [
        ("WOS:1", "One", ("Jane Doe", "Kim Roe"), 2001),
        ("WOS:2", "Two", (), 2002),
    ]
    assert papers[0].place is not None and papers[0].place.line == 4
    path = tmp_path / "wos.xlsx"
    path.write_bytes(data)
    report = ReadReport()
    (paper,) = read_papers([f"{path}#More"], report=report)
    assert paper.title == "Three"
    assert report.files[0].path == f"{path}#More"
    with pytest.raises(InputError, match=r"no sheet 'Moer'; sheets: Notes, savedrecs, More"):
        list(read_papers([f"{path}#Moer"]))
    with pytest.raises(InputError, match="no such file"):
        list(read_papers([f"{tmp_path / 'other.xlsx'}#More"]))
    text = tmp_path / "a.ris"
    text.write_text("TY  - JOUR\nTI  - One\nER  - \n")
    with pytest.raises(InputError, match="a ris file has no parts"):
        list(read_papers([f"{text}#More"]))


def test_titles_under_another_header(read) -> None:
    data = build_workbook({"Sheet1": [["Nr", "Titel der Arbeit"], [7, "Eins"]]})
    with pytest.raises(InputError, match=r"no column 'title'; nearest: 'Titel der Arbeit'.*--columns 'title=Titel der"):
        read("own.xlsx", data)
    (paper,), _ = read("own.xlsx", data, options=ReadOptions(columns={"title": "titel der arbeit", "id": "Nr"}))
    assert (paper.id, paper.title) == ("7", "Eins")


def test_a_workbook_whose_part_begins_behind_its_end(read) -> None:
    data = bytearray(build_workbook({"Sheet1": [HEADERS, *ROWS]}))
    header = data.index(b"xl/worksheets") - 30
    data[header + 28 : header + 30] = b"\xff\xff"  # the length of the extra field
    with pytest.raises(InputError, match="not a workbook that can be read"):
        read("cut.xlsx", bytes(data))


def test_a_stray_cell_far_away_and_no_workbook_at_all(read) -> None:
    with pytest.raises(InputError, match="asks for over 6 GB, or has more than"):
        read(
            "stray.xlsx",
            build_workbook({"a": [HEADERS, *ROWS]}, stray='<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        )
    with pytest.raises(InputError, match="not a workbook that can be read"):
        read("cut.xlsx", build_workbook({"a": [HEADERS, *ROWS]})[:-40])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(PLAIN, PLAIN, st.integers(1500, 2030)), min_size=1, max_size=6))
def test_written_then_read_is_equal(read, rows) -> None:
    table = [["id", "title", "abstract", "year"], *([f"k{i}", *row] for i, row in enumerate(rows))]
    papers, _ = read("written.xlsx", build_workbook({"papers": table}))
    assert [(p.id, p.title, p.abstract, p.year) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), year) for i, (title, abstract, year) in enumerate(rows)
    ]


def ods(rows: str) -> bytes:
    """Return the least of an OpenDocument sheet with these rows."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in NAMES)
        body = f'<office:spreadsheet><table:table table:name="a">{rows}</table:table></office:spreadsheet>'
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>",
        )
    return content.getvalue()


NAMES = ("office", "table", "text")
CELL = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'


def test_an_opendocument_sheet_is_read_and_one_that_repeats_cells_is_bounded(read, monkeypatch) -> None:
    header = f"<table:table-row>{CELL.format('', 'title')}{CELL.format('', 'year')}</table:table-row>"
    paper = f"<table:table-row>{CELL.format('', 'Sand')}{CELL.format('', '1999')}</table:table-row>"
    papers, _ = read("a.ods", ods(header + paper))
    assert [(paper.title, paper.year) for paper in papers] == [("Sand", 1999)]
    repeated = CELL.format(' table:number-columns-repeated="40"', "x")
    monkeypatch.setenv("SCIPRISM_LIMITS", "cells=100")
    with pytest.raises(InputError, match=r"more than 100 cells in a sheet.*save it as CSV"):
        read("b.ods", ods(header + paper + f"<table:table-row>{repeated}</table:table-row>"))
