"""DOI and address of a paper, from its id or other systems' ids."""

import pytest

from sciprism.papers.bibliography_entries import find_doi, find_url
from sciprism.papers.records import Paper


@pytest.mark.parametrize(
    ("paper", "doi", "url"),
    [
        (Paper(id="a", ids={"doi": "10.1000/x", "pmid": "1"}), "10.1000/x", "https://doi.org/10.1000/x"),
        (Paper(id="doi:10.1000/X"), "10.1000/x", "https://doi.org/10.1000/x"),
        (Paper(id="a", ids={"pmid": "12", "url": "http://here"}), "", "https://pubmed.ncbi.nlm.nih.gov/12/"),
        (Paper(id="a", ids={"url": "http://here"}), "", "http://here"),
        (Paper(id="smith2020"), "", ""),
    ],
)
def test_the_address_is_that_of_the_doi_else_of_another_system(paper, doi, url):
    assert (find_doi(paper), find_url(paper)) == (doi, url)
