"""The folder of a run: the recipe, metrics, checkpoints, models.

    RUN/recipe.json               the recipe with all changes
    RUN/run.json                  versions, device, hashes of the sources, test papers found in them
    RUN/<stage>/metrics.jsonl     a line for each step and each evaluation
    RUN/<stage>/checkpoint/       weights, optimizer and step: where an interrupted run resumes
    RUN/<stage>/best/             the model with the best dev score
    RUN/<stage>/model/            the finished model
    RUN/<stage>/curve.png, tensorboard/

Folders appear whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from sciprism.deprecation import current_names
from sciprism.errors import InputError
from sciprism.files import PARTIAL_SUFFIX, create_draft, replace_folder, write_json, write_lines
from sciprism.training.recipe_file import current_recipe

RECIPE, RUN = "recipe.json", "run.json"
TEST_PAPERS = "test_papers"
"""Key of run.json: of each source the number of its papers in tests, null where nobody has checked."""
FORMER_KEYS = {"papers_of_tests": TEST_PAPERS, "done": "finished_models"}
FORMER_SOURCE_KEYS = {"left_out": "dropped"}
"""Keys that version 0.1 wrote to run.json -> today's."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a stage: steps taken, and all that the next one depends on."""

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]
    state: dict[str, Any]


class StageFolder:
    """The folder of one stage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics = folder / "metrics.jsonl"
        self.model = folder / "model"
        self.best = folder / "best"
        self._checkpoint = folder / "checkpoint"
        self._board: Any = None

    def recover(self) -> None:
        """Create the folder, or restore its checkpoint after a kill between two renames; one process calls it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        old = self._checkpoint.with_name(f".{self._checkpoint.name}.old")
        if old.exists() and not self._checkpoint.exists():
            old.rename(self._checkpoint)

    def close(self) -> None:
        """Flush TensorBoard's writer."""
        if self._board is not None:
            self._board.close()

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, the whole of it or nothing."""
        draft = create_draft(self._checkpoint)
        save_file({k: v.contiguous() for k, v in checkpoint.weights.items()}, draft / "weights.safetensors")
        torch.save(checkpoint.optimizer, draft / "optimizer.pt")
        state = {"step": checkpoint.step, **checkpoint.state}
        (draft / "state.json").write_text(json.dumps(state), encoding="utf-8")
        replace_folder(self._checkpoint, draft)

    def load(self) -> Checkpoint | None:
        """Return the last checkpoint, also one of version 0.1; None where there is none."""
        folder = self._checkpoint
        if not folder.exists():
            return None
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        path = folder / "optimizer.pt"
        path = path if path.exists() else folder / "optimiser.pt"
        optimizer = torch.load(path, map_location="cpu", weights_only=True)
        optimizer = current_names(optimizer, {"optimiser": "optimizer"}, str(path), warn=None)
        return Checkpoint(state.pop("step"), load_file(folder / "weights.safetensors"), optimizer, state)

    def drop_metrics_after(self, step: int) -> None:
        """Drop the metrics of steps that will be repeated."""
        if self.metrics.exists():
            write_lines(self.metrics, [json.dumps(row) for row in self.rows() if row["step"] <= step])

    def log(self, row: Mapping[str, Any]) -> None:
        """Add one line of metrics, also for TensorBoard."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")
        if self._board is None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(self.folder / "tensorboard", purge_step=row["step"])
        flat = {key: row[key] for key in ("loss", "lr", "gradient", "dev") if row.get(key) is not None}
        for prefix, table in (("loss", "losses"), ("dev", "dev_scores"), ("tasks", "tasks")):
            flat |= {f"{prefix}/{name}": value for name, value in row.get(table, {}).items()}
        for name, value in flat.items():
            self._board.add_scalar(name, value, row["step"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of metrics, without a last one that is incomplete."""
        if self.metrics.exists():
            with self.metrics.open(encoding="utf-8") as file:
                yield from (json.loads(line) for line in file if line.endswith("\n"))


class RunFolder:
    """The folder of a run, new or begun before.

    recipe: with all changes. facts: what the run depends on besides it (hashes, versions, device).
    """

    def __init__(self, path: Path, recipe: dict[str, Any], facts: Mapping[str, Any]) -> None:
        self.path, self.recipe, self.facts = path, recipe, facts
        self.begun = (path / RECIPE).exists()

    def compare(self) -> list[str]:
        """Return the facts that have changed since the run began; nothing where it is new.

        Refused: another recipe's run, sources with other content, another number of processes. Paths of
        sources may change, and the check against test papers is kept.
        """
        if not self.begun:
            partial = {RUN, RUN + PARTIAL_SUFFIX, RECIPE + PARTIAL_SUFFIX}
            if self.path.exists() and {path.name for path in self.path.iterdir()} - partial:
                raise InputError(f"{self.path} is not empty and holds no run; choose a new folder")
            return []
        used, before = (json.loads((self.path / name).read_text("utf-8")) for name in (RECIPE, RUN))
        paths = (".file", ".dev", "model.tokenizer")
        other = sorted(key for key in _differences(current_recipe(used), self.recipe) if not key.endswith(paths))
        if other:
            raise InputError(
                f"{self.path} holds a run of another recipe (differs in {', '.join(other[:5])}); choose another "
                "folder, or run the same recipe with the same --set to resume"
            )
        differences = _differences(_current_facts(before), json.loads(json.dumps(self.facts)))
        changed = sorted(key for key in differences if not key.startswith(TEST_PAPERS))
        decisive = [key for key in changed if key.startswith(("sources", "processes"))]
        if decisive:
            raise InputError(f"{self.path}: the run cannot be resumed: {decisive[0]} has changed since it began")
        return changed

    def stage(self, name: str) -> StageFolder:
        """Return the folder of a stage."""
        return StageFolder(self.path / name)

    def create(self) -> None:
        """Write the recipe and the facts of a new run."""
        if not self.begun:
            write_json(self.path / RUN, self.facts)
            write_json(self.path / RECIPE, self.recipe)


def _current_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the content of run.json with today's keys."""
    facts = current_names(facts, FORMER_KEYS, RUN, warn=None)
    sources = facts.get("sources", {}).items()
    renamed = {name: current_names(each, FORMER_SOURCE_KEYS, RUN, warn=None) for name, each in sources}
    return facts | {"sources": renamed}


def _differences(one: Any, other: Any, key: str = "") -> Iterator[str]:
    """Yield the path of each value that differs."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            yield from _differences(one.get(name), other.get(name), f"{key}.{name}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{key}.{number}")
    elif one != other:
        yield key
