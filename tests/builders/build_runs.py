"""What runs leave, and one recipe by two processes and by one."""

import json
import os
import subprocess
import sys

import pytest

from sciprism.training.loop import Hooks
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe
from sciprism.training.run import train

PROCESSES = """
import atexit, os, sys
from pathlib import Path

@atexit.register  # runs last: a thread of the process group that is left would abort the interpreter now and then
def refuse_threads():
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    if any("gloo" in name for name in threads):
        print(threads, file=sys.stderr, flush=True)
        os._exit(3)

from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe
from sciprism.training.run import train
train(plan_training(read_recipe(Path(sys.argv[1]), sys.argv[3:]), Path(sys.argv[2]), device="cpu"))
"""


def run_recipe(recipe, folder, *, hooks=None, **options):
    """Plan a run and carry it out; return the folder of its model."""
    return train(plan_training(recipe, folder, **options), hooks)


def run_until(step, recipe, folder, stage="contrast"):
    """Carry a run out until a step of a stage, where it is interrupted."""

    def stop(report):
        if (report.stage, report.step) == (stage, step):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_recipe(recipe, folder, device="cpu", hooks=Hooks(on_step=stop))


def metrics(run, stage="contrast"):
    """Return a line for each step."""
    rows = [json.loads(line) for line in (run / stage / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "loss" in row]


def losses(run, stage="contrast"):
    """Return the loss of each step."""
    return [row["loss"] for row in metrics(run, stage)]


def launch_two(path, changes, run, *, refused=False):
    """Carry a recipe out, or go on with it, by two processes; return what they print. refused: they must fail."""
    script = run.parent / "several.py"
    script.write_text(PROCESSES)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    launch += [str(script), str(path), str(run), *changes]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(launch, env=environment, capture_output=True, text=True)
    assert (done.returncode != 0) == refused, done.stderr[-6000:]
    return done.stdout + done.stderr


def by_two_and_by_one(path, changes, place, stage="contrast"):
    """Return the losses of a run by two processes and by one."""
    launch_two(path, changes, place / "two")
    assert json.loads((place / "two" / "run.json").read_text())["processes"] == 2
    run_recipe(read_recipe(path, changes), place / "one", device="cpu")
    return losses(place / "two", stage), losses(place / "one", stage)
