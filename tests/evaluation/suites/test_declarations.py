"""Declared suites: printed tables fit the averages declared, and each kind of BLURB's public copies is read."""

from statistics import mean

import pytest

from build_data import lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites

PUBLISHED = sorted(name for name, suite in suites.items() if suite.published)


def columns(task):
    """The columns that a task may fill in a table."""
    return {task.name} | {f"{task.name} {metric}" for metric in task.protocol.metrics}


def numbers(suite, average):
    """How many numbers an average is the mean of."""
    tasks = {task.name: task for task in suite.tasks}
    return sum(len(tasks[n].protocol.metrics) if tasks[n].numbers == "each" else 1 for n in average.tasks)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_columns_are_averages_tasks_or_metrics(name):
    suite = suites[name]
    known = {average.name for average in suite.averages}.union(*map(columns, suite.tasks))
    for row in suite.published:
        assert set(row.scores) <= known, row.name
        assert row.source and all(0 <= score <= 100 for score in row.scores.values())


COUNTS = {
    "scirepeval-paper": [7, 11, 10, 28, 2, 4, 8, 14],
    "scirepeval": [7, 20, 27],
    "scidocs": [12],
    "multi-scidocs": [5],
    "beir": [12],
    "scimult": [12, 12, 4, 9, 11, 5],
}
"""Suite -> how many numbers are behind each of its averages; of some, the first alone."""


@pytest.mark.parametrize("name", COUNTS)
def test_the_numbers_behind_the_averages(name):
    found = [numbers(suites[name], average) for average in suites[name].averages]
    assert found[: len(COUNTS[name])] == COUNTS[name]


# ---- BLURB: the averages that are printed, and the public copy of each kind of set ----

BLURB = suites["blurb"]
TASKS = {task.name: task for task in BLURB.tasks}
WORDS = {"tokens": ["dark", "gene"]}
PAIR = {"sentence1": "a b", "sentence2": "c d"}


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


@pytest.mark.parametrize(
    ("name", "folder", "row", "targets"),
    [
        ("bc2gm", "tokcls/BC2GM_hf", WORDS | {"ner_tags": ["O", "B"]}, [("O", "B-entity")] * 2),
        ("jnlpba", "tokcls/JNLPBA_hf", WORDS | {"ner_tags": ["O", "B-DNA"]}, [("O", "B-entity")] * 2),
        ("ebm-pico", "tokcls/ebmnlp_hf", WORDS | {"ner_tags": ["O", "B-PAR"]}, [("O", "B-PAR")] * 2),
        ("chemprot", "seqcls/chemprot_hf", {"sentence": "a b"}, ["CPR:4", "0"]),
        ("pubmedqa", "seqcls/pubmedqa_hf", PAIR, ["yes", "maybe"]),
        ("biosses", "seqcls/BIOSSES_hf", PAIR, [0.5, 4.0]),
        ("hoc", "seqcls/HoC_hf", {"sentence": "a b"}, [[1] + [0] * 9, [0] * 10]),
    ],
)
def test_the_public_copy_of_a_set(name, folder, row, targets, tmp_path):
    with pytest.raises(InputError, match=r"LinkBERT's data\.zip"):
        TASKS[name].data.read(DataRoot(tmp_path))
    for part in ("train", "dev", "test"):
        rows = [row | {"id": f"{n}", "label": target} for n, target in enumerate(targets)]
        lines(tmp_path / f"linkbert/data/{folder}/{part}.json", rows)
    data = TASKS[name].data.read(DataRoot(tmp_path))
    assert [len(found) for found in (data.train, data.dev, data.test)] == [2] * 3
    if isinstance(data, TaggingInput):
        assert data.words[:2] == [("dark", "gene")] * 2 and data.tags[:2] == targets
    else:
        assert data.texts[0] == (("a b", "c d") if row == PAIR else ("a b",))
        known = {"chemprot": ["CPR:4", "false"], "hoc": [("activating invasion and metastasis",), ()]}
        assert data.targets[:2] == known.get(name, targets)
