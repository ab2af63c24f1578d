"""Records of library catalogues: MARC 21 and MARCXML."""

import pytest

from build_marc import ARTICLE, TIDES, build_record
from sciprism.errors import InputError
from sciprism.papers.input_file import ReadOptions


def test_fields_of_marc(read) -> None:
    pytest.importorskip("pymarc")
    (book, article), report = read("tides.mrc", build_record(TIDES) + b"\n" + build_record(ARTICLE))
    assert report.files[0].format == "marc"
    assert (book.id, book.title, book.year) == ("(XxTide)12", "Tides: a study of the coast", 2020)
    assert book.authors == ("Ada Keller", "Kim Roe", "Institute of Tides. Section Two")
    assert (book.abstract, book.venue) == ("Tides rise and fall.", "Sea Press")
    assert book.keywords == ("Tides", "Coasts", "sea level salt")
    assert book.ids == {"doi": "10.5555/tides", "isbn": "9780000000002", "url": "https://example.org/tides"}
    assert (article.title, article.authors, article.venue, article.year) == (
        "Å and salt",
        ("Ed Moss",),
        "Journal of salt",
        1999,
    )


def test_texts_of_each_encoding(read) -> None:
    """Many leaders say MARC-8 of UTF-8; MARC-8 has accents before their letter; national code pages must be named."""
    pytest.importorskip("pymarc")
    title = [("001", "1"), ("245", "00$aÅrhus og Ærø")]
    assert read("u.mrc", build_record(title, coding=" "))[0][0].title == "Århus og Ærø"
    marc8 = build_record([("001", "1"), ("245", "00$a\xeaArhus og \xa5r\xb2")], "latin-1", " ")
    assert read("m.mrc", marc8)[0][0].title == "Århus og Ærø"
    russian = build_record([("001", "1"), ("245", "00$aПриливы моря")], "cp1251", " ")
    with pytest.raises(InputError, match="neither UTF-8 nor MARC-8"):
        read("r.mrc", russian)
    assert read("r.mrc", russian, options=ReadOptions(encoding="cp1251"))[0][0].title == "Приливы моря"


def test_damaged_and_other_records_are_reported_and_the_next_read(read) -> None:
    pytest.importorskip("pymarc")
    good, unimarc = build_record(TIDES), build_record([("001", "5"), ("200", "1 $aLes marees")])
    papers, report = read("d.mrc", good + b"00050" + good[5:] + unimarc + good, skip_bad=True)
    assert [paper.title for paper in papers] == ["Tides: a study of the coast"] * 2
    first, second = (bad.reason for bad in report.skipped)
    assert "not MARC 21" in first and "UNIMARC" in second
