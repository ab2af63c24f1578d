"""DOI and address of a paper, from its id or other systems' ids."""

import pytest

from sciprism.papers import read_papers
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.records import Paper


@pytest.mark.parametrize(
    ("paper", "doi", "url"),
    [
        (Paper(id="a", ids={"doi": "10.1000/x", "pmid": "1"}), "10.1000/x", "https://doi.org/10.1000/x"),
        (Paper(id="doi:10.1000/X"), "10.1000/x", "https://doi.org/10.1000/x"),
        (Paper(id="a", ids={"pmid": "12", "url": "http://here"}), "", "https://pubmed.ncbi.nlm.nih.gov/12/"),
        (Paper(id="a", ids={"url": "http://here"}), "", "http://here"),
        (Paper(id="a", ids={"url": "data:text/html,x"}), "", ""),
        (Paper(id="a", ids={"url": "www.example.org/a"}), "", "https://www.example.org/a"),
        (Paper(id="smith2020"), "", ""),
    ],
)
def test_the_address_is_that_of_the_doi_else_of_another_system(paper, doi, url):
    assert (find_doi(paper), find_url(paper)) == (doi, url)


@pytest.mark.parametrize("form", ["ris", "bib"])
def test_keys_and_tags_come_back(tmp_path, form):
    texts = {"title": "Tides & {DNA}: 5 % of {\\'E}tudes", "abstract": "A first line.\nCosts $3 and 10_3."}
    more = {"authors": ("Keller, Ada", "Ørsted, Åse"), "year": 2020, "venue": "Journal of Tides"}
    keywords = ("to read", "tides/spring", "C++")
    papers = [
        Paper(id="keller2020tides", **texts, **more, ids={"doi": "10.1000/a_b"}, keywords=keywords),
        Paper(id="Smith_99", title="On $k$-means", year=1999, keywords=("methods",)),
    ]
    write = format_ris if form == "ris" else format_bibtex
    (tmp_path / f"a.{form}").write_text("\n".join(write((paper, "") for paper in papers)), encoding="utf-8")
    back = list(read_papers(tmp_path / f"a.{form}"))
    for part in ("id", "title", "year", "venue", "keywords"):
        assert [getattr(paper, part) for paper in back] == [getattr(paper, part) for paper in papers], part
    assert back[0].abstract == "A first line. Costs $3 and 10_3." and find_doi(back[0]) == "10.1000/a_b"
    assert back[0].authors == ("Ada Keller", "Åse Ørsted")


NAMES = {
    "Ada Keller": "Keller, Ada",
    "Ludwig van Berg": "van Berg, Ludwig",
    "John A. Smith Jr.": "Smith, John A., Jr.",
    "R. Roe III": "Roe, R., III",
    "Smith J": "Smith, J",
    "Aristotle": "Aristotle",
    "Hans in der Au": "in der Au, Hans",
    "World Health Organization": "World Health Organization",
    "Ministry of Tides and Seas": "Ministry of Tides and Seas",
    "ATLAS Collaboration": "ATLAS Collaboration",
}


def test_other_programs_find_last_names_suffixes_and_organizations():
    """Zotero splits a name of RIS at its comma alone; pybtex and citation-js take the last word for the last name."""
    paper = Paper(id="a", authors=tuple(NAMES), pages="11-19", ids={"doi": "10.1000/a<1#2>3;2-b"})
    [ris], [bibtex] = format_ris([(paper, "")]), format_bibtex([(paper, "")])
    assert [line[6:] for line in ris.splitlines() if line.startswith("AU")] == [*NAMES.values()]
    assert "SP  - 11\nEP  - 19\n" in ris
    assert "DO  - 10.1000/a<1#2>3;2-b\nUR  - https://doi.org/10.1000/a%3C1%232%3E3%3B2-b\n" in ris
    assert (
        "author = {Ada Keller and Ludwig van Berg and Smith, Jr., John A. and Roe, III, R. and Smith, J and Aristotle"
        " and Hans in der Au"
        " and {World Health Organization} and {Ministry of Tides and Seas} and {ATLAS Collaboration}},"
    ) in bibtex


def test_nothing_in_a_paper_ends_a_field_of_its_entry(tmp_path):
    end = "x}, note={y}}\n@misc{z, title={"
    ids = [{"doi": f"10.1000/{end}"}, {"url": f"https://example.org/{end}"}]
    papers = [Paper(id=f"a{n}", title=end, venue=end, authors=(end,), ids=given) for n, given in enumerate(ids)]
    path = tmp_path / "papers.bib"
    path.write_text("\n".join(format_bibtex((paper, "") for paper in papers)))
    assert [paper.id for paper in read_papers(path)] == ["a0", "a1"]
    assert "note" not in path.read_text().replace("note=", "")
