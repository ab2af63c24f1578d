"""One file per kind of document that gives text to train on; importing this package registers them all."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.text.documents.document import DocumentReader

document_readers: Registry[DocumentReader] = Registry("kind of document")

from sciprism.text.documents import (  # noqa: E402, F401 (they register themselves; the first to recognise a file reads it)
    ads,
    cmr,
    jats,
    papers,
    parquet,
    plain,
    rows,
    wikipedia,
)
