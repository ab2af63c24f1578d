"""Readers of documents to train on, one file per kind; importing this package registers all.

The first reader that recognises a file reads it, so `rows`, which accepts any JSON, comes after the others.
"""

# ruff: noqa: F401 (importing a module registers its reader)
from sciprism.text.documents import ads, cmr, jats, papers, plain_text, rows, wikipedia
