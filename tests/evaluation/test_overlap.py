"""Training papers in test sets: the reasons, per task, and tasks that could not be read."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from open_data import paper, write, write_table
from sciprism.cli.main import app
from sciprism.datasets.inputs import (
    Click,
    ClickLog,
    LabelInput,
    PairInput,
    ProbeInput,
    RerankInput,
    RetrievalInput,
    Signatures,
    SpanInput,
    TaggingInput,
)
from sciprism.errors import InputError
from sciprism.evaluation.overlap import PaperMatch, find_overlap, list_test_papers
from sciprism.evaluation.suites import suites
from sciprism.papers import Label, Paper
from sciprism.papers.records import Signature

OPEN = suites["open"]
LONG = " ".join(f"word{n} follows word{n + 1}" for n in range(60))
ROWS = np.arange(3)


def test_each_reason_is_told_apart():
    tests = {
        "one": [
            Paper(id="p-00001", title="Alpha"),
            Paper(id="b", title="Beta", ids={"doi": "10.1/B"}),
            Paper(id="1", title="A title that has enough words"),
            Paper(id="d", abstract=LONG),
        ],
        "two": [
            Paper(id="1", title="A title that has enough words"),
            Paper(id="z", title="Nobody trained on this one"),
        ],
    }
    training = [
        Paper(id="p-00001", title="Other"),
        Paper(id="t2", ids={"doi": "10.1/b"}),
        Paper(id="t3", title="A Title That Has Enough Words!"),
        Paper(id="t4", title="New", abstract=LONG + " more"),
        Paper(id="1", title="Equal bare numbers mean nothing here"),
    ]
    found = find_overlap(iter([*training, Paper(id="b", title="BETA")]), tests)
    assert found.tasks[0].reasons.pop("id and title") == 1
    found = find_overlap(iter(training), tests)
    one, two = found.tasks
    assert (found.papers, found.training) == (5, 4)
    assert (one.tested, one.found, one.training) == (4, 4, 4)
    assert one.reasons == {"id": 1, "doi": 1, "title": 1, "text": 1}
    assert one.examples[1] == PaperMatch("t2", "b", ("doi",))
    assert (two.tested, two.found, two.training, two.reasons) == (2, 1, 1, {"title": 1})
    without = find_overlap(training, tests, near_duplicates=None)
    assert without.training == 3 and "text" not in without.tasks[0].reasons


def test_a_training_paper_counts_once_however_many_test_papers_it_is():
    tests = {"t": [Paper(id="a", title="The very same title twice"), Paper(id="b", title="the very same title twice")]}
    task = find_overlap([Paper(id="x", title="The Very Same Title, Twice")], tests).tasks[0]
    assert (task.tested, task.found, task.training, task.reasons) == (2, 2, 1, {"title": 1})


def test_the_test_papers_of_each_input():
    papers = [Paper(id=str(n), title=f"Paper {n}") for n in range(4)]
    ids = [each.id for each in papers]
    labelled = ProbeInput(
        ids=ids, items=[*papers[:3], "a text"], targets=[1.0] * 4, train=ROWS[:2], test=np.array([2, 3])
    )
    assert [each.title for each in list_test_papers(labelled)] == ["Paper 2", "a text"]
    pool = {"candidate_ids": ids, "candidates": papers, "pools": [], "grades": []}
    assert len(list_test_papers(RerankInput(query_ids=["q"], queries=["words"], **pool))) == 4
    assert len(list_test_papers(RerankInput(query_ids=["q"], queries=papers[:1], query_role="paper", **pool))) == 5
    corpus = RetrievalInput(
        query_ids=["q"], queries=["words"], document_ids=ids, documents=papers, judged=[], grades=[]
    )
    assert list_test_papers(corpus) == papers
    space = LabelInput(paper_ids=ids, papers=papers, labels=[Label(id="l", name="L")], gold=[])
    assert list_test_papers(space) == papers
    mentions = [Signature(id=f"s{n}", paper=n, name="A", block="b" * n, author="x") for n in (1, 2)]
    parts = {"train": frozenset({"b"}), "dev": frozenset(), "test": frozenset({"bb"})}
    assert list_test_papers(Signatures(papers=papers, signatures=mentions, **parts)) == papers[2:3]
    clicks = [Click(paper=3, shown=np.array([1]), clicked=1)]
    shown = ClickLog(papers=papers, cited_by=[], train=[], dev=[], test=clicks, propensities=np.ones(1))
    assert list_test_papers(shown) == [papers[1], papers[3]]
    rows = {"train": ROWS[:1], "test": np.array([1, 2])}
    tagged = TaggingInput(ids=ids[:3], words=[("a", "gene"), ("dark", "matter"), ("x",)], tags=[()] * 3, **rows)
    assert [each.title for each in list_test_papers(tagged)] == ["dark matter", "x"]
    pairs = PairInput(ids=ids[:3], texts=[("a",), ("b", "c"), ("b", "c")], targets=["y"] * 3, **rows)
    assert [each.title for each in list_test_papers(pairs)] == ["b c"]
    asked = SpanInput(ids=ids[:3], questions=["q"] * 3, contexts=["a", "b", "b"], answers=[()] * 3, **rows)
    assert [each.title for each in list_test_papers(asked)] == ["b"]  # a context of two questions counts once
    with pytest.raises(InputError, match="the test papers of int"):
        list_test_papers(3)


@pytest.fixture
def data(tmp_path):
    rows = [paper(str(n), f"Wings of the number {n} in slow winds") | {"text": "..."} for n in range(3)]
    write(tmp_path, "data/ir_cranfield/corpus", [{"_id": row.pop("id")} | row for row in rows])
    write(tmp_path, "data/ir_cranfield/queries", [{"_id": "1", "text": "wings"}])
    write_table(tmp_path / "data", "ir_cranfield/qrels/test.tsv", [("1", "0", 1)])
    write_table(tmp_path / "data", "ir_cranfield/minus_one_documents.tsv", [("1", "2")])
    return tmp_path / "data"


def command(*arguments):
    return CliRunner().invoke(app, ["overlap", *map(str, arguments)])


def test_the_command_tells_people_and_machines(data, tmp_path):
    training = tmp_path / "mine.jsonl"
    training.write_text('{"id": "m1", "title": "Wings of the Number 2 in Slow Winds"}\n{"id": "m2", "title": "Own"}\n')
    done = command(training, "open", training, "--data", data, "--json")
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    cranfield, own = found["tasks"]
    assert (found["papers"], found["training"], cranfield["training"], own["training"]) == (2, 2, 1, 2)
    assert cranfield["examples"] == [{"train": "m1", "test": "2", "reasons": ["title"]}]
    assert len(found["unread"]) == len(OPEN.tasks) - 1 and "ir_npl" in found["unread"]["npl"]
    shown = command(training, "open", "--data", data).stdout
    assert "cranfield: m1 is 2 (title)" in shown and "training papers that are in a test: 1 of 2" in shown
    assert "not compared: npl: " in shown
