"""Runs whose files are damaged: a folder is built once, a copy is damaged, and `resume` reads it."""

import hashlib
from pathlib import Path
from unittest.mock import patch

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
    try:
        with patch("sciprism.training.loop.defer_interrupts", _interrupt_after(STOPPED)):
            run_recipe(read_recipe(path, CHANGES), folder / "interrupted", device="cpu")
    except KeyboardInterrupt:
        return path
    raise AssertionError("the run was not interrupted")


class _interrupt_after:  # noqa: N801 (takes the place of a function)
    """An interrupt that comes during a step, as Ctrl-C does."""

    def __init__(self, step):
        self.calls, self.step = -1, step

    def __call__(self):
        return self

    def __enter__(self):
        return self._received

    def __exit__(self, *_):
        return None

    def _received(self):
        self.calls += 1
        return self.calls >= self.step


def run_files(run: Path) -> list[Path]:
    """Return the files of a run by place in its folder, without the lock."""
    return [path.relative_to(run) for path in sorted(run.rglob("*")) if path.is_file() and path.name != ".lock"]


def resume(recipe: Path, run: Path) -> tuple[str, list[float], list[str]]:
    """Run the recipe in a folder; return a hash of the model's weights, the losses, and what was said."""
    notes: list[str] = []
    with patch("sciprism.training.run.plot_curves"):  # which nobody reads here
        model = run_recipe(read_recipe(recipe, CHANGES), run, device="cpu", hooks=Hooks(on_message=notes.append))
    encoder = Encoder.load(model, device="cpu")
    digest = hashlib.sha256(encoder.encode(["light and heat"]).tobytes() + encoder.fingerprint.encode())
    return digest.hexdigest(), losses(run), notes
