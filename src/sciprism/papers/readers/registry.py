"""The registry of paper formats."""

from __future__ import annotations

from sciprism.papers.input_file import PaperReader
from sciprism.registry import Registry

paper_readers: Registry[PaperReader] = Registry("paper reader")
