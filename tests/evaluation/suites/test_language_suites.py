"""BLURB, Climate-Change NER, NASA-QA and the open suite of the kind: declarations, and all public layouts."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from build_data import hub, lines, text
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
    "bioasq": "bioasq",
}


COUNT = 12
PARTS = ("train", "dev", "test")
CLASSES = {
    "chemprot": ("CPR:4", "false", "CPR:9"),
    "ddi": ("DDI-effect", "DDI-false", "DDI-int"),
    "gad": ("1", "0"),
    "bioasq": ("yes", "no"),
    "pubmedqa": ("yes", "no", "maybe"),
}
TOPICS = ("protein gene cell", "black hole galaxy", "deep neural network")
TAGS = {"ebm-pico": ("B-PAR", "B-INT", "B-OUT"), "jnlpba": ("B-DNA", "B-protein", "B-RNA")}


def words(number: int) -> str:
    """A text of one topic that no other number has."""
    return f"{TOPICS[number % 3]} study {number}"


def sentence(name: str, number: int) -> Iterable[tuple[str, ...]]:
    """A sentence, one word a row, its first word tagged; an empty row behind."""
    for place, word in enumerate(words(number).split()):
        yield (word, TAGS.get(name, ("B",))[number % len(TAGS.get(name, ("B",)))] if not place else "O")
    yield ("",)


def label(name: str, number: int) -> str:
    """The class of a text, which its topic tells."""
    return CLASSES[name][number % 3 % len(CLASSES[name])]


def linkbert_copy(home: Path, name: str, folder: str) -> None:
    """Write one set as LinkBERT's copy lays it out, in `linkbert/data`."""
    kind = "seqcls" if name in (*CLASSES, "biosses", "hoc") else "tokcls"
    for place, part in enumerate(PARTS):
        rows = [linkbert_row(name, n) for n in range(COUNT * place, COUNT * (place + 1))]
        lines(home / f"linkbert/data/{kind}/{folder}_hf/{part}.json", rows)


def linkbert_row(name: str, n: int) -> dict[str, Any]:
    """One line of it."""
    if name in ("pubmedqa", "bioasq"):
        context = "It is. So." if name == "pubmedqa" else "It is."
        return {"id": str(n), "sentence1": words(n), "sentence2": context, "label": label(name, n)}
    if name == "biosses":
        return {"id": str(n), "sentence1": words(n), "sentence2": words(n + 1), "label": n % 5 + 0.5}
    if name == "hoc":
        held = [int(place == n % 3) for place in range(10)]
        return {"id": str(n), "sentence": f"{words(n)} So .", "label": held}
    if name in CLASSES:
        said = label(name, n)
        return {"id": str(n), "sentence": words(n), "label": "0" if "false" in said else said}
    rows = [row for row in sentence(name, n) if len(row) > 1]
    return {"id": str(n), "tokens": [word for word, _ in rows], "ner_tags": [tag for _, tag in rows]}


def climate(home: Path) -> None:
    """Write Climate-Change NER."""
    for part in ("train", "val", "test"):
        rows = ["\tB-climate-nature\n".join(words(n).split(maxsplit=1)) for n in range(COUNT)]
        whole = "".join("-DOCSTART- -X- O O 1\n\n" + row.replace(" ", "\tO\n") + "\tO\n\n" for row in rows)
        text(home / f"ibm-research/Climate-Change-NER/en.{part}.txt", whole)


def nasa(home: Path) -> None:
    """Write NASA-QA and the articles of SQuAD-2 that are trained on beside it."""
    base = home / "nasa-impact/nasa-smd-qa-benchmark"
    for part in ("train", "val"):
        text(base / f"es_qa_sq2format_{part}.v2.json", json.dumps(squad(["t1"])))
    for split, titles in (("train", ("Oxygen", "Chopin")), ("validation", ("Amazon_rainforest", "Geology"))):
        rows = [
            asked(n) | {"title": title, "context": f"All of {words(n)} it is."}
            for title in titles
            for n in range(COUNT)
        ]
        hub(home / "rajpurkar/squad_v2/squad_v2", split, rows)


def squad(titles: Iterable[str]) -> dict[str, Any]:
    """Articles in SQuAD's layout, every third question impossible."""
    return {
        "version": "v2.0",
        "data": [
            {
                "title": title,
                "paragraphs": [{"context": f"All of {words(n)} it is.", "qas": [asked(n)]} for n in range(COUNT)],
            }
            for title in titles
        ],
    }


def asked(number: int) -> dict[str, Any]:
    """A question about the topic of a text."""
    topic = TOPICS[number % 3]
    answers = [] if number % 3 == 2 else [{"text": topic, "answer_start": len("All of ")}]
    return {"id": f"q{number}", "question": "what is it of", "is_impossible": not answers, "answers": answers}


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
def test_the_public_copy_of_a_set(name, tmp_path):
    linkbert_copy(tmp_path, name, FOLDERS[name])
    data = TASKS[name].data.read(DataRoot(tmp_path))
    assert [len(rows) for rows in (data.train, data.dev, data.test)] == [COUNT] * 3
    assert not data.dropped.to_json()
    if isinstance(data, PairInput):
        assert data.texts[0][0].startswith("protein gene cell study 0")
    else:
        assert data.words[0] == ("protein", "gene", "cell", "study", "0")
        assert {tag for tags in data.tags for tag in tags} == (
            {"O", "B-PAR", "B-INT", "B-OUT"} if name == "ebm-pico" else {"O", "B-entity"}
        )


def test_a_set_that_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(InputError, match=r"LinkBERT's data\.zip"):
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
    linkbert_copy(tmp_path, name, FOLDERS[name])
    scored(TASKS[name], tmp_path, system)


def test_the_questions_are_scored_on_their_small_twin(tmp_path, system):
    nasa(tmp_path)
    scored(suites["nasa-qa"].tasks[1], tmp_path, system)
