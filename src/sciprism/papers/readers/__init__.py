"""Formats of papers and of vocabularies; importing this package registers all."""

from sciprism.papers.readers import (  # noqa: F401 - registered by their import
    annif,
    arxiv,
    bibtex,
    csl_json,
    datacite,
    endnote,
    europe_pmc,
    marc,
    openalex,
    openreview,
    pubmed,
    semantic_scholar,
    skos,
    tables,
    tagged,
    vocabularies,
    zotero,
    zotero_json,
)
