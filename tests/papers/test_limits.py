"""What an input may hold: long, deep and unpacked inputs are refused with a message, and time grows with their length.

The inputs are small. Where time would grow with the square of a length, they are so long that it would take minutes.
"""

import gzip
import json
import time
from pathlib import Path

import pytest

from sciprism.errors import InputError
from sciprism.files import describe_wrong_file
from sciprism.limits import LIMITS, limit
from sciprism.papers.bibliographic_fields import find_noted_ids, parse_printed_list, split_keywords, split_names
from sciprism.papers.cleaning import clean_paper, clean_text, decode_latex, normalize_doi, normalize_unicode
from sciprism.papers.identity import identify
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.readers.vocabularies import is_annif_object
from sciprism.papers.records import Paper
from sciprism.text.documents.wikipedia import strip_wikitext
from sciprism.uses.matching.reviewers import find_addresses, name_in_id, parse_person

SECONDS = 10.0  # of what takes a tenth of one; with time that grows with the square, minutes
N = 60_000
TEXTS = {
    "DOI": (normalize_doi, "10.1" * N),
    "closing brackets of a DOI": (normalize_doi, "10.1000/a" + ")" * N),
    "numbers of a DOI": (normalize_doi, "10.1000.1" * N),
    "one-letter tags": (clean_text, "<p>" * N),
    "attributes": (clean_text, '<sub a="" b="' * N),
    "hidden markup": (clean_text, "".join(f"<a{number}:script>" for number in range(N // 4))),
    "marks": (clean_text, "a" + "\u0323\u0301" * N),
    "LaTeX's options": (decode_latex, "\\cite[" * N),
    "LaTeX's line breaks": (decode_latex, "\\\\[" * N),
    "digits of a PMID": (lambda text: clean_paper(Paper(id="", ids={"pmid": text})), "1" * N),
    "zeros of a title": (lambda text: identify(Paper(id="a", title=text)), "0" * N + "x"),
    "spaces between names": (split_names, "Ada" + " " * N + "Lovelace"),
    "names": (split_names, "Ada and " * N),
    "commas in a brace": (split_keywords, "{" + "," * N),
    "quotation marks of a list": (parse_printed_list, "[" + '\\"' * N + "]"),
    "dots of a list": (parse_printed_list, "[" + "." * N + "]"),
    "lines of a note": (find_noted_ids, "\n" * N),
    "address": (lambda text: find_addresses([text]), "a" * N),
    "masked address": (lambda text: find_addresses([text]), "*" * N),
    "person": (parse_person, "Ada a " * N),
    "id of a person": (name_in_id, "aA" * N + "!"),
    "comments of a page": (lambda text: describe_wrong_file(text.encode()[:4096]), "<!---->" * N + "a"),
    "external links": (strip_wikitext, "[//" * N),
    "words of an external link": (strip_wikitext, "[//a" + " a" * N),
    "spaces of a heading": (strip_wikitext, "= a" + " " * N + "b"),
    "spaces in brackets": (strip_wikitext, "(" + " " * N + "a"),
    "tags of a page": (strip_wikitext, "<ref " * N),
    "open links": (strip_wikitext, "[[a|" * N),
}


@pytest.mark.parametrize("case", TEXTS)
def test_time_grows_with_the_length(case: str) -> None:
    function, text = TEXTS[case]
    began = time.perf_counter()
    function(text)
    assert time.perf_counter() - began < SECONDS


M = 30_000
FILES = {
    "a.bib": "@misc{a, title = " + " # ".join(['"x"'] * M) + "}\n",
    "b.bib": "@misc{a, title = {b}, author = {A" + " " * M + "B}}\n",
    "c.bib": "@comment{a}" * M + "@misc{a, title={b}}",
    "a.nbib": "PMID- 1\nTI  - a\nAB  - b\n" + "      text\n" * M,
    "a.ris": "TY  - JOUR\nTI  - a\nAB  - b\n" + "text\n" * M + "ER  - \n",
}


@pytest.mark.parametrize("name", FILES)
def test_time_of_reading_grows_with_the_length(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    began = time.perf_counter()
    assert len(list(read_papers(tmp_path / name))) == 1
    assert time.perf_counter() - began < SECONDS


def test_blank_lines_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gzip file of them is small, and each takes its time."""
    path = tmp_path / "a.ris.gz"
    path.write_bytes(gzip.compress(b"TY  - JOUR\nTI  - a\nER  - \n" + b"\n \n" * 600))
    assert len(list(read_papers(path))) == 1
    monkeypatch.setenv("SCIPRISM_LIMITS", "blank=1000")
    with pytest.raises(InputError, match=r"a\.ris\.gz, line 1004: more than 1,000 blank lines after each other"):
        list(read_papers(path))


UNUSABLE = {"a.enw": "%0 \n", "a.ris": "TY  - JOUR\n", "a.nbib": "PMID- 1\n", "a.bib": "@misc{a,}\n", "a.csv": "a,\n"}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_records_have_a_limit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed file of them is small, and each takes its time; those between papers are counted."""
    path, text = tmp_path / name, "id,title\n" * (name == "a.csv") + UNUSABLE[name] * 40
    path.write_text(text)
    monkeypatch.setenv("SCIPRISM_LIMITS", "unusable=40")
    report = ReadReport()
    assert not list(read_papers(path, skip_bad=True, report=report)) and report.skipped_count == 40
    monkeypatch.setenv("SCIPRISM_LIMITS", "unusable=39")
    with pytest.raises(InputError, match=rf"{path.name}, record 40.*: more than 39 records that cannot be used after "):
        list(read_papers(path, skip_bad=True))


def test_heads_of_blank_lines_are_searched_once() -> None:
    began = time.perf_counter()
    assert not any(paper_readers[name].recognizes("\n" * 65_000 + "a") for name in sorted(paper_readers))
    assert time.perf_counter() - began < SECONDS


def test_rows_that_swallow_all_below_are_read_again_a_few_times(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("title,abstract\n" + 'a","\n' * 5_000)
    with pytest.raises(InputError, match="its quotation marks are not closed"):
        list(read_papers(path, skip_bad=True))


ARTICLE = "<PubmedArticle><MedlineCitation><PMID>1</PMID><x>{}</x></MedlineCitation></PubmedArticle>"
WORK = {"id": "https://openalex.org/W1"}
REFUSED = [
    ("line", "a.ris", "TY  - JOUR\nTI  - " + "a" * 3000 + "\nER  - \n"),
    ("record", "a.nbib", "PMID- 1\nTI  - a\n" + "      aa\n" * 3000),
    ("record", "a.xml", "<PubmedArticleSet>" + ARTICLE.format("a" * 500_000) + "</PubmedArticleSet>"),
    ("record", "b.bib", "@misc{a, title = {b\n" + "b\n" * 3000),
    ("record", "a.json", '[{"id": "1", "title": "' + "a" * 200_000),
    ("macros", "a.bib", "@string{a = {" + "x" * 50 + "}}\n@misc{k, title = " + " # ".join(["a"] * 90) + "}\n"),
    ("nesting", "b.xml", "<PubmedArticleSet><PubmedArticle>" + "<a>" * 3000),
    ("words", "a.jsonl", json.dumps(WORK | {"abstract_inverted_index": {"a": [*range(3000)]}})),
    ("field", "b.jsonl", json.dumps(WORK | {"abstract_inverted_index": {"a" * 99: [*range(90)]}})),
]


@pytest.mark.parametrize(("name", "file", "content"), REFUSED, ids=[f"{name} {file}" for name, file, _ in REFUSED])
def test_more_than_a_limit_is_refused(name: str, file: str, content: str, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / file).write_text(content)
    monkeypatch.setenv("SCIPRISM_LIMITS", f"{name}=2000")
    with pytest.raises(InputError, match=rf"more than 2,000 .*set SCIPRISM_LIMITS={name}=16000"):
        list(read_papers(tmp_path / file))


def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    record = "TY  - JOUR\nTI  - a\nER  - \n"
    (tmp_path / "a.ris.gz").write_bytes(gzip.compress((record + "N1  - " + " " * (40 << 20)).encode()))
    with pytest.raises(InputError, match="unpacks to more than 250 times the packed bytes"):
        list(read_papers(tmp_path / "a.ris.gz"))


def test_limits_that_do_not_exist_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPRISM_LIMITS", "record=5, line = 7")
    assert (limit("record"), limit("line"), limit("words")) == (5, 7, LIMITS["words"][0])
    for wrong in ("lines=5", "line=many"):
        monkeypatch.setenv("SCIPRISM_LIMITS", wrong)
        with pytest.raises(InputError, match=r"unknown limit .*; known: ratio, line"):
            limit("line")


def test_what_is_nested_too_deeply_or_escaped_wrongly_is_no_crash() -> None:
    assert not is_annif_object('{"a":' + "[" * 50_000)
    assert parse_printed_list("['\\x']") is None


def test_of_many_marks_on_a_letter_the_first_stay() -> None:
    assert normalize_unicode("NFC", "e\u0301") == "é"
    assert len(normalize_unicode("NFC", "x" + "\u0323\u0301" * 500)) == 31
    assert normalize_unicode("NFC", "—" * 100) == "—" * 100
