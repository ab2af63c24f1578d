"""Studies in processes side by side: what waits for what, what a failure stops, and results put together."""

import argparse
import json
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

import prism
import scirepeval
import study
import study_jobs
from sciprism.errors import InputError
from sciprism.evaluation.results import TaskResult, pack_results, read_pack, write_result
from sciprism.evaluation.suites import suites
from sciprism.reproduce.estimates import read_models, read_runs, write_models
from side_by_side import Job, Scheduler, SharedTasks
from study_plan import PLAN, list_rounds

OPEN = suites["open"]


@pytest.fixture
def note(tmp_path):
    """A job that appends its name to a file, or ends with a status."""

    def do(name, status):
        with (tmp_path / "done").open("a") as file:
            file.write(f"{name}\n")
        if status:
            raise SystemExit(status)

    return lambda name, *needs, status=0: Job(name, partial(do, name, status), tmp_path / "log" / name, needs)


def read_done(folder):
    return (folder / "done").read_text().split()


def test_jobs_wait_for_what_they_need_and_a_failure_stops_what_needs_it(tmp_path, note, capsys):
    jobs = [note("c", "a", "b"), note("a"), note("b"), note("e", "d"), note("d", status=2), note("f", "data")]
    scheduler = Scheduler(2)
    assert sorted(scheduler.run(jobs, lambda: scheduler.done.add("data"))) == ["d", "e"]
    done = read_done(tmp_path)
    assert sorted(done) == ["a", "b", "c", "d", "f"] and done.index("c") > max(done.index("a"), done.index("b"))
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines() if "FAILED" in line] == ["d"]


def test_output_is_in_logs(tmp_path):
    Scheduler(1).run([Job("loud", partial(subprocess.run, ["echo", "said"]), tmp_path / "log")], lambda: False)
    assert (tmp_path / "log").read_text() == "said\n"


def test_the_end_of_the_time_stops_all(tmp_path):
    command = ["sh", "-c", f"sleep 2; touch {tmp_path}/late"]
    jobs = [Job(name, partial(subprocess.run, command), tmp_path / name) for name in ("long", "longer")]
    assert sorted(Scheduler(1, time.time() + 0.5).run(jobs, lambda: False)) == ["long", "longer"]
    time.sleep(2)
    assert not (tmp_path / "late").exists(), "a process that a job started is stopped too"


def test_data_that_are_read_are_shared(tmp_path):
    first, second, *_ = OPEN.tasks
    shared = SharedTasks()
    shared.add([first, second, first], tmp_path)
    assert shared.find(first, tmp_path) is shared.find(first, tmp_path)
    assert shared.find(first, tmp_path / "other") is not shared.find(first, tmp_path / "other")
    assert [shared.read_next() for _ in range(3)] == [True, True, False], "errors are reported when it is scored"
    with pytest.raises(InputError, match="not in"):
        shared.find(second, tmp_path).read()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The jobs of SciRepEval's and prism's studies where nothing is on file, and the recorded commands."""
    folder = tmp_path_factory.mktemp("plan")
    write_models(folder / "results" / "scirepeval", {"ensemble": ("mean-adapters-0+ctrl-0",)})
    write_models(folder / "results" / "scirepeval", {"ensemble-concat": ("concat-adapters-0+ctrl-0",)})
    for place in ("formats/all-MiniLM-L6-v2", "formats-masked-lm/masked-lm"):
        (folder / f"{place}-{study.MAX_LENGTH}").mkdir(parents=True)
    args = argparse.Namespace(output=folder, results=folder / "results", precision="bfloat16", here=["defaults.x=1"])
    found = {}
    for step, seeds in list_rounds([step for step in PLAN if step.script in ("scirepeval", "prism")]):
        study_jobs.StepJobs(step, study_jobs.find_study(step), args, seeds, found, SharedTasks()).add()
    return found


def test_every_run_has_what_it_needs(jobs):
    assert {need for job in jobs.values() for need in job.needs} - {"data"} <= set(jobs)
    assert jobs["train formats adapter-fusion-2"].needs == ("train formats adapters-2",)
    needs = jobs["score scirepeval ctrl-random-3"].needs
    assert needs == ("train formats ctrl-random-3", "train formats heads-0", "data")
    assert set(jobs["score scirepeval ensembles-1"].needs) == {
        f"{what} {run}-1" for what in ("train formats", "score scirepeval") for run in ("adapters", "ctrl")
    } | {"data"}
    assert "score scirepeval ensembles-0" not in jobs, "it is on file"
    assert {name for name in jobs if name.endswith("backbone")} == {
        f"score {results} backbone" for results in ("scirepeval", "prism", "studies/scirepeval-masked-lm")
    }
    assert not any("prism" in name and "adapters-0" in name for name in jobs), "prism shares SciRepEval's runs"


def test_each_partition_is_trained_with_its_sources(jobs, monkeypatch):
    found = []
    monkeypatch.setenv("SCIPRISM_DATA", "data")
    monkeypatch.setattr(study, "run_command", lambda *words: found.append(words))
    for number in range(scirepeval.PARTITIONS):
        jobs[f"train formats ctrl-random-{number}"].do()
    for number, words in enumerate(found):
        assert words[1:2] == (Path("recipes/laptop/scirepeval-ctrl.toml"),) and words[-1] == "defaults.x=1"
        assert set(scirepeval.partition(number)) < set(words)
    assert len(set(found)) == len(found) == scirepeval.PARTITIONS


def test_another_backbone_is_what_every_recipe_starts_from(jobs, monkeypatch):
    found = []
    monkeypatch.setenv("SCIPRISM_DATA", "data")
    monkeypatch.setattr(study, "run_command", lambda *words: found.append(words))
    for name in ("train formats ctrl-0", "train formats-masked-lm ctrl-0"):
        jobs[name].do()
    starts = [[word for word in words if str(word).startswith("model.backbone=")] for words in found]
    assert [len(words) for words in starts] == [0, 1] and starts[1][0].endswith("formats-masked-lm/masked-lm-128")
    assert found[1][found[1].index("-o") + 1] != found[0][found[0].index("-o") + 1], "the runs are apart"


def test_results_are_put_together(tmp_path):
    made = {"command": "x", "before": []}
    for name in ("one-0", "one-1"):
        result = TaskResult(suite="open", task="t", key="k", format="search", group="", status="done", system={})
        folder = tmp_path / "apart" / "paper" / name
        write_result(folder / name / "open", result, {})
        pack_results(folder, folder)
        write_models(folder, {"one": (name,)})
        (folder / "runs.json").write_text(json.dumps(made | {"runs": {name.replace("-", ", seed "): {"steps": 1}}}))
    target = tmp_path / "results" / "paper"
    target.mkdir(parents=True)
    (target / "runs.json").write_text(json.dumps(made | {"runs": {"old, seed 0": {}, "one, seed 0": {"steps": 9}}}))
    write_models(target, {"one": ("one-1",)})  # scored first
    study_jobs.collect_runs(tmp_path / "apart", tmp_path / "results")
    assert set(read_pack(target / "open.results.jsonl.gz").entries()) == {("one-0", "t"), ("one-1", "t")}
    assert read_models(target) == {"one": ("one-0", "one-1")}
    assert dict(read_runs(target)) == {"one, seed 0": {"steps": 1}, "one, seed 1": {"steps": 1}, "old, seed 0": {}}
    assert not json.loads((target / "runs.json").read_text())["before"], "what was made alike is together"


def test_a_shared_run_keeps_the_machine_that_made_it(tmp_path):
    made = {"command": "x", "gpu": "one", "runs": {"ctrl, seed 0": {"steps": 1}, "pals, seed 0": {}}}
    study.record_runs(tmp_path / "scirepeval" / "runs.json", made)
    study.record_runs(tmp_path / "scirepeval" / "runs.json", {"command": "y", "runs": {"ctrl, seed 1": {}}})
    args = argparse.Namespace(output=tmp_path / "prism", seeds=[0, 1], only=[], change=[], here=[])
    arms = [arm for arm in prism.METHODS.arms if arm.key == "control-codes"]
    study.run_arms(prism.METHODS, study.order_runs(arms, [0]), args)
    assert json.loads((tmp_path / "prism" / "runs.json").read_text()) == {
        "command": "x", "gpu": "one", "runs": {"control-codes, seed 0": {"steps": 1}}, "before": []
    }  # fmt: skip
