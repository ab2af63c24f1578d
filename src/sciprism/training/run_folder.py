"""What a run leaves on disk: the recipe as used, metrics, checkpoints, models.

    RUN/recipe.json               the recipe with all changes
    RUN/run.json                  versions, device, hashes of the sources, their papers that stand in tests
    RUN/<stage>/metrics.jsonl     a line for each step and each evaluation
    RUN/<stage>/checkpoint/       weights, optimiser and step: where an interrupted run goes on
    RUN/<stage>/best/             the model with the best dev score
    RUN/<stage>/model/            the finished model
    RUN/<stage>/curve.png, tensorboard/

Folders appear whole or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from sciprism.errors import InputError
from sciprism.files import write_json, write_lines
from sciprism.training.recipe import filled

TESTED = "papers_of_tests"
"""What run.json says of each source: how many of its papers stand in tests, null where nobody looked."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a stage stands: steps done, and all that the next one depends on."""

    step: int
    weights: dict[str, Tensor]
    optimiser: dict[str, Any]
    state: dict[str, Any]


def replace_folder(folder: Path, draft: Path) -> None:
    """Put a finished draft in a folder's place; at every moment one whole version is there to be found."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    draft.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def draft_of(folder: Path) -> Path:
    """Return an empty folder beside this one, to be filled and then put in its place."""
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    return draft


class StageFolder:
    """The folder of one stage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.metrics = folder / "metrics.jsonl"
        self._board: Any = None

    def recover(self) -> None:
        """Put back a checkpoint that a kill found between two renames; one process alone may call it."""
        folder = self.folder / "checkpoint"
        old = folder.with_name(f".{folder.name}.old")
        if old.exists() and not folder.exists():
            old.rename(folder)

    def close(self) -> None:
        """Write out what TensorBoard's writer still holds."""
        if self._board is not None:
            self._board.close()

    @property
    def model(self) -> Path:
        """Return where the finished model is or will be."""
        return self.folder / "model"

    @property
    def best(self) -> Path:
        """Return where the model with the best dev score is or will be."""
        return self.folder / "best"

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, the whole of it or nothing."""
        folder = self.folder / "checkpoint"
        draft = draft_of(folder)
        save_file({k: v.contiguous() for k, v in checkpoint.weights.items()}, draft / "weights.safetensors")
        torch.save(checkpoint.optimiser, draft / "optimiser.pt")
        state = {"step": checkpoint.step, **checkpoint.state}
        (draft / "state.json").write_text(json.dumps(state), encoding="utf-8")
        replace_folder(folder, draft)

    def load(self) -> Checkpoint | None:
        """Return the last checkpoint, None where there is none."""
        folder = self.folder / "checkpoint"
        if not folder.exists():
            return None
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        optimiser = torch.load(folder / "optimiser.pt", map_location="cpu", weights_only=True)
        return Checkpoint(state.pop("step"), load_file(folder / "weights.safetensors"), optimiser, state)

    def forget_after(self, step: int) -> None:
        """Drop the metrics of steps that will be taken again."""
        if self.metrics.exists():
            kept = [json.dumps(row) for row in self.rows() if row["step"] <= step]
            write_lines(self.metrics, kept)

    def log(self, row: Mapping[str, Any]) -> None:
        """Add one line of metrics, for TensorBoard too."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")
        if self._board is None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(self.folder / "tensorboard", purge_step=row["step"])
        flat = {f"loss/{name}": loss for name, loss in row.get("losses", {}).items()}
        flat |= {key: row[key] for key in ("loss", "lr", "gradient", "dev") if row.get(key) is not None}
        flat |= {f"dev/{name}": score for name, score in row.get("dev_scores", {}).items()}
        flat |= {f"tasks/{name}": score for name, score in row.get("tasks", {}).items()}
        for name, value in flat.items():
            self._board.add_scalar(name, value, row["step"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of metrics; one that a stop cut short ends them."""
        if not self.metrics.exists():
            return
        with self.metrics.open(encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    return
                yield json.loads(line)


def claim(folder: Path, recipe: dict[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Make a run's folder, or go on in it; return what has changed since and may change digits.

    facts: what a run depends on besides its recipe. A folder that holds another recipe's run is refused, and
    so are sources whose content has changed and another number of processes; where sources lie is free, and
    that they were held against tests at the beginning stands.
    """
    kept = folder / "recipe.json"
    if not kept.exists():
        if folder.exists() and {path.name for path in folder.iterdir()} - {
            "run.json",
            "run.json.part",
            "recipe.json.part",
        }:
            raise InputError(f"{folder} is not empty and holds no run; choose a new folder")
        write_json(folder / "run.json", facts)
        write_json(kept, recipe)
        return []
    known, before = (json.loads((folder / n).read_text("utf-8")) for n in ("recipe.json", "run.json"))
    places = (".file", ".dev", "model.tokenizer")
    other = sorted(place for place in _differences(filled(known), recipe) if not place.endswith(places))
    if other:
        raise InputError(
            f"{folder} holds a run of another recipe (differs in {', '.join(other[:5])}); choose another "
            "folder, or run the same recipe with the same --set to go on"
        )
    differences = _differences(before, json.loads(json.dumps(facts)))
    changed = sorted(place for place in differences if not place.startswith(TESTED))
    decisive = [place for place in changed if place.startswith(("sources", "processes"))]
    if decisive:
        raise InputError(f"{folder}: the run cannot go on: {decisive[0]} has changed since it began")
    return changed


def _differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from _differences(one.get(key), other.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{place}.{number}")
    elif one != other:
        yield place
