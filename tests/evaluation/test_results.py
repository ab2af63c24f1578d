"""Results and the scores of their items: what is written is read again, and damage is noticed."""

import numpy as np
import pytest

from sciprism.errors import DamagedFileError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import (
    Measure,
    TaskResult,
    find_item_scores,
    read_result,
    write_result,
)

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


def test_a_result_and_its_items_are_read_again(folder):
    path = folder / "one" / "open" / "animals.json"
    assert read_result(path) == RESULT
    assert find_item_scores(path.parent, "animals", "map").columns.tolist() == [[0.0], [1.0]]
    assert find_item_scores(path.parent, "animals", "mrr") is None
    (path.parent / "items" / "animals.parquet").unlink()
    assert find_item_scores(path.parent, "animals", "map") is None


def test_items_of_another_result_are_refused(folder):
    scores = ItemScores(("a", "b"), np.array([1.0, 1.0]), "mean")
    write_result(folder / "two" / "open", RESULT, {"map": scores})
    items = "open/items/animals.parquet"
    (folder / "one" / items).write_bytes((folder / "two" / items).read_bytes())
    with pytest.raises(DamagedFileError, match="evaluate the task again"):
        find_item_scores(folder / "one" / "open", "animals", "map")
