"""Which records are of one paper: the same answer of every command, and of records beyond those held in memory."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from build_commands import run
from sciprism.papers import duplicates
from sciprism.papers.duplicates import find_duplicates, find_versions
from sciprism.papers.inspection import inspect_papers
from sciprism.papers.read import ReadReport
from sciprism.papers.records import Paper, Place
from sciprism.uses.deduplication import write_papers

Fields = dict[str, Any]
PLACED = {"venue": "Journal of Ponds", "year": 2010, "volume": "12", "issue": "3"}
TWO_STAGES = (
    {"venue": "bioRxiv", "year": 2009, "ids": {"doi": "10.1101/2009.01.02.123456"}},
    {**PLACED, "ids": {"doi": "10.5555/ponds.7"}},
)
AHEAD = {"volume": "", "issue": "", "pages": ""}
PAIRS: list[tuple[str, Fields, Fields]] = [
    ("one", {"title": "Growth of tree frogs in Ohio", **PLACED}, {"title": "GROWTH OF TREE FROGS IN OHIO.", **PLACED}),
    (
        "one",
        {"title": "Sleep of toads under the ice", "pages": "11-19", **PLACED},
        {"title": "Sleep of Toads under the Ice", "venue": "J Ponds", "year": 2010, "pages": "11-9"},
    ),
    ("one", {"title": "Newts", "ids": {"doi": "10.5555/newts"}}, {"title": "Newts", "ids": {"doi": "10.5555/NEWTS"}}),
    (
        "maybe",
        {"title": "Salt in the water of seven springs", "venue": "Lakes and Notes", **AHEAD, "year": 2010},
        {"title": "Salt in the water of seven springs", "pages": "40-52", **PLACED},
    ),
    (
        "maybe",
        {"title": "A list of the plants of dry lakes", "authors": ()},
        {"title": "A list of the plants of dry lakes"},
    ),
    ("preprint", *({"title": "Lamps attract the moths of cold valleys", **fields} for fields in TWO_STAGES)),
    ("column", *({"title": "Words from our desk", **PLACED, "issue": n, "pages": f"{n}-9"} for n in ("4", "5"))),
    (
        "apart",
        {"title": "Roots of reeds. Part 1", "pages": "100-110", **PLACED},
        {"title": "Roots of reeds. Part 2", "pages": "111-120", **PLACED},
    ),
    (
        "apart",
        {"title": "Shells of snails in warm brooks", "pages": "21-30", **PLACED},
        {"title": "Erratum: Shells of snails in warm brooks", "pages": "400", **PLACED},
    ),
]
"""What two records are -> the fields of each."""


def build(pairs: list[tuple[str, Fields, Fields]] = PAIRS) -> tuple[list[Paper], list[Paper]]:
    """Return the first records of all pairs, and the second ones, as two databases have them."""
    named = [
        [({"authors": (f"Name{n}, A", f"Other{n}, B")} | record) for record in pair]
        for n, (_, *pair) in enumerate(pairs)
    ]
    first, second = zip(*named, strict=True)
    return tuple(
        [Paper(id=f"{file}{n}", place=Place(file, n), **one) for n, one in enumerate(of)]
        for file, of in zip("ab", (first, second), strict=True)
    )


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]} {pair[1]['title'][:20]}")
def test_two_records_are_surely_one_paper_or_maybe_or_not(pair):
    first, second = build([pair])
    for papers in (first + second, second + first):
        found = find_duplicates(papers)
        kinds = {"one": found.groups, "maybe": found.uncertain, "preprint": found.versions, "column": found.columns}
        assert {kind for kind, listed in kinds.items() if listed} == {pair[0]} - {"apart"}


def test_every_command_counts_the_same_papers(tmp_path: Path, monkeypatch, capsys):
    """The files of two databases, in two formats; the first has each pair's first record."""
    for name, papers in zip(("a.ris", "b.jsonl"), build(), strict=True):
        write_papers(((paper, []) for paper in papers), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    kinds = [kind for kind, *_ in PAIRS]
    removed, maybe = kinds.count("one"), kinds.count("maybe")

    def count(*words: str) -> Any:
        status, out, err = run(monkeypatch, capsys, words[0], "a.ris", "b.jsonl", *words[1:], "--json")
        assert status == 0, err
        return json.loads(out)

    expected = {
        "removed": removed,
        "papers": 2 * len(PAIRS) - removed,
        "uncertain": maybe,
        "preprint_pairs": 1,
        "columns": 1,
    }
    inspected = count("inspect")["duplicates"]
    assert len(inspected.pop("groups")) == removed
    for counts in (inspected, count("dedupe", "-o", "c.ris")["counts"]):
        assert expected.items() <= counts.items()
    assert count("screen", "-o", "s.csv", "--model", "words")["counts"]["duplicates removed"] == removed
    assert count("embed", "-o", "vecs", "--merge-duplicates")["papers"] == expected["papers"]


def test_records_in_the_file_are_compared_as_those_in_memory(monkeypatch):
    first, second = build()
    numbered = [
        Paper(id=f"n{n}", title=f"Tale {n // 3} of frogs in many ponds", authors=("Alder, A",), issue=str(n),
              volume="1", venue="Ponds", pages=f"{n // 3}01-{n // 3}09", place=Place("one.csv", n))
        for n in range(3, 153)
    ]  # fmt: skip
    expected = find_duplicates([*first, *numbered, *second])
    assert expected.removed == 100 + sum(kind == "one" for kind, *_ in PAIRS)
    for held in (0, 7, 100):
        monkeypatch.setattr(duplicates, "HELD", held)
        assert find_duplicates([*first, *numbered, *second]) == expected


@pytest.mark.parametrize(
    ("one", "other", "clashes"),
    [
        ({"title": "Radium"}, {"title": "Polonium"}, [(0, 1)]),
        ({"title": "Radium"}, {"title": "Radium"}, []),
        ({}, {}, []),
    ],
)
def test_an_id_of_two_papers_is_named(one, other, clashes):
    papers = [Paper(id="a", place=Place(f"{n}.bib", 1), **fields) for n, fields in enumerate((one, other))]
    found = inspect_papers(papers, ReadReport())
    assert [clash.positions for clash in found.clashes] == clashes
    assert all(clash.places == ("0.bib, record 1", "1.bib, record 1") for clash in found.clashes)


ABSTRACT = "Marshes of two coasts were cored to one metre, " * 4


@pytest.mark.parametrize(
    ("papers", "versions"),
    [
        ([{"title": "Marshes", "year": 2018}, {"title": "MARSHES.", "year": 2024, "abstract": "x"}], [[1, 0]]),
        (
            [{"title": "Salt of marshes", "abstract": text} for text in (ABSTRACT, f"Salt was measured. {ABSTRACT}")],
            [[0, 1]],
        ),
        ([{"title": "Marshes, part I", "abstract": "x"}, {"title": "Marshes, part II"}], [[0], [1]]),
        ([{"title": "Annual report of a marsh", "year": year} for year in (2018, 2019)], [[0], [1]]),
        ([{"title": "Marshes", "ids": {"doi": f"10.1234/{n}"}} for n in range(2)], [[0], [1]]),
        ([{"title": "Marshes", "ids": {"doi": doi}} for doi in ("10.48550/arXiv.2001.00001", "10.1234/1")], [[0, 1]]),
        ([{"title": "Editorial", "year": 2018, "abstract": str(n)} for n in range(2)], [[0], [1]]),
        ([{"title": "Marshes", "authors": (name,)} for name in ("Alder, A", "Birch, B")], [[0], [1]]),
    ],
)
def test_versions_in_the_list_of_one_person_are_found_whatever_their_years(papers, versions):
    assert find_versions([Paper(id=str(n), **fields) for n, fields in enumerate(papers)]) == versions


def test_of_the_versions_of_a_paper_the_first_with_an_abstract_comes_first():
    papers = [Paper(id=str(n), title=PAIRS[0][1]["title"], authors=("Alder, A",), year=2010) for n in range(3)]
    papers[1] = replace(papers[1], abstract="Frogs grow.")
    assert find_versions(papers) == [[1, 0, 2]]
