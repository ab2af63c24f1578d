"""The registry of vocabulary formats."""

from __future__ import annotations

from sciprism.papers.source import LabelReader
from sciprism.registry import Registry

label_readers: Registry[LabelReader] = Registry("label reader")
