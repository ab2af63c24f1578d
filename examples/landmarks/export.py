"""Write landmarks.bib, landmarks.ris and landmarks.csl.json next to landmarks.jsonl, from its content.

Run `python examples/landmarks/export.py` after every change of landmarks.jsonl.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sciprism.papers import Paper

HERE = Path(__file__).parent


class Kind(NamedTuple):
    """A kind of publication, and the field that holds its venue, in the words of each format."""

    bibtex: str
    bibtex_venue: str
    ris: str
    ris_venue: str
    csl: str
    csl_venue: str


ARTICLE = Kind("article", "journal", "JOUR", "JF", "article-journal", "container-title")
BOOK = Kind("book", "publisher", "BOOK", "PB", "book", "publisher")
CHAPTER = Kind("incollection", "booktitle", "CHAP", "T2", "chapter", "container-title")
LECTURE = Kind("inproceedings", "booktitle", "CPAPER", "T2", "paper-conference", "container-title")
REPORT = Kind("techreport", "institution", "RPRT", "PB", "report", "publisher")

BOOKS = """
copernicus1543revolutionibus kepler1609astronomia galilei1610sidereus harvey1628motu newton1687principia
smith1776wealth lavoisier1789traite jenner1798inquiry malthus1798population dalton1808system
lyell1830principles snow1855cholera ebbinghaus1885gedachtnis durkheim1897suicide richardson1922weather
payne1925atmospheres terzaghi1925erdbaumechanik kolmogorov1933grundbegriffe keynes1936general
milankovitch1941kanon vonneumann1944theory hebb1949organization ostrom1990governing
"""
LECTURES = """
prandtl1905flussigkeitsbewegung cook1971complexity krizhevsky2012imagenet he2016deep vaswani2017attention
"""
KIND_OF = {
    **dict.fromkeys(BOOKS.split(), BOOK),
    **dict.fromkeys(LECTURES.split(), LECTURE),
    "hess1962history": CHAPTER,
    "karp1972reducibility": CHAPTER,
    "vonneumann1945first": REPORT,
}

# Family names of more than one word, and the ends of names that are no single person's.
FAMILIES = ("Le Rossignol", "Pérez Marc", "Ramón y Cajal", "Van Allen", "van Leeuwenhoek", "von Neumann")
GROUPS = ("Collaboration", "Committee", "Consortium", "Group", "Student")

ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328",
        ("`", "'", "^", "~", "=", "u", ".", '"', "r", "H", "v", "c", "k"),
        strict=True,
    )
)
LETTERS = {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
SPECIAL = set("&%$#_{}")


def read_landmarks() -> list[Paper]:
    """Read the collection in the order of its file."""
    lines = (HERE / "landmarks.jsonl").read_text(encoding="utf-8").splitlines()
    return [Paper.from_json(json.loads(line)) for line in lines]


def to_latex(text: str) -> str:
    """Write accented Latin letters and special characters as LaTeX commands; all others stay UTF-8."""
    return "".join(map(_latex_character, text))


def split_name(author: str) -> tuple[str, str]:
    """Return (given, family); the given name is empty for a group."""
    if author.endswith(GROUPS):
        return "", author
    family = next((name for name in FAMILIES if author.endswith(f" {name}")), author.rpartition(" ")[2])
    return author.removesuffix(family).strip(), family


def bibtex_entry(paper: Paper) -> str:
    """Return one BibTeX entry."""
    kind = KIND_OF.get(paper.id, ARTICLE)
    fields = {
        "author": " and ".join(map(_bibtex_author, paper.authors)),
        "title": f"{{{to_latex(paper.title)}}}",  # double braces keep the capitals
        kind.bibtex_venue: to_latex(paper.venue),
        "year": str(paper.year),
        "doi": paper.ids.get("doi", ""),
        "keywords": to_latex(", ".join(paper.keywords)),
        "abstract": to_latex(paper.abstract),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{kind.bibtex}{{{paper.id},\n" + ",\n".join(lines) + "\n}\n"


def ris_record(paper: Paper) -> str:
    """Return one RIS record."""
    return "".join(f"{tag}  - {value}\n" for tag, value in _ris_lines(paper)) + "ER  - \n"


def csl_item(paper: Paper) -> dict[str, Any]:
    """Return one CSL-JSON item."""
    kind = KIND_OF.get(paper.id, ARTICLE)
    item = {
        "id": paper.id,
        "type": kind.csl,
        "title": paper.title,
        "author": [_csl_author(author) for author in paper.authors],
        kind.csl_venue: paper.venue,
        "issued": {"date-parts": [[paper.year]]},
        "DOI": paper.ids.get("doi"),
        "keyword": ", ".join(paper.keywords),
        "abstract": paper.abstract,
    }
    return {name: value for name, value in item.items() if value}


def main() -> None:
    """Write the three exports."""
    papers = read_landmarks()
    _write("landmarks.bib", "\n".join(map(bibtex_entry, papers)))
    _write("landmarks.ris", "\n".join(map(ris_record, papers)))
    csl = json.dumps([csl_item(paper) for paper in papers], ensure_ascii=False, indent=1)
    _write("landmarks.csl.json", csl + "\n")


def _latex_character(character: str) -> str:
    if character in SPECIAL:
        return f"\\{character}"
    if character in LETTERS:
        return f"{{\\{LETTERS[character]}}}"
    decomposed = unicodedata.normalize("NFD", character)
    base, mark = decomposed[0], decomposed[1:]
    if mark in ACCENTS and base.isascii():
        accent = ACCENTS[mark]
        letter = "\\i" if base == "i" else base  # the accent takes the place of the dot
        return f"{{\\{accent}{{{letter}}}}}" if accent.isalpha() else f"{{\\{accent}{letter}}}"
    return character


def _bibtex_author(author: str) -> str:
    given, family = split_name(author)
    return f"{to_latex(family)}, {to_latex(given)}" if given else f"{{{to_latex(family)}}}"


def _csl_author(author: str) -> dict[str, str]:
    given, family = split_name(author)
    return {"family": family, "given": given} if given else {"literal": family}


def _ris_lines(paper: Paper) -> Iterator[tuple[str, str]]:
    kind = KIND_OF.get(paper.id, ARTICLE)
    yield "TY", kind.ris
    yield "ID", paper.id
    for author in paper.authors:
        given, family = split_name(author)
        yield "AU", f"{family}, {given}" if given else family
    yield "TI", paper.title
    yield kind.ris_venue, paper.venue
    yield "PY", str(paper.year)
    if doi := paper.ids.get("doi"):
        yield "DO", doi
    for keyword in paper.keywords:
        yield "KW", keyword
    yield "AB", paper.abstract


def _write(name: str, text: str) -> None:
    (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
