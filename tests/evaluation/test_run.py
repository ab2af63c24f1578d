"""Runs keep what is done, say what failed, and never mix two models or two declarations."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from build_systems import build_system
from sciprism.drop_report import DropReport
from sciprism.errors import InputError, ShownWarning
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.run import EvaluationOptions, evaluate
from sciprism.evaluation.systems import NotServedError, VectorSystem
from sciprism.evaluation.task import Average, ProtocolResult, Suite, Task
from sciprism.evaluation.tuning import Tuning


@dataclass(frozen=True)
class Numbers:
    values: tuple[float, ...]
    dropped: DropReport = field(default_factory=DropReport, compare=False)

    def read(self, home):
        self.dropped.add("no abstract", "p1")
        return self


@dataclass(frozen=True)
class Missing:
    def read(self, home):
        raise InputError("the file is not there")


@dataclass(frozen=True)
class InFile:
    def read(self, home):
        return Numbers(tuple(row["value"] for row in home.records(home.local("numbers.jsonl"))))


@dataclass(frozen=True)
class MeanOf:
    calls: list = field(default_factory=list, compare=False)

    @property
    def metrics(self):
        return ("mean",)

    def evaluate(self, data, system, view):
        if system.name == "bm25":
            raise NotServedError("BM25 has no vectors")
        self.calls.append((view.format, view.seed))
        values = np.array(data.values, np.float32)[:, None]
        return ProtocolResult(item_scores={"mean": ItemScores(tuple("abcdef"[: len(values)]), values, "mean")})


class Known(VectorSystem):
    fingerprint = ""

    def __init__(self, name="model", fingerprint="f1"):
        self.name, self.fingerprint = name, fingerprint

    def describe(self):
        return {"dim": 3}


def task(name="one", values=(0.0, 1.0), data=None):
    return Task(name=name, format="search", protocol=MeanOf(), data=data or Numbers(values), reference="x")


def suite(*tasks):
    return Suite(name="made", tasks=tasks)


def run(tmp_path, tasks, system=None, data=None, seed=0, **options):
    told = []
    found = evaluate(
        [system or Known()],
        suite(*tasks),
        data,
        output=tmp_path,
        seed=seed,
        options=EvaluationOptions(**options),
        progress=lambda s, t, r: told.append((t.name, r)),
    )
    return found, told


def test_a_stopped_run_keeps_what_is_done(tmp_path):
    tasks = [task("one"), task("two")]

    def stop(_system, task, _result):
        if task.name == "two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate([Known()], suite(*tasks), output=tmp_path, progress=stop)
    again, told = run(tmp_path, tasks)
    assert [len(each.protocol.calls) for each in tasks] == [1, 1]
    assert [name for name, result in told] == ["one", "two", "two"]
    whole, _ = run(tmp_path / "whole", [task("one"), task("two")])
    assert [result.metrics for result in again] == [result.metrics for result in whole]


def test_a_failed_task_has_no_number_and_is_tried_again(tmp_path):
    (tmp_path / "numbers.jsonl").write_text('{"other": 1}\n')
    asked = [task("one", data=Missing()), task("lacking", data=InFile()), task("two")]
    found, _ = run(tmp_path / "out", asked, data=tmp_path)
    assert [r.status for r in found] == ["failed", "failed", "done"]
    assert found[0].metrics == {} and "not there" in found[0].reason and "value" in found[1].reason
    (mended,), _ = run(tmp_path / "out", [task("one")])
    assert mended.status == "done"


def test_two_models_of_one_name_do_not_share_a_folder(tmp_path):
    run(tmp_path, [task()])
    with pytest.raises(InputError, match="another model named model"):
        run(tmp_path, [task()], Known(fingerprint="f2"))
    asked = task()
    with pytest.raises(InputError, match="two models are named model"):
        evaluate([Known(), Known(fingerprint="f2")], suite(asked), output=tmp_path / "other")
    assert asked.protocol.calls == []
    assert len(evaluate([Known(), Known()], suite(asked), output=tmp_path)) == 1, "one model named twice"


def test_other_data_or_another_release_is_run_anew(tmp_path, monkeypatch):
    file = tmp_path / "data" / "numbers.jsonl"
    file.parent.mkdir()
    asked = task(data=InFile())

    def again():
        found = evaluate(Known(), suite(asked), file.parent, output=tmp_path / "out")
        return found[0].metrics["mean"].value

    file.write_text('{"value": 0.25}\n')
    assert again() == again() == 0.25 and len(asked.protocol.calls) == 1
    file.write_text('{"value": 0.75}\n')
    assert again() == 0.75 and len(asked.protocol.calls) == 2
    monkeypatch.setattr("sciprism.evaluation.results.library_versions", lambda: {"sciprism": "another"})
    again()
    assert len(asked.protocol.calls) == 3


def test_suites_and_options_check_themselves():
    with pytest.raises(InputError, match="unknown format"):
        EvaluationOptions(format="clustering")
    with pytest.raises(InputError, match="declared twice"):
        suite(task("one"), task("one"))
    with pytest.raises(InputError, match="unknown tasks two"):
        Suite(name="made", tasks=(task("one"),), averages=(Average(name="all", tasks=("one", "two")),))
    with pytest.raises(InputError, match="mean, each, first"):
        replace(task(), numbers="sum")


def test_a_view_is_a_suite_of_its_own():
    whole = Suite(
        name="made",
        tasks=(task("one"), task("two"), task("three")),
        averages=(Average(name="all", tasks=("one", "two")), Average(name="rest", tasks=("three",))),
        views={"quick": ("two",)},
    )
    part = whole.select_view("quick")
    assert part.name == "made/quick" and [t.name for t in part.tasks] == ["two"]
    assert part.averages == (Average(name="all", tasks=("two",)),)
    with pytest.raises(InputError, match="no view or task 'slow'; views: quick"):
        whole.select_view("slow")


def test_names_of_folders_are_safe():
    assert results.folder_name("BAAI/bge small!") == "BAAI-bge-small"
    assert results.folder_name("../..") == "system"


@dataclass(frozen=True)
class Drawn(MeanOf):
    """A protocol whose number changes with the seed, and which makes something once."""

    made: list = field(default_factory=list, compare=False)
    tuning: Tuning = field(default_factory=lambda: Tuning(seeds=3))

    def evaluate(self, data, system, view):
        self.calls.append((view.seed, view.first_seed, view.grid_file.name))
        if not view.cache:
            self.made.append("once")
            view.cache.append("made")
        values = np.full((2, 1), float(view.seed))
        return ProtocolResult(item_scores={"mean": ItemScores(("a", "b"), values, "mean")})


def test_a_task_has_as_many_runs_as_it_declares_or_is_asked_for(tmp_path):
    asked = replace(task(values=(0.0,)), protocol=Drawn())
    found, _ = run(tmp_path, [asked])
    assert [result.metrics["mean"].value for result in found] == [0, 1, 2]
    assert asked.protocol.calls == [(seed, 0, "one.jsonl") for seed in range(3)]
    assert asked.protocol.made == ["once"]
    assert len(found) == 3 and found["one", "model"] == 1, "the mean over seeds"
    more, _ = run(tmp_path, [asked], seeds=4)
    assert len(more) == 4 and len(asked.protocol.calls) == 4  # three are kept
    folders = {path.parent.parent.name for path in tmp_path.rglob("one.json")}
    assert folders == {"model", "model--seed-1", "model--seed-2", "model--seed-3"}
    with pytest.raises(InputError, match="-1 seeds"):
        EvaluationOptions(seeds=-1)


class EncodedMean(MeanOf):
    """Encode numbers, which are their vectors."""

    def evaluate(self, data, system, view):
        vectors = system.encode(view.papers([f"{value} 1" for value in data.values]))
        return ProtocolResult(item_scores={"mean": ItemScores(tuple("abcdef"[: len(vectors)]), vectors[:, :1], "mean")})


def test_damaged_vectors_of_the_cache_are_counted_in_the_result(tmp_path):
    asked = replace(task(values=(0.25, 0.5, 0.75)), protocol=EncodedMean())
    whole, _ = run(tmp_path / "whole", [asked], build_system(tmp_path / "cache"))
    (stored,) = (tmp_path / "cache").rglob("vectors")
    stored.write_bytes(bytes(8) + stored.read_bytes()[8:-8] + bytes(8))
    with pytest.warns(ShownWarning, match="2 vectors in .* are damaged; they are computed again"):
        found, _ = run(tmp_path / "found", [asked, replace(asked, name="two")], build_system(tmp_path / "cache"))
    assert [result.details for result in (*whole, *found)] == [{}, {"damaged vectors": 2}, {}]
    assert (found[0].key, found[0].metrics) == (whole[0].key, whole[0].metrics)
    assert "written: 2 cached vectors were damaged, and were computed again" in found.report().notes


def test_results_give_numbers_rows_and_a_table(tmp_path):
    one, lost = task("one", values=(0.0, 0.5)), task("lost", data=Missing())
    results, _ = run(tmp_path, [one, lost])
    assert results["one", "model"] == results["made/one", "model", "mean"] == 0.25
    assert results.failed and len(results) == 2 and results[0].task == "one" and results[:1][0] is results[0]
    measured, failed = results.to_rows()
    assert 0 < measured.pop("low") < 0.25 < measured.pop("high") < 1
    names = {"suite": "made", "task": "one", "system": "model", "seed": 0}
    assert measured == names | {"status": "done", "metric": "mean", "value": 0.25, "n": 2}
    assert failed["status"] == "failed" and "not there" in failed["reason"]
    assert results.to_json()[0]["metrics"]["mean"]["value"] == 0.25
    assert "one mean" in str(results) and "lost: failed: " in str(results)
    with pytest.raises(KeyError, match="lost: failed: InputError: the file is not there"):
        results["lost", "model"]
    with pytest.raises(KeyError, match="no result of 'other' at 'one'; tasks: made/one, made/lost; systems: model"):
        results["one", "other"]
    with pytest.raises(KeyError, match="no metric 'map'; known: mean"):
        results["one", "model", "map"]
