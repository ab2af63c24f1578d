"""Tagging: names found in texts, vocabularies, evidence, taggers trained and not, feedback, reports, files of tags."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from build_tagging import DIM, TOPICS, UNSEEN, build_papers, build_vocabulary, embed, label_vectors
from sciprism.drop_report import DropReport
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers import read_papers
from sciprism.papers.records import Label, Paper
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging import suggestions
from sciprism.uses.tagging import tagger as taggers
from sciprism.uses.tagging.evidence import FEATURES, EvidenceCollector, PaperSpace, Sources
from sciprism.uses.tagging.suggestions import Judgement, PaperTags, Tag, TagChoice, compare_tags, read_judgements
from sciprism.uses.tagging.tagger import build_zero_shot, learn_from_feedback, load_tagger, save_tagger, train
from sciprism.uses.tagging.vocabulary import NameMatcher, Vocabulary, find_reached, stems_of

ALL = TagChoice(threshold=0)


def labels(*names: str) -> list[Label]:
    return [Label(id=name, name=name) for name in names]


def test_words_are_compared_in_one_form():
    found = stems_of("Galaxies, galaxy's; Stars in gas: Nucleus analysis ÅNGSTRÖM 暗物质")
    assert found == ["galaxy", "galaxy", "s", "star", "in", "gas", "nucleus", "analysis", "angstrom", "暗", "物", "质"]


def test_names_are_found_in_texts():
    named = [*labels("Dark matter halo", "Spiral galaxies", "Matter", "X", "Mercury (planet)")]
    named.append(Label(id="a", name="Diabetes Mellitus, Type 2", synonyms=("NIDDM",)))
    matcher = NameMatcher(named)
    found = matcher.find("Dark-matter halos", "The dark matter halo of a spiral galaxy. A dark matter halo.")
    assert found.keys() == {0, 1, 2} and [found[row].inside for row in range(3)] == [False, False, True]
    assert (found[0].title, found[0].abstract, found[0].text) == (1, 2, "Dark-matter halos")
    assert (found[0].words, found[0].place, found[1].place) == (3, 0, 9 / 15)
    assert found[0].exact and not found[1].exact, "the abstract has the name of the first as it is"
    assert found[1].text == "spiral galaxy" and found[1].title == 0
    assert not matcher.find("Dark matter halo and matter", "")[2].inside, "it is also found alone"
    kinds = {text: matcher.find(text, "") for text in ("Type 2 diabetes mellitus", "NIDDM", "Mercury", "x-ray")}
    assert [*map(len, kinds.values())] == [1, 1, 1, 0], "a single letter is no name to look for"
    assert (kinds["Type 2 diabetes mellitus"][5].kind, kinds["NIDDM"][5].kind, kinds["Mercury"][4].kind) == (2, 1, 2)


def test_labels_are_found_by_id_notation_and_name():
    vocabulary = Vocabulary(
        [
            Label(id="u1", name="Insulin", codes=("D06",)),
            Label(id="u2", name="Insulins", synonyms=("Insulin drugs",)),
            Label(id="u3", name="Red giant"),
        ]
    )
    found = {"u2": [1], "D06": [0], "insulin": [0], "INSULINS": [1], "insulin drug": [1], "Red giants": [2]}
    found["insulin'"] = [0, 1]  # one form of two labels
    assert {name: vocabulary.find_all(name) for name in found} == found
    twice = Vocabulary([Label(id="p", name="Mercury"), Label(id="e", name="mercury ")])
    assert twice.notes == ["1 name is of several labels: Mercury [p] and mercury  [e]"]
    with pytest.raises(InputError, match="it 'MERCURY' is a name of 2 labels; name one by its id: p, e"):
        twice.find_named("MERCURY", "it")


def test_hierarchies():
    rows = [("a", ()), ("b", ("a",)), ("c", ("b", "gone", "NA"))]
    linked = Vocabulary([Label(id=id, name=id, broader=above) for id, above in rows])
    assert find_reached(2, linked.parents) == {0, 1} and find_reached(0, linked.children) == {1, 2}
    assert linked.children[0] == [1]
    assert linked.notes == ["1 broader labels are not in the vocabulary; they are ignored"]
    numbers = [("d1", ("C04",)), ("d2", ("C04.588", "A01.100")), ("d3", ("C04.588.322",))]
    assert Vocabulary([Label(id=id, name=id, codes=codes) for id, codes in numbers]).parents == [[], [0], [1]], "MeSH"
    circles = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")]
    cut = Vocabulary([Label(id=id, name=id.upper(), broader=(above,)) for id, above in circles])
    assert len(cut.notes) == 2 and all("has a circle" in note and "is ignored" in note for note in cut.notes)
    assert sum(map(len, cut.parents)) == 2 and all(row not in find_reached(row, cut.parents) for row in range(4))


def test_a_label_of_two_files_is_joined():
    joined = Vocabulary([Label(id="x", name="Red"), Label(id="x", name="Red", synonyms=("Rouge",), definition="d")])
    assert joined.labels == (Label(id="x", name="Red", synonyms=("Rouge",), definition="d"),)


ASKED = [
    Paper(
        id="a", title="Galaxies of dark matters", abstract="A Galaxy turns. Haloes of dark matter fault slip rupture."
    ),
    Paper(id="b", title="Earthquake", abstract="Vaccines, enzymes and spiral galaxy. Antigen dose immunity substrate"),
    Paper(id="c", title="None of it", abstract="ice flow melt, superconductor biology"),
]
TRAINED = """
0.121 0.263 0.259 0.363 0.300 0.399 0.478 0.651 0.043 0.204 0.261 0.439 0.261 0.439 0.087 0.282 0.043 0.204
0.451 0.479 2.762 1.967 2.182 0.235 0.042 0.217 0.168 0.920 2.631 1.940 0.087 0.282 0.087 0.282 0.391 0.488
2.197 0.000 0.860 1.072 1.000 0.000 0.261 0.232 1.861 1.547 0.261 0.351 0.783 0.412 2.077 1.101 0.256 0.311
1.984 1.645 0.162 0.921 2.802 1.940 0.452 0.202 0.168 0.248 0.000 0.000 0.073 0.204"""
NAMES_ALONE = """
0.092 0.236 0.212 0.363 0.243 0.381 0.400 0.611 0.000 0.000 0.133 0.340 0.267 0.442 0.000 0.000 0.067 0.249
0.425 0.465 2.673 2.095 2.256 0.092 0.119 0.196 0.479 1.144 0.957 0.568 0.067 0.249 0.067 0.249 0.333 0.471
2.197 0.000 0.732 1.036"""


@pytest.mark.parametrize(
    ("is_trained", "sizes", "expected"), [(True, [8, 7, 8], TRAINED), (False, [5, 5, 5], NAMES_ALONE)]
)
def test_evidence_is_what_it_was(is_trained, sizes, expected, monkeypatch):
    """Mean and deviation of each feature over all candidates, computed once; without training every second label."""
    changes = {0: {"synonyms": ("Spiral galaxies",)}, 2: {"name": "Enzymes (proteins)"}, 5: {"synonyms": ("Ice",)}}
    changes |= {7: {"synonyms": ("Dark",)}, 8: {"name": "Biology of matter"}}
    changed = [replace(label, **changes.get(row, {})) for row, label in enumerate(build_vocabulary().labels)]
    vocabulary, data = Vocabulary(changed), build_papers(40)
    collector = EvidenceCollector(vocabulary, label_vectors(vocabulary), is_trained=is_trained)
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in ASKED])
    allowed = np.arange(len(vocabulary)) % 2 == 0
    if is_trained:
        monkeypatch.setattr("sciprism.uses.tagging.evidence.DIRECTIONS", 8)
        papers = [replace(paper, title=f"On {[*TOPICS][n % 4]}") for n, paper in enumerate(data.papers)]
        space = PaperSpace.learn(papers, data.vectors)
        located = space.locate(papers, data.vectors)
        sources = Sources.fit(located, data.tags, collector.vectors, collector.find_names(papers))
        learned = {"near": sources.near, "sources": sources, "located": space.locate(ASKED, vectors)}
        found = collector.collect(ASKED, vectors - space.centre, **learned)
    else:
        found = collector.collect(ASKED, vectors, allowed=allowed)
        assert allowed[found.labels].all() and not found.features[:, 20:].any()
    assert np.bincount(found.papers).tolist() == sizes and found.neighbours == 5 * is_trained
    numbers = np.array(expected.split(), float).reshape(-1, 2).T
    count = numbers.shape[1]
    for name, *of in zip(FEATURES, found.features.mean(axis=0), found.features.std(axis=0), *numbers, strict=False):
        assert of[:2] == pytest.approx(of[2:], abs=3e-3), name
    assert count == (len(FEATURES) if is_trained else 20)


def test_isotonic_calibration_by_hand():
    scores = np.array([1.0, 2, 3, 4, 5, 6])
    found = Calibration.fit(scores, np.array([0.0, 1, 0, 0, 1, 1])).apply(scores)
    # 2, 3 and 4 are pooled at 3 with 1/3, 5 and 6 at 5.5 with 1; the others are between the steps
    np.testing.assert_allclose(found, [0, 1 / 6, 1 / 3, 1 / 3 + 2 / 3 / 2.5, 1 / 3 + 2 / 3 * 2 / 2.5, 1])
    assert (np.diff(Calibration.fit(scores, scores % 2).apply(np.linspace(0, 9, 50))) >= 0).all()


@pytest.fixture(scope="module")
def trained():
    vocabulary = build_vocabulary()
    return train(vocabulary, label_vectors(vocabulary), build_papers(200))


def suggest(tagger, papers, choice=None):
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in papers])
    return list(tagger.suggest(papers, vectors, choice))


def names(paper):
    return [tag.label for tag in paper.tags]


def test_a_trained_tagger_finds_topics_by_name_and_by_words(trained, monkeypatch):
    data = build_papers(60, seed=1)
    found = suggest(trained, data.papers)
    card = compare_tags(trained.vocabulary, found, [data.tags[[number]].indices.tolist() for number in range(60)])
    assert card.scores["ndcg_5"] > 0.95 and card.scores["f1"] > 0.9 and 0 < trained.weighing.threshold < 1
    asked = Paper(id="x", title="On Galaxies", abstract="fault rupture seismic slip magnitude")
    both, unseen = suggest(trained, [asked, Paper(id="y", title=f"New {UNSEEN.lower()}")], ALL)
    why = {tag.label: tag.why for tag in both.tags}
    assert {*names(both)[:2]} == {"Galaxies", "Earthquakes"} and UNSEEN in names(unseen)[:3]
    assert why["Galaxies"].startswith("found in title: 'Galaxies'") and "nearest papers" in why["Earthquakes"]
    monkeypatch.setattr("sciprism.uses.tagging.tagger.MAX_SCORES", 4 * len(trained.vocabulary))
    assert [*map(names, suggest(trained, data.papers))] == [*map(names, found)], "blocks change nothing"


def test_a_threshold_by_hand():
    # of 3 relevant labels; F1 after each: 2/4, 4/5, 4/6, 4/7
    assert taggers.choose_threshold(np.array([0.9, 0.2, 0.8, 0.7]), np.array([1.0, 0, 1, 0]), 3) == 0.8


def test_choices(trained):
    papers = build_papers(5, seed=3).papers
    assert all(len(paper.tags) == 2 for paper in suggest(trained, papers, TagChoice(threshold=0, limit=2)))
    branch = suggest(trained, papers, TagChoice(threshold=0, branch=["Astronomy"]))
    assert {name for paper in branch for name in names(paper)} <= {"Galaxies", "Dark matter", "Astronomy"}
    without = suggest(trained, papers, TagChoice(threshold=0, excluded=["Galaxies", "N1"]))
    assert not {"Galaxies", "Dark matter"} & {name for paper in without for name in names(paper)}


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ("keep", ["Astronomy", "Galaxies", "Vaccines"]),
        ("drop", ["Galaxies", "Vaccines"]),
        ("add", ["Astronomy", "Galaxies", "Vaccines", "Biology"]),
    ],
)
def test_parents_are_dropped_or_added(parents, expected):
    vocabulary = build_vocabulary()
    rows = np.array([vocabulary.find_named(name, "it") for name in ("Astronomy", "Galaxies", "Vaccines")])
    picked = TagChoice(parents=parents).pick(rows, np.array([0.9, 0.8, 0.7]), 0.5, vocabulary)
    assert [vocabulary.labels[row].name for row, _, _ in picked] == expected
    assert parents != "add" or picked[-1][1:] == (0.7, vocabulary.rows["t3"])


def test_without_training_names_and_near_papers_speak():
    vocabulary = build_vocabulary()
    paper = Paper(id="x", title="On Galaxies", abstract="fault rupture seismic slip magnitude fault rupture")
    [found] = suggest(build_zero_shot(vocabulary, label_vectors(vocabulary)), [paper], ALL)
    assert names(found)[0] == "Galaxies" and found.tags[0].why.startswith("found in title")
    near = build_zero_shot(vocabulary, label_vectors(vocabulary), tagged=build_papers(60))
    [found] = suggest(near, [paper], ALL)
    why = {tag.label: tag.why for tag in found.tags}
    assert "of 5 nearest papers" in why["Earthquakes"] and "Earthquakes" in names(found)[:2]


def test_one_class_each_with_a_probability_over_the_list():
    vocabulary, papers = Vocabulary(labels(*TOPICS)), build_papers(20).papers
    tagger = build_zero_shot(vocabulary, label_vectors(vocabulary))
    best, every = (suggest(tagger, papers, TagChoice(one=True, limit=limit)) for limit in (None, 6))
    assert [names(paper) for paper in best] == [names(paper)[:1] for paper in every]
    for paper, plain in zip(every, suggest(tagger, papers, ALL), strict=True):
        assert sum(tag.probability for tag in paper.tags) == pytest.approx(1, abs=1e-3) and names(paper) == names(plain)
    assert not any(paper.tags for paper in suggest(tagger, papers, TagChoice(one=True, threshold=1)))


def test_a_class_that_is_near_to_all_papers_does_not_win_them():
    vocabulary, vectors = Vocabulary(labels("science", "sky", "sea", "soil")), np.eye(4, dtype=np.float32)
    papers = [Paper(id=str(number), title="On it") for number in range(30)]
    mixed = vectors[0] + 0.6 * vectors[[1 + number % 3 for number in range(30)]]
    tagger = build_zero_shot(vocabulary, vectors)
    found = [names(paper) for paper in tagger.suggest(papers, mixed, TagChoice(one=True))]
    assert found == [[("sky", "sea", "soil")[number % 3]] for number in range(30)]
    assert names(next(tagger.suggest(papers[:1], mixed[:1], TagChoice(one=True)))) == ["science"], "nothing to compare"


@pytest.mark.filterwarnings("error")
def test_one_label_is_a_list_too():
    vocabulary = Vocabulary(labels("Galaxies"))
    papers = build_papers(20).papers
    found = suggest(build_zero_shot(vocabulary, label_vectors(vocabulary)), papers, ALL)
    chances = {paper.title: each.tags[0].probability for paper, each in zip(papers, found, strict=True)}
    assert max(chances.values()) == chances["On Galaxies"] and min(chances.values()) > 0


def test_a_stored_tagger_gives_the_same_and_damage_is_found(trained, tmp_path: Path):
    papers = build_papers(30, seed=4).papers
    save_tagger(trained, tmp_path / "t")
    assert suggest(load_tagger(tmp_path / "t"), papers, ALL) == suggest(trained, papers, ALL)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a tagger"):
        save_tagger(trained, tmp_path / "full")
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"
    path = tmp_path / "t" / "vocabulary.jsonl"
    path.write_text(path.read_text().replace("Galaxies", "Galaxies!"))
    with pytest.raises(DamagedFileError, match="checksum differs"):
        load_tagger(tmp_path / "t")


def test_too_few_papers_are_refused():
    vocabulary = build_vocabulary()
    with pytest.raises(InputError, match="5 papers have tags of the vocabulary; training needs 20"):
        train(vocabulary, label_vectors(vocabulary), build_papers(5))
    small = train(vocabulary, label_vectors(vocabulary), build_papers(20))
    assert names(suggest(small, [Paper(id="x", title="On Galaxies")], ALL)[0])


def test_feedback_teaches_what_was_wrong(trained):
    # "Glaciers" is named in these papers and is never right: a name of a place, say
    papers = [Paper(id=f"f{n}", title="Glaciers Inc", abstract=f"dose immunity trial {n}") for n in range(60)]
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in papers])
    judgements = [Judgement(p.id, tag, right) for p in papers for tag, right in (("Glaciers", False), ("t3", True))]
    assert taggers.list_unknown_papers(trained, judgements) == {paper.id for paper in papers}
    learned, report = learn_from_feedback(trained, judgements, papers, vectors)
    assert (report.papers, report.accepted, report.rejected, report.unknown, report.missing) == (60, 60, 60, (), ())
    asked = [Paper(id="new", title="Glaciers Inc", abstract="dose immunity trial")]
    before, after = (
        {tag.label: tag.probability for tag in suggest(tagger, asked, ALL)[0].tags} for tagger in (trained, learned)
    )
    assert before["Glaciers"] > 0.5 and after["Glaciers"] < 0.5 * before["Glaciers"] and after["Vaccines"] > 0.8
    assert len(learned.training.papers) == 260 and len(learned.training.judged) == 60


def test_feedback_on_papers_of_the_tagger_changes_their_tags(trained):
    first, has = trained.training.papers[0].id, trained.training.tags[[0]].indices.tolist()
    none, other = np.empty((0, DIM), np.float32), next(row for row in range(6) if row not in has)
    said = [(first, f"t{has[0]}", False), (first, f"t{other}", True), ("gone", "t0", True), (first, "no tag", True)]
    learned, report = learn_from_feedback(trained, [Judgement(*each) for each in said], [], none)
    assert sorted(learned.training.tags[[0]].indices.tolist()) == sorted({has[1], other})
    assert report.missing == ("gone",) and report.unknown == ("no tag",) and report.papers == 1
    for said, message in (
        ([(first, "t0", True), (first, "N0", False)], "accepted in one row, rejected in another"),
        ([("gone", "t0", True)], "none of the judged papers"),
    ):
        with pytest.raises(InputError, match=message):
            learn_from_feedback(trained, [Judgement(*each) for each in said], [], none)


def test_a_report_scores_and_counts_what_was_wrong_and_missed():
    p1, p5, ndcg, f1_5, f1 = suggestions.score_ranking([7, 1, 2, 3, 4, 9], {7, 2, 9})
    assert (p1, p5, f1_5, f1) == (1, 2 / 5, 2 * 2 / (5 + 3), 2 * 3 / (6 + 3))
    assert ndcg == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3) + 0.5))
    assert suggestions.score_ranking([], {1}) == (0,) * 5
    vocabulary = build_vocabulary()
    tags = [tuple(replace(TAG, uri=f"t{row}") for row in rows) for rows in ((0, 1), (0,), (5,))]
    suggested = [PaperTags("p", "", each) for each in tags]
    card = compare_tags(vocabulary, suggested, [[0, 2], [1], []])
    counts = {each.label: (each.right, each.wrong, each.missed) for each in card.labels}
    assert counts == {"Galaxies": (1, 1, 0), "Dark matter": (0, 1, 1), "Enzymes": (0, 0, 1)}
    assert card.scores["papers"] == 2, "a paper without a right tag says nothing"
    assert [each["label"] for each in card.to_json(1)["most_missed"]] == ["Dark matter"]


PAPERS = [Paper(id="a", title='Of "quotes", commas', abstract="Two\nlines."), Paper(id="b", title="None")]
TAG = Tag(rank=1, uri="http://x/1", notation="N1", label="Dark, matter", probability=0.91234, why="found in title: 'x'")


def write(folder: Path, name: str) -> str:
    tagged = [PaperTags("a", PAPERS[0].title, (TAG,)), PaperTags("b", "None", ())]
    chosen = suggestions.choose_format(folder / name)
    assert suggestions.write_tags(folder / name, chosen, zip(PAPERS, tagged, strict=True)) == [1, 0]
    return (folder / name).read_text(encoding="utf-8")


def test_suggestions_in_every_format(tmp_path: Path):
    [row] = csv.DictReader(write(tmp_path, "tags.csv").splitlines())
    assert row["probability"] == "0.9123" and row["label"] == TAG.label and row["title"] == PAPERS[0].title
    first, second = map(json.loads, write(tmp_path, "tags.jsonl").splitlines())
    assert first["id"] == "a" and first["tags"][0]["why"] == TAG.why and second["tags"] == []
    expected = {"uri": "http://x/1", "label": "Dark, matter", "notation": "N1", "score": 0.91234}
    results = [{"document_id": "a", "results": [expected]}, {"document_id": "b", "results": []}]
    assert json.loads(write(tmp_path, "tags.json")) == results
    assert write(tmp_path, "tags.tsv") == 'Of "quotes", commas Two lines.\t<http://x/1>\nNone\t\n'
    assert [paper.keywords for paper in read_papers(tmp_path / "tags.tsv")] == [("http://x/1",), ()]
    with pytest.raises(InputError, match=r"no format is known for \.xlsx"):
        suggestions.choose_format(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    ("text", "message"), [("\na,x\n", "column 'verdict'"), (",verdict\na,x,\n", "write yes or no")]
)
def test_a_table_without_a_verdict_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "t.csv").write_text(f"paper,uri{text}")
    with pytest.raises(InputError, match=message):
        read_judgements(tmp_path / "t.csv")


def test_tables_of_tags_and_verdicts(tmp_path: Path):
    path, dropped = tmp_path / "t.csv", DropReport()
    path.write_text("paper,uri,verdict\n12.0,<x>,yes\n,y,yes\na,,no\n12.0,NA,NA\nb,x,No\n")
    assert read_judgements(path, dropped) == [Judgement("12", "x", True), Judgement("b", "x", False)]
    assert str(dropped) == "row without a paper or a tag 2, row without a verdict 1"
    dropped = DropReport()
    assert suggestions.read_tag_table(path, dropped) == {"12": ["x", "NA"]}, "a label may be called NA"
    assert str(dropped) == "row without a paper or a tag 2, row that a person rejected 1"


def test_tags_are_resolved_and_those_without_one_label_counted():
    named = [Label(id="p", name="Mercury"), Label(id="e", name="mercury "), Label(id="h", name="God", synonyms=("x",))]
    given = [["Mercury", "<p>", "X", "nothing"], ["MERCURY"], ["nothing"]]
    rows, report = suggestions.resolve_tags(given, Vocabulary(named))
    assert rows == [[0, 2], [], []] and report.untagged == 2 and report.homonyms["Mercury"] == ["p", "e"]
    facts = report.to_json()
    assert (facts["tags"], facts["unknown"], facts["ambiguous"]) == (2, {"nothing": 2}, {"Mercury": 1, "MERCURY": 1})
