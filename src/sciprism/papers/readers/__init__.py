"""Readers of paper formats, one file each; importing this package registers all."""

from sciprism.papers.readers import (  # noqa: F401 - registered by their import
    arxiv,
    beir,
    bibtex,
    csl_json,
    jsonl,
    nbib,
    openalex,
    openreview,
    pubmed_xml,
    ris,
    semantic_scholar,
    specter,
    tables,
    zotero,
    zotero_rdf,
)
