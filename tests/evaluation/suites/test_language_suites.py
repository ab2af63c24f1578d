"""BLURB, Climate-Change NER, NASA-QA and the open suite of the kind: declarations, and all public layouts."""

from dataclasses import replace
from statistics import mean

import pytest

from build_language import COUNT, blurb_package, climate, linkbert_copy, nasa
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput
from sciprism.errors import InputError
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext

NAMES = [task.name for task in suites["blurb"].tasks]
BLURB, OPEN = suites["blurb"], suites["open-nlu"]
TASKS = {task.name: task for task in BLURB.tasks}
FOLDERS = {
    "bc5-chem": "BC5CDR-chem",
    "bc5-disease": "BC5CDR-disease",
    "ncbi-disease": "NCBI-disease",
    "bc2gm": "BC2GM",
    "jnlpba": "JNLPBA",
    "ebm-pico": "ebmnlp",
    "chemprot": "chemprot",
    "ddi": "DDI",
    "gad": "GAD",
    "biosses": "BIOSSES",
    "hoc": "HoC",
    "pubmedqa": "pubmedqa",
    "bioasq": "BioASQ",
}
COPIES = FOLDERS | {"bioasq": "bioasq"}


def test_printed_averages_follow_from_the_cells():
    """But for MiniLM's macro average, which the paper prints as 60.6."""
    rows = [row for row in BLURB.published if len(row.scores) > 1]
    assert len(rows) == 9
    for row in rows:
        groups = {}
        for name in NAMES:
            groups.setdefault(TASKS[name].group, []).append(row.scores[name])
        if "micro" in row.scores:
            assert mean(row.scores[name] for name in NAMES) == pytest.approx(row.scores["micro"], abs=0.06)
        macro = mean(map(mean, groups.values()))
        assert macro == pytest.approx(59.97 if row.name == "MiniLM" else row.scores["macro"], abs=0.06)


@pytest.mark.parametrize("name", NAMES)
def test_both_layouts_of_a_set_say_the_same(name, tmp_path):
    blurb_package(tmp_path / "one", name, FOLDERS[name])
    linkbert_copy(tmp_path / "two", name, COPIES[name])
    one, two = (TASKS[name].data.read(DataRoot(tmp_path / place)) for place in ("one", "two"))
    for data in (one, two):
        assert [len(rows) for rows in (data.train, data.dev, data.test)] == [COUNT] * 3
        assert not data.dropped.to_json()
    if isinstance(one, PairInput):
        assert (one.ids, one.texts, one.targets) == (two.ids, two.texts, two.targets)
    else:
        assert (one.words, one.tags) == (two.words, two.tags)
        assert one.words[0] == ("protein", "gene", "cell", "study", "0")
        assert {tag for tags in one.tags for tag in tags} == (
            {"O", "B-PAR", "B-INT", "B-OUT"} if name == "ebm-pico" else {"O", "B-entity"}
        )


def test_a_set_that_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(InputError, match=r"data_generation\.tar\.gz"):
        TASKS["gad"].data.read(DataRoot(tmp_path))


def test_climate_change_ner(tmp_path):
    climate(tmp_path)
    (task,) = suites["climate-ner"].tasks
    data = task.data.read(DataRoot(tmp_path))
    assert [len(rows) for rows in (data.train, data.dev, data.test)] == [COUNT] * 3
    assert {tag for tags in data.tags for tag in tags} == {"O", "B-climate-nature"}


def test_nasa_qa_with_and_without_the_articles_of_squad(tmp_path):
    nasa(tmp_path)
    whole, alone = (task.data.read(DataRoot(tmp_path)) for task in suites["nasa-qa"].tasks)
    assert len(alone.train) == COUNT == len(alone.test) and not len(alone.dev)
    assert len(whole.train) == 4 * COUNT and not alone.dropped.to_json()
    assert whole.dropped.count("question of a SQuAD topic") == 3 * COUNT


QUICK = {"rates": (1e-3,), "batches": (8,), "epochs": (2,), "seeds": 1}
SCORED = ("bc2gm", "ebm-pico", "chemprot", "gad", "hoc", "pubmedqa", "biosses")


@pytest.fixture(scope="module")
def system(tiny_encoder, tmp_path_factory):
    return DenseSystem(tiny_encoder, tmp_path_factory.mktemp("vectors"))


def scored(task, home, system):
    protocol = replace(task.protocol, tuning=replace(task.protocol.tuning, **QUICK))
    data = task.data.read(DataRoot(home))
    outcome = protocol.evaluate(data, system, EvaluationContext(format=task.format))
    assert tuple(outcome.item_scores) == protocol.metrics
    for found in outcome.item_scores.values():
        assert set(found.ids) == {data.ids[row] for row in data.test}
        assert -1 <= estimate(found) <= 1


@pytest.mark.parametrize("name", SCORED)
def test_a_set_is_scored_on_its_small_twin(name, tmp_path, system):
    linkbert_copy(tmp_path, name, COPIES[name])
    scored(TASKS[name], tmp_path, system)


def test_the_questions_are_scored_on_their_small_twin(tmp_path, system):
    nasa(tmp_path)
    scored(suites["nasa-qa"].tasks[1], tmp_path, system)
