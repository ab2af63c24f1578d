"""BLURB, Climate-Change NER, NASA-QA and the open suite of the kind: declarations, and all public layouts."""

from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from build_data import lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites

BLURB = suites["blurb"]
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


def test_printed_averages_follow_from_the_cells():
    """But for MiniLM's macro average, which the paper prints as 60.6."""
    rows = [row for row in BLURB.published if len(row.scores) > 1]
    assert len(rows) == 9
    for row in rows:
        groups = {}
        for name in TASKS:
            groups.setdefault(TASKS[name].group, []).append(row.scores[name])
        if "micro" in row.scores:
            assert mean(row.scores[name] for name in TASKS) == pytest.approx(row.scores["micro"], abs=0.06)
        macro = mean(map(mean, groups.values()))
        assert macro == pytest.approx(59.97 if row.name == "MiniLM" else row.scores["macro"], abs=0.06)


@pytest.mark.parametrize("name", TASKS)
def test_the_public_copy_of_a_set_is_read(name, tmp_path):
    task = TASKS[name]
    with pytest.raises(InputError, match=r"LinkBERT's data\.zip" if name == "gad" else "are not in"):
        task.data.read(DataRoot(tmp_path))
    linkbert_copy(tmp_path, name, FOLDERS[name])
    data = task.data.read(DataRoot(tmp_path))
    assert [len(rows) for rows in (data.train, data.dev, data.test)] == [COUNT] * 3
    assert not data.dropped.to_json()
    if isinstance(data, PairInput):
        assert data.texts[0][0].startswith("protein gene cell study 0")
    else:
        assert data.words[0] == ("protein", "gene", "cell", "study", "0")
        assert {tag for tags in data.tags for tag in tags} == (
            {"O", "B-PAR", "B-INT", "B-OUT"} if name == "ebm-pico" else {"O", "B-entity"}
        )
