"""Results that version 0.1 wrote, under former keys, are read as current ones."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest

from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import FORMER_KEYS, Measure, TaskResult, read_result, write_result
from sciprism.evaluation.stored_results import pack_results, read_results

RESULT = TaskResult(
    suite="open",
    task="animals",
    key="k",
    format="search",
    group="search",
    system={"name": "one", "fingerprint": "f"},
    status="done",
    encoded_format="proximity",
    metrics={"map": Measure(value=0.5, low=0.25, high=0.75, n=2)},
    dropped={"no text": {"count": 1, "first": ["p1"]}},
)


@pytest.fixture
def folder(tmp_path):
    """A folder with one result, as `evaluate` writes it."""
    scores = ItemScores(("a", "b"), np.array([0.0, 1.0]), "mean")
    write_result(tmp_path / "out" / "one" / "open", RESULT, {"map": scores})
    return tmp_path / "out"


def use_former_keys(path):
    """Write a file as version 0.1 did: under its keys, without a checksum."""
    text = re.sub(r',\n "checksum": "\w+"', "", path.read_text(encoding="utf-8"))
    for former, current in FORMER_KEYS.items():
        assert f'"{current}":' in text
        text = text.replace(f'"{current}":', f'"{former}":')
    path.write_text(text, encoding="utf-8")


def test_a_result_under_former_keys(folder):
    path = folder / "one" / "open" / "animals.json"
    use_former_keys(path)
    assert read_result(path) == RESULT
    assert asdict(read_result(path)).keys() != json.loads(path.read_text()).keys()


def test_packed_results_under_former_keys(folder, tmp_path):
    (packed,) = pack_results(folder, tmp_path / "packed")
    before = packed.path.read_bytes()
    use_former_keys(packed.path)
    assert [result for _, result in read_results(tmp_path / "packed")] == [RESULT]
    pack_results(tmp_path / "packed", tmp_path / "again")
    assert (tmp_path / "again" / "open.json").read_bytes() == before
