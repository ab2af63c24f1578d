"""The registry of vocabulary formats."""

from __future__ import annotations

from sciprism.papers.input_file import LabelReader
from sciprism.registry import Registry

label_readers: Registry[LabelReader] = Registry("label reader")
