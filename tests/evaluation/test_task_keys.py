"""The keys of all declared tasks: stored results count only while these stay."""

import json
from pathlib import Path

from sciprism.evaluation.suites import suites

KEYS = json.loads((Path(__file__).parent / "task_keys.json").read_text(encoding="utf-8"))


def test_names_of_the_code_do_not_change_the_keys_of_tasks():
    """A task whose declaration changes on purpose gets its new key here."""
    found = {f"{name}/{task.name}": task.key for name, suite in suites.items() for task in suite.tasks}
    assert found == KEYS
