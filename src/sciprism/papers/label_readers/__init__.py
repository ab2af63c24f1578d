"""Readers of vocabulary formats, one file each; importing this package registers all."""

from sciprism.papers.label_readers import (  # noqa: F401 - registered by their import
    jsonl,
    maple,
    mesh,
    micol,
    skos,
    tables,
)
