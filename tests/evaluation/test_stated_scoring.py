"""Tasks state the distance and the format of the vectors where their paper does, and stored results know it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from build_systems import TextVectorEncoder
from sciprism.datasets.inputs import RetrievalInput
from sciprism.errors import InputError
from sciprism.evaluation.protocols.rank import RerankProtocol, RetrieveProtocol
from sciprism.evaluation.report.build import build_report
from sciprism.evaluation.report.model import group_by_system, read_stored_results
from sciprism.evaluation.run import evaluate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import VectorSystem
from sciprism.evaluation.task import Suite, Task
from sciprism.formats import FORMATS

# From (1, 0): "near" is at Euclidean distance 0.72 and cosine 0.71, "aligned" at 9.06 and 0.995, "long" at 100.5
# and 0.71 with a dot product of 100 instead of 10. The right document is "aligned".
FIRST = {"euclidean": ["near", "aligned"], "cosine": ["aligned"], "dot": ["long", "aligned"]}
MRR = {distance: 1 / len(ranked) for distance, ranked in FIRST.items()}


@dataclass(frozen=True)
class Corpus:
    def read(self, data_root):
        return RetrievalInput(
            query_ids=["q"],
            queries=["1 0"],
            document_ids=["aligned", "near", "long"],
            documents=["10 1", "0.6 0.6", "100 100.01"],
            judged=[np.array([0])],
            grades=[np.array([1])],
        )


FIND = Task(name="find", format="search", protocol=RetrieveProtocol(metrics=("mrr",)), data=Corpus())


class Written(VectorSystem):
    """A system of a user, whose description does not state its distance."""

    fingerprint = ""

    def __init__(self, distance):
        self.name = self.fingerprint = self.distance = distance
        self.encoder = TextVectorEncoder()

    def encode(self, texts):
        return self.encoder.encode(texts.items, format=texts.format, role=texts.role, fields=texts.fields)


def score(output, task, *systems):
    """Score on a task and return the numbers by system, and the names of the systems that were scored anew."""
    scored = []
    found = evaluate(
        [Written(name) for name in systems],
        Suite(name="made", tasks=(task,)),
        output=output,
        progress=lambda system, _task, result: scored.extend([system.name] if result is None else []),
    )
    return {result.system["name"]: result.metrics["mrr"].value for result in found}, scored


@pytest.mark.parametrize("own", MRR)
@pytest.mark.parametrize("stated", ["encoder", "cosine", "euclidean", "dot", "cosine or dot"])
def test_a_stated_distance_replaces_the_encoders(tmp_path, stated, own):
    by_dot = "dot" if own == "dot" else "cosine"
    used = {"encoder": own, "cosine or dot": by_dot}.get(stated, stated)
    found, _ = score(tmp_path, replace(FIND, distance=stated), own)
    assert found == {own: MRR[used]}


def test_only_results_that_a_statement_changes_are_scored_again(tmp_path):
    stating = replace(FIND, distance="cosine or dot")
    assert stating.key == FIND.key
    before, _ = score(tmp_path, FIND, *MRR)
    assert before == MRR
    after, scored = score(tmp_path, stating, *MRR)
    assert scored == ["euclidean"] and after == MRR | {"euclidean": MRR["cosine"]}
    assert score(tmp_path, stating, *MRR) == (after, [])
    back, scored = score(tmp_path, FIND, *MRR)
    assert scored == ["euclidean"] and back == MRR


def test_a_result_of_another_distance_is_not_compared(tmp_path):
    score(tmp_path, FIND, "cosine", "euclidean")
    systems = group_by_system(read_stored_results([tmp_path]))
    now = replace(FIND, distance="cosine")
    report = build_report(systems, {"made": Suite(name="made", tasks=(now,))})
    row = next(row for row in report.rows if row.kind == "task")
    assert report.systems == ("cosine", "euclidean")
    assert [cell.status for cell in row.cells] == ["done", "not comparable"]
    said = "not compared: euclidean, find: compared by euclidean distance; the task states cosine; score it again"
    assert said in report.notes
    unchanged = build_report(systems, {"made": Suite(name="made", tasks=(FIND,))})
    assert all(cell.status == "done" for row in unchanged.rows for cell in row.cells)


def test_a_protocol_that_fixes_the_distance_takes_no_other():
    with pytest.raises(InputError, match="task find: its protocol does not leave the distance to the encoder"):
        replace(FIND, protocol=RerankProtocol(metrics=("mrr",)), distance="cosine")


class Adapters(TextVectorEncoder):
    """An encoder of one method that turns its vectors in every format but proximity."""

    name = "adapters"

    def __init__(self, method, formats=FORMATS):
        super().__init__(distance="cosine")
        self.method, self.formats = method, formats
        self.fingerprint = f"{method} {formats}"

    def describe(self):
        return {"method": self.method, "formats": list(self.formats)}

    def path(self, format, role):
        return format

    def encode(self, items, *, format, role, fields):
        found = super().encode(items, format=format, role=role, fields=fields)
        return found if format == "proximity" or role == "query" else found[:, ::-1]


@pytest.mark.parametrize(
    ("encoder", "used"),
    [
        (Adapters("adapters"), "proximity"),
        (Adapters("attention-experts"), ""),
        (Adapters("adapters", ("search", "classification")), ""),
    ],
    ids=["stated", "another method", "not served"],
)
def test_a_task_states_the_format_of_a_methods_vectors(tmp_path, encoder, used):
    suite = Suite(name="made", tasks=(replace(FIND, method_formats={"adapters": "proximity"}),))
    (result,) = evaluate(encoder, suite, output=tmp_path)
    assert result.metrics["mrr"].value == (1 if used else 1 / 3)
    assert (result.format, result.encoded_format, result.details.get("format", "")) == ("search", "", used)


def test_results_of_another_format_are_scored_again(tmp_path):
    encoder, stating = Adapters("adapters"), replace(FIND, method_formats={"adapters": "proximity"})
    suites = [Suite(name="made", tasks=(task,)) for task in (FIND, stating)]
    values = [evaluate(encoder, suite, output=tmp_path)[0].metrics["mrr"].value for suite in (*suites, suites[0])]
    assert values == [1 / 3, 1, 1 / 3] and stating.key == FIND.key
    report = build_report(group_by_system(read_stored_results([tmp_path])), {"made": suites[1]})
    assert any("vectors of the format search; the task states proximity" in note for note in report.notes)


@pytest.mark.parametrize("group", suites["scimult"].views)
def test_scimults_tasks_state_what_its_appendix_b_does(group):
    specter2 = {"method": "adapters", "formats": FORMATS}
    experts = {"method": "attention-experts", "formats": FORMATS}
    for task in suites["scimult"].tasks_of(group):
        distance = getattr(task.scored_protocol(), "distance", None)
        wanted = "euclidean" if task.name.startswith("rerank-") else "cosine or dot"
        assert distance == (None if task.name.endswith("-linear") else wanted)
        assert task.vector_format(experts) == task.format
        assert task.vector_format(specter2) == ("proximity" if group.startswith("fine") else task.format)
