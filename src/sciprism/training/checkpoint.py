"""Checkpoints of a stage: the last one and the one before it, each with checksums.

There are two at most, also while one is written. At every moment one of them is whole: the one before is
removed, the next one is written next to the last, and then both are renamed.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from sciprism.checksums import check_folder, write_checksums
from sciprism.errors import InputError
from sciprism.files import create_draft, recover_folder, sync_folder

LAST, BEFORE = "checkpoint", "previous_checkpoint"
WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.pt", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a stage: steps taken, and all that the next one depends on."""

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]
    state: dict[str, Any]


class Checkpoints:
    """The last checkpoint in the folder of a stage, and the one before it."""

    def __init__(self, folder: Path) -> None:
        self.last, self._before = folder / LAST, folder / BEFORE

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; the last one becomes the one before it."""
        shutil.rmtree(self._before, ignore_errors=True)
        draft = create_draft(self.last)
        save_file({k: v.contiguous() for k, v in checkpoint.weights.items()}, draft / WEIGHTS)
        torch.save(checkpoint.optimizer, draft / OPTIMIZER)
        state = {"step": checkpoint.step, **checkpoint.state}
        (draft / STATE).write_text(json.dumps(state), encoding="utf-8")
        write_checksums(draft)
        for path in draft.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(draft)
        if self.last.exists():
            self.last.rename(self._before)
        draft.rename(self.last)
        sync_folder(self.last.parent)

    def keep_last(self) -> None:
        """Remove the one before the last."""
        shutil.rmtree(self._before, ignore_errors=True)

    def recover(self) -> tuple[Checkpoint | None, str]:
        """Make the last whole checkpoint the last one; return it, and what is wrong with a later one, "" for nothing.

        None where there is no checkpoint. Raises InputError where there are some and none is whole.
        """
        recover_folder(self.last)
        found, wrong = None, f"{self.last} is missing"
        try:
            found = self.load()
        except InputError as error:
            wrong = str(error)
        if found is not None or not (self.last.exists() or self._before.exists()):
            return found, ""
        try:
            found = _read(self._before)
        except InputError as error:
            raise InputError(f"no checkpoint is whole: {wrong}; {error}") from error
        shutil.rmtree(self.last, ignore_errors=True)
        self._before.rename(self.last)
        return found, wrong

    def load(self) -> Checkpoint | None:
        """Return the last checkpoint; None where there is none. InputError for damage."""
        return _read(self.last) if self.last.exists() else None


def _read(folder: Path) -> Checkpoint:
    """Return a checkpoint, whose checksums are compared."""
    if not folder.exists():
        raise InputError(f"{folder} is missing")
    try:
        check_folder(folder)
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        optimizer = torch.load(folder / OPTIMIZER, map_location="cpu", weights_only=True)
        found = Checkpoint(state.pop("step"), load_file(folder / WEIGHTS), optimizer, state)
        if not isinstance(found.step, int):
            raise InputError(f"{folder / STATE}: the step is {found.step!r}")
    except InputError as error:
        raise InputError(str(error).partition("; ")[0]) from error
    except (PermissionError, InterruptedError, MemoryError):
        raise
    except Exception as error:  # readers of three formats; each raises its own errors
        text = next(iter(str(error).splitlines()), "")
        raise InputError(f"{folder} is damaged: {type(error).__name__}: {text}") from error
    return found
