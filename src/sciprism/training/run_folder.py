"""The folder of a run: the recipe, metrics, checkpoints, models.

    RUN/recipe.json               the recipe with all changes
    RUN/run.json                  versions, device, hashes of the sources, test papers found in them
    RUN/<stage>/metrics.jsonl     a line for each step and each evaluation
    RUN/<stage>/checkpoint/       weights, optimizer and step: where an interrupted run resumes
    RUN/<stage>/previous_checkpoint/   the one before, until the stage is finished
    RUN/<stage>/best/             the model with the best dev score
    RUN/<stage>/model/            the finished model
    RUN/<stage>/curve.png, tensorboard/

Folders appear whole or not at all. `checksums.json` in a folder has the checksums of its files, that of a stage
from its end on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from torch import Tensor

from sciprism.encoders.settings import describe_unpaid, untrained_stage
from sciprism.errors import InputError
from sciprism.files import (
    CHECKSUMS_NAME,
    PARTIAL_SUFFIX,
    check_folder,
    commit_folder,
    hash_bytes,
    hash_file,
    open_draft,
    recover_folder,
    write_atomically,
    write_checksums,
    write_json,
    write_tensors,
)
from sciprism.text.tokenizer import read_json
from sciprism.training.recipe import Recipe

RECIPE, RUN, METRICS = "recipe.json", "run.json", "metrics.jsonl"
TEST_PAPERS = "test_papers"
"""Key of run.json: of each source the number of its papers in tests, null where nobody has checked."""
LAST, BEFORE = "checkpoint", "previous_checkpoint"
WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.pt", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a stage: steps taken, and all that the next one depends on."""

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]
    state: dict[str, Any]


def _read_checkpoint(folder: Path) -> Checkpoint:
    """Return a checkpoint, whose checksums are compared."""
    if not folder.exists():
        raise InputError(f"{folder} is missing")
    try:
        check_folder(folder)
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        optimizer = torch.load(folder / OPTIMIZER, map_location="cpu", weights_only=True)
        checkpoint = Checkpoint(state.pop("step"), load_file(folder / WEIGHTS), optimizer, state)
        if not isinstance(checkpoint.step, int):
            raise InputError(f"{folder / STATE}: the step is {checkpoint.step!r}")
    except InputError as error:
        raise InputError(str(error).partition("; ")[0]) from error
    except (PermissionError, InterruptedError, MemoryError):
        raise
    except Exception as error:  # readers of three formats; each raises its own errors
        text = next(iter(str(error).splitlines()), "")
        raise InputError(f"{folder} is damaged: {type(error).__name__}: {text}") from error
    return checkpoint


class StageFolder:
    """The folder of one stage.

    It has two checkpoints at most, also while one is written. At every moment one of them is whole: the one before is
    removed, the next one is written next to the last, and then both are renamed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics = folder / METRICS
        self.model = folder / "model"
        self.best = folder / "best"
        self.checkpoint, self.previous_checkpoint = folder / LAST, folder / BEFORE
        self._board: Any = None

    def recover(self) -> tuple[Checkpoint | None, str]:
        """Create the folder, or undo what a kill left half done; return the last whole checkpoint and a problem.

        The checkpoint is None where there is none. The problem says why a later checkpoint is not used, "" for none.
        One process calls it. Raises InputError where there are checkpoints and none is whole.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / CHECKSUMS_NAME).unlink(missing_ok=True)  # of metrics that will change
        for folder in (self.best, self.model, self.checkpoint):
            recover_folder(folder)
        if not (self.checkpoint.exists() or self.previous_checkpoint.exists()):
            return None, ""
        try:
            return _read_checkpoint(self.checkpoint), ""
        except InputError as error:
            wrong = str(error)
        try:
            checkpoint = _read_checkpoint(self.previous_checkpoint)
        except InputError as error:
            raise InputError(f"no checkpoint is whole: {wrong}; {error}. {self.remedy}") from error
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        self.previous_checkpoint.rename(self.checkpoint)
        return checkpoint, wrong

    def load(self) -> Checkpoint | None:
        """Return the last checkpoint; None where there is none. InputError for damage."""
        return _read_checkpoint(self.checkpoint) if self.checkpoint.exists() else None

    def close(self) -> None:
        """Flush TensorBoard's writer."""
        if self._board is not None:
            self._board.close()

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, with the checksum of the metrics so far; the last one becomes the one before it."""
        content = self._read_metrics()
        metrics = {"size": len(content), "checksum": hash_bytes(content)}
        shutil.rmtree(self.previous_checkpoint, ignore_errors=True)
        with open_draft(self.checkpoint) as draft:
            write_tensors(draft / WEIGHTS, {k: v.contiguous() for k, v in checkpoint.weights.items()})
            write_atomically(draft / OPTIMIZER, lambda file: torch.save(checkpoint.optimizer, file))
            state = {"step": checkpoint.step, **checkpoint.state, "metrics": metrics}
            write_json(draft / STATE, state)
            write_checksums(draft)
            if self.checkpoint.exists():
                self.checkpoint.rename(self.previous_checkpoint)
            commit_folder(draft, self.checkpoint)

    def check_best(self, checksum: str = "") -> None:
        """Raise InputError where the best model is damaged, or is another one than the checksum is of."""
        try:
            check_folder(self.best)
            read_json(self.best / "config.json")
            if checksum and checksum != hash_file(self.best / CHECKSUMS_NAME):
                raise InputError(f"{self.best} is another model")
        except (InputError, OSError) as error:
            raise InputError(f"the best model so far is damaged or missing: {error}. {self.remedy}") from error

    def read_provenance(self) -> dict[str, Any]:
        """Return the provenance of the finished model: its step, its dev score, that of the untouched model."""
        return read_json(self.model / "sciprism.json", {}).get("provenance", {})  # type: ignore[no-any-return]

    @property
    def remedy(self) -> str:
        """Return what a person can do if the stage cannot resume."""
        names = f"{LAST}, {BEFORE} and {self.best.name}"
        return (
            f"To train the stage again from its first step, remove what there is of {names} in {self.folder}; or "
            "start again in a new folder"
        )

    def restore_metrics(self, checkpoint: Checkpoint | None) -> str:
        """Drop the metrics of steps that will be repeated; return what is wrong with the others, "" for nothing."""
        content, retained, problem = self._read_metrics(), b"", ""
        if checkpoint is not None:
            saved = checkpoint.state["metrics"]
            retained = content[: saved["size"]]
            if hash_bytes(retained) != saved["checksum"]:
                lines = [(line, self.read_row(line)) for line in content.splitlines(keepends=True)]
                retained = b"".join(line for line, row in lines if row is not None and row["step"] <= checkpoint.step)
                lost = sum(row is None and line.endswith(b"\n") for line, row in lines)
                problem = (
                    f"{self.metrics} is damaged before step {checkpoint.step:,}: {lost} of its lines cannot be read "
                    "and are dropped, others may be missing or wrong, and so the curve; the model is right"
                )
        if retained != content:
            write_atomically(self.metrics, lambda file: file.write(retained))
        return problem

    def _read_metrics(self) -> bytes:
        return self.metrics.read_bytes() if self.metrics.exists() else b""

    def log(self, row: Mapping[str, Any]) -> None:
        """Add one line of metrics, also for TensorBoard."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")
        if self._board is None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(self.folder / "tensorboard", purge_step=row["step"])
        flat = {key: row[key] for key in ("loss", "lr", "gradient", "dev") if row.get(key) is not None}
        tables = {"loss": "losses", "dev": "dev_scores", "untouched": "untouched_scores", "tasks": "tasks"}
        for prefix, table in tables.items():
            flat |= {f"{prefix}/{name}": value for name, value in row.get(table, {}).items()}
        for name, value in flat.items():
            self._board.add_scalar(name, value, row["step"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of metrics, without a last one that is incomplete. InputError for a damaged line."""
        if self.metrics.exists():
            with self.metrics.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if (row := self.read_row(line)) is not None:
                        yield row
                    elif line.endswith(b"\n"):
                        raise InputError(f"{self.metrics}, line {number} is damaged; delete it")

    @staticmethod
    def read_row(line: bytes) -> dict[str, Any] | None:
        """Return the row in a line of metrics, None for a line that holds none."""
        try:
            row = json.loads(line)
            numbers = [row["step"], *row.get("losses", {}).values(), *row.get("dev_scores", {}).values()]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        whole = line.endswith(b"\n") and all(isinstance(number, int | float) for number in numbers)
        return row if whole else None


class RunFolder:
    """The folder of a run, new or begun before.

    recipe: with all changes. facts: what the run depends on besides it (hashes, versions, device).
    """

    def __init__(self, path: Path, recipe: dict[str, Any], facts: Mapping[str, Any]) -> None:
        self.path, self.recipe, self.facts = path, recipe, facts
        self.begun = (path / RECIPE).exists()

    def compare(self) -> list[str]:
        """Return the facts that have changed since the run began; nothing where it is new.

        Refused: another recipe's run, sources with other content. Paths of sources may change, and the check
        against test papers is kept. Another number of processes has the same batches, and other dropout.
        """
        if not self.begun:
            partial = {RUN, RUN + PARTIAL_SUFFIX, RECIPE + PARTIAL_SUFFIX}
            if self.path.exists() and {path.name for path in self.path.iterdir()} - partial:
                raise InputError(f"{self.path} is not empty and holds no run; choose a new folder")
            return []
        used, before = self._read()
        paths = (".file", ".dev", "model.tokenizer")
        other = sorted(key for key in _differences(used, self.recipe) if not key.endswith(paths))
        if other:
            raise InputError(
                f"{self.path} holds a run of another recipe (differs in {', '.join(other[:5])}); choose another "
                "folder, or run the same recipe with the same --set to resume"
            )
        differences = _differences(before, json.loads(json.dumps(self.facts)))
        changed = sorted(key for key in differences if not key.startswith(TEST_PAPERS))
        decisive = [key for key in changed if key.startswith("sources")]
        if decisive:
            raise InputError(f"{self.path}: the run cannot be resumed: {decisive[0]} has changed since it began")
        return changed

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the recipe, with the defaults of keys that are new, and the facts of a run. InputError for damage."""
        try:
            check_folder(self.path, (RECIPE, RUN))
            used, facts = (read_json(self.path / name) for name in (RECIPE, RUN))
        except InputError as error:
            raise InputError(f"{error}; or start again in a new folder") from error
        with suppress(ValidationError):  # a recipe with keys that are gone differs
            used = Recipe.model_validate(used).model_dump(mode="json")
        return used, facts

    def stage(self, name: str) -> StageFolder:
        """Return the folder of a stage."""
        return StageFolder(self.path / name)

    def outcomes(self) -> dict[str, Mapping[str, Any]]:
        """Return the finished stages, with the provenance of each one's model."""
        names = [stage["name"] for stage in self.recipe["stages"]]
        return {name: self.stage(name).read_provenance() for name in names if self.stage(name).model.exists()}

    def list_failures(self) -> Iterator[str]:
        """Yield which finished stages are their start, step 0, or not better on dev than the untouched model."""
        for name, provenance in self.outcomes().items():
            model, unpaid = self.stage(name).model, describe_unpaid(provenance)
            if untrained_stage({"provenance": provenance}):
                yield f"stage {name} kept step 0: {model} is what the stage began with; check dev examples, rate, steps"
            elif unpaid:
                yield f"stage {name}: {unpaid}; use {self.recipe['model']['backbone']} as it is, in place of {model}"

    def create(self) -> None:
        """Write the recipe and the facts of a new run, and their checksums."""
        if not self.begun:
            write_json(self.path / RUN, self.facts)
            write_json(self.path / RECIPE, self.recipe)
            write_checksums(self.path)


def _differences(one: Any, other: Any, key: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            yield from _differences(one.get(name), other.get(name), f"{key}.{name}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{key}.{number}")
    elif one != other:
        yield key
