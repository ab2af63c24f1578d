"""One file per paper format; importing this package registers them all."""

from __future__ import annotations

from sciprism.papers.source import PaperReader
from sciprism.registry import Registry

paper_readers: Registry[PaperReader] = Registry("paper reader")
