import io
import zipfile
from pathlib import Path

import pytest

from sciprism.errors import InputError, ShownWarning
from sciprism.papers import read_papers
from sciprism.papers.input_file import ReadOptions

SAMPLE = Path(__file__).parent / "samples" / "excel.xlsx"


def change_sample(old: str, new: str) -> bytes:
    """Return the sample with other text in the XML of its second sheet."""
    changed = io.BytesIO()
    with zipfile.ZipFile(SAMPLE) as sample, zipfile.ZipFile(changed, "w") as archive:
        for name in sample.namelist():
            content = sample.read(name)
            archive.writestr(name, content.replace(old.encode(), new.encode()) if "sheet2" in name else content)
    return changed.getvalue()


def test_first_sheet_with_a_title_or_the_named_one(read) -> None:
    with pytest.warns(ShownWarning, match="wos.xlsx: the first sheet .* was read, not 'Notes'; choose"):
        papers, report = read("wos.xlsx", SAMPLE.read_bytes())
    assert report.files[0].note == "1 other sheet not read"
    assert [(p.id, p.year, p.place and p.place.line) for p in papers] == [("WOS:1", 2019, 2), ("WOS:2", 2021, 3)]
    assert papers[0].authors == ("Jane Doe", "Richard Roe")
    assert [paper.id for paper in read_papers([f"{SAMPLE}#savedrecs"])] == ["WOS:1", "WOS:2"]


def test_titles_under_another_header(tmp_path: Path) -> None:
    (tmp_path / "own.xlsx").write_bytes(change_sample("Article Title", "Titel der Arbeit"))
    sheet = [f"{tmp_path / 'own.xlsx'}#savedrecs"]
    with pytest.raises(InputError, match=r"no column 'title'; nearest: 'Titel der Arbeit'.*--columns 'title=Titel der"):
        list(read_papers(sheet))
    columns = {"title": "titel der arbeit", "id": "Abstract"}
    _, paper = read_papers(sheet, options=ReadOptions(columns=columns))
    assert (paper.id, paper.title) == ("We count every grain, twice.", "Counting grains of sand")


def test_a_stray_cell_far_away_and_no_workbook_at_all(read) -> None:
    stray = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with pytest.raises(InputError, match="asks for over 6 GB, or has more than"):
        read("stray.xlsx", change_sample("</sheetData>", stray))
    with pytest.raises(InputError, match="not a workbook that can be read"):
        read("cut.xlsx", SAMPLE.read_bytes()[:-40])


def ods(*rows: str) -> bytes:
    """Return the least of an OpenDocument sheet with these rows of cells."""
    urn, names = "urn:oasis:names:tc:opendocument:xmlns", ("office", "table", "text")
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    body = f'<office:spreadsheet><table:table table:name="a">{table}</table:table></office:spreadsheet>'
    spaces = " ".join(f'xmlns:{name}="{urn}:{name}:1.0"' for name in names)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{urn}:manifest:1.0"/>')
        document = f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>"
        archive.writestr("content.xml", document)
    return content.getvalue()


CELL = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'


def test_an_opendocument_sheet_is_read_and_one_that_repeats_cells_is_bounded(read, monkeypatch) -> None:
    rows = ["".join(CELL.format("", text) for text in row) for row in (("title", "year"), ("Sand", "1999"))]
    papers, _ = read("a.ods", ods(*rows))
    assert [(paper.title, paper.year) for paper in papers] == [("Sand", 1999)]
    monkeypatch.setenv("SCIPRISM_LIMITS", "cells=100")
    with pytest.raises(InputError, match=r"more than 100 cells in a sheet.*save it as CSV"):
        read("b.ods", ods(*rows, CELL.format(' table:number-columns-repeated="40"', "x")))
