"""Runs whose files are damaged: a folder is built once, a copy is damaged, and `resume` reads it."""

import hashlib
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

from build_runs import losses, run_recipe
from build_sources import write_recipe, write_source
from sciprism import Encoder
from sciprism.training.loop import Hooks
from sciprism.training.recipe_file import read_recipe

CHANGES = ["stages.0.evaluation.every=2", "stages.0.sources.search.dev=dev.jsonl"]
STEPS, STOPPED = 6, 5


def build_runs(folder: Path, model: Path) -> Path:
    """Write a recipe, its sources, an interrupted run and the finished one; return the recipe."""
    path = build_interrupted_run(folder, model)
    run_recipe(read_recipe(path, CHANGES), folder / "finished", device="cpu")
    return path


def build_interrupted_run(folder: Path, model: Path) -> Path:
    """Write a recipe, its sources, and a run: checkpoints at the steps 3 and 5, a best model. Return the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    path = write_recipe(folder, model, steps=STEPS, every=3, dropout=0.1)
    write_source(folder / "dev.jsonl", 20, seed=9)
    with (
        patch("sciprism.training.loop.defer_interrupts", _interrupt_after(STOPPED)),
        pytest.raises(KeyboardInterrupt),
    ):
        run_recipe(read_recipe(path, CHANGES), folder / "interrupted", device="cpu")
    return path


def _interrupt_after(step):
    """Return what takes the place of `defer_interrupts`: an interrupt that comes during a step, as Ctrl-C does."""
    calls = count(1)
    return lambda: nullcontext(lambda: next(calls) > step)


def resume(recipe: Path, run: Path) -> tuple[str, list[float], list[str]]:
    """Run the recipe in a folder; return a hash of the model's weights, the losses, and what was said."""
    notes: list[str] = []
    with patch("sciprism.training.run.plot_curves"):  # which nobody reads here
        model = run_recipe(read_recipe(recipe, CHANGES), run, device="cpu", hooks=Hooks(on_message=notes.append))
    encoder = Encoder.load(model, device="cpu")
    digest = hashlib.sha256(encoder.encode(["light and heat"]).tobytes() + encoder.fingerprint.encode())
    return digest.hexdigest(), losses(run), notes
