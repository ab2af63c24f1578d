"""Deduplication: which records are one paper, what is left for a person, decisions, merged fields."""

import csv
import gzip
import json
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from sciprism.errors import InputError
from sciprism.papers import Paper, read_papers
from sciprism.papers.comparison import cite, compare, is_abbreviation, read_pages
from sciprism.papers.records import Place
from sciprism.uses.deduplication import dedupe, write_papers

FROGS = {
    "title": "Growth of tree frogs in the ponds of Ohio",
    "authors": ("Ann B. Alder", "Bo Birch"),
    "venue": "Journal of Amphibian Ecology",
    "year": 2010,
    "volume": "12",
    "issue": "3",
    "pages": "288-297",
}


def build(*changes, **all_have):
    """Return a record of FROGS for each mapping of changes, as two files would have it."""
    return [
        Paper(**{"id": f"p{n}", "place": Place(f"{n}.ris", 1, 1)} | FROGS | all_have | change)
        for n, change in enumerate(changes, 1)
    ]


SAME = [
    {"title": "GROWTH OF TREE FROGS IN THE PONDS OF OHIO.", "venue": "J Amphib Ecol", "pages": "288-97"},
    {"title": "Growth of tree-frogs in the ponds of Ohio [Erratum appears in J Amphib Ecol. 2011;13(1):9]"},
    {"title": "Growth of tree frogs in the ponds of Ohio. [Review] [42 refs]", "pages": "Suppl-8", "issue": ""},
    {"title": "[Growth of tree frogs in the ponds of Ohio] [German]", "authors": ("Alder A", "Birch B")},
    {"title": "Wachstum [Growth of tree frogs in the ponds of Ohio]", "venue": "", "volume": ""},
    {"title": "Wachstum der Frösche", "venue": "J Amphib Ecol"},  # the same pages
    {"title": "Growth of tree frogs in the ponds", "pages": ""},
    {"authors": (), "year": None},
    {"volume": "", "issue": "", "pages": "01-Oct", "year": 2009},  # ahead of print
    {"title": "Growth of tree frogs in the ponds of Ohio: a study", "abstract": "Frogs grow."},
]
UNPLACED = {"volume": "", "issue": "", "pages": ""}
TRIAL = {"authors": ("Isrctn",), "venue": "clinicaltrials.gov", **UNPLACED}
OTHERS = [
    {"venue": "Proceedings of the Pond Society", "volume": "3", "pages": "S12", "year": 2009, "issue": "1"},
    {"title": "Growth of tree frogs in the ponds of Ohio: part II", "pages": "298-310"},
    {"title": "Growth of tree frogs in the ponds of Ohio. II", "pages": "", "volume": ""},
    {"title": "Sleep of toads in the lakes of Maine", "pages": "288", "authors": ("Cy Cedar",)},  # of one page
    {"title": "Correction to: Growth of tree frogs in the ponds of Ohio", "pages": "400"},
    TRIAL | {"title": "Growth of tree toads in the ponds of Ohio"},
    {"title": "Growth of tree frogs in the woods of Idaho", "pages": "", "volume": ""},
]


@pytest.mark.parametrize(("change", "groups"), [*((same, [[0, 1]]) for same in SAME), *((o, []) for o in OTHERS)])
def test_records_of_one_paper_are_merged_and_those_of_others_are_not(change, groups):
    assert dedupe(build({}, change)).groups == groups


LISTED = {"volume": "", "issue": "", "pages": "", "authors": ("Ann Alder", "Bo Birch", "Cy Cedar")}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"venue": "SIGPOND Conference"}, {"venue": "International Conference on Management of Ponds"}, True),
        ({"venue": "SIGPOND Record"}, {"venue": "ACM SIGPOND Record"}, True),
        ({"venue": "VLPB"}, {"venue": "Very Large Pond Bases"}, True),
        ({"venue": "Proc. 9th Int. Conf. on Ponds"}, {"venue": "International Conference on Ponds (ICP)"}, True),
        ({}, {"authors": ("Bo Birch", "Cy Cedar", "Ann Alder")}, True),
        (
            {},
            {"title": "Growth of tree frogs in the pond's of Ohio", "authors": ("A. Alder", "B. Birch", "C. Cedar")},
            True,
        ),
        ({"venue": "ICDP"}, {"venue": "VLPB", "year": 2013, "title": FROGS["title"] + ", revisited"}, False),
        ({}, {"venue": "Lakes and Streams", "year": 2011}, False),
        ({}, {"title": "Reprint of: Growth of tree frogs in the ponds of Ohio", "year": 2013}, False),
    ],
)
def test_lists_without_place_in_print(one, other, same):
    assert dedupe(build(one, other, **LISTED)).groups == ([[0, 1]] if same else [])


def issue(volume, number, **changes):
    column = {"title": "Words from our desk", "pages": "5-6", "ids": {"doi": f"10.5555/jp.{volume}.{number}"}}
    return column | {"volume": volume, "issue": number} | changes


LONG = {"title": FROGS["title"]}
BARE = {"pages": "", "ids": {}}


@pytest.mark.parametrize(
    ("records", "columns"),
    [
        ([issue("12", "2"), issue("12", "3")], [[0, 1]]),
        ([issue("12", "2", **BARE), issue("13", "2", **BARE, year=2011)], [[0, 1]]),
        ([issue(str(n), "1", **LONG, year=2000 + n) for n in (1, 2, 3)], [[0, 1, 2]]),
        ([issue("", "", **BARE, year=2000 + n) for n in (1, 2, 3)], [[0, 1, 2]]),
        ([issue("12", "2", title="Frogs told by water"), issue("12", "3", title="Pond data told by water")], []),
        ([issue("12", "3", **LONG), issue("12", "3", **LONG) | BARE | {"ids": {"doi": "10.5555/other"}}], []),
    ],
)
def test_papers_of_two_issues_or_dois_are_two_and_a_column_is_told_once(records, columns):
    result = dedupe(build(*records))
    assert (result.groups, result.columns) == ([], columns)
    assert not columns or not result.uncertain


def test_parts_on_other_pages_are_not_even_uncertain():
    part = {"title": "Growth of tree frogs in the ponds of Ohio: part II", "pages": "298-310"}
    assert dedupe(build({}, part)).uncertain == []


def test_issues_that_number_the_records_of_a_file_tell_nothing():
    place = {"place": Place("one.csv", 1, 1)}
    papers = build(
        *(place | {"issue": str(n), "title": f"Tale {n // 3} of frogs in many ponds"} for n in range(3, 153))
    )
    papers = [replace(paper, pages=f"{n // 3}01-{n // 3}09") for n, paper in enumerate(papers)]
    assert dedupe(papers).removed == 100


def test_editorials_of_one_author_need_a_page_or_an_id():
    same = {"title": "Editorial", "authors": ("Ann B. Alder",)}
    assert dedupe(build(same, same | {"pages": "301-302"})).groups == []
    assert dedupe(build(same, same)).groups == [[0, 1]]


def test_a_supplement_has_one_doi_for_many_abstracts():
    one = {"ids": {"doi": "10.1000/supplement"}, "pages": "A12"}
    assert dedupe(build(one, one | {"title": "Sleep of toads in lakes", "pages": "A13"})).groups == []
    assert dedupe(build(one, one | {"title": "Growth of tree frogs in Ohio", "pages": ""})).groups == [[0, 1]]


def test_a_preprint_is_linked_and_merged_only_on_request():
    first = {"venue": "bioRxiv", "ids": {"doi": "10.1101/2009.01.02.123456"}, "year": 2009, **UNPLACED}
    article, preprint = build({"ids": {"doi": "10.1000/frogs"}}, first)
    linked = dedupe([article, preprint])
    assert (linked.groups, linked.versions, linked.uncertain) == ([], [(0, 1)], [])
    assert [versions for _, versions in linked.papers()] == [["p2"], ["p1"]]
    assert dedupe([article, preprint], merge_preprints=True).groups == [[0, 1]]


@pytest.mark.parametrize("count", [0, 1, 60])
def test_no_record_one_record_and_duplicates_alone(count):
    result = dedupe(build(*[{}] * count))
    assert result.removed == max(0, count - 1)
    assert len(list(result.papers())) == min(count, 1)


def test_records_without_anything_to_compare_stay():
    papers = [Paper(id="a"), Paper(id="b"), Paper(id="c", title="Frogs"), Paper(id="d", title="Frogs")]
    assert dedupe(papers).removed == 0


def test_a_record_between_two_that_contradict_each_other_joins_one_of_them():
    other = {"volume": "40", "issue": "1", "pages": "5-9", "year": 2011, "venue": "Ponds", "abstract": ""}
    assert dedupe(build({}, UNPLACED | {"venue": ""}, other)).groups == [[0, 1]]


def test_a_merged_record_has_the_fullest_fields_and_one_place_in_print(tmp_path):
    ahead = {"volume": "", "issue": "", "pages": "1-10", "year": 2009, "abstract": "Frogs grow in ponds. " * 20}
    result = dedupe(build(ahead, {"ids": {"doi": "10.1000/frogs", "pmid": "123"}}))
    ((paper, _),) = result.papers()
    assert (paper.year, paper.volume, paper.pages, paper.ids["pmid"]) == (2010, "12", "288-297", "123")
    assert paper.abstract.startswith("Frogs") and paper.id == "p1"
    for suffix in (".ris", ".bib", ".csv", ".jsonl"):
        path = tmp_path / f"merged{suffix}"
        write_papers(result.papers(), path)
        assert "1.ris, record 1" in path.read_text() and "2.ris, record 1" in path.read_text()
        (read,) = read_papers(str(path))
        assert (read.title, read.volume, read.issue, read.pages, read.ids["doi"]) == (
            paper.title, "12", "3", paper.pages if suffix != ".bib" else "288-297", "10.1000/frogs",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        (("Ann Alder", "Bo Birch"), ("B. Birch", "A. Alder"), "first and most"),
        (("X Li",), ("Y Wu",), "not first"),  # no name of three letters
        (("X Li", "Ann Alder"), ("Bo Birch", "Ann Alder"), "not first"),
    ],
)
def test_authors_in_another_order_are_the_same_people(one, other, level):
    assert compare(*map(cite, build({"authors": one}, {"authors": other})))["authors"] == level


def test_levels_by_hand():
    one, other = map(cite, build({}, {"authors": ("B. Birch", "A. Alder"), "year": 2011, "pages": "e288", "issue": ""}))
    equal = dict.fromkeys(("title", "journal", "volume"), "equal")
    assert compare(one, other) == equal | {"authors": "first and most", "year": "1 apart", "pages": "like"}
    assert read_pages("233-8, 230-5; discussion 240") == (("233", "238"), ("230", "235"), ("240", ""))
    assert read_pages("08-Aug") == (("8", "8"),) and read_pages("t-8") == read_pages("") == ()
    assert is_abbreviation(("ann", "fr", "anesth"), ("annales", "francaises", "anesthesie"))
    assert is_abbreviation(("jama",), ("journal", "american", "medical", "association"))
    assert not is_abbreviation(("cancer",), ("cancer", "research"))


# ---- the review file ----

UNSURE = UNPLACED | {"venue": "Ponds"}


def review(tmp_path, papers, *decisions):
    """Write the review of these papers with decisions in the rows, and return what deduplicating again gives."""
    path = tmp_path / "pairs.csv"
    if not path.exists():
        dedupe(papers, review=path)
    rows = list(csv.DictReader(path.open(newline="")))
    for row, decision in zip(rows, decisions, strict=False):
        row["decision"] = decision
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["note", *rows[0]])
        writer.writeheader()
        writer.writerows([{"note": "mine"} | row for row in rows])
    return dedupe(papers, review=path)


def test_decisions_are_followed_and_stay_with_columns_of_ones_own(tmp_path):
    papers = build({}, UNSURE)
    assert len(dedupe(papers).uncertain) == 1
    same = review(tmp_path, papers, "duplicate")
    assert (same.groups, same.uncertain, same.decided) == ([[0, 1]], [], 1)
    assert "mine" in (tmp_path / "pairs.csv").read_text()
    other = review(tmp_path, papers, "different")
    assert (other.groups, other.uncertain) == ([], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("duplicate,", "perhaps,"), "line 2: decision 'perhaps'"),
        (lambda text: text.replace("2.ris, record 1", "2.ris, record 7"), "line 2: no record '2.ris, record 7"),
        (lambda text: text.replace("Growth", "Sleep"), "line 2: .* now, not 'Sleep"),
        (lambda text: text + text.splitlines()[1].replace("duplicate,", "different,"), "another decision than in"),
        (lambda text: "title\nfrogs\n", "not a review file"),
    ],
)
def test_a_decision_that_cannot_be_followed_is_an_error_and_the_file_stays(tmp_path, change, message):
    papers, path = build({}, UNSURE), tmp_path / "pairs.csv"
    review(tmp_path, papers, "duplicate")
    path.write_text(text := change(path.read_text()))
    with pytest.raises(InputError, match=message):
        dedupe(papers, review=path)
    assert path.read_text() == text


def test_decisions_that_contradict_others_are_an_error(tmp_path):
    papers = build({}, UNSURE, UNSURE | {"venue": "Lakes"})
    with pytest.raises(InputError, match="different, but the duplicates of lines 2, 3"):
        review(tmp_path, papers, "duplicate", "duplicate", "different")


# ---- labelled libraries ----


@pytest.mark.skipif(not os.environ.get("SCIPRISM_DATA"), reason="needs the real data sets (SCIPRISM_DATA)")
@pytest.mark.slow
def test_few_papers_are_lost_and_most_duplicates_found_on_labelled_libraries():
    path = Path(os.environ["SCIPRISM_DATA"]) / "dedup_sr_libraries" / "records.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    libraries = defaultdict(list)
    for row, paper in zip(rows, read_papers(str(path)), strict=True):
        libraries[row["collection"]].append((paper, row["cluster"] or row["id"]))
    for name, library in libraries.items():
        papers, clusters = zip(*library, strict=True)
        groups = [[clusters[position] for position in group] for group in dedupe(papers).groups]
        lost = sum(len(set(group)) - 1 for group in groups)
        removed = sum(map(len, groups)) - len(groups)
        assert lost <= 0.002 * len(papers), name
        assert removed - lost >= 0.97 * (len(papers) - len(set(clusters))), name
