"""Papers that a library has already: by id, DOI, arXiv id, title, and nearly the same text."""

from __future__ import annotations

import pytest

from sciprism.papers.records import Paper
from sciprism.uses.recommending.run import OwnedPapers, is_near_copy

ABSTRACT = (
    "We measure the rotation of forty nearby spiral galaxies with radio telescopes and find that the outer gas moves "
    "as fast as the inner gas, which the visible matter alone cannot explain, so most of the mass must be dark."
)
OWN = Paper(
    id="rotation",
    title="Rotation curves of forty nearby spiral galaxies",
    abstract=ABSTRACT,
    authors=("Vera Rubin", "Kent Ford"),
    year=1978,
    ids={"doi": "10.1000/rot", "arxiv": "7801.00001"},
)
SHORT = Paper(id="short", title="Dark matter", authors=("F. Zwicky",), year=1933)
OWNED = OwnedPapers([OWN, SHORT])


@pytest.mark.parametrize(
    ("paper", "reason"),
    [
        (Paper(id="other", title="Something else entirely", ids={"doi": "10.1000/ROT"}), "doi"),
        (Paper(id="https://doi.org/10.1000/rot", title="Something else"), "doi"),
        (Paper(id="other", title="Something else", ids={"doi": "10.48550/arXiv.7801.00001"}), "arxiv"),
        (Paper(id="rotation", title=OWN.title, year=1978), "id"),
        (Paper(id="rotation", title="A guide RNA cuts"), None),  # ids recur from file to file
        # a preprint, years before, by the same first author
        (
            Paper(id="p", title="ROTATION curves of forty nearby spiral galaxies.", authors=("V. Rubin",), year=1974),
            "title",
        ),
        (Paper(id="p", title=OWN.title, authors=("Jan Oort",), year=1978), None),
        (Paper(id="p", title=OWN.title, year=1978), "title"),
        (Paper(id="p", title=OWN.title, year=1990), None),
        # short titles need author and year
        (Paper(id="p", title="Dark matter", authors=("Fritz Zwicky",), year=1933), "title"),
        (Paper(id="p", title="Dark matter", authors=("Fritz Zwicky",), year=1990), None),
        (Paper(id="p", title="Dark matter"), None),
        (Paper(id="p", title=""), None),
    ],
)
def test_by_what_a_paper_is_owned(paper: Paper, reason: str | None) -> None:
    copy = OWNED.find_copy(paper)
    assert (copy and copy[0]) == reason


def test_a_generic_title_shows_nothing() -> None:
    editorial = Paper(id="a", title="Editorial", authors=("E. Ditor",), year=2020)
    assert (
        OwnedPapers([editorial]).find_copy(Paper(id="b", title="Editorial", authors=("E. Ditor",), year=2020)) is None
    )


def test_a_near_copy_has_nearly_the_same_text() -> None:
    changed = Paper(id="x", title="Spinning galaxies", abstract=ABSTRACT.replace("forty", "sixty"))
    sequel = Paper(id="y", title="Rotation curves of distant galaxies", abstract=ABSTRACT[::-1])
    assert is_near_copy(changed, OWN) and not is_near_copy(sequel, OWN)
    # by the title where an abstract is missing
    title = Paper(id="z", title="The rotation curves of forty nearby spiral galaxies", authors=("V. Rubin",))
    assert is_near_copy(title, OWN)
    assert not is_near_copy(Paper(id="z", title=title.title, authors=("Jan Oort",)), OWN)
    assert not is_near_copy(Paper(id="z", title="Rotation curves"), OWN)
