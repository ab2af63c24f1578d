"""Published suites run, with the declared protocols, on a small twin of their data and a tiny encoder.

The layouts that are not here have tests of their own beside the others, and give the same protocols the same input.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from build_data import hub, lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.beir import BeirFiles, BeirSet
from sciprism.datasets.layouts.published import (
    MapleLabels,
    PaperLabels,
    RankedPapers,
    ReviewerPapers,
    SciDocsClasses,
    SciDocsPools,
)
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.probe import FewShot, ProbeProtocol
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext, to_declaration

TOPICS = ("protein gene cell", "black hole galaxy", "deep neural network")
FILLERS = ("study", "of", "the", "model", "and", "a", "new", "theory", "water", "market")
COUNT = 36


def words(number: int, topic: int) -> str:
    draw = random.Random(number)
    return " ".join([TOPICS[topic], *draw.choices(FILLERS, k=4)])


def paper(number: int, key: str = "doc_id", **more: Any) -> dict[str, Any]:
    return {key: str(number), "title": words(number, number % 3), "abstract": words(-number, number % 3)} | more


def paired(number: int) -> list[int]:
    """Two candidates of the query's topic, two of others."""
    return [(number + step) % COUNT for step in (3, 6, 1, 2)]


PAPERS = [paper(number) for number in range(COUNT)]
JUDGED = [(q, d, int((d - q) % 3 == 0)) for q in range(6) for d in paired(q)]


def scirepeval_labels(folder: Any, data: PaperLabels) -> None:
    label = {
        "class": lambda n: n % 3 % 2 if data.positive else n % 3,
        "classes": lambda n: [int(n % 3 == column) for column in range(3)],
        "number": lambda n: float(n % 3),
    }[data.kind]
    rows = [{"paper_id": str(n), "label": label(n)} for n in range(COUNT)]
    hub(folder / data.hub.repo / data.hub.texts, "evaluation", PAPERS)
    hub(folder / data.hub.labels_repo / data.hub.labels, "train", rows[:27])
    hub(folder / data.hub.labels_repo / data.hub.labels, "test", rows[27:])


def scirepeval_ranked(folder: Any, data: RankedPapers) -> None:
    records: list[dict[str, Any]] = PAPERS
    if not data.simple:
        candidates = [{**paper(n), "venue": "V", "year": 1999.0} for n in range(COUNT)]
        asked = [words(n, n % 3) if data.query == "query" else PAPERS[n] for n in range(6)]
        records = [
            {"doc_id": str(n), "query": query, "candidates": [candidates[d] for d in paired(n)]}
            for n, query in enumerate(asked)
        ]
    hub(folder / data.hub.repo / data.hub.texts, "evaluation", records)
    judged = [{"query_id": str(q), "cand_id": str(d), "score": grade} for q, d, grade in JUDGED]
    hub(folder / data.hub.labels_repo / data.hub.labels, "test", judged)


def scirepeval_reviewers(folder: Any, data: ReviewerPapers) -> None:
    hub(folder / data.hub.repo / data.hub.texts, "evaluation", PAPERS)
    labels = folder / data.hub.labels_repo
    reviewers = [{"r_id": f"r{r}", "papers": [str(n) for n in range(6 + r, COUNT, 3)]} for r in range(3)]
    hub(labels / data.reviewers, "metadata", reviewers)
    for split, level in (("test_hard", 3), ("test_soft", 2)):
        rows = [(q, r, int((r - q) % 3 == 0 or (level == 2 and r == 1))) for q in range(6) for r in range(3)]
        keys = ("query_id", "cand_id", "score")
        judged = [dict(zip(keys, (str(q), f"r{r}", s), strict=True)) for q, r, s in rows]
        hub(labels / data.hub.labels, split, judged)


def metadata(path: Any) -> None:
    records = {str(n): paper(n, "paper_id", year=2000 + n, authors=["a"], references=[]) for n in range(COUNT)}
    text(path, json.dumps(records))


def scidocs_classes(folder: Any, data: SciDocsClasses) -> None:
    metadata(folder / data.folder / data.metadata)
    for part, rows in {"train": range(24), "val": range(24, 27), "test": range(27, COUNT)}.items():
        table = "".join(f"{n},{n % 3}\n" for n in rows)
        text(folder / data.folder / data.classes / f"{part}.csv", f"pid,class_label\n{table}")


def scidocs_pools(folder: Any, data: SciDocsPools) -> None:
    metadata(folder / data.folder / data.metadata)
    qrels = "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in JUDGED)
    text(folder / data.folder / data.relation / "test.qrel", qrels)


def maple(folder: Any, data: MapleLabels) -> None:
    base = folder / data.folder
    labels = [{"label": str(n), "name": [TOPICS[n]], "definition": ""} for n in range(3)]
    lines(base / f"{data.name}_label.json", labels)
    gold = [n % 3 if data.numbered else [str(n % 3)] for n in range(COUNT)]
    lines(base / f"{data.name}_papers_test.json", [paper(n, "paper", label=gold[n]) for n in range(COUNT)])
    lines(base / f"{data.name}_matched.json", [{"candidate": [str(n % 3)]} for n in range(COUNT)])


def qrels_tsv() -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in JUDGED)


def beir_files(folder: Any, data: BeirSet | BeirFiles) -> None:
    corpus = [{"_id": str(n), "title": PAPERS[n]["title"], "text": PAPERS[n]["abstract"]} for n in range(COUNT)]
    queries = [{"_id": str(n), "text": words(n, n % 3)} for n in range(6)]
    if isinstance(data, BeirSet):
        base = folder / data.owner / data.name
        hub(base / "corpus", "corpus", corpus)
        hub(base / "queries", "queries", queries)
        text(folder / data.owner / f"{data.name}-qrels/test.tsv", qrels_tsv())
    else:
        lines(folder / data.repo / data.corpus[0], corpus)
        lines(folder / data.repo / data.queries[0], queries)
        text(folder / data.repo / data.qrels[0], qrels_tsv())


MAKERS = {
    PaperLabels: scirepeval_labels,
    RankedPapers: scirepeval_ranked,
    ReviewerPapers: scirepeval_reviewers,
    SciDocsClasses: scidocs_classes,
    SciDocsPools: scidocs_pools,
    MapleLabels: maple,
    BeirSet: beir_files,
    BeirFiles: beir_files,
}
NAMES = (*("beir", "multi-scidocs", "nasa-ir", "pmc-patients", "scidocs", "scimult", "scirepeval"), "scirepeval-paper")
TASKS = {task.name: task for name in NAMES for task in suites[name].tasks if type(task.data) in MAKERS}
SCORED = {  # of tasks that differ in the name of their files alone, one is enough
    json.dumps([to_declaration(task.protocol), type(task.data).__name__]): task.name for task in TASKS.values()
}


def quicker(protocol: Any) -> Any:
    """The same protocol with fewer repetitions, and few-shot samples that 27 papers can give."""
    if not isinstance(protocol, ProbeProtocol):
        return protocol
    few = tuple(FewShot(size=9, iterations=1, per_label=f.per_label) for f in protocol.few_shot[:1])
    return replace(protocol, few_shot=few, grid=protocol.grid[2:4])


@pytest.fixture(scope="module")
def system(tiny_encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> DenseSystem:
    return DenseSystem(tiny_encoder, tmp_path_factory.mktemp("vectors"))


@pytest.mark.parametrize("name", TASKS)
def test_the_files_of_a_task_are_found_read_and_scored(name: str, tmp_path: Any, system: DenseSystem) -> None:
    task, home = TASKS[name], DataRoot(tmp_path)
    MAKERS[type(task.data)](tmp_path, task.data)
    data = task.data.read(home)
    assert not data.dropped.to_json() and home.provenance()
    if name not in SCORED.values():
        return
    protocol = quicker(task.protocol)
    outcome = protocol.evaluate(data, system, EvaluationContext(format=task.format, fields=task.fields))
    assert tuple(outcome.item_scores) == protocol.metrics
    values = {metric: estimate(found) for metric, found in outcome.item_scores.items()}
    assert all(-1 <= value <= 1 for value in values.values())
    if task.group not in ("recommendation", "matching"):  # clicks have no pattern; of ten places three are filled
        assert np.mean(list(values.values())) > 0.3, f"words of a topic are close: {values}"
