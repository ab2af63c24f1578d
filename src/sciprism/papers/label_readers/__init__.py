"""One file per vocabulary format; importing this package registers them all."""

from sciprism.papers.label_readers import jsonl, maple, mesh, micol, skos, tables
from sciprism.papers.label_readers.registry import label_readers

__all__ = ["jsonl", "label_readers", "maple", "mesh", "micol", "skos", "tables"]
