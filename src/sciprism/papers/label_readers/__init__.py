"""One file per vocabulary format; importing this package registers them all."""

from __future__ import annotations

from sciprism.papers.source import LabelReader
from sciprism.registry import Registry

label_readers: Registry[LabelReader] = Registry("label reader")

from sciprism.papers.label_readers import jsonl, maple, mesh, micol, skos, tables  # noqa: E402, F401
