"""BLURB: the averages that are printed, and the public copy of each kind of set."""

from statistics import mean

import pytest

from build_data import lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites

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
