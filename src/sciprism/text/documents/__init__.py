"""Readers of documents to train on, one file per kind; importing this package registers all.

The first reader that recognises a file reads it, so `rows`, which accepts any JSON, comes after the others.
"""

from sciprism.text.documents import ads, cmr, jats, papers, plain_text, rows, wikipedia
from sciprism.text.documents.document import document_readers

__all__ = ["ads", "cmr", "document_readers", "jats", "papers", "plain_text", "rows", "wikipedia"]
