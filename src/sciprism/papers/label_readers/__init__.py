"""Readers of vocabulary formats, one file each; importing this package registers all."""

from sciprism.papers.label_readers import jsonl, maple, mesh, micol, skos, tables
from sciprism.papers.label_readers.registry import label_readers

__all__ = ["jsonl", "label_readers", "maple", "mesh", "micol", "skos", "tables"]
