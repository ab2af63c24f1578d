"""The registry of published layouts: the one place by which names reach converters."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sciprism.encoders.checkpoints.converters import adapter_sets, control_codes, pals, scimult
from sciprism.encoders.checkpoints.model_files import LocateModel, ModelFiles


class Converter(Protocol):
    """A function that converts the models of one layout, each once."""

    def __call__(self, files: ModelFiles, locate: LocateModel) -> Path | None:
        """Return the converted model folder; None for files of another layout."""


CONVERTERS: tuple[Converter, ...] = (adapter_sets.convert, pals.convert, control_codes.convert, scimult.convert)
"""The first that knows the files converts them."""


def convert(files: ModelFiles, locate: LocateModel) -> Path:
    """Return the model's folder: of ours, of sentence-transformers, of a backbone, or a converted one."""
    if not files.adapters and any((files.path / file).exists() for file in ("sciprism.json", "modules.json")):
        return files.path
    found = (converter(files, locate) for converter in CONVERTERS)
    return next((folder for folder in found if folder is not None), files.path)
