"""Readers of documents: what each reads, drops, counts and survives."""

import bz2
import gzip
import io
import json
import tarfile

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.text.documents.document import document_readers, normalize_licence, read_documents
from sciprism.text.documents.wikipedia import strip_wikitext

JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) v1.2//EN" "JATS-archivearticle1.dtd">
<article xml:lang="en" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML">
<front><article-meta>
<article-id pub-id-type="pmc">PMC77</article-id><article-id pub-id-type="pmid">123</article-id>
<title-group><article-title>Dark <italic>matter</italic></article-title></title-group>
<permissions><license license-type="open-access" xlink:href="https://creativecommons.org/licenses/by/4.0/">
<license-p>This is open.</license-p></license></permissions>
<abstract><title>Aims</title><p>We look.</p></abstract>
<abstract abstract-type="graphical"><p>A picture.</p></abstract>
</article-meta></front>
<body><sec><title>Methods</title><p>We took <mml:math><mml:mi>x</mml:mi></mml:math> of it
<list><list-item><p>first</p></list-item></list> home <xref ref-type="fig">Fig. 1</xref>.</p>
<fig><caption><p>A caption.</p></caption></fig><table-wrap><table><tr><td>7</td></tr></table></table-wrap>
<p>The end.</p></sec></body>
<back><ref-list><ref>Smith 1999</ref></ref-list></back></article>"""
JATS_TEXT = "Dark matter\n\nAims\n\nWe look.\n\nMethods\n\nWe took of it first home Fig. 1.\n\nThe end."
WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename></siteinfo>
<page><title>Halo</title><ns>0</ns><id>1</id>
<revision><id>9</id><text>A '''halo''' of [[matter|stuff]].</text></revision></page>
<page><title>Talk:Halo</title><ns>1</ns><id>2</id><revision><text>No.</text></revision></page>
<page><title>Halos</title><ns>0</ns><id>3</id><redirect title="Halo"/>
<revision><text>#R</text></revision></page>
</mediawiki>"""
ADS = {"bibcode": "2001A", "title": ["Spin of <SUB>2</SUB>"], "abstract": "We spin.", "body": "It spun."}
ADS |= {"doi": ["10.1/X"], "identifier": ["arXiv:0101.0010"]}
UMM = {"EntryTitle": "Sea ice", "Abstract": "Daily maps.", "DOI": {"DOI": "10.5/ice"}}
CMR = {"meta": {"concept-id": "C1-X"}, "umm": UMM}


def read(path, **options):
    dropped = DropReport()
    found = list(read_documents(path, dropped=dropped, **options))
    return found, {reason: dropped.count(reason) for reason in dropped.ids}


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ["a.xml", "a.nxml", "a.xml.gz"])
def test_an_article_of_pmc(tmp_path, name):
    content = gzip.compress(JATS.encode()) if name.endswith("gz") else JATS
    (found,), dropped = read(put(tmp_path / name, content))
    assert found.text == JATS_TEXT and dropped == {}
    assert (found.id, found.language, found.licence) == ("pmcid:PMC77", "en", "CC BY")
    assert found.paper.title == "Dark matter" and found.paper.ids["pmid"] == "123"


def test_articles_of_an_archive_and_what_is_broken_in_it(tmp_path):
    files = {"x/a.nxml": JATS, "x/b.nxml": "<article><front>", "x/c.txt": "no", "x/d.xml": JATS.replace("77", "78")}
    with tarfile.open(tmp_path / "pmc.tar.gz", "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    found, dropped = read(tmp_path / "pmc.tar.gz")
    assert [each.id for each in found] == ["pmcid:PMC77", "pmcid:PMC78"]
    assert dropped == {"record that cannot be read": 1}
    whole = (tmp_path / "pmc.tar.gz").read_bytes()
    found, dropped = read(put(tmp_path / "cut.tar.gz", whole[: len(whole) // 2]))
    assert dropped["file that is damaged or truncated"] == 1


@pytest.mark.parametrize("packed", [True, False])
def test_a_dump_of_wikipedia(tmp_path, packed):
    name, content = ("w.xml.bz2", bz2.compress(WIKI.encode())) if packed else ("w.xml", WIKI)
    (found,), dropped = read(put(tmp_path / name, content))
    assert (found.id, found.text, found.language) == ("wikipedia:1", "Halo\n\nA halo of stuff.", "en")
    assert dropped == {"page that is not an article": 1, "redirect": 1}
    if packed:
        assert read(put(tmp_path / "cut.xml.bz2", content[:40]))[1] == {"file that is damaged or truncated": 1}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a {{cite|{{x}}|y}} b", "a  b"),
        ("a {{open b", "a open b"),
        ("{|\n| 1\n{|\n| 2\n|}\n|}\nafter", "after"),
        ("x<ref name=a>note {{y}}</ref> y<ref name=a /> z<!-- no -->", "x y z"),
        ("[[File:a.png|thumb|A [[cat]] sits]]The [[dog]]s and [[cat (animal)|cat]]", "The dogs and cat"),
        ("[[Category:Cats]]see [http://x.org here] and [http://y.org]", "see here and "),
        ("==History==\nIt '''is''' ''so''.\n* one\n# two", "History\n\nIt is so.\none\ntwo"),
        ("&alpha; &lt;b&gt; <br/>x <math>a<b</math>", "α <b> x"),
        ("(; ) a __NOTOC__", "a"),
        ("a [//x.org b [c d] e\n[ftp://y z\n] [mailto://q] [x]", "a b [c d e\n[ftp://y z\n]  [x]"),
        ("= One =\na\n=== Two==\n== ==\nb = c", "One\n\na\n\n= Two\n\nb = c"),
    ],
)
def test_markup_is_taken_off(markup, text):
    assert strip_wikitext(markup) == text.strip()


def test_a_page_of_marks_alone_takes_no_time():
    for mark in ("{{", "[[", "{{a|", "<ref>", "}}", "{|\n", "(", "'''", "=", "<!--"):
        strip_wikitext(mark * (200_000 // len(mark)))


def test_records_of_ads_and_cmr(tmp_path):
    lines = json.dumps(ADS) + "\n[1]\n" + json.dumps(ADS | {"bibcode": "2002B", "title": None, "body": None})
    found, dropped = read(put(tmp_path / "ads.jsonl", lines))
    assert [each.text for each in found] == ["Spin of 2\n\nWe spin.\n\nIt spun.", "We spin."]
    assert found[0].paper.ids == {"doi": "10.1/x", "arxiv": "0101.0010"}
    assert dropped == {"record that cannot be read": 1}
    answer = {"responseHeader": {}, "response": {"numFound": 1, "docs": [ADS]}}
    assert read(put(tmp_path / "ads.json", json.dumps(answer)))[0][0].id == "2001A"
    (found,), _ = read(put(tmp_path / "cmr.json", json.dumps({"hits": 1, "items": [CMR]})))
    assert (found.id, found.text) == ("C1-X", "Sea ice\n\nDaily maps.")
    assert read(put(tmp_path / "umm.jsonl", json.dumps(UMM)))[0][0].paper.ids == {"doi": "10.5/ice"}


def test_rows_and_parquet(tmp_path):
    rows = [
        {"id": "a", "text": "One.", "lang": "de", "license": "cc-by-4.0"},
        {"id": "b", "text": None},
        {"id": "c", "text": "Three.", "lang": "en", "license": "CC0"},
    ]
    lines = "\n".join([*map(json.dumps, rows), "{broken", "7"])
    for path in (put(tmp_path / "r.jsonl", lines), tmp_path / "r.parquet"):
        if path.suffix == ".parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        found, dropped = read(path)
        assert [(each.id, each.text) for each in found] == [("a", "One."), ("c", "Three.")]
        assert [(each.language, each.licence) for each in found] == [("de", "CC BY"), ("en", "CC0")]
        assert dropped["no text"] == 1 and dropped.get("record that cannot be read", 2) == 2
    assert read(tmp_path / "r.parquet", columns=["lang", "text"])[0][0].text == "de\n\nOne."
    assert read(tmp_path / "r.parquet", columns=["body"])[1] == {"file that is damaged or truncated": 1}
    whole = (tmp_path / "r.parquet").read_bytes()
    assert read(put(tmp_path / "cut.parquet", whole[:-9]))[1] == {"file that is damaged or truncated": 1}


def test_plain_text_in_three_ways(tmp_path):
    path = put(tmp_path / "a.txt", "\n\nOne\nmore.\n \n\nTwo.\n")
    assert [each.text for each in read(path)[0]] == ["One\nmore.", "Two."]
    assert [each.text for each in read(path, kind="text-line")[0]] == ["One", "more.", "Two."]
    (whole,), _ = read(path, kind="text-file")
    assert whole.text == "One\nmore.\n \n\nTwo." and whole.id == "a.txt, line 3"


def test_what_cannot_be_read_is_counted_and_the_rest_goes_on(tmp_path):
    put(tmp_path / "a.txt", "")
    put(tmp_path / "b.txt", "\n \n")
    put(tmp_path / "c.txt", "caf\xe9 society\n\nnext".encode("latin-1"))
    put(tmp_path / "d.jsonl.gz", gzip.compress(b'{"text": "x"}\n' * 99)[:-12])
    put(tmp_path / "e.bin", b"\x00\x01\xff")
    put(tmp_path / "f.xml", "<other/>")
    put(tmp_path / "g.txt", "ab" * 500_000)
    put(tmp_path / "h.txt.gz", gzip.compress(b"packed"))
    put(tmp_path / ".hidden.txt", "no")
    found, dropped = read(tmp_path)
    assert [each.text[:12] for each in found if each.text != "x"] == ["café society", "next", "ab" * 6, "packed"]
    assert dropped == {
        "empty file": 2,
        "file that is not valid UTF-8, still read": 1,
        "file that is damaged or truncated": 1,
        "file of no known kind": 2,
    }
    with pytest.raises(InputError, match=r"e\.bin: of no known kind; known: ads"):
        read(tmp_path / "e.bin")
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "z.txt")
    with pytest.raises(InputError, match="unknown kind of document 'novel'"):
        read(tmp_path, kind="novel")


@pytest.mark.parametrize(
    ("licence", "normalized"),
    [
        ("https://creativecommons.org/licenses/by-nc-sa/4.0/", "CC BY-NC-SA"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "CC0"),
        ("CC BY-NC 3.0", "CC BY-NC"),
        ("Elsevier's  own", "Elsevier's own"),
        ("", ""),
    ],
)
def test_licences_in_one_form(licence, normalized):
    assert normalize_licence(licence) == normalized


@pytest.mark.parametrize("kind", document_readers)
@settings(max_examples=20)
@given(content=st.one_of(st.binary(max_size=300), st.sampled_from([JATS, WIKI, json.dumps(ADS), json.dumps(CMR)])))
def test_no_reader_breaks_on_any_bytes(tmp_path_factory, kind, content):
    """Any file gives documents or is counted."""
    folder = tmp_path_factory.mktemp("any")
    for suffix in document_readers[kind].suffixes:
        path = put(folder / f"a{suffix}", content)
        for document in read_documents(path, kind=kind, dropped=(dropped := DropReport())):
            assert document.text.strip()
        assert dropped is not None
