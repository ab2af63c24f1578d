"""Taggers: trained and not, stored and loaded, choices, reasons, feedback, reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from build_tagging import DIM, UNSEEN, build_papers, build_vocabulary, embed, label_vectors
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.records import Paper
from sciprism.uses.tagging.suggestions import PaperTags, Tag, TagChoice, compare_tags, score_ranking
from sciprism.uses.tagging.tag_files import Judgement
from sciprism.uses.tagging.tagger import (
    TrainingSettings,
    build_zero_shot,
    choose_threshold,
    learn_from_feedback,
    list_unknown_papers,
    load_tagger,
    save_tagger,
    train,
)

SETTINGS = TrainingSettings(directions=16)


@pytest.fixture(scope="module")
def trained():
    vocabulary = build_vocabulary()
    return train(vocabulary, label_vectors(vocabulary), build_papers(200), settings=SETTINGS)


def suggest(tagger, papers, choice=None):
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in papers])
    return [each for block in tagger.suggest(papers, vectors, choice) for each in block]


def names(paper):
    return [tag.label for tag in paper.tags]


def test_a_trained_tagger_finds_topics_by_name_and_by_words(trained):
    data = build_papers(60, seed=1)
    card = compare_tags(
        trained.vocabulary, suggest(trained, data.papers), [data.tags[number].tolist() for number in range(60)]
    )
    assert card.scores.ndcg_5 > 0.95 and card.scores.f1 > 0.9
    [found] = suggest(trained, [Paper(id="x", title="On Galaxies", abstract="fault rupture seismic slip magnitude")])
    assert names(found)[:2] == ["Galaxies", "Earthquakes"] or names(found)[:2] == ["Earthquakes", "Galaxies"]
    why = {tag.label: tag.why for tag in found.tags}
    assert why["Galaxies"].startswith("found in title: 'Galaxies'") and "nearest papers" in why["Earthquakes"]


def test_a_label_without_papers_is_found_by_its_name(trained):
    paper = Paper(id="x", title=f"New {UNSEEN.lower()}", abstract="fault rupture seismic slip")
    [found] = suggest(trained, [paper], TagChoice(threshold=0))
    assert UNSEEN in names(found)[:3]


def test_probabilities_are_calibrated_and_thresholds_learned(trained):
    data = build_papers(100, seed=2)
    found = suggest(trained, data.papers, TagChoice(threshold=0))
    right = [
        (tag.probability, trained.vocabulary.rows[tag.uri] in data.tags[number])
        for number, paper in enumerate(found)
        for tag in paper.tags
    ]
    probabilities, outcomes = np.array(right, float).T
    assert probabilities.min() >= 0 and probabilities.max() <= 1
    assert abs(probabilities.mean() - outcomes.mean()) < 0.05
    assert 0 < trained.weighing.threshold < 1


def test_threshold_of_best_f1_by_hand():
    # F1 after each: 2/4, 2/5 ... : with 3 relevant labels; 1 right: 2*1/(1+3), 2 of 3: 2*2/(3+3), 2 of 4: 4/7
    assert choose_threshold(np.array([0.9, 0.2, 0.8, 0.7]), np.array([1.0, 0, 0, 1]), 3) == 0.7


def test_blocks_of_papers_change_nothing(trained, monkeypatch):
    papers = build_papers(9, seed=6).papers
    whole = suggest(trained, papers)
    monkeypatch.setattr("sciprism.uses.tagging.tagger.MAX_SCORES", 4 * len(trained.vocabulary))
    assert [(paper.id, names(paper)) for paper in suggest(trained, papers)] == [(p.id, names(p)) for p in whole]


def test_choices(trained):
    papers = build_papers(5, seed=3).papers
    few = suggest(trained, papers, TagChoice(threshold=0, limit=2))
    assert all(len(paper.tags) == 2 for paper in few)
    branch = suggest(trained, papers, TagChoice(threshold=0, branch=["Astronomy"]))
    assert {name for paper in branch for name in names(paper)} <= {"Galaxies", "Dark matter", "Astronomy"}
    without = suggest(trained, papers, TagChoice(threshold=0, excluded=["Galaxies", "N1"]))
    assert not {"Galaxies", "Dark matter"} & {name for paper in without for name in names(paper)}
    both = TagChoice(branch=["Galaxies"], excluded=["Galaxies"])
    with pytest.raises(InputError, match="every label of the branch is excluded"):
        suggest(trained, papers, both)
    for wrong, message in (
        ({"limit": 0}, "limit is 0"),
        ({"threshold": 2}, "threshold is 2"),
        ({"parents": "x"}, "'x'"),
    ):
        with pytest.raises(InputError, match=message):
            TagChoice(**wrong)


def test_parents_are_dropped_or_added():
    vocabulary = build_vocabulary()
    labels = np.array([vocabulary.find_named(name, "it") for name in ("Astronomy", "Galaxies", "Vaccines")])
    values = np.array([0.9, 0.8, 0.7])
    picked = {
        parents: [
            vocabulary.labels[row].name
            for row, _, _ in TagChoice(parents=parents).pick(labels, values, 0.5, vocabulary)
        ]
        for parents in ("keep", "drop", "add")
    }
    assert picked["keep"] == ["Astronomy", "Galaxies", "Vaccines"] and picked["drop"] == ["Galaxies", "Vaccines"]
    assert picked["add"] == ["Astronomy", "Galaxies", "Vaccines", "Biology"]
    added = TagChoice(parents="add").pick(labels, values, 0.5, vocabulary)[-1]
    assert vocabulary.labels[added[2]].name == "Vaccines" and added[1] == 0.7


def test_without_training_names_and_near_papers_speak():
    vocabulary = build_vocabulary()
    paper = Paper(id="x", title="On Galaxies", abstract="fault rupture seismic slip magnitude fault rupture")
    alone = build_zero_shot(vocabulary, label_vectors(vocabulary))
    [found] = suggest(alone, [paper], TagChoice(threshold=0))
    assert names(found)[0] == "Galaxies" and found.tags[0].why.startswith("found in title")
    near = build_zero_shot(vocabulary, label_vectors(vocabulary), tagged=build_papers(60))
    [found] = suggest(near, [paper], TagChoice(threshold=0))
    why = {tag.label: tag.why for tag in found.tags}
    assert "of 5 nearest papers" in why["Earthquakes"] and "Earthquakes" in names(found)[:2]


def test_a_stored_tagger_gives_the_same(trained, tmp_path: Path):
    papers = build_papers(30, seed=4).papers
    save_tagger(trained, tmp_path / "t")
    loaded = load_tagger(tmp_path / "t")
    choice = TagChoice(threshold=0)
    assert suggest(loaded, papers, choice) == suggest(trained, papers, choice)
    assert loaded.facts == trained.facts and len(loaded.training.papers) == 200
    save_tagger(loaded, tmp_path / "t")  # in its own place
    assert suggest(load_tagger(tmp_path / "t"), papers) == suggest(trained, papers)


def test_damaged_and_other_folders_are_refused(trained, tmp_path: Path):
    save_tagger(trained, tmp_path / "t")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is no tagger"):
        save_tagger(trained, tmp_path / "full")
    with pytest.raises(InputError, match=r"no tagger: it has no tagger\.json"):
        load_tagger(tmp_path / "full")
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"
    path = tmp_path / "t" / "vocabulary.jsonl"
    path.write_text(path.read_text().replace("Galaxies", "Galaxies!"))
    with pytest.raises(DamagedFileError, match="checksum differs"):
        load_tagger(tmp_path / "t")
    with pytest.raises(InputError, match="only a trained tagger is stored"):
        vocabulary = build_vocabulary()
        save_tagger(build_zero_shot(vocabulary, label_vectors(vocabulary)), tmp_path / "z")


def test_too_few_papers_are_refused():
    vocabulary = build_vocabulary()
    with pytest.raises(InputError, match="5 papers have tags of the vocabulary; training needs 20"):
        train(vocabulary, label_vectors(vocabulary), build_papers(5))
    small = train(vocabulary, label_vectors(vocabulary), build_papers(20), settings=SETTINGS)
    assert names(suggest(small, [Paper(id="x", title="On Galaxies")], TagChoice(threshold=0))[0])


def test_feedback_teaches_what_was_wrong(trained):
    # "Glaciers" is named in these papers and is never right: a name of a place, say
    papers = [
        Paper(id=f"f{number}", title="Glaciers Inc", abstract=f"dose immunity trial {number}") for number in range(60)
    ]
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in papers])
    judgements = [Judgement(paper.id, "Glaciers", False) for paper in papers]
    judgements += [Judgement(paper.id, "t3", True) for paper in papers]
    assert list_unknown_papers(trained, judgements) == {paper.id for paper in papers}
    learned, report = learn_from_feedback(trained, judgements, papers, vectors, settings=SETTINGS)
    assert (report.papers, report.accepted, report.rejected, report.unknown, report.missing) == (60, 60, 60, (), ())
    asked = Paper(id="new", title="Glaciers Inc", abstract="dose immunity trial")

    def probability(tagger):
        [found] = suggest(tagger, [asked], TagChoice(threshold=0))
        return {tag.label: tag.probability for tag in found.tags}

    before, after = probability(trained), probability(learned)
    assert before["Glaciers"] > 0.5 and after["Glaciers"] < 0.5 * before["Glaciers"] and after["Vaccines"] > 0.8
    assert len(learned.training.papers) == 260 and len(learned.training.judged) == 60


def test_feedback_on_papers_of_the_tagger_changes_their_tags(trained):
    first = trained.training.papers[0].id
    has = trained.training.tags[0].tolist()
    other = next(row for row in range(6) if row not in has)
    judgements = [
        Judgement(first, f"t{has[0]}", False),
        Judgement(first, f"t{other}", True),
        Judgement("gone", "t0", True),
    ]
    judgements.append(Judgement(first, "no such tag", True))
    learned, report = learn_from_feedback(trained, judgements, [], np.empty((0, DIM), np.float32), settings=SETTINGS)
    assert sorted(learned.training.tags[0].tolist()) == sorted({has[1], other})
    assert report.missing == ("gone",) and report.unknown == ("no such tag",) and report.papers == 1
    with pytest.raises(InputError, match="accepted in one row, rejected in another"):
        learn_from_feedback(
            trained, [Judgement(first, "t0", True), Judgement(first, "N0", False)], [], np.empty((0, DIM))
        )
    with pytest.raises(InputError, match="none of the judged papers"):
        learn_from_feedback(trained, [Judgement("gone", "t0", True)], [], np.empty((0, DIM)))


def test_scores_of_a_ranking_by_hand():
    p1, p5, ndcg, f1_5, f1 = score_ranking([7, 1, 2, 3, 4, 9], {7, 2, 9})
    assert (p1, p5) == (1, 2 / 5)
    assert ndcg == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3) + 0.5))
    assert f1_5 == 2 * 2 / (5 + 3) and f1 == 2 * 3 / (6 + 3)
    assert score_ranking([], {1}) == (0, 0, 0, 0, 0)


def test_a_report_counts_what_was_wrong_and_missed():
    vocabulary = build_vocabulary()

    def tagged(*rows):
        labels = [vocabulary.labels[row] for row in rows]
        tags = [Tag(rank=1, uri=label.id, notation="", label=label.name, probability=1.0, why="") for label in labels]
        return PaperTags("p", "", tuple(tags))

    card = compare_tags(vocabulary, [tagged(0, 1), tagged(0), tagged(5)], [[0, 2], [1], []])
    counts = {each.label: (each.right, each.wrong, each.missed) for each in card.labels}
    assert counts == {"Galaxies": (1, 1, 0), "Dark matter": (0, 1, 1), "Enzymes": (0, 0, 1)}
    assert card.scores.papers == 2, "a paper without a right tag says nothing"
    assert [each.label for each in card.list_worst("missed", 1)] == ["Dark matter"]
    assert json.dumps(card.to_json(2))
