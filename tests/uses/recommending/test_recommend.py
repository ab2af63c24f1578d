"""Recommendations from files and collections: what is ranked, what is left out and counted, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fake_encoder import FakeEncoder, some_papers
from sciprism import Collection
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection, embed
from sciprism.uses.recommending import Recommendations, RecommendSettings, paper_sources, recommend
from sciprism.uses.recommending import candidates as candidates_module
from sciprism.uses.recommending.paper_sources import FileReading
from sciprism.uses.recommending.results import write_recommendations

ENCODER = FakeEncoder(dim=256)
HALOS = [
    Paper(
        id=f"h{n}",
        title=f"Dark matter halos {word}",
        abstract=f"Halos of dark matter are {word}.",
        authors=("V. Rubin",),
        year=2000 + n,
    )
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


def test_near_papers_come_first_with_the_reason() -> None:
    found = run(k=5)
    assert set(ids(found)[:4]) == {"h4", "h5", "g2", "g3"} and ids(found)[4] == "t"
    assert [interest.papers for interest in found.interests] == [4, 2]
    for hit in found.hits[:4]:
        assert {near.id[0] for near in hit.because[:2]} == {hit.id[0]}, "the reasons are own papers of its topic"
        assert hit.because[0].similarity == max(near.similarity for near in hit.because)
        assert hit.paper in NEW and hit.unwanted is None
    names = {hit.id: hit.interest for hit in found.hits}
    assert names["h4"] == names["h5"] == found.interests[0].name and "dark" in names["h4"]
    assert names["g2"] == names["g3"] == found.interests[1].name
    assert found.counts.library == 6 and found.counts.new == 5 and not found.counts.owned


def test_the_result_does_not_depend_on_blocks_or_on_where_vectors_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers = some_papers(90)
    library, new = papers[:30], papers[30:]
    expected = run(library, new, k=20)
    assert len(expected.hits) == 20
    for name, part in (("own", library), ("new", new)):
        (tmp_path / f"{name}.jsonl").write_text(lines(part))
        embed(part, ENCODER, tmp_path / name)  # type: ignore[arg-type]
    monkeypatch.setattr(paper_sources, "ENCODED", 7)
    monkeypatch.setattr(paper_sources, "READ", 11)
    monkeypatch.setattr(candidates_module, "RETAINED", 20)
    monkeypatch.setattr(candidates_module, "PER_RESULT", 1)
    opened = StoredCollection.open(tmp_path / "new")
    for own, other in (
        (library, iter(new)),
        (tmp_path / "own.jsonl", str(tmp_path / "new.jsonl")),
        (str(tmp_path / "own"), tmp_path / "new"),
        ([tmp_path / "own"], [tmp_path / "new.jsonl"]),
        (Collection(tmp_path / "own"), opened),
    ):
        found = run(own, other, k=20, diversity=0.0, balance=0.0)
        plain = run(library, new, k=20, diversity=0.0, balance=0.0)
        assert ids(found) == ids(plain)
        assert found.counts.new == 60 and found.counts.new_without_abstract == expected.counts.new_without_abstract > 0
        assert [hit.paper.abstract for hit in found.hits] == [hit.paper.abstract for hit in plain.hits], "all fields"


def test_collections_need_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(LIBRARY, ENCODER, tmp_path / "own")  # type: ignore[arg-type]
    embed(NEW, ENCODER, tmp_path / "new")  # type: ignore[arg-type]
    monkeypatch.setattr(Encoder, "load", lambda *_, **__: pytest.fail("no model is needed"))
    found = recommend(tmp_path / "own", tmp_path / "new")
    assert ids(found) == ids(run(k=50)) and found.model == "fake" and found.counts.encoded == 0


def test_superseded_and_deleted_papers_of_a_collection_are_no_candidates(tmp_path: Path) -> None:
    embed(NEW, ENCODER, tmp_path / "new")  # type: ignore[arg-type]
    changed = replace(NEW[0], abstract="Halos of dark matter are heavy indeed.")
    embed([changed], ENCODER, tmp_path / "new")  # type: ignore[arg-type]
    collection = Collection(tmp_path / "new")
    collection.delete("t")
    found = run(new=collection)
    assert sorted(ids(found)) == ["g2", "g3", "h4", "h5"]
    assert [hit.paper.abstract for hit in found.hits if hit.id == "h4"] == [changed.abstract]


def test_owned_papers_are_left_out_and_counted_by_reason() -> None:
    text = (
        "We measure how the outer gas of forty nearby spiral galaxies moves, as fast as the inner gas, which visible "
    )
    text += "matter alone cannot explain, so that most of the mass must be dark matter in halos around each galaxy."
    own = Paper(id="own", title="Rotation of spiral galaxies", abstract=text, ids={"doi": "10.1000/own"})
    copies = [
        Paper(id="a", title="By its DOI", ids={"doi": "10.1000/OWN"}),
        replace(HALOS[0]),  # by its id
        replace(HALOS[1], id="other"),  # by its title
        Paper(id="b", title="Rotation of galaxies", abstract=text.replace("forty", "fifty")),
    ]
    found = run([*LIBRARY, own], [*copies, *NEW])
    assert found.counts.owned == {"doi": 1, "id": 1, "near-duplicate": 1, "title": 1}
    assert sorted(ids(found)) == sorted(paper.id for paper in NEW)
    assert found.counts.new == len(copies) + len(NEW)
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


def test_copies_among_the_new_papers_are_shown_once() -> None:
    found = run(new=[*NEW, replace(NEW[0]), replace(NEW[1], id="again")])
    assert sorted(ids(found)) == sorted(paper.id for paper in NEW) and found.counts.repeated == 2


def test_unwanted_papers_and_those_like_them_go_down() -> None:
    assert ids(run(k=1, balance=0.0)) == ["h5"] or ids(run(k=1, balance=0.0)) == ["h4"]
    found = run(unwanted=[HALOS[4]], balance=0.0, unwanted_weight=1.0)
    assert found.counts.unwanted == 1 and "h4" not in ids(found)
    assert set(ids(found)[:2]) == {"g2", "g3"}, "halos are not wanted"
    assert all(hit.unwanted is not None for hit in found.hits) and found.counts.unwanted_given == 1
    light = run(unwanted=[HALOS[4]], balance=0.0, unwanted_weight=0.0)
    assert ids(light)[0] == "h5"


def test_age_counts_if_it_is_asked_for() -> None:
    old, young = (
        replace(HALOS[5], id=name, title=f"Halos {name}", year=year) for name, year in (("o", 1950), ("y", 2019))
    )
    plain = run(new=[old, young], diversity=0.0)
    aged = run(new=[old, young], diversity=0.0, half_life=10.0, now=2020)
    assert ids(aged) == ["y", "o"] and {hit.id: hit.score for hit in plain.hits}["o"] > aged.hits[1].score


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ((), "the library has no papers"),
        (iter(()), "the library has no papers"),
        ("gone.bib", "gone.bib: no such file"),
    ],
)
def test_a_library_without_papers_is_an_error(library, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(library)


def test_new_papers_may_be_none() -> None:
    found = run(new=())
    assert found.hits == () and found.counts.new == 0 and len(found.interests) == 2


def test_collections_of_two_models_are_refused(tmp_path: Path) -> None:
    embed(LIBRARY, ENCODER, tmp_path / "own")  # type: ignore[arg-type]
    embed(NEW, FakeEncoder("other", "f9", dim=256), tmp_path / "new")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"own has vectors of fake .*new of other .*do not compare"):
        recommend(tmp_path / "own", tmp_path / "new")
    with pytest.raises(InputError, match="not of fake"):
        run(tmp_path / "new", LIBRARY)


def test_bad_records_are_an_error_or_skipped_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    file.write_text('{"id": "bad", "title": ""}\n' + lines(NEW))
    with pytest.raises(InputError, match=r"new.jsonl, record 1 .*no title and no abstract"):
        run(new=file)
    found = run(new=file, reading=FileReading(skip_bad=True))
    assert found.counts.skipped == 1 and "record 1" in found.skipped[0] and len(found.hits) == len(NEW)


def test_an_empty_text_of_a_program_is_an_error_with_its_number() -> None:
    with pytest.raises(InputError, match="new paper 6, 'x', has no title and no abstract"):
        run(new=[*NEW, Paper(id="x")])
    with pytest.raises(InputError, match="library paper 1, 'x', has no title"):
        run(library=[Paper(id="x")])


def test_progress_tells_of_every_paper() -> None:
    told: list[tuple[str, int, int | None]] = []
    run(progress=lambda *facts: told.append(facts))
    assert told == [("reading the library", 6, 6), ("comparing new papers", 5, 5)]


def test_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    odd = Paper(
        id="odd id, {1}",
        title="Costs & benefits of 5% CO_2 {and} $x^2$ ~ \\alpha #1",
        abstract="Ünïcode — 100% of “quotes”;\nlines.",
        authors=("Curie, Marie", "Research and Development Group"),
        venue="Proc. A & B",
        year=2020,
        ids={"doi": "10.1000/odd_(1)"},
        keywords=("heat", "light"),
    )
    found = run(new=[*NEW, odd], k=9)
    files = write_recommendations(found, tmp_path / "ranked")
    assert [file.name for file in files] == ["ranked.csv", "ranked.jsonl", "ranked.bib"]
    files += write_recommendations(found, tmp_path / "ranked.ris")
    for file in files:
        read = list(read_papers(file))
        assert [paper.title for paper in read] == [hit.title for hit in found.hits], file
        (again,) = (paper for paper in read if paper.title == odd.title)
        assert again.ids["doi"] == "10.1000/odd_(1)" and again.year == 2020 and again.venue == odd.venue
        if file.suffix != ".csv":
            assert again.abstract == " ".join(odd.abstract.split())
    rows = (tmp_path / "ranked.csv").read_text().splitlines()
    assert rows[0] == "rank,score,id,doi,url,title,authors,year,venue,interest,because" and rows[1].startswith("1,0.")
    first = json.loads((tmp_path / "ranked.jsonl").read_text().splitlines()[0])
    assert first["because"][0]["id"] == found.hits[0].because[0].id and "why" not in first
    with pytest.raises(InputError, match="must end with"):
        write_recommendations(found, tmp_path / "ranked.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_recommendations(found, tmp_path / "folder.csv")
