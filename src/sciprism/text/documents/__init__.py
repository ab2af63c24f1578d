"""Readers of documents to train on; importing this package registers all.

The first reader that recognizes a file reads it, so that of rows, which accepts any JSON, is the last of its file.
"""

# ruff: noqa: F401 (importing a module registers its reader)
from sciprism.text.documents import document, wikipedia
