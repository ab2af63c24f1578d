"""One file per kind of document that gives text to train on; importing this package registers them all."""

from sciprism.text.documents import ads, cmr, jats, papers, parquet, plain, rows, wikipedia
from sciprism.text.documents.registry import document_readers

__all__ = ["ads", "cmr", "document_readers", "jats", "papers", "parquet", "plain", "rows", "wikipedia"]
