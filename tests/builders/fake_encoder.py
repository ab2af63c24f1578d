"""A tiny deterministic encoder: words are hashed into a short vector, so texts that share words are near."""

import re
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np

from sciprism.papers.records import Label, Paper

Item = Paper | Label | str


@dataclass(eq=False)
class FakeEncoder:
    """Two spaces: `near` for proximity and search, `kind` for classification. Each batch takes `delay` seconds."""

    name: str = "fake"
    fingerprint: str = "f0"
    _: KW_ONLY
    dim: int = 16
    distance: str = "cosine"
    delay: float = 0.0
    encoded: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    formats = ("classification", "proximity", "search")
    device = SimpleNamespace(type="cpu")

    def space(self, format: str = "proximity", role: str = "paper") -> str:
        return "kind" if format == "classification" else "near"

    def path(self, format: str = "proximity", role: str = "paper") -> str:
        return self.space(format, role)

    def texts(self, items: Sequence[Item], role: str = "paper") -> list[str]:
        return [f"{i.title} {i.abstract}" if isinstance(i, Paper) else str(i) for i in items]

    def encode(self, items: Sequence[Item], *, format: str = "proximity", role: str = "paper") -> np.ndarray:
        time.sleep(self.delay)
        self.encoded += len(items)
        rows = [self._vector(text, self.path(format, role)) for text in self.texts(items)]
        return np.array(rows, np.float32).reshape(len(rows), self.dim)

    def encode_all(
        self, items: Sequence[Item], *, role: str = "paper", formats: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        return {each: self.encode(items, format=each, role=role) for each in formats or self.formats}

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    def set_prompts(self, prompts: dict[str, str]) -> None:
        assert not prompts

    def _vector(self, text: str, path: str) -> np.ndarray:
        vector = np.full(self.dim, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[crc32(f"{path} {word}".encode()) % self.dim] += 1
        return vector


def some_papers(count: int, first: int = 0) -> list[Paper]:
    """Papers that differ in every field; every seventh has no abstract."""
    return [
        Paper(
            id=f"p{i}",
            title=f"Title {i} of topic {i % 13}",
            abstract="" if i % 7 == 3 else f"We study matter{i % 13}. Effect{i % 5} grows with number{i}.",
            authors=(f"A. Author{i % 3}", "B. Other"),
            venue=("Nature", "Physical Review", "Proc. ICML")[i % 3],
            year=None if i % 11 == 10 else 1950 + i % 60,
            fields=(("Physics",), ("Physics", "Mathematics"), ())[i % 3],
            keywords=("k",) * (i % 3),
            references=(f"p{i + 1}",),
            ids={"doi": f"10.1/{i}"},
        )
        for i in range(first, first + count)
    ]
