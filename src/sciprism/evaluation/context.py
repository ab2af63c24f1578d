"""How a protocol encodes the texts of a task, and the seed of its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sciprism.evaluation.systems import EncodingInput
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationContext:
    """How a task's papers are encoded, and the run's seed; the seeds of a task and system share the rest.

    role: of the papers; "query" where a task that is no search is scored with query vectors.
    first_seed: the seed that chooses settings. grid_file: stores the dev scores of settings, under `key`.
    cache: holds what `build_once` built, for all contexts that share it; None: nothing is shared.
    """

    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS
    seed: int = 0
    first_seed: int = 0
    grid_file: Path | None = None
    key: str = ""
    cache: list[Any] | None = field(default=None, compare=False)

    def build_once(self, build: Callable[[], T]) -> T:
        """Return what `build` returns; it is called once for all contexts that share a cache."""
        if self.cache is None:
            return build()
        if not self.cache:
            self.cache.append(build())
        built: T = self.cache[0]
        return built

    def papers(self, items: Sequence[Any]) -> EncodingInput:
        """Return items as papers of this format."""
        return EncodingInput(items=items, format=self.format, role=self.role, fields=self.fields)

    def queries(self, items: Sequence[Any]) -> EncodingInput:
        """Return items as queries of this format; papers among them are read by the same fields."""
        return EncodingInput(items=items, format=self.format, role="query", fields=self.fields)

    def labels(self, items: Sequence[Any]) -> EncodingInput:
        """Return items as labels of this format."""
        return EncodingInput(items=items, format=self.format, role="label", fields=self.fields)
