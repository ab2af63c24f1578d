"""Formats of papers and of vocabularies; importing this package registers all."""

from sciprism.papers.readers import (  # noqa: F401 - registered by their import
    bibtex,
    json_databases,
    marc,
    tables,
    tagged,
    vocabularies,
    xml_databases,
    zotero,
)
