"""Which pairs of records are one paper, and which only look alike; the same answer in all that asks."""

from typing import Any

import pytest

from sciprism.papers.duplicates import find_duplicates
from sciprism.papers.identity import find_containers, identify, is_same_paper, list_ids, read_ids
from sciprism.papers.records import Paper, Place
from sciprism.store.paper_lookup import PaperIndex
from sciprism.uses.recommending.run import is_near_copy

Fields = dict[str, Any]
TITLE = "Sand ripples in shallow invented seas after storms"
TEXT = (
    "Ripples of sand were counted in nine shallow seas before and after winter storms by two divers, who drew each of "
    "them on a slate and measured their height, their distance and the size of the grains between them."
)


def pair(one: Fields, other: Fields) -> tuple[Paper, Paper]:
    shared = {"title": TITLE, "authors": ("Reed, Ida",), "year": 2020}
    return Paper(id="a", **shared | one), Paper(id="b", **shared | other)


def doi(value: str, **more: object) -> Fields:
    return {"ids": {"doi": value}, **more}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (doi("10.5555/seas.1"), doi("10.5555/seas.2")),
        ({"ids": {"pmid": "101"}}, {"ids": {"pmid": "102"}}),
        ({"ids": {"pmcid": "PMC101"}}, {"ids": {"pmcid": "PMC102"}}),
        ({"ids": {"arxiv": "2001.00001"}}, {"ids": {"arxiv": "2001.00002"}}),
        (doi("10.48550/arXiv.2001.00001"), {"ids": {"arxiv": "2001.00002"}}),
        (doi("10.1101/2020.01.01.000001"), doi("10.1101/2020.02.02.000002")),
        ({"title": TITLE + ". Part I. Counts"}, {"title": TITLE + ". Part II. Counts"}),
        ({"title": TITLE + ": part A"}, {"title": TITLE + ": part B"}),
        ({"title": TITLE}, {"title": TITLE + " II"}),
        ({"title": TITLE + ", 2019"}, {"title": TITLE + ", 2020"}),
        ({"title": "The first survey of " + TITLE}, {"title": "The 2nd survey of " + TITLE}),
        ({}, {"title": "Correction: " + TITLE}),
        ({}, {"title": TITLE + " - Erratum"}),
        ({}, {"title": "Retraction Note: " + TITLE}),
        ({}, {"title": TITLE + " (vol 3, pg 12, 2019)"}),
        ({}, {"title": f"Reply to: {TITLE}"}),
        ({}, {"title": f"Comment on '{TITLE}'"}),
        ({"title": "Annual report of the station"}, {"title": "Annual report of the station", "year": 2021}),
        (
            {"title": "The year in sand: ripples and more"},
            {"title": "The year in sand: ripples and more", "year": 2021},
        ),
    ],
)
def test_papers_that_look_alike_stay_apart(one: Fields, other: Fields) -> None:
    first, second = pair(one, other)
    texts = pair({"abstract": TEXT, **one}, {"abstract": TEXT, **other})
    for a, b in ((first, second), (second, first), texts):
        assert find_duplicates([a, b], merge_preprints=True).groups == []
        assert PaperIndex([a]).find_copy(b) is None
        assert not is_near_copy(a, b)
    files = (Paper(**{**_fields(p), "id": "a", "place": Place(f"{p.id}.bib", 1)}) for p in (first, second))
    assert not is_same_paper(*map(identify, files)), "the id recurs in another file"


def _fields(paper: Paper) -> Fields:
    return {name: getattr(paper, name) for name in ("title", "authors", "year", "ids", "venue")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (doi("10.48550/arXiv.2001.00001", year=2017), doi("10.5555/seas.1")),
        (doi("10.1101/2020.01.01.000001"), doi("10.5555/seas.1", year=2022)),
        (doi("10.2139/ssrn.7"), doi("10.5555/seas.1")),
        (doi("10.64898/2026.01.01.000001"), doi("10.1101/gr.12345.120")),
        ({"ids": {"arxiv": "2001.00001"}, "venue": "CoRR", "year": 2018}, {"venue": "Journal of Sand"}),
        ({"ids": {"doi": "10.1101/2020.01.01.000001", "pmid": "1"}}, {"ids": {"doi": "10.5555/seas.1", "pmid": "2"}}),
        (doi("10.21203/rs.3.rs-77/v1"), doi("10.21203/rs.3.rs-77/v2")),
        (doi("10.12688/f1000research.77.1"), doi("10.12688/f1000research.77.2")),
        ({"ids": {"arxiv": "2001.00001v1"}}, doi("10.48550/arxiv.2001.00001")),
        (doi("10.5555/seas.1"), doi("10.6666/archive.1")),  # of an archive
        ({"ids": {"openalex": "W1"}}, {"ids": {"openalex": "W2"}}),  # a catalogue has some papers twice
        ({"title": TITLE + ". Part II"}, {"title": TITLE + ", part 2."}),
        ({"title": f"Reply to: {TITLE}"}, {"title": f"Reply to {TITLE}"}),
    ],
)
def test_versions_of_a_paper_are_one(one: Fields, other: Fields) -> None:
    first, second = pair(one, other)
    for a, b in ((first, second), (second, first)):
        if "title" not in one:
            assert find_duplicates([a, b], merge_preprints=True).groups == [[0, 1]]
            assert PaperIndex([a]).find_copy(b)
        assert identify(a).apart(identify(b)) == ""


def test_a_title_without_identifier_joins_the_paper_of_its_year_alone() -> None:
    """Two yearly reviews and a bare record of the second: not one group of three."""
    rows = [("10.5555/y.1", 2020), ("10.5555/y.2", 2021), ("", 2021)]
    named = {"title": TITLE, "authors": ("Reed, Ida",)}
    papers = [Paper(id=f"{n}", **named, year=year, ids={"doi": doi}) for n, (doi, year) in enumerate(rows)]
    assert find_duplicates(papers).groups == [[1, 2]]
    # nor through a bare record that fits both
    papers[2] = Paper(id="2", **named, year=2020)
    assert find_duplicates([papers[2], *papers[:2]]).groups == [[0, 1]]


def test_a_corrected_number_is_of_the_same_paper_in_its_file() -> None:
    one, other = (
        Paper(id="a", title=f"{TITLE}, {year}", abstract=TEXT, place=Place("a.bib", 1)) for year in (2019, 2020)
    )
    assert is_same_paper(identify(one), identify(other))


def test_an_id_that_is_a_doi_counts() -> None:
    assert list_ids(Paper(id="https://doi.org/10.5555/A")) == {"doi": "10.5555/a"}


BOOK = {"ids": {"doi": "10.5555/book"}}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"title": "Counting frogs at night", "pages": "1-20"}, {"title": "Plants on water", "pages": "21-40"}, False),
        ({"title": "Counting frogs at night"}, {"title": "Plants on still water", "authors": ("Birch, Bo",)}, False),
        ({"title": "Preface", "pages": "5", "authors": ()}, {"title": "Counting frogs", "pages": "9"}, False),
        ({"title": "Counting frogs at night"}, {"title": "Plants on still water", "authors": ()}, True),
        ({"title": "Counting frogs at night"}, {"title": "Froschzählung bei Nacht"}, True),  # a translation
        (
            {"title": "Counting frogs at night", "pages": "11-20"},
            {"title": "Nächtliche Froschzählung", "authors": ("Riedel, I",), "pages": "11-20"},
            True,
        ),
        ({"title": "Counting frogs at night"}, {"title": "夜间青蛙计数", "authors": ("李爱达",)}, True),
        ({"title": "Counting frogs"}, {"title": "Counting frogs, a survey", "authors": ("Birch, Bo",)}, True),
    ],
)
def test_an_id_is_no_proof_where_titles_and_authors_or_pages_contradict(one: Fields, other: Fields, same: bool) -> None:
    first, second = pair(BOOK | one, BOOK | other)
    assert (find_containers(map(identify, (first, second))) == set()) is same
    found = find_duplicates([first, second])
    assert len(found.containers) == (not same) and (same or not found.groups)
    assert bool(PaperIndex([first]).find_copy(second)) is same
    # whatever it is that a third one has of the book's identifier, nothing is known of it
    third = Paper(id="c", title="Fish", **BOOK)
    assert bool(PaperIndex([first, second]).find_copy(third)) is same


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("https://arxiv.org/abs/1706.03762v5", {"arxiv": "1706.03762"}),
        ("arXiv:hep-th/9901001", {"arxiv": "hep-th/9901001"}),
        ("https://doi.org/10.48550/arXiv.1706.03762", {"arxiv": "1706.03762"}),
        ("see https://doi.org/10.1016/S0140-6736(19)30001-1.", {"doi": "10.1016/s0140-6736(19)30001-1"}),
        ("https://pubmed.ncbi.nlm.nih.gov/90000001/", {"pmid": "90000001"}),
        ("PMID 90000001", {"pmid": "90000001"}),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC900/", {"pmcid": "pmc900"}),
        ("https://openalex.org/W27418", {"openalex": "w27418"}),
        ("frogs of 2019", {}),
    ],
)
def test_identifiers_are_read_as_people_paste_them(text: str, ids: Fields) -> None:
    assert read_ids(text) == ids
