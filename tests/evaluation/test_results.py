"""Results and the scores of their items: what is written is read again, and damage is noticed."""

import numpy as np
import pytest

from sciprism.errors import DamagedFileError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import Measure, TaskResult, find_item_scores, read_result, write_result


def test_a_result_and_its_items_are_read_again_and_those_of_another_are_refused(tmp_path):
    facts = {"suite": "open", "task": "animals", "key": "k", "format": "search", "group": "search", "status": "done"}
    facts |= {"system": {"name": "one", "fingerprint": "f"}, "encoded_format": "proximity"}
    facts |= {"dropped": {"no text": {"count": 1, "first": ["p1"]}}}
    result = TaskResult(**facts, metrics={"map": Measure(value=0.5, low=0.25, high=0.75, n=2)})
    one, two = (tmp_path / name / "open" for name in ("one", "two"))
    for folder, scores in ((one, [0.0, 1.0]), (two, [1.0, 1.0])):
        write_result(folder, result, {"map": ItemScores(("a", "b"), np.array(scores), "mean")})
    assert read_result(one / "animals.json") == result
    assert find_item_scores(one, "animals", "map").columns.tolist() == [[0.0], [1.0]]
    assert find_item_scores(one, "animals", "mrr") is None
    items = one / "items" / "animals.parquet"
    items.write_bytes((two / "items" / "animals.parquet").read_bytes())
    with pytest.raises(DamagedFileError, match="evaluate the task again"):
        find_item_scores(one, "animals", "map")
    items.unlink()
    assert find_item_scores(one, "animals", "map") is None
