"""What `sciprism evaluate --list` prints: suites, their tasks, and the data that they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sciprism.cli.json_documents import print_json
from sciprism.cli.printing import join_counts, print_entries

if TYPE_CHECKING:
    from sciprism.evaluation.task import Suite


def print_suites(only: str, as_json: bool) -> None:
    """Print every suite, or one with what each of its tasks needs."""
    from sciprism.evaluation.suites import suites

    chosen = [suites[only.partition("/")[0]]] if only else list(suites.values())
    if as_json:
        print_json("sciprism.suites/1", {"suites": [_to_json(suite) for suite in chosen]})
        return
    print_entries({suite.name: _describe(suite) for suite in chosen})
    if only:
        tasks = {each["name"]: each for each in _to_json(chosen[0])["tasks"]}
        print_entries({f"{only}/{name}": [f"{each['format']}; {each['data']}"] for name, each in tasks.items()})
    else:
        print("\nWhat each task needs: sciprism evaluate --list --suite NAME")


def _to_json(suite: Suite) -> dict[str, Any]:
    from sciprism.datasets.needed_data import describe_needed_data

    tasks = []
    for task in suite.tasks:
        data, obtain = describe_needed_data(task.data)
        metrics = list(task.protocol.metrics)
        tasks.append({"name": task.name, "format": task.format, "metrics": metrics, "data": data, "obtain": obtain})
    return {
        "name": suite.name,
        "reference": suite.reference,
        "remark": suite.remark,
        "views": {name: list(tasks) for name, tasks in suite.views.items()},
        "tasks": tasks,
    }


def _describe(suite: Suite) -> Iterator[str]:
    facts = _to_json(suite)["tasks"]
    formats = join_counts(Counter(each["format"] for each in facts))
    yield suite.reference
    yield f"{len(facts)} tasks: {formats}" + (f"; views: {', '.join(suite.views)}" if suite.views else "")
    yield f"tasks: {', '.join(each['name'] for each in facts)}"
    yield f"data: {', '.join(dict.fromkeys(each['data'] for each in facts))}"
    yield from dict.fromkeys(each["obtain"] for each in facts)
