"""A paper's DOI and its address on the web."""

from __future__ import annotations

from sciprism.papers.cleaning import normalise_doi
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


def find_doi(paper: Paper) -> str:
    """Return the DOI, also where the id is one; "" where there is none.

    >>> find_doi(Paper(id="https://doi.org/10.1038/171737A0"))
    '10.1038/171737a0'
    """
    return paper.ids.get("doi") or normalise_doi(paper.id)


def find_url(paper: Paper) -> str:
    """Return the address of a paper: by its DOI, else another system's id, else the one that was read.

    >>> find_url(Paper(id="a", ids={"arxiv": "1706.03762"}))
    'https://arxiv.org/abs/1706.03762'
    """
    ids = {**paper.ids, "doi": find_doi(paper)}
    return next((url.format(ids[system]) for system, url in RESOLVERS.items() if ids.get(system)), ids.get("url", ""))
