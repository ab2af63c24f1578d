"""Fields of catalogues' records, which differ in order, roles and punctuation."""

TIDES = """
001 12
003 XxTide
008 200101s2020    xx            000 0 eng d
020 $a9780000000002 (paper)
024 $a10.5555/tides$2doi
100 $aKeller, Ada,$d1809-1882,$eauthor.
245 $aTides :$ba study of the coast /$cby Ada Keller ; translated by Bo Lee.
264 $aHaven :$bSea Press,$cc2020.
520 $aTides rise and fall.
650 $aTides.
650 $aCoasts$zNorway.
653 $asea level$asalt
700 $aLee, Bo,$etranslator.
700 $aRoe, Kim.
710 $aInstitute of Tides.$bSection Two.
700 $aShakespeare, William.$tThe tempest.
856 $uhttps://example.org/tides
"""
ARTICLE = """
001 13
008 990101s1999    xx            000 0 eng d
245 $aÅ and salt /
700 $aMoss, Ed,$eeditor.
773 $tJournal of salt$gVol. 1, p. 2
"""


def build_record(text: str) -> str:
    """Return a record of lines of a tag and the text of its subfields."""
    fields = []
    for tag, content in (line.split(" ", 1) for line in text.strip().split("\n")):
        parts = "".join(f'<subfield code="{part[0]}">{part[1:]}</subfield>' for part in content.split("$")[1:])
        kind = "datafield" if parts else "controlfield"
        fields.append(f'<{kind} tag="{tag}">{parts or content}</{kind}>')
    return f"<record>{''.join(fields)}</record>"


def build_collection(*records: str) -> str:
    return f'<collection xmlns="http://www.loc.gov/MARC21/slim">{"".join(map(build_record, records))}</collection>'


def test_fields_of_marc(read) -> None:
    (book, article), report = read("tides.xml", build_collection(TIDES, ARTICLE))
    assert report.files[0].format == "marcxml"
    assert (book.id, book.title, book.year) == ("(XxTide)12", "Tides: a study of the coast", 2020)
    assert book.authors == ("Ada Keller", "Kim Roe", "Institute of Tides. Section Two")
    assert (book.abstract, book.venue) == ("Tides rise and fall.", "Sea Press")
    assert book.keywords == ("Tides", "Coasts", "sea level salt")
    assert book.ids == {"doi": "10.5555/tides", "isbn": "9780000000002", "url": "https://example.org/tides"}
    found = article.title, article.authors, article.venue, article.year
    assert found == ("Å and salt", ("Ed Moss",), "Journal of salt", 1999)


def test_unimarc_is_refused_and_the_next_record_read(read) -> None:
    papers, report = read("d.xml", build_collection("001 5\n200 $aLes marees", TIDES), skip_bad=True)
    assert [paper.title for paper in papers] == ["Tides: a study of the coast"]
    assert "UNIMARC" in report.skipped[0].reason
