"""Recommending: interests, relevance by hand, what is owned, lists from files and collections, files of lists."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from fake_encoder import FakeEncoder, some_papers
from sciprism import Collection
from sciprism.arrays import normalize_rows
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.store import embed
from sciprism.store.paper_lookup import PaperIndex
from sciprism.uses.recommending import interests
from sciprism.uses.recommending import run as module
from sciprism.uses.recommending.interests import describe_interests, find_interests, find_typical_terms
from sciprism.uses.recommending.run import Recommendations, is_near_copy, recommend, write_recommendations
from sciprism.uses.recommending.settings import RecommendSettings


def build_groups(*sizes: int, spread: float = 0.2, dim: int = 8) -> np.ndarray:
    """Vectors in groups around different axes."""
    random = np.random.default_rng(0)
    parts = [np.eye(dim)[axis] + spread * random.standard_normal((size, dim)) for axis, size in enumerate(sizes)]
    return normalize_rows(np.concatenate(parts).astype(np.float32))


@pytest.mark.parametrize("sizes", [(30, 20, 4), (40, 3), (5, 5, 5, 5), (3,), (1,)])
def test_the_number_of_interests_is_that_of_the_groups(sizes: tuple[int, ...]) -> None:
    vectors, expected = build_groups(*sizes), np.repeat(np.arange(len(sizes)), sizes)
    assert find_interests(vectors).tolist() == expected.tolist()
    order = np.random.default_rng(1).permutation(len(vectors))
    assert sizes[0] == 5 or find_interests(vectors[order]).tolist() == expected[order].tolist()


def test_interests_of_odd_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = np.concatenate([build_groups(30, 20), -build_groups(1)])
    assert np.bincount(find_interests(alone)).tolist() in ([31, 20], [30, 21]), "a paper far from all others joins one"
    assert find_interests(np.repeat(build_groups(1), 9, axis=0)).tolist() == [0] * 9, "all papers have one vector"
    monkeypatch.setattr(interests, "MAX_COMPARED", 30)
    large = build_groups(30, 20, 10)
    assert find_interests(large).tolist() == np.repeat(np.arange(3), (30, 20, 10)).tolist(), "by a sample"


def test_terms_are_typical_of_one_group_and_share_no_word() -> None:
    halos = [Paper(id=n, title=f"Dark matter halos in simulation {n}", abstract="We study galaxies.") for n in "abc"]
    cells = [Paper(id=n, title=f"Gene editing of cells {n}", abstract="We study galaxies.") for n in "abc"]
    terms = find_typical_terms([*halos, *cells], [np.arange(3), np.arange(3, 6)])
    assert terms == [("dark matter halos", "simulation"), ("gene editing", "cells")]
    assert find_typical_terms([Paper(id="a", title="On 2 of it")], [np.arange(1)]) == [()]


def test_an_interest_without_terms_has_the_title_of_its_central_paper() -> None:
    papers = [Paper(id="a", title="On it"), Paper(id="b", title="On that"), Paper(id="c", title="Of this")]
    (only,) = describe_interests(papers, build_groups(3, spread=0.01), np.zeros(3, np.int64))
    assert only.terms == () and only.name == only.central and only.central in {paper.title for paper in papers}
    assert only.papers == 3


NONE, AXES, NO_YEARS = np.empty((0, 3), np.float32), np.eye(3, dtype=np.float32), np.full(3, np.nan)


def build_profile(own: np.ndarray, groups: list[int], unwanted: np.ndarray = NONE, **settings) -> module.LibraryProfile:
    return module.LibraryProfile(own.astype(np.float32), np.array(groups), unwanted, RecommendSettings(**settings))


def test_relevance_is_the_power_mean_of_the_similarities_to_own_papers() -> None:
    """Cosines of (0.6, 0.8, 0) with the axes are 0.6, 0.8, 0; 0.6 ** 1.5 is 0.46476, 0.8 ** 1.5 is 0.71554."""
    found = build_profile(AXES, [0, 0, 1]).score(np.array([[0.6, 0.8, 0.0]]), NO_YEARS[:1])
    assert found.overall[0] == pytest.approx((1.18030 / 3) ** (2 / 3), abs=1e-5)
    assert (found.interest[0], found.inside[0]) == (0, pytest.approx((1.18030 / 2) ** (2 / 3), abs=1e-5))
    assert (found.own[0], found.nearest[0]) == (1, pytest.approx(0.8))
    # without (0, 0, 1), which both share, (0.6, 0, 0.8) and (0, 0.6, 0.8) point elsewhere; their cosine is 0.64
    own, new = np.array([[0.6, 0.0, 0.8]], np.float32), np.array([[0.0, 0.6, 0.8]])
    settings = RecommendSettings()
    found = module.LibraryProfile(own, np.array([0]), NONE, settings, AXES[2] * 0.8).score(new, NO_YEARS[:1])
    assert found.overall.tolist() == [0.0] and found.nearest[0] == pytest.approx(0.64)


def test_unwanted_papers_and_age_lower_the_relevance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNWANTED_WEIGHT", 0.5)
    now = float(date.today().year)
    vectors, years = np.array([[0.6, 0.8, 0.0]] * 4), np.array([now, now - 10, np.nan, now + 10])
    plain = build_profile(AXES[1:2], [0], AXES[:1], half_life=10.0)
    expected = [0.5, 0.25, 0.25, 0.5]  # (0.8 - 0.5 * 0.6) * age; a year ahead counts as this year
    assert plain.score(vectors, years).overall == pytest.approx(expected)
    assert plain.measure_unwanted(vectors) == pytest.approx([0.6] * 4)
    below = plain.score(np.array([[1.0, 0.0, 0.0]] * 4), years).overall
    assert below == pytest.approx([-0.5] * 4), "age does not raise what is below 0"


def test_a_paper_fits_an_interest_that_is_as_near_as_its_own_papers() -> None:
    profile = build_profile(np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1]]), [0, 0, 1])
    found = profile.score(np.array([[0.9, 0.43589, 0], [0.2, 0.4, 0.89443], [0.6, -0.8, 0.0]]), NO_YEARS)
    assert found.interest[:2].tolist() == [0, 1] and found.fits.tolist() == [True, True, False]


def choose(own: np.ndarray, groups: list[int], new: np.ndarray, **settings) -> list[int]:
    profile, years = build_profile(own, groups, **settings), np.full(len(new), np.nan)
    vectors = new / np.linalg.norm(new, axis=1, keepdims=True)
    return module.choose_papers(profile, vectors, years, RecommendSettings(**settings))[0]


def test_lists_are_diverse_and_small_interests_have_their_share() -> None:
    near = np.array([[1, 0.1, 0], [1, 0.11, 0], [1, 0, 0.5]])
    assert choose(AXES[:1], [0], near, k=3, balance=0.0, diversity=0.0) == [0, 1, 2]
    assert choose(AXES[:1], [0], near, k=3, balance=0.0, diversity=0.6) == [0, 2, 1]
    # nine papers of one interest and one of another: of ten places, shares of 3 : 1 give it two or three
    own = normalize_rows(np.array([[1, 0, 0.1 * n] for n in range(9)] + [[0, 1, 0]], np.float32))
    new = np.array([[1, 0, 0.02 * n] for n in range(20)] + [[0, 1, 0.1 * n] for n in range(4)])
    alone, half, whole = (choose(own, [0] * 9 + [1], new, k=10, balance=part) for part in (0.0, 0.5, 1.0))
    assert max(alone) < 20, "by relevance alone the small interest is lost"
    assert 20 in half and sum(row >= 20 for row in half) == 1
    assert 20 in whole[:4] and sum(row >= 20 for row in whole) in (2, 3)
    own = np.concatenate([np.repeat(AXES[:1], 3, axis=0), np.repeat(AXES[1:2], 3, axis=0)])
    new = np.array([[1, 0, 0.1], [1, 0, 0.2], [0, 0.1, 1]])
    assert choose(own, [0] * 3 + [1] * 3, new, k=2, balance=1.0) == [0, 1], "no paper fits the other interest"
    assert len(choose(own, [0] * 3 + [1] * 3, new, k=9, balance=1.0)) == 3, "no more than there are"


ABSTRACT = (
    "We measure the rotation of forty nearby spiral galaxies with radio telescopes and find that the outer gas moves "
    "as fast as the inner gas, which the visible matter alone cannot explain, so most of the mass must be dark."
)
TITLE = "Rotation curves of forty nearby spiral galaxies"
IDS = {"doi": "10.1000/rot", "arxiv": "7801.00001"}
OWN = Paper(id="rotation", title=TITLE, abstract=ABSTRACT, authors=("Vera Rubin", "Kent Ford"), year=1978, ids=IDS)
SHORT = Paper(id="short", title="Dark matter", authors=("F. Zwicky",), year=1933)
EDITORIAL = Paper(id="e", title="Editorial", authors=("E. Ditor",), year=2020)
OWNED = PaperIndex([OWN, SHORT, EDITORIAL])


@pytest.mark.parametrize(
    ("paper", "reason"),
    [
        (Paper(id="other", title="Something else entirely", ids={"doi": "10.1000/ROT"}), "doi"),
        (Paper(id="other", title="Something else", ids={"doi": "10.48550/arXiv.7801.00001"}), "arxiv"),
        (Paper(id="rotation", title=TITLE, year=1978), "id"),
        (Paper(id="rotation", title="A guide RNA cuts"), None),  # ids recur from file to file
        (Paper(id="p", title=f"{TITLE.upper()}.", authors=("V. Rubin",), year=1974), "title"),  # a preprint
        (Paper(id="p", title=TITLE, authors=("Jan Oort",), year=1978), None),
        (Paper(id="p", title=TITLE, year=1990), None),
        # short titles need author and year, generic ones show nothing
        (Paper(id="p", title="Dark matter", authors=("Fritz Zwicky",), year=1933), "title"),
        (Paper(id="p", title="Dark matter", authors=("Fritz Zwicky",), year=1990), None),
        (replace(EDITORIAL, id="b"), None),
    ],
)
def test_by_what_a_paper_is_owned(paper: Paper, reason: str | None) -> None:
    copy = OWNED.find_copy(paper)
    assert (copy and copy[0]) == reason


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        (Paper(id="x", title="Spinning galaxies", abstract=ABSTRACT.replace("forty", "sixty")), True),
        (Paper(id="y", title="Rotation curves of distant galaxies", abstract=ABSTRACT[::-1]), False),
        (Paper(id="z", title=f"The {TITLE}", authors=("V. Rubin",)), True),  # by the title without an abstract
        (Paper(id="z", title=f"The {TITLE}", authors=("Jan Oort",)), False),
        (Paper(id="z", title="Rotation curves"), False),
    ],
)
def test_a_near_copy_has_nearly_the_same_text(paper: Paper, expected: bool) -> None:
    assert is_near_copy(paper, OWN) == expected


ENCODER = FakeEncoder(dim=256)
HALOS = [
    replace(OWN, id=f"h{n}", title=f"Dark matter halos {word}", abstract=f"Halos of dark matter are {word}.", ids={})
    for n, word in enumerate(("dense", "round", "old", "small", "heavy", "near"))
]
GENES = [
    Paper(id=f"g{n}", title=f"Gene editing {word}", abstract=f"Guides edit genes of {word}.", year=2010 + n)
    for n, word in enumerate(("mice", "plants", "yeast", "fish"))
]
LIBRARY = [*HALOS[:4], *GENES[:2]]
NEW = [*HALOS[4:], *GENES[2:], Paper(id="t", title="Attention for translation", abstract="Sequences are translated.")]


def run(library=LIBRARY, new=NEW, **options) -> Recommendations:
    settings = {name: options.pop(name) for name in RecommendSettings.__slots__ if name in options}
    return recommend(library, new, model=ENCODER, settings=RecommendSettings(**settings), **options)


def ids(found: Recommendations) -> list[str]:
    return [hit.id for hit in found.hits]


def lines(papers: list[Paper]) -> str:
    return "".join(json.dumps(paper.to_json()) + "\n" for paper in papers)


def test_the_result_does_not_depend_on_blocks_or_on_where_vectors_come_from(tmp_path: Path, monkeypatch) -> None:
    papers = some_papers(90)
    library, new, plain = papers[:30], papers[30:], {"k": 20, "diversity": 0.0, "balance": 0.0}
    for name, part in (("own", library), ("new", new)):
        (tmp_path / f"{name}.jsonl").write_text(lines(part))
        embed(part, ENCODER, tmp_path / name)  # type: ignore[arg-type]
    for name, size in {"ENCODED": 7, "READ": 11, "RETAINED": 20, "PER_RESULT": 1}.items():
        monkeypatch.setattr(module, name, size)
    expected = run(library, new, **plain)
    for own, other in (
        (library, iter(new)),
        (tmp_path / "own.jsonl", str(tmp_path / "new.jsonl")),
        (str(tmp_path / "own"), tmp_path / "new"),
        ([tmp_path / "own"], [tmp_path / "new.jsonl"]),
        (Collection(tmp_path / "own"), Collection(tmp_path / "new")),
    ):
        found = run(own, other, **plain)
        assert ids(found) == ids(expected) and len(found.hits) == 20 and found.counts.new == 60
        assert found.counts.new_without_abstract == expected.counts.new_without_abstract > 0
        assert [hit.paper.abstract for hit in found.hits] == [hit.paper.abstract for hit in expected.hits]


def test_collections_need_no_model_and_show_what_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(LIBRARY, ENCODER, tmp_path / "own")  # type: ignore[arg-type]
    embed(NEW, ENCODER, tmp_path / "new")  # type: ignore[arg-type]
    monkeypatch.setattr(Encoder, "load", lambda *_, **__: pytest.fail("no model is needed"))
    found = recommend(tmp_path / "own", tmp_path / "new")
    assert ids(found) == ids(run(k=50)) and found.model == "fake" and found.counts.encoded == 0
    changed = replace(NEW[0], abstract="Halos of dark matter are heavy indeed.")
    embed([changed], ENCODER, tmp_path / "new")  # type: ignore[arg-type]
    collection = Collection(tmp_path / "new")
    collection.delete("t")
    found = run(new=collection)
    assert sorted(ids(found)) == ["g2", "g3", "h4", "h5"]
    assert [hit.paper.abstract for hit in found.hits if hit.id == "h4"] == [changed.abstract]
    embed(NEW, FakeEncoder("other", "f9", dim=256), tmp_path / "apart")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"own has vectors of fake .*apart of other .*do not compare"):
        recommend(tmp_path / "own", tmp_path / "apart")
    with pytest.raises(InputError, match="not of fake"):
        run(tmp_path / "apart", LIBRARY)


def test_known_papers_are_left_out_and_counted_by_reason() -> None:
    own = replace(OWN, id="own", ids={"doi": "10.1000/own"})
    copies = [
        Paper(id="a", title="By its DOI", ids={"doi": "10.1000/OWN"}),
        replace(HALOS[0]),  # by its id
        replace(HALOS[1], id="other"),  # by its title
        Paper(id="b", title="Rotation of galaxies", abstract=ABSTRACT.replace("forty", "fifty")),
    ]
    again = [replace(NEW[0]), replace(NEW[1], id="again")]
    found = run([*LIBRARY, own], [*copies, *NEW, *again], seen=[NEW[-1]])
    assert found.counts.owned == {"doi": 1, "id": 1, "near-duplicate": 1, "title": 1}
    assert sorted(ids(found)) == sorted(paper.id for paper in NEW[:-1]) and found.counts.new == 11
    assert (found.counts.repeated, found.counts.seen, found.counts.unwanted) == (2, 1, 0)
    assert {paper.reason for paper in found.left_out} >= {"seen", "repeated", "near-duplicate"}
    everything = run(LIBRARY, LIBRARY)
    assert everything.hits == () and everything.counts.owned == {"id": len(LIBRARY)}


def test_versions_of_a_paper_of_the_library_count_once() -> None:
    first = replace(GENES[0], title="Guides that edit the genes of mice")
    once = [*HALOS[:4], first]
    imported = replace(first, id="import", title=first.title.upper(), abstract="", year=2001)
    printed = replace(first, id="printed", abstract=f"{first.abstract} Data are open.", year=2015)
    found, plain = run([imported, *once, printed]), run(once)
    assert {hit.id: hit.score for hit in found.hits} == pytest.approx({hit.id: hit.score for hit in plain.hits})
    assert (found.counts.library, found.counts.library_versions, plain.counts.library_versions) == (7, 2, 0)
    assert run([*once, printed], [printed]).counts.owned, "a version of the library is known"


def test_unwanted_papers_go_down_and_age_counts_if_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNWANTED_WEIGHT", 1.0)
    found = run(unwanted=[HALOS[4]], balance=0.0)
    assert found.counts.unwanted == 1 and "h4" not in ids(found)
    assert all(hit.unwanted is not None for hit in found.hits) and found.counts.unwanted_given == 1
    aged = [replace(HALOS[5], id=name, title=f"Halos {name}", year=year) for name, year in (("o", 1950), ("y", 2019))]
    plain, young = run(new=aged), run(new=aged, half_life=10.0)
    assert ids(young) == ["y", "o"] and {hit.id: hit.score for hit in plain.hits}["o"] > young.hits[1].score


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"library": iter(())}, "the library has no papers"),
        ({"new": [*NEW, Paper(id="x")]}, "new paper 6, 'x', has no title and no abstract"),
        ({"library": [Paper(id="x")]}, "library paper 1, 'x', has no title"),
    ],
)
def test_papers_that_cannot_be_used_are_an_error(given, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(**given)


def test_new_papers_may_be_none_and_bad_records_are_skipped_and_counted(tmp_path: Path) -> None:
    found = run(new=())
    assert found.hits == () and found.counts.new == 0 and len(found.interests) == 2
    file = tmp_path / "new.jsonl"
    file.write_text('{"id": "bad", "title": ""}\n' + lines(NEW))
    with pytest.raises(InputError, match=r"new.jsonl, record 1 .*no title and no abstract"):
        run(new=file)
    found = run(new=file, skip_bad=True)
    assert found.counts.skipped == 1 and "record 1" in found.skipped[0] and len(found.hits) == len(NEW)


def test_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    odd = Paper(id="odd id, {1}", title="Costs & benefits of 5% CO_2 {and} $x^2$", ids={"doi": "10.1000/odd_(1)"})
    found = run(new=[*NEW, odd], k=9)
    files = write_recommendations(found, tmp_path / "ranked")
    assert [file.name for file in files] == ["ranked.csv", "ranked.jsonl", "ranked.bib"]
    files += write_recommendations(found, tmp_path / "ranked.ris")
    for file in files:
        read = list(read_papers(file))
        assert [paper.title for paper in read] == [hit.title for hit in found.hits], file
        assert [paper.ids["doi"] for paper in read if paper.title == odd.title] == ["10.1000/odd_(1)"]
    rows = (tmp_path / "ranked.csv").read_text().splitlines()
    assert rows[0] == "rank,score,id,doi,url,title,authors,year,venue,interest,because" and rows[1].startswith("1,0.")
    first = json.loads((tmp_path / "ranked.jsonl").read_text().splitlines()[0])
    assert first["because"][0]["id"] == found.hits[0].because[0].id and "why" not in first
    (tmp_path / "folder.csv").mkdir()
    for name, message in (("ranked.xlsx", "must end with"), ("folder.csv", "Is a directory")):
        with pytest.raises(InputError, match=message):
            write_recommendations(found, tmp_path / name)
