"""Readers of documents to train on, one file per kind; importing this package registers all.

The first reader that recognises a file reads it, so `rows`, which accepts any JSON, comes after the others.
"""

from sciprism.text.documents import (  # noqa: F401 - registered by their import
    ads,
    cmr,
    jats,
    papers,
    plain_text,
    rows,
    wikipedia,
)
