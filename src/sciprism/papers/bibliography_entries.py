"""A paper's DOI and web address, and its entries of BibTeX and RIS files, for Zotero, EndNote and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from sciprism.papers.bibliographic_fields import is_organization, split_person
from sciprism.papers.cleaning import normalize_doi
from sciprism.papers.records import Paper

RESOLVERS = {
    "doi": "https://doi.org/{}",
    "arxiv": "https://arxiv.org/abs/{}",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/{}/",
    "openalex": "https://openalex.org/{}",
    "s2": "https://www.semanticscholar.org/paper/{}",
}
"""System -> the address of an id; the first that a paper has is its address."""

_TEX = str.maketrans(
    {character: f"\\{character}" for character in "{}&%$#_"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
_IN_ADDRESSES = "/:()!$&'*+,=@~"  # of a DOI, which may have < and # too; rispy splits addresses at semicolons
_WEB = re.compile(r"(?:https?|ftp)://|www\.", re.IGNORECASE)  # others, such as data:, are pages of the paper's own
_RANGE = re.compile(r"[^\s,;-]+-[^\s,;-]+")
_NO_KEY = re.compile(r"[^A-Za-z0-9_:./+-]+")


def find_doi(paper: Paper) -> str:
    """Return the DOI, also where the id is one; "" where there is none.

    >>> find_doi(Paper(id="https://doi.org/10.1038/171737A0"))
    '10.1038/171737a0'
    """
    return paper.ids.get("doi") or normalize_doi(paper.id)


def find_url(paper: Paper) -> str:
    """Return the web address of a paper: by its DOI, else another system's id, else the one that was read.

    >>> find_url(Paper(id="a", ids={"arxiv": "1706.03762"}))
    'https://arxiv.org/abs/1706.03762'
    """
    ids = {**paper.ids, "doi": find_doi(paper)}
    known = (url.format(quote(ids[system], _IN_ADDRESSES)) for system, url in RESOLVERS.items() if ids.get(system))
    url = re.sub(r"^(?=www\.)", "https://", ids.get("url", ""), flags=re.IGNORECASE)
    return next(known, url if _WEB.match(url) else "")


def format_bibtex(papers: Iterable[tuple[Paper, str]]) -> Iterator[str]:
    """Yield an entry of BibTeX for each paper with its note; keys are the ids, and differ.

    >>> print(*format_bibtex([(Paper(id="dna", title="Nucleic acids", year=1953), "rank 1")]))
    @misc{dna,
      title = {{Nucleic acids}},
      year = {1953},
      note = {rank 1}
    }
    """
    used: dict[str, int] = {}
    for paper, note in papers:
        key = _NO_KEY.sub("-", paper.id).strip("-") or "paper"
        used[key.lower()] = used.get(key.lower(), 0) + 1
        if used[key.lower()] > 1:
            key = f"{key}-{used[key.lower()]}"
        fields = {
            "title": f"{{{_escape(paper.title)}}}" if paper.title else "",
            "author": " and ".join(map(_format_author, paper.authors)),
            "journal": _escape(paper.venue),
            "year": str(paper.year or ""),
            "volume": _escape(paper.volume),
            "number": _escape(paper.issue),
            "pages": _escape(paper.pages),
            "doi": find_doi(paper).replace("{", "%7B").replace("}", "%7D"),
            "url": find_url(paper).replace("{", "%7B").replace("}", "%7D"),
            "abstract": _escape(paper.abstract),
            "keywords": _escape(", ".join(paper.keywords)),
            "note": _escape(note),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        yield f"@{'article' if paper.venue else 'misc'}{{{key},\n{lines}\n}}"


def format_ris(papers: Iterable[tuple[Paper, str]]) -> Iterator[str]:
    """Yield an entry of RIS for each paper with its note.

    Authors are `Last, First, Suffix`, as the format asks for: without a comma, Zotero takes all for the last name.
    """
    for paper, note in papers:
        first, _, last = paper.pages.partition("-") if _RANGE.fullmatch(paper.pages) else (paper.pages, "", "")
        lines = [("TY", "JOUR" if paper.venue else "GEN"), ("ID", paper.id), ("TI", paper.title)]
        names = ((name,) if is_organization(name) else split_person(name) for name in paper.authors)
        lines += [("AU", ", ".join(filter(None, parts))) for parts in names]
        lines += [("PY", str(paper.year or "")), ("JO", paper.venue), ("VL", paper.volume)]
        lines += [("IS", paper.issue), ("SP", first), ("EP", last), ("DO", find_doi(paper)), ("UR", find_url(paper))]
        lines += [("AB", paper.abstract), *(("KW", word) for word in paper.keywords), ("N1", note)]
        yield "".join(f"{tag}  - {' '.join(text.split())}\n" for tag, text in lines if text) + "ER  - \n"


def _format_author(name: str) -> str:
    """Return a name as BibTeX reads it: organizations, and names that it would take for two, are in braces."""
    if is_organization(name) or " and " in name:
        return f"{{{_escape(name)}}}"
    last, given, suffix = split_person(name)
    return _escape(name if name.endswith(last) else ", ".join(filter(None, (last, suffix, given))))


def _escape(text: str) -> str:
    return text.translate(_TEX)
