"""The registry of document readers; the first that recognises a file reads it."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.text.documents.document import DocumentReader

document_readers: Registry[DocumentReader] = Registry("kind of document")
